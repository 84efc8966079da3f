"""What a report needs of results that may be anybody's, checked before any of it is rendered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_ocg.errors import ResultsError, printable, shown
from pytest_ocg.gate.judge import Status
from pytest_ocg.gate.thresholds import is_number
from pytest_ocg.results.files import Run

_VALUES: Mapping[Any, Any] = {str: (float, None)}
_COUNTS: Mapping[Any, Any] = dict.fromkeys(
    ("planned", "selected", "hit", "miss", "error", "not_run", "cached", "echo", "truncated"), int
)
_RESULTS: Mapping[Any, Any] = {
    "run": {"started": str, "python": str, "versions": {str: (str, None)}},
    "dataset": {"name": str, "sha256": str, "sets": int},
    "templates_sha256": str,
    "matcher": str,
    "selection": {
        "sets": (str, None),
        "shard": (str, None),
        "templates": [int],
        "shots": int,
        "complete": bool,
        "planned": int,
        "run": int,
    },
    "rows": [
        {
            "model": str,
            "condition": str,
            "shots": int,
            "counts": {**_COUNTS, "errors": {str: int}},
            "published_as": (str, None),
            "metrics": {str: {"value": (float, None), "reason": (str, None), "interval_reason": (str, None)}},
            "identity": {},
            "usage": {
                **dict.fromkeys(("prompt_tokens", "completion_tokens", "uncounted"), int),
                **dict.fromkeys(("cost_dollars", "new_cost_dollars"), (float, None)),
            },
            "by_template": {str: _VALUES},
            "by_pattern": {str: _VALUES},
            "made_by": [{}],
        }
    ],
}
_VERDICTS: Mapping[Any, Any] = {
    "verdicts": [
        {
            "model": str,
            "name": (str, None),
            "condition": (str, None),
            "shots": (int, None),
            "status": str,
            "reasons": [str],
        }
    ]
}
_CHECK: Mapping[Any, Any] = {
    "metric": str, "bound": str, "limit": float, "value": float, "holds": bool, "says": str,
}  # fmt: skip
_MAY_BE_ABSENT = frozenset({"interval_reason", "published_as", "name", "condition", "shots"})
_INTERVAL: Mapping[Any, Any] = {"low": float, "high": float}
_POSITIONS: Mapping[Any, Any] = {"concepts": [str], "missing": [str], "positions": [[int]]}


def check_shape(run: Run) -> None:
    """Raises ResultsError naming the first thing that is not as a run writes it."""
    for where, value in _wrong_in_results(run):
        raise ResultsError(
            f"results {str(run.path)!r}: {printable(where)} is {shown(value)}, which no run writes; run the "
            "benchmark again, which asks for no reply that is in the cache"
        )


def _wrong_in_results(run: Run) -> Iterator[tuple[str, Any]]:
    yield from _wrong(run.results, _RESULTS, "")
    yield from _wrong(run.results["run"].get("command_line", []), [str], "run.command_line")
    gate = run.results.get("gate", {"verdicts": []})
    yield from _wrong(gate, _VERDICTS, "gate")
    for verdict in gate["verdicts"]:
        if verdict["status"] not in set(Status):
            yield "gate.verdicts.status", verdict["status"]
        yield from _wrong(verdict.get("checks", []), [_CHECK], "gate.verdicts.checks")
    for row in run.results["rows"]:
        for template in row["by_template"]:
            if not (template.isascii() and template.isdigit()):
                yield "rows.by_template", template
        yield from _wrong(row.get("delta_vs_original", {}), _VALUES, "rows.delta_vs_original")
        for name, score in row["metrics"].items():
            if score.get("interval") is not None:
                yield from _wrong(score["interval"], _INTERVAL, f"rows.metrics.{name}.interval")
    for record in run.records:
        if record["outcome"] == "error":
            continue
        where = f"reply {shown(record['id'])}"
        yield from _wrong(record, _POSITIONS, where)
        if len(record["positions"]) != len(record["concepts"]):
            yield f"{where}.positions", record["positions"]


def _wrong(value: Any, wanted: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Each place that is not as wanted, with what is there instead.

    Wanted is a type, a tuple of types that may hold None, a list of one thing for a list of it, or a mapping: by `str`
    what every value has to be, otherwise keys that must be there.
    """
    if isinstance(wanted, Mapping):
        if not isinstance(value, Mapping):
            yield where, value
            return
        for key, of_key in wanted.items():
            for name in list(value) if key is str else [key]:
                place = f"{where}.{name}".removeprefix(".")
                if name in value or name in _MAY_BE_ABSENT:
                    yield from _wrong(value.get(name), of_key, place)
                else:
                    yield place, None
    elif isinstance(wanted, list):
        if not isinstance(value, list | tuple):
            yield where, value
            return
        for item in value:
            yield from _wrong(item, wanted[0], where)
    elif not any(_is_a(value, one) for one in (wanted if isinstance(wanted, tuple) else (wanted,))):
        yield where, value


def _is_a(value: Any, wanted: type | None) -> bool:
    if wanted is None:
        return value is None
    if wanted is float:
        return is_number(value)
    if wanted is int:
        return type(value) is int and value >= 0
    return isinstance(value, wanted)
