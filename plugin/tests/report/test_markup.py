"""Markdown markup: how untrusted text is escaped, and tables that it cannot break."""

import html
import re

import pytest

from pytest_ocg.report.markup import code, collapsible, escape, number, table

HOSTILE = [
    "<script>alert(1)</script>",
    "a | b",
    "a \\| b",
    "`tick` and ``two``",
    "![x](http://evil.example/p.png)",
    "[x]: http://evil.example",
    "https://evil.example www.evil.example WWW.evil.example",
    "@everyone see #1 and org/repo#2 and GH-3",
    "**bold** __bold__ ~~gone~~",
    "&lt;b&gt; &#60;b&#62;",
    "</code></details>",
    "$x$ and $$y$$",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_markup_is_left_and_the_text_is_shown_unchanged(text):
    shown = escape(text)
    left = re.sub(r"&#\d+;", "", shown)
    assert not re.search(r"[<>|`\[\]!@#*_~&$:\\]", left)
    assert "www." not in left.lower()
    assert html.unescape(shown) == text


@pytest.mark.parametrize("text", ["gemma2-9b", "3.8.18", "org/name, a = b + c", "caf\u00e9"])
def test_plain_text_can_be_read_in_the_source(text):
    assert escape(text) == text


def test_line_breaks_and_control_characters_do_not_end_the_line():
    assert html.unescape(escape("one\n# two\r\n\x1b[0m")) == "one # two  \\x1b[0m"


def test_long_text_is_cut_at_the_limit():
    assert (escape("x" * 400), escape("x" * 400, 500)) == ("x" * 300 + " &#8230;", "x" * 400)


def test_code_is_escaped_inline_code():
    assert code("a<b") == "<code>a&#60;b</code>"


@pytest.mark.parametrize(("value", "form", "text"), [(None, ".2f", "-"), (1.005, ".1f", "1.0"), (2.5, "+.2f", "+2.50")])
def test_a_missing_number_is_a_dash(value, form, text):
    assert number(value, form) == text


def test_the_first_columns_of_a_table_are_left_aligned_and_the_others_right():
    assert table(["a", "b"], [["x", "1"]]) == ["| a | b |", "| :-- | --: |", "| x | 1 |", ""]
    assert table(["a", "b"], [], left=2) == ["| a | b |", "| :-- | :-- |", ""]


def test_collapsible_lines_have_a_title():
    assert collapsible("more", ["x", ""]) == ["<details>", "<summary>more</summary>", "", "x", "", "</details>", ""]
