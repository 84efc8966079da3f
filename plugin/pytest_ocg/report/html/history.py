"""What the gate said of a run and of the ones before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ocg.gate.judge import Status, Verdict
from pytest_ocg.results.comparability import differing_keys, run_signature


@dataclass(frozen=True, slots=True)
class Point:
    """One row of one run; `differs` is in what it was run otherwise than the row it is history to."""

    started: str
    model: str
    condition: str
    shots: int
    verdict: Verdict | None
    values: Mapping[str, float | None]
    differs: tuple[str, ...]


def recorded_verdicts(results: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """What the gate said when the run ended, without what was held against each row."""
    return tuple(
        Verdict(
            verdict["model"],
            Status(verdict["status"]),
            tuple(verdict["reasons"]),
            name=verdict.get("name", ""),
            condition=verdict.get("condition"),
            shots=verdict.get("shots"),
        )
        for verdict in results.get("gate", {}).get("verdicts", ())
    )


def gate_history(results: Mapping[str, Any], earlier: Iterable[Mapping[str, Any]]) -> tuple[tuple[Point, ...], ...]:
    """For each row of the run its points by time, itself among them; a row that was never run before has none."""
    runs = sorted((*earlier, results), key=lambda run: str(run["run"]["started"]))
    histories = (_points(results, row, runs) for row in results["rows"])
    return tuple(points for points in histories if len(points) > 1)


def _points(results: Mapping[str, Any], row: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> tuple[Point, ...]:
    wanted, key = run_signature(results, row), _key(row)
    return tuple(
        Point(
            started=run["run"]["started"],
            model=one["model"],
            condition=one["condition"],
            shots=one["shots"],
            verdict=next((verdict for verdict in recorded_verdicts(run) if _is_on(verdict, one)), None),
            values={name: score["value"] for name, score in one["metrics"].items()},
            differs=(
                *differing_keys(run_signature(run, one), wanted),
                *(() if run["selection"]["complete"] else ("cases",)),
            ),
        )
        for run in runs
        for one in run["rows"]
        if _key(one) == key
    )


def _is_on(verdict: Verdict, row: Mapping[str, Any]) -> bool:
    return (
        verdict.model == row["model"]
        and verdict.condition in (None, row["condition"])
        and verdict.shots in (None, row["shots"])
    )


def _key(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return row["model"], row["condition"], row["shots"]
