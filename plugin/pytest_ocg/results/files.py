"""What a run left behind, read back: `results.json` and `generations.jsonl`, which may be anybody's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ocg.errors import ResultsError, shown
from pytest_ocg.gate.thresholds import is_number
from pytest_ocg.inputs.files import read_bytes
from pytest_ocg.run.record import Outcome, read_record

RESULTS_SCHEMA = 1
MAX_RESULTS_BYTES = 64 * 1024 * 1024
MAX_GENERATIONS_BYTES = 1024 * 1024 * 1024

_TEXT = (str,)
_COUNT = (int,)
_OF_EVERY_CASE: Mapping[str, tuple[type, ...]] = {
    "id": _TEXT,
    "model": _TEXT,
    "condition": _TEXT,
    "shots": _COUNT,
    "template": _COUNT,
    "set": _TEXT,
    "pattern": _TEXT,
    "concepts": (list,),
    "outcome": _TEXT,
    "cached": (bool,),
    "made_by": _TEXT,
}
_OF_A_REPLY: Mapping[str, tuple[type, ...]] = {
    "reply": _TEXT,
    "covered": (bool,),
    "in_order": (bool,),
    "missing": (list,),
    "order_break": (str, type(None)),
    "positions": (list,),
    "echo": (bool,),
}
_OF_AN_ERROR: Mapping[str, tuple[type, ...]] = {"reply": (type(None),), "error": _TEXT, "detail": _TEXT}


@dataclass(frozen=True, slots=True)
class Run:
    """A run read back: where its `results.json` lies, what that says, and the objects of its `generations.jsonl`."""

    path: Path
    results: Mapping[str, Any]
    records: tuple[Mapping[str, Any], ...]


def load_run(path: Path) -> Run:
    """The results in `path`, a file or a folder, with the generations beside them.

    Raises ResultsError for either file, and where the generations are not those the results were made from.
    """
    path = _results_path(path)
    results = load_results(path)
    digest = results.get("generations_sha256")
    if not isinstance(digest, str):
        raise ResultsError(
            f"results {str(path)!r} have generations_sha256 {shown(digest)}, so nothing says which replies they are "
            "of; run the benchmark again"
        )
    return Run(path, results, load_records(path.with_name("generations.jsonl"), sha256=digest))


def load_results(path: Path) -> Mapping[str, Any]:
    """The results in `path`, a file or the folder of a `results.json`; of its rows only the model is checked.

    Raises ResultsError for what is not a results file of this schema.
    """
    path = _results_path(path)
    hint = "give the results.json of a run, or the folder that --ocg-output named"
    content = _content(path, f"results {str(path)!r}", MAX_RESULTS_BYTES, hint)
    try:
        results = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"results {str(path)!r} are not JSON ({error}); run the benchmark again") from error
    if not isinstance(results, dict):
        raise ResultsError(
            f"results {str(path)!r} hold a {type(results).__name__}, not an object; give the "
            "results.json of a run, not its generations.jsonl"
        )
    schema = results.get("schema")
    if type(schema) is not int or schema != RESULTS_SCHEMA:
        raise ResultsError(
            f"results {str(path)!r} have schema {schema!r}, this version reads {RESULTS_SCHEMA}; use "
            "the version of pytest-ordered-commongen that wrote them, or run the benchmark again"
        )
    rows = results.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, dict) and _is_name(row.get("model")) for row in rows):
        raise ResultsError(
            f"results {str(path)!r} have no list of rows that each name their model; run the benchmark again"
        )
    return results


def load_records(path: Path, *, sha256: str | None = None) -> tuple[Mapping[str, Any], ...]:
    """The objects of a `generations.jsonl`, as `Record.as_json` wrote them; `sha256` is what the file must have.

    Raises ResultsError naming the line and the field.
    """
    hint = "it has the replies that results.json was made from, so keep the two together"
    content = _content(path, f"generations {str(path)!r}", MAX_GENERATIONS_BYTES, hint)
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256:
        raise ResultsError(
            f"generations {str(path)!r} have sha256 {found!r} but the results beside them were made from {sha256!r}; "
            "take both files from the same run"
        )
    return tuple(
        _record(line, f"generations {str(path)!r}, line {number}")
        for number, line in enumerate(content.split(b"\n"), 1)
        if line.strip()
    )


def row_statistics(run: Run, row: Mapping[str, Any]) -> Mapping[str, Mapping[str, Mapping[str, tuple[float, int]]]]:
    """What each concept set adds to each metric of a row: metric, template, set, then the sum and of how many.

    Raises ResultsError where the row has none, or not in this shape.
    """
    place = f"results {str(run.path)!r}: the row of {shown(row['model'])} {shown(row.get('condition'))}"
    statistics = row.get("statistics")
    if not isinstance(statistics, dict) or not statistics:
        raise ResultsError(
            f"{place} has statistics {shown(statistics)}, so no metric can be taken by concept set; run the benchmark "
            "again, which asks for no reply that is in the cache"
        )
    for where, leaf in _leaves(statistics):
        if not _is_sum_and_count(leaf):
            raise ResultsError(
                f"{place} has {shown(leaf)} as statistics of {where}, not a sum and a count by metric, template and "
                "set; run the benchmark again"
            )
    return {
        metric: {
            template: {name: (float(total), count) for name, (total, count) in of_template.items()}
            for template, of_template in of_metric.items()
        }
        for metric, of_metric in statistics.items()
    }


def _leaves(statistics: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Where, and what, is found three levels down; a level that is not there is its own leaf."""
    for metric, of_metric in statistics.items():
        if not isinstance(of_metric, dict):
            yield shown(metric), of_metric
            continue
        for template, of_template in of_metric.items():
            where = f"{shown(metric)}, template {shown(template)}"
            if not isinstance(of_template, dict) or not (template.isascii() and template.isdigit()):
                yield where, of_template
                continue
            for name, leaf in of_template.items():
                yield f"{where}, set {shown(name)}", leaf


def _is_sum_and_count(leaf: Any) -> bool:
    """Whether it is a pair that arithmetic can be done with: squares of larger sums would be infinite."""
    if not isinstance(leaf, list) or len(leaf) != 2:
        return False
    total, count = leaf
    return is_number(total) and abs(total) <= 1e100 and type(count) is int and 0 <= count <= 10**9


def _results_path(path: Path) -> Path:
    return path / "results.json" if path.is_dir() else path


def _content(path: Path, name: str, limit_bytes: int, hint: str) -> bytes:
    return read_bytes(path, name, limit_bytes, ResultsError, hint)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _record(line: bytes, place: str) -> Mapping[str, Any]:
    try:
        record = read_record(line.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{place} is not JSON in ASCII ({error}); run the benchmark again") from error
    if not isinstance(record, dict):
        raise ResultsError(f"{place} holds a {type(record).__name__}, not an object; give the file of a run")
    for field, value in _wrong_fields(record):
        raise ResultsError(f"{place} has {field} {shown(value)}, which no run writes; run the benchmark again")
    return record


def _wrong_fields(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The fields that are not as `Record.as_json` writes them, with what is there instead."""
    of_outcome = _OF_AN_ERROR if record.get("outcome") == Outcome.ERROR else _OF_A_REPLY
    for fields in (_OF_EVERY_CASE, of_outcome):
        for field, types in fields.items():
            if type(record.get(field, ...)) not in types:
                yield field, record.get(field)
                return
    if record["outcome"] not in set(Outcome):
        yield "outcome", record["outcome"]
    concepts = record["concepts"]
    if not concepts or not all(isinstance(lemma, str) for lemma in concepts) or len(concepts) != len(record["pattern"]):
        yield "concepts", concepts
