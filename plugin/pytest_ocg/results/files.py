"""The files of a run, read back and checked: `results.json` and `generations.jsonl`, which are not trusted."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pytest_ocg.errors import ResultsError, printable, quote
from pytest_ocg.inputs.files import read_bytes
from pytest_ocg.results.schema import SCHEMA, Results
from pytest_ocg.run.record import CaseRecord, read_json, read_record

MAX_RESULTS_BYTES = 64 * 1024 * 1024
MAX_GENERATIONS_BYTES = 1024 * 1024 * 1024

_RUN_AGAIN = "run the benchmark again, which reuses the replies in the cache"
_RESULTS = msgspec.json.Decoder(Results)
_LONGEST_VALUE = 160
_PLACE = re.compile(r"(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$\.?(?P<place>.*)`)?", re.DOTALL)


class _Versioned(msgspec.Struct):
    schema: Any = None


_VERSION = msgspec.json.Decoder(_Versioned)


@dataclass(frozen=True, slots=True)
class Run:
    """A run read back: the path and content of its `results.json`, and the records of its `generations.jsonl`."""

    path: Path
    results: Results
    records: tuple[CaseRecord, ...]


def load_run(path: Path) -> Run:
    """The results in `path`, a file or a folder, with the generations next to them.

    Raises ResultsError for either file, and if the results were not made from these generations.
    """
    path = _results_path(path)
    results = load_results(path)
    digest = results.generations_sha256
    if digest is None:
        raise ResultsError(
            f"results file {str(path)!r} has generations_sha256 {quote(digest)}, so its generations cannot be checked; "
            "run the benchmark again"
        )
    return Run(path, results, load_records(path.with_name("generations.jsonl"), sha256=digest))


def load_results(path: Path) -> Results:
    """The results in `path`, a file or the folder of a `results.json`.

    Raises ResultsError naming the first value that a run would not write.
    """
    path = _results_path(path)
    hint = "pass the results.json of a run, or the folder passed as --ocg-output"
    return read_results(
        _content(path, f"results file {str(path)!r}", MAX_RESULTS_BYTES, hint), f"results file {str(path)!r}"
    )


def read_results(content: bytes, name: str) -> Results:
    """The results in the content of a file; raises ResultsError, which names the file by `name`."""
    try:
        version = read_json(content, _VERSION).schema
        if type(version) is int and version == SCHEMA:
            return read_json(content, _RESULTS)
    except msgspec.ValidationError as error:
        raise ResultsError(f"{name}: {_describe_invalid(error, content)}; {_RUN_AGAIN}") from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{name} is not JSON ({error}); run the benchmark again") from error
    raise ResultsError(
        f"{name} has schema {quote(version)}, but this version reads {SCHEMA}; use "
        "the version of pytest-ordered-commongen that wrote it, or run the benchmark again"
    )


def load_records(path: Path, *, sha256: str | None = None) -> tuple[CaseRecord, ...]:
    """The records in a `generations.jsonl`, as `record_line` wrote them; the file must have this `sha256`.

    Raises ResultsError naming the line and the field.
    """
    hint = "results.json was made from this file; keep the two files together"
    content = _content(path, f"generations file {str(path)!r}", MAX_GENERATIONS_BYTES, hint)
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256:
        raise ResultsError(
            f"generations file {str(path)!r} has sha256 {found!r} but the results next to it were made from "
            f"{sha256!r}; take both files from the same run"
        )
    return tuple(
        _record(line, f"generations file {str(path)!r}, line {number}")
        for number, line in enumerate(content.split(b"\n"), 1)
        if line.strip()
    )


def _results_path(path: Path) -> Path:
    return path / "results.json" if path.is_dir() else path


def _content(path: Path, name: str, limit_bytes: int, hint: str) -> bytes:
    return read_bytes(path, name, limit_bytes, ResultsError, hint)


def _record(line: bytes, place: str) -> CaseRecord:
    try:
        return read_record(line)
    except msgspec.ValidationError as error:
        raise ResultsError(f"{place}: {_describe_invalid(error, line)}; run the benchmark again") from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{place} is not JSON ({error}); run the benchmark again") from error


def _describe_invalid(error: msgspec.ValidationError, content: bytes) -> str:
    """The place in the content that a run would not write so, its value, and what is expected."""
    found = _PLACE.fullmatch(str(error))
    assert found is not None
    place, value = found["place"] or "", ""
    if found["key"] is None:
        try:
            value = f" is {quote(_value_at(json.loads(content), place))}"
        except (ValueError, LookupError, TypeError, RecursionError):
            value = ""
    name = f"{'' if found['key'] is None else 'a key of '}{place or 'the content'}"
    what = f"{found['what'][0].lower()}{found['what'][1:]}"
    return printable(f"{name}{value if len(value) <= _LONGEST_VALUE else ''}: {what}")


def _value_at(content: Any, place: str) -> Any:
    """The value at a place such as `rows[0].counts.hit`; raises LookupError for a place without an exact key."""
    for key, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place):
        content = content[key if key else int(index)]
    if "..." in place:
        raise LookupError(place)
    return content
