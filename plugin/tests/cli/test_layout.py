from __future__ import annotations

import pytest

from pytest_ocg.cli.layout import aligned, markdown_table, size_text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1050, "1.1 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (6_469_356, "6.5 MB"),
        (2_500_000_000, "2.5 GB"),
        (3_000_000_000_000, "3.0 TB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_a_size_is_read_at_a_glance(size_bytes, text):
    assert size_text(size_bytes) == text


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([], ["name  count"]),
        ([["a", "1"], ["longer", "1,000"]], ["name    count", "a           1", "longer  1,000"]),
        ([["caf\u00e9", ""]], ["name  count", "caf\u00e9"]),
        ([["a\tb\r\x1b[0m", "2"]], ["name           count", r"a\tb\r\x1b[0m      2"]),
    ],
)
def test_columns_line_up_and_control_characters_are_escaped(rows, lines):
    assert aligned(("name", "count"), rows, frozenset({"count"})) == lines


def test_a_table_in_markdown_has_no_markup_out_of_its_cells():
    lines = markdown_table(("name", "size"), [["a|b", "<1>"]], frozenset({"size"}))
    assert lines == ["| name | size |", "| :-- | --: |", "| a&#124;b | &#60;1&#62; |"]
