"""The verdicts and values of a run and of the earlier runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_ocg.results.schema import Results, Row
from pytest_ocg.results.signature import differing_keys, run_signature
from pytest_ocg.results.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Point:
    """One row of one run; `differs` names the settings that differ from the row of the report."""

    started: str
    model: str
    condition: str
    shots: int
    verdict: Verdict | None
    values: Mapping[str, float | None]
    differs: tuple[str, ...]


def gate_history(results: Results, earlier: Iterable[Results]) -> tuple[tuple[Point, ...], ...]:
    """For each row its points by time, including this run; rows that were never run before are left out."""
    runs = sorted((*earlier, results), key=lambda run: str(run.run.started))
    histories = (_points(results, row, runs) for row in results.rows)
    return tuple(points for points in histories if len(points) > 1)


def _points(results: Results, row: Row, runs: Sequence[Results]) -> tuple[Point, ...]:
    wanted = run_signature(results, row)
    return tuple(
        Point(
            started=run.run.started,
            model=one.model,
            condition=one.condition,
            shots=one.shots,
            verdict=next((verdict for verdict in run.verdicts if _is_on(verdict, one)), None),
            values=one.values(),
            differs=(
                *differing_keys(run_signature(run, one), wanted),
                *(() if run.selection.complete else ("cases",)),
            ),
        )
        for run in runs
        for one in run.rows
        if one.name == row.name
    )


def _is_on(verdict: Verdict, row: Row) -> bool:
    return (
        verdict.model == row.model and verdict.condition in (None, row.condition) and verdict.shots in (None, row.shots)
    )
