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
from pytest_ocg.run.record import RECORD_TYPES, CaseRecord, read_json, read_record

MAX_RESULTS_BYTES = 64 * 1024 * 1024
MAX_GENERATIONS_BYTES = 1024 * 1024 * 1024

_RUN_AGAIN = "run the benchmark again, which reuses the replies in the cache"
_RESULTS = msgspec.json.Decoder(Results)
_LONGEST_VALUE, _LONGEST_OBJECT = 160, 40
_PLACE = re.compile(r"(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$(?P<place>[^`]*)`)?", re.DOTALL)


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
    name = f"results file {str(path)!r}"
    return read_results(_content(path, name, MAX_RESULTS_BYTES, hint), name)


def read_results(content: bytes, name: str) -> Results:
    """The results in the content of a file; raises ResultsError, which names the file by `name`."""
    try:
        version = read_json(content, _VERSION).schema
        if type(version) is int and version == SCHEMA:
            return read_json(content, _RESULTS)
    except msgspec.ValidationError as error:
        raise ResultsError(f"{name}: {_describe_invalid(error, content, Results)}; {_RUN_AGAIN}") from error
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
    records = []
    words: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            place = f"generations file {str(path)!r}, line {number}"
            record = _record(line, place)
            of_set = tuple(sorted(record.concepts))
            if words.setdefault(record.set, of_set) != of_set:
                raise ResultsError(
                    f"{place}: set {quote(record.set)} has the concepts {quote(of_set)}, but in an earlier line "
                    f"{quote(words[record.set])}; run the benchmark again"
                )
            records.append(record)
    return tuple(records)


def _results_path(path: Path) -> Path:
    return path / "results.json" if path.is_dir() else path


def _content(path: Path, name: str, limit_bytes: int, hint: str) -> bytes:
    return read_bytes(path, name, limit_bytes, ResultsError, hint)


def _record(line: bytes, place: str) -> CaseRecord:
    try:
        return read_record(line)
    except msgspec.ValidationError as error:
        raise ResultsError(
            f"{place}: {_describe_invalid(error, line, RECORD_TYPES)}; run the benchmark again"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{place} is not JSON ({error}); run the benchmark again") from error


def _describe_invalid(error: msgspec.ValidationError, content: bytes, wanted: Any) -> str:
    """The place in the content that a run would not write so, its value, and what is expected.

    `wanted` is the type of the content.
    """
    found = _PLACE.fullmatch(str(error))
    assert found is not None
    place, value = (found["place"] or "").removeprefix("."), ""
    at: Any = None
    key = "" if found["key"] is None else "a key of "
    try:
        steps, at = _exact_place(json.loads(content), found, wanted)
        if key:
            key = f"the key {quote(steps.pop())} of "
        else:
            value = f" is {quote(at)}"
        place = "".join(map(_step_text, steps)).removeprefix(".")
    except (ValueError, LookupError, TypeError, RecursionError):
        pass  # the place without the keys that a user chose
    what = f"{found['what'][0].lower()}{found['what'][1:]}"
    longest = _LONGEST_OBJECT if isinstance(at, dict) else _LONGEST_VALUE
    return printable(f"{key}{place or 'the content'}{value if len(value) <= longest else ''}: {what}")


def _step_text(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isidentifier() else f"[{quote(step)}]"


def _exact_place(content: Any, found: re.Match[str], wanted: Any) -> tuple[list[str | int], Any]:
    """The steps to the place of an error and the value there, with the keys that msgspec writes as `[...]`.

    Raises LookupError if a key cannot be found.
    """
    steps, at = list[str | int](), content
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+|\.\.\.)\]", found["place"] or ""):
        step = name or (_failing_key(at, content, found.string, wanted) if index == "..." else int(index))
        steps.append(step)
        at = at[step]
    if found["key"] is not None:
        steps.append(_failing_key(at, content, found.string, wanted))
    return steps, at


def _failing_key(table: dict[str, Any], content: Any, error: str, wanted: Any) -> str:
    """The key in `table`, a part of the content, that alone makes the content fail at the place in `error`.

    Only this key is left in the table.
    """
    keys, values = list(table), dict(table)
    while True:
        tried = keys[: (len(keys) + 1) // 2]
        table.clear()
        table.update((key, values[key]) for key in tried)
        try:
            msgspec.convert(content, wanted)
            fails = False
        except msgspec.ValidationError as other:
            fails = str(other).rpartition(" - at ")[2] == error.rpartition(" - at ")[2]
        if len(keys) == 1:
            if not fails:
                raise LookupError(error)
            return keys[0]
        keys = tried if fails else keys[len(tried) :]
