"""Cases as CSV and Parquet: exact texts, and cells that a spreadsheet would run as a formula."""

import csv
import io
import sys

import msgspec
import pytest

from plugin.tests.nouns import record_of
from pytest_ocg.errors import ExportError
from pytest_ocg.report.export import COLUMNS, render_csv, render_parquet
from pytest_ocg.run.record import ErrorRecord, HitRecord, MissRecord

CASE = record_of(
    id="m-ordered-t0-NV-cs000-dog_run", pattern="NV", concepts=["dog", "run"], outcome="miss", reply="He runs the dog.",
    prompt_tokens=30, made_by="m1", in_order=False, order_break="run", positions=[[12], [3]],
)  # fmt: skip
ERROR = record_of(outcome="error", error="timeout")


def read(export):
    return list(csv.DictReader(io.StringIO(export.text, newline=""), strict=True))


def test_a_case_is_a_line_with_every_column():
    [row] = read(render_csv([CASE]))
    assert tuple(row) == COLUMNS
    assert row["concepts"] == "dog run"
    assert (row["realised"], row["positions"], row["missing"]) == ("run dog", "[[12], [3]]", "")
    assert (row["covered"], row["in_order"], row["shots"], row["completion_tokens"]) == ("true", "false", "0", "")


def test_every_field_of_a_record_is_a_column():
    fields = {name for kind in (HitRecord, MissRecord, ErrorRecord) for name in kind.__struct_fields__}
    assert fields | {"outcome", "realised"} == set(COLUMNS)


def test_an_error_has_empty_cells_instead_of_a_verdict():
    [row] = read(render_csv([ERROR]))
    assert (row["outcome"], row["error"], row["reply"], row["covered"], row["realised"]) == (
        "error", "timeout", "", "", "",
    )  # fmt: skip


def replying(reply):
    return msgspec.structs.replace(CASE, reply=reply)


def test_without_cases_there_is_only_the_header():
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
def test_a_reply_is_read_back_exactly(reply):
    [row] = read(render_csv([replying(reply)]))
    assert row["reply"] == reply


def test_a_lone_surrogate_is_written_as_its_escape():
    [row] = read(render_csv([replying("lone \udcff")]))
    assert row["reply"] == "lone \\udcff"
    assert render_csv([replying("lone \udcff")]).text.encode("utf-8")


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_cells_that_a_spreadsheet_would_run_are_counted_and_guarded_only_on_request(first):
    reply = f"{first}HYPERLINK()"
    exact = render_csv([replying(reply), CASE])
    guarded = render_csv([replying(reply), CASE], for_spreadsheet=True)
    assert exact.formulas == guarded.formulas == 1
    assert [row["reply"] for row in read(exact)] == [reply, CASE.reply]
    assert [row["reply"] for row in read(guarded)] == [f"'{reply}", CASE.reply]


def test_parquet_without_pyarrow_is_an_error_that_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ExportError, match=r'pyarrow.*pip install "pytest-ordered-commongen\[parquet\]".*CSV'):
        render_parquet([CASE])


def test_parquet_has_typed_columns_and_lists_even_if_all_values_are_absent():
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(render_parquet([replying("lone \udcff"), ERROR])))
    assert tuple(table.column_names) == COLUMNS
    case, error = table.to_pylist()
    assert (case["concepts"], case["realised"], case["positions"]) == (["dog", "run"], ["run", "dog"], [[12], [3]])
    assert (case["reply"], case["covered"], case["prompt_tokens"]) == ("lone \\udcff", True, 30)
    assert (error["reply"], error["covered"], error["positions"]) == (None, None, None)
    empty = parquet.read_table(io.BytesIO(render_parquet([])))
    assert empty.schema.equals(table.schema)
