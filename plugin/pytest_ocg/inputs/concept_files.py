"""Files of concept sets, which may be anybody's: read as rows, each with the place it stands at."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ocg.errors import ConceptError

MAX_FILE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file; `place` is `sets.jsonl:3` (line) or `sets.json[2]` (index from 0)."""

    place: str
    fields: Mapping[str, Any]


def read_rows(path: Path) -> list[Row]:
    """The objects of a JSON list, a JSONL file or (by its suffix) a Parquet file, in file order, at least one.

    Raises ConceptError naming the file and the place in it.
    """
    _check_file(path)
    rows = _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_json(path)
    if not rows:
        raise ConceptError(f"{path}: holds no concept set; expected objects with a list under 'concept_set'")
    for row in rows:
        if not isinstance(row.fields, dict):
            raise ConceptError(
                f"{row.place}: must be an object with a list under 'concept_set', not {_shown(row.fields)}"
            )
    return rows


def _check_file(path: Path) -> None:
    try:
        if path.is_dir():
            raise ConceptError(f"{path}: is a folder; name a JSON or JSONL file in it")
        if not path.exists():
            raise ConceptError(f"{path}: there is no such file")
        if not path.is_file():
            raise ConceptError(f"{path}: is not a regular file")
        size_bytes = path.stat().st_size
    except (OSError, ValueError) as cause:
        raise ConceptError(f"{str(path)!r}: cannot be read: {cause}") from cause
    if size_bytes > MAX_FILE_BYTES:
        raise ConceptError(f"{path}: {size_bytes:,} bytes are more than the {MAX_FILE_BYTES:,} a concept file may have")


def _read_json(path: Path) -> list[Row]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as cause:
        raise ConceptError(f"{path}: cannot be read: {cause.strerror or cause}") from cause
    except UnicodeDecodeError as cause:
        line = cause.object.count(b"\n", 0, cause.start) + 1
        raise ConceptError(
            f"{path}:{line}: is not UTF-8 text (byte {cause.object[cause.start]:#04x}); save the file as UTF-8"
        ) from cause
    if text.lstrip().startswith("["):
        return [Row(f"{path}[{index}]", item) for index, item in enumerate(_parse(text, str(path)))]
    # Not str.splitlines: JSON strings may hold U+2028 and other characters that it breaks lines at.
    lines = enumerate(text.split("\n"), 1)
    return [Row(f"{path}:{number}", _parse(line, f"{path}:{number}")) for number, line in lines if line.strip()]


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as cause:
        inside = f" at line {cause.lineno}" if cause.lineno > 1 else ""
        raise ConceptError(
            f"{place}: is not valid JSON{inside}, column {cause.colno}: {cause.msg}; a concept file is "
            "a JSON list of objects, or one object a line"
        ) from cause
    except (ValueError, RecursionError) as cause:
        raise ConceptError(f"{place}: is not usable JSON: {cause}") from cause


def _read_parquet(path: Path) -> list[Row]:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as cause:
        raise ConceptError(
            f"{path}: reading Parquet needs pyarrow, which is not installed; run "
            "`pip install pyarrow`, or convert the file to JSONL"
        ) from cause
    try:
        table = parquet.read_table(path, columns=["concept_set"])
    # pyarrow's own errors are ValueError, KeyError or OSError underneath.
    except (ValueError, KeyError, OSError) as cause:
        raise ConceptError(f"{path}: cannot be read as Parquet with a column 'concept_set': {cause}") from cause
    return [Row(f"{path}[{index}]", row) for index, row in enumerate(table.to_pylist())]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
