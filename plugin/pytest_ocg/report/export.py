"""Cases as a flat table for other programs: CSV, or Parquet if pyarrow is installed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pytest_ocg.analysis.order_bias import realised_order
from pytest_ocg.errors import ExportError
from pytest_ocg.run.record import CaseRecord, ReplyRecord

COLUMNS = (
    "id", "model", "condition", "shots", "template", "set", "pattern", "concepts", "outcome", "reply", "covered",
    "in_order", "missing", "order_break", "realised", "positions", "echo", "finish_reason", "prompt_tokens",
    "completion_tokens", "cached", "made_by", "error", "detail",
)  # fmt: skip
"""The fields of `generations.jsonl`, and `realised`: the concepts sorted by first position in the reply."""

_WORD_LISTS = ("concepts", "missing", "realised")
_NUMBERS = ("shots", "template", "prompt_tokens", "completion_tokens")
_FLAGS = ("covered", "in_order", "echo", "cached")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class CsvExport:
    """The text of a CSV file, and the number of its cells that a spreadsheet would run as a formula."""

    text: str
    formulas: int


def render_csv(records: Iterable[CaseRecord], *, for_spreadsheet: bool = False) -> CsvExport:
    """One line per case (RFC 4180): words joined by spaces, positions as JSON, an empty cell for an absent value.

    Texts are exact, except that a lone surrogate, which UTF-8 cannot encode, is written as `\\udcff`.
    `for_spreadsheet` puts an apostrophe before each cell that a spreadsheet would run as a formula.
    """
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    formulas = 0
    for record in records:
        cells = [_csv_cell(value) for value in _flat(record).values()]
        are_formulas = [cell.startswith(_FORMULA) for cell in cells]
        formulas += sum(are_formulas)
        if for_spreadsheet:
            cells = [f"'{cell}" if is_formula else cell for cell, is_formula in zip(cells, are_formulas, strict=True)]
        writer.writerow(cells)
    return CsvExport(file.getvalue(), formulas)


def render_parquet(records: Iterable[CaseRecord]) -> bytes:
    """A Parquet file with one row per case, lists as lists; raises ExportError if pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ExportError(
            f"Parquet needs pyarrow, which cannot be imported ({error}); run "
            '`pip install "pytest-ordered-commongen[parquet]"`, or write CSV'
        ) from error
    types = {
        **dict.fromkeys(COLUMNS, pyarrow.string()),
        **dict.fromkeys(_WORD_LISTS, pyarrow.list_(pyarrow.string())),
        **dict.fromkeys(_NUMBERS, pyarrow.int64()),
        **dict.fromkeys(_FLAGS, pyarrow.bool_()),
        "positions": pyarrow.list_(pyarrow.list_(pyarrow.int64())),
    }
    table = pyarrow.Table.from_pylist(list(map(_flat, records)), schema=pyarrow.schema(types))
    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()


def _flat(record: CaseRecord) -> dict[str, Any]:
    cells = {column: getattr(record, column, None) for column in COLUMNS}
    if isinstance(record, ReplyRecord):
        cells["realised"] = realised_order(record.concepts, record.positions)
    return {column: _utf8(cell) if isinstance(cell, str) else cell for column, cell in cells.items()}


def _utf8(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return " ".join(value) if all(isinstance(word, str) for word in value) else json.dumps(value)
    return str(value)
