"""How far a metric can be trusted: its interval over concept sets.

The replies to one concept set are not independent, so sets are what is drawn again (a cluster bootstrap). No metric is
computed anew: what each set adds to it is weighted by how often the set was drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ocg.statistics.resampling import (
    CONFIDENCE,
    RESAMPLES,
    Bounds,
    RowStatistics,
    SetTable,
    bounds,
    drawn_sets,
    metric_names,
    set_table,
    sets_of,
    standard_error,
    unbounded_reason,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a metric lies, going by how much concept sets differ; `reason` says why there are no `bounds`.

    `standard_error` is the first-order one, None for fewer than two sets; `sets` is how many have a value.
    """

    value: float | None
    bounds: Bounds | None
    standard_error: float | None
    sets: int
    reason: str = ""


def intervals(
    row_statistics: RowStatistics, *, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Interval]:
    """The interval of each metric in the `statistics` of a results row, and of the ordered rate made from two of them.

    A metric's interval depends on its own statistics and the seed alone.
    """
    found = {}
    for metric in metric_names(row_statistics):
        sets = sorted(sets_of(row_statistics, metric))
        if not sets:
            found[metric] = Interval(None, None, None, 0, "no concept set has a value")
            continue
        draws = drawn_sets(len(sets), resamples, seed)
        found[metric] = _interval(set_table(row_statistics, metric, sets), draws, confidence)
    return found


def _interval(table: SetTable, draws: NDArray[Any], confidence: float) -> Interval:
    sets = draws.shape[1]
    value = table.whole()
    if math.isnan(value):
        return Interval(None, None, None, sets, "there is nothing to divide by")
    found = bounds(table.values(draws), sets, confidence)
    return Interval(
        value, found, standard_error(table.influences()), sets, unbounded_reason(sets) if found is None else ""
    )
