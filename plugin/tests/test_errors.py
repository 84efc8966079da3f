"""Names and foreign text in messages: on one line, short, and nothing that a terminal obeys."""

from __future__ import annotations

import pytest

from pytest_ocg.errors import counted, did_you_mean, printable, quote


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain", "plain"),
        ("two\nlines\tand\rmore", "two lines and more"),
        ("\x1b[31mred\x00", "\\x1b[31mred\\x00"),
        ("right \u202e left", "right \\u202e left"),
        ("lone \ud800", "lone \\ud800"),
        ("café 🐕", "café 🐕"),
        ("x" * 301, "x" * 300 + " …"),
        ("", ""),
    ],
)
def test_nothing_a_terminal_obeys_is_printed_as_it_is(text, escaped):
    assert printable(text) == escaped


@pytest.mark.parametrize(("value", "text"), [("a\x1b\n", "'a\\x1b\\n'"), (None, "None"), (0.5, "0.5")])
def test_a_shown_value_is_quoted_on_one_line(value, text):
    assert quote(value) == text


def test_a_shown_value_is_short_however_large_or_deep_it_is():
    deep: list = []
    for _ in range(900):
        deep = [deep]
    assert len(quote("x" * 10**6)) <= 160
    assert len(quote(deep)) < 40


@pytest.mark.parametrize(
    ("name", "limit", "said"),
    [
        ("pblue", 1, "; did you mean 'pbleu'?"),
        ("PBLEURT", 1, "; did you mean 'pbleurt'?"),
        ("pbleur", 2, "; did you mean 'pbleurt' or 'pbleu'?"),
        ("ordered", 1, ""),
        ("", 1, ""),
    ],
)
def test_only_a_near_name_is_suggested(name, limit, said):
    assert did_you_mean(name, ("pbleu", "pbleurt", "distinct2"), limit) == said


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "case", "0 cases"),
        (1, "case", "1 case"),
        (27648, "case", "27,648 cases"),
        (1, "reply", "1 reply"),
        (2, "reply", "2 replies"),
        (1, "concept set", "1 concept set"),
    ],
)
def test_a_number_agrees_with_its_noun(number, noun, text):
    assert counted(number, noun) == text
