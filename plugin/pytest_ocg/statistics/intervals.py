"""The confidence interval of a metric over concept sets.

The replies to one concept set are not independent, so whole sets are resampled (a cluster bootstrap). No metric is
computed again: the contribution of each set is weighted by how often the set was drawn.
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
    """A metric and its confidence interval over concept sets; `reason` says why there are no `bounds`.

    `standard_error` is a first-order estimate, None for fewer than two sets; `sets` is the number of sets with a value.
    """

    value: float | None
    bounds: Bounds | None
    standard_error: float | None
    sets: int
    reason: str = ""


def intervals(
    row_statistics: RowStatistics, *, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Interval]:
    """The interval of each metric in the `statistics` of a results row, and of the ordered rate from two of them.

    The interval of a metric depends only on its own statistics and the seed.
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
    import numpy as np

    sets = draws.shape[1]
    value = table.whole()
    if math.isnan(value):
        return Interval(None, None, None, sets, "the divisor is 0")
    with np.errstate(over="ignore", invalid="ignore"):  # squares of very large values are infinite
        found = bounds(table.values(draws), sets, confidence)
        error = standard_error(table.influences())
    return Interval(value, found, error, sets, unbounded_reason(sets) if found is None else "")
