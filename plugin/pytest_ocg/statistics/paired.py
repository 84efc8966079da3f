"""Two runs over the same concept sets, metric by metric: what differs, and whether the sets agree on it.

Differences are paired by concept set: a set that is hard is hard in both runs, so most of what makes one run's interval
wide falls away.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
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
    smallest_change,
    standard_error,
    templates_of,
    unbounded_reason,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

SWAPS = 1 << 13
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric of two runs over the `sets` that both have a value for, and `new` minus `old`.

    `p` is of the two-sided swap test, `p_holm` the same adjusted for all metrics compared. `smallest` is the change
    for the worse that so many sets would show four times in five. `reason` says what is missing and why.
    """

    metric: str
    old: float | None
    new: float | None
    difference: float | None
    bounds: Bounds | None
    p: float | None
    p_holm: float | None
    standard_error: float | None
    smallest: float | None
    sets: int
    reason: str = ""


def differences(
    old: RowStatistics,
    new: RowStatistics,
    *,
    without: Collection[str] = (),
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    swaps: int = SWAPS,
    seed: int = 0,
) -> tuple[Difference, ...]:
    """The difference in each metric that both rows have statistics of, but those `without`.

    Sets are paired by name.
    """
    found = []
    for metric in metric_names(old):
        if metric not in metric_names(new) or metric in without:
            continue
        sets = sorted(sets_of(old, metric) & sets_of(new, metric))
        templates = templates_of(old, metric) & templates_of(new, metric)
        if not sets or not templates:
            found.append(_unknown(metric, 0, "no concept set has a value in both"))
            continue
        before, after = (set_table(statistics, metric, sets, templates) for statistics in (old, new))
        draws = drawn_sets(len(sets), resamples, seed)
        found.append(_difference(metric, before, after, draws, _swaps(len(sets), swaps, seed), confidence))
    adjusted = holm({difference.metric: difference.p for difference in found if difference.p is not None})
    return tuple(replace(difference, p_holm=adjusted.get(difference.metric)) for difference in found)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """The p values adjusted by Holm's step-down method: below 0.05 holds for all of them together."""
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = highest
    return adjusted


def mcnemar(rose: int, fell: int) -> float:
    """The exact two-sided p of McNemar's test: of all that changed, as many one way as the other."""
    changed = rose + fell
    tail = sum(math.comb(changed, number) for number in range(min(rose, fell) + 1))
    return min(1.0, 2 * tail / (1 << changed))


def _difference(
    metric: str, old: SetTable, new: SetTable, draws: NDArray[Any], swapped: NDArray[Any], confidence: float
) -> Difference:
    sets = draws.shape[1]
    before, after = old.whole(), new.whole()
    if math.isnan(before) or math.isnan(after):
        return _unknown(metric, sets, "there is nothing to divide by in one of them")
    found = bounds(new.values(draws) - old.values(draws), sets, confidence)
    error = standard_error(new.influences() - old.influences())
    return Difference(
        metric,
        before,
        after,
        after - before,
        found,
        _p_value(old.beside(new), after - before, swapped),
        None,
        error,
        smallest_change(error, sets, confidence),
        sets,
        unbounded_reason(sets) if found is None else "",
    )


def _p_value(both: SetTable, difference: float, swapped: NDArray[Any]) -> float:
    """The share of swaps under which the runs differ as much as they do; a swap that leaves no value counts as one."""
    import numpy as np

    kept = 1 - swapped
    differs = both.values(np.hstack([swapped, kept])) - both.values(np.hstack([kept, swapped]))
    return float(np.mean(~(np.abs(differs) < abs(difference) - _ROUNDING)))


def _swaps(sets: int, most: int, seed: int) -> NDArray[Any]:
    """Which sets change sides, a row a swap: all there are where they are at most `most`, else as many at random.

    If neither run is better, which of its two sides a set has is chance (the permutation test for pairs). Swapping
    whole sets is exact for ratios and unequal counts as well. The first row swaps nothing, so no p is zero.
    """
    import numpy as np

    if 2**sets <= most:
        every: NDArray[Any] = (np.arange(2**sets)[:, None] >> np.arange(sets)) & 1
        return every.astype(np.float64)
    chosen = np.random.default_rng(seed).integers(0, 2, size=(most, sets)).astype(np.float64)
    chosen[0] = 0
    return chosen


def _unknown(metric: str, sets: int, reason: str) -> Difference:
    return Difference(metric, None, None, None, None, None, None, None, None, sets, reason)
