"""Cases as CSV and Parquet: exact texts, and what a spreadsheet would run as a formula."""

import csv
import io
import sys

import pytest

from pytest_ocg.errors import ExportError
from pytest_ocg.report.export import COLUMNS, render_csv, render_parquet

CASE = {
    "id": "m-ordered-t0-NV-cs000-dog_run", "model": "m", "condition": "ordered", "shots": 0, "template": 0,
    "set": "cs000", "pattern": "NV", "concepts": ["dog", "run"], "outcome": "miss", "reply": "He runs the dog.",
    "finish_reason": "stop", "prompt_tokens": 30, "completion_tokens": None, "cached": False, "made_by": "m1",
    "covered": True, "in_order": False, "missing": [], "order_break": "run", "positions": [[12], [3]], "echo": False,
}  # fmt: skip
ERROR = {**{name: CASE[name] for name in list(CASE)[:8]}, "outcome": "error", "reply": None, "error": "timeout"}


def read(export):
    return list(csv.DictReader(io.StringIO(export.text, newline=""), strict=True))


def test_a_case_is_a_line_with_every_column():
    [row] = read(render_csv([CASE]))
    assert tuple(row) == COLUMNS
    assert row["concepts"] == "dog run"
    assert (row["realised"], row["positions"], row["missing"]) == ("run dog", "[[12], [3]]", "")
    assert (row["covered"], row["in_order"], row["shots"], row["completion_tokens"]) == ("true", "false", "0", "")


def test_every_field_of_a_record_is_a_column():
    assert CASE.keys() | {"error", "detail", "realised"} == set(COLUMNS)


def test_an_error_has_empty_cells_where_there_is_no_verdict():
    [row] = read(render_csv([ERROR]))
    assert (row["outcome"], row["error"], row["reply"], row["covered"], row["realised"]) == (
        "error", "timeout", "", "", "",
    )  # fmt: skip


def test_without_cases_there_is_the_header():
    assert render_csv([]).text == ",".join(COLUMNS) + "\r\n"


@pytest.mark.parametrize(
    "reply",
    [
        'say "x", y',
        "two\nlines",
        "two\r\nlines",
        "one\rtwo",
        "NUL \x00 ESC \x1b",
        " blank ",
        "caf\u00e9 \U0001f415",
        "=1",
    ],
)
def test_a_reply_comes_back_exactly(reply):
    [row] = read(render_csv([{**CASE, "reply": reply}]))
    assert row["reply"] == reply


def test_a_lone_surrogate_which_no_file_can_hold_is_written_out():
    [row] = read(render_csv([{**CASE, "reply": "lone \udcff"}]))
    assert row["reply"] == "lone \\udcff"
    assert render_csv([{**CASE, "reply": "lone \udcff"}]).text.encode("utf-8")


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_what_a_spreadsheet_would_run_is_counted_and_left_or_guarded_when_asked(begin):
    reply = f"{begin}HYPERLINK()"
    exact = render_csv([{**CASE, "reply": reply}, CASE])
    guarded = render_csv([{**CASE, "reply": reply}, CASE], for_spreadsheet=True)
    assert exact.formulas == guarded.formulas == 1
    assert [row["reply"] for row in read(exact)] == [reply, CASE["reply"]]
    assert [row["reply"] for row in read(guarded)] == [f"'{reply}", CASE["reply"]]


def test_parquet_without_pyarrow_is_an_error_that_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ExportError,
        match=r'^Parquet needs pyarrow, which .*; pip install "pytest-ordered-commongen\[parquet\]", or write CSV$',
    ):
        render_parquet([CASE])


def test_parquet_has_typed_columns_and_lists_also_where_all_is_absent():
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(render_parquet([{**CASE, "reply": "lone \udcff"}, ERROR])))
    assert tuple(table.column_names) == COLUMNS
    case, error = table.to_pylist()
    assert (case["concepts"], case["realised"], case["positions"]) == (["dog", "run"], ["run", "dog"], [[12], [3]])
    assert (case["reply"], case["covered"], case["prompt_tokens"]) == ("lone \\udcff", True, 30)
    assert (error["reply"], error["covered"], error["positions"]) == (None, None, None)
    empty = parquet.read_table(io.BytesIO(render_parquet([])))
    assert empty.schema.equals(table.schema)
