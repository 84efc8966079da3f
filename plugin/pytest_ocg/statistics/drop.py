"""How far a metric fell behind a baseline, and whether a limit on that is broken or the sets are too few to say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from pytest_ocg.statistics.intervals import Interval
from pytest_ocg.statistics.paired import Difference
from pytest_ocg.statistics.resampling import CONFIDENCE, MIN_SETS, POWER, smallest_change

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Drop:
    """By how many points a metric got worse, and by how many at least, with one-sided 95 % confidence.

    `at_least` is None where no interval could be taken. `smallest` is the drop that so many sets would show four times
    in five, `error` the standard error of the drop.
    """

    points: float
    at_least: float | None
    smallest: float | None
    error: float | None
    sets: int

    def is_beyond(self, limit: float) -> bool:
        """Whether the drop as measured is larger than the limit."""
        return self.points > limit + _ROUNDING

    def is_shown(self, limit: float) -> bool | None:
        """Whether the drop is larger than the limit with confidence; None where no interval could be taken."""
        return None if self.at_least is None else self.is_beyond(limit) and self.at_least > limit + _ROUNDING

    def sets_needed(self, limit: float) -> int | None:
        """How many sets would show a drop of this size to be beyond the limit; None where it is not, or no error known.

        They are found with the chance that `POWER` names, if sets go on to differ as these did.
        """
        if self.error is None or not self.is_beyond(limit):
            return None
        quantiles = NormalDist().inv_cdf(CONFIDENCE) + NormalDist().inv_cdf(POWER)
        return max(MIN_SETS, math.ceil(self.sets * (quantiles * self.error / (self.points - limit)) ** 2))


def drop_from_number(interval: Interval, baseline: float, *, is_lower_better: bool = False) -> Drop | None:
    """The drop from a baseline of which only the number is known; None where the metric has no value.

    The baseline is taken to be as uncertain as the metric, and independent of it. Both were measured on the same sets,
    so that is on the safe side: it alarms in at most 5 % where nothing changed, but sees less than `paired_drop`.
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
    """The drop from a baseline over the same sets; None where the metric is not known in both."""
    if difference.difference is None:
        return None
    at_least = None
    if difference.bounds is not None:
        at_least = difference.bounds.floor if is_lower_better else -difference.bounds.ceiling
    points = difference.difference if is_lower_better else -difference.difference
    return Drop(points, at_least, difference.smallest, difference.standard_error, difference.sets)
