"""Two runs over the same concept sets: the difference of each metric, and whether a drop is more than noise."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from pytest_ocg.statistics.intervals import Interval
from pytest_ocg.statistics.resampling import (
    CONFIDENCE,
    MIN_SETS,
    POWER,
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
    """A metric of two runs over the `sets` that have a value in both, and `new` minus `old`.

    `p` is the p value of the two-sided swap test, `p_holm` the same adjusted for all compared metrics. `smallest` is
    the change for the worse that this number of sets detects with 80 % power. `reason` says what is missing and why.
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
    """The difference of each metric that has statistics in both rows, except those in `without`.

    Sets are paired by name.
    """
    found = []
    for metric in metric_names(old):
        if metric not in metric_names(new) or metric in without:
            continue
        sets = sorted(sets_of(old, metric) & sets_of(new, metric))
        templates = templates_of(old, metric) & templates_of(new, metric)
        if not sets or not templates:
            found.append(_missing_difference(metric, 0, "no concept set has a value in both"))
            continue
        before, after = (set_table(statistics, metric, sets, templates) for statistics in (old, new))
        draws = drawn_sets(len(sets), resamples, seed)
        found.append(_difference(metric, before, after, draws, _swaps(len(sets), swaps, seed), confidence))
    adjusted = holm({difference.metric: difference.p for difference in found if difference.p is not None})
    return tuple(replace(difference, p_holm=adjusted.get(difference.metric)) for difference in found)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """The p values adjusted by the step-down method of Holm: a limit of 0.05 then applies to all of them together."""
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = highest
    return adjusted


def mcnemar(rose: int, fell: int) -> float:
    """The exact two-sided p of McNemar's test, whose null hypothesis is that both directions are equally likely."""
    changed = rose + fell
    tail = sum(math.comb(changed, number) for number in range(min(rose, fell) + 1))
    return min(1.0, 2 * tail / (1 << changed))


def _difference(
    metric: str, old: SetTable, new: SetTable, draws: NDArray[Any], swapped: NDArray[Any], confidence: float
) -> Difference:
    sets = draws.shape[1]
    before, after = old.whole(), new.whole()
    if math.isnan(before) or math.isnan(after):
        return _missing_difference(metric, sets, "in one of the runs there is nothing to divide by")
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
    """The share of swaps with at least the measured difference; a swap without a value is counted as such a swap."""
    import numpy as np

    kept = 1 - swapped
    differs = both.values(np.hstack([swapped, kept])) - both.values(np.hstack([kept, swapped]))
    return float(np.mean(~(np.abs(differs) < abs(difference) - _ROUNDING)))


def _swaps(sets: int, most: int, seed: int) -> NDArray[Any]:
    """The sets that change sides, one row for each swap: all swaps if there are at most `most`, else `most` at random.

    If neither run is better, the side of each set is random (the permutation test for pairs). Swapping whole sets is
    exact also for ratios and unequal counts. The first row swaps nothing, so p is never zero.
    """
    import numpy as np

    if 2**sets <= most:
        every: NDArray[Any] = (np.arange(2**sets)[:, None] >> np.arange(sets)) & 1
        return every.astype(np.float64)
    chosen = np.random.default_rng(seed).integers(0, 2, size=(most, sets)).astype(np.float64)
    chosen[0] = 0
    return chosen


def _missing_difference(metric: str, sets: int, reason: str) -> Difference:
    return Difference(metric, None, None, None, None, None, None, None, None, sets, reason)


@dataclass(frozen=True, slots=True)
class Drop:
    """The drop of a metric in points, and its lower bound with one-sided 95 % confidence.

    `at_least` is None if there is no interval. `smallest` is the drop that this number of sets detects with 80 % power,
    `error` the standard error of the drop.
    """

    points: float
    at_least: float | None
    smallest: float | None
    error: float | None
    sets: int

    def is_beyond(self, limit: float) -> bool:
        """Whether the measured drop is larger than the limit."""
        return self.points > limit + _ROUNDING

    def is_shown(self, limit: float) -> bool | None:
        """Whether the drop is larger than the limit with confidence; None if there is no interval."""
        return None if self.at_least is None else self.is_beyond(limit) and self.at_least > limit + _ROUNDING

    def sets_needed(self, limit: float) -> int | None:
        """The number of sets that detects this drop beyond the limit; None if it is within, or no error is known.

        They detect it with the probability `POWER`, if other sets vary as much as these.
        """
        if self.error is None or not self.is_beyond(limit):
            return None
        quantiles = NormalDist().inv_cdf(CONFIDENCE) + NormalDist().inv_cdf(POWER)
        return max(MIN_SETS, math.ceil(self.sets * (quantiles * self.error / (self.points - limit)) ** 2))


def drop_from_number(interval: Interval, baseline: float, *, is_lower_better: bool = False) -> Drop | None:
    """The drop from a baseline with a known number only; None if the metric has no value.

    We assume that the baseline is as uncertain as the metric and independent of it. Both were measured on the same
    sets, so this is conservative: at most 5 % false alarms, but less power than `paired_drop`.
    """
    if interval.value is None:
        return None
    sign, wider = -1 if is_lower_better else 1, math.sqrt(2)
    reach = None
    if interval.bounds is not None:
        reach = abs((interval.bounds.floor if is_lower_better else interval.bounds.ceiling) - interval.value)
    error = None if interval.standard_error is None else wider * interval.standard_error
    points = sign * (baseline - interval.value)
    at_least = None if reach is None else points - wider * reach
    return Drop(points, at_least, smallest_change(error, interval.sets), error, interval.sets)


def paired_drop(difference: Difference, *, is_lower_better: bool = False) -> Drop | None:
    """The drop from a baseline over the same sets; None unless both have a value of the metric."""
    if difference.difference is None:
        return None
    at_least = None
    if difference.bounds is not None:
        at_least = difference.bounds.floor if is_lower_better else -difference.bounds.ceiling
    points = difference.difference if is_lower_better else -difference.difference
    return Drop(points, at_least, difference.smallest, difference.standard_error, difference.sets)
