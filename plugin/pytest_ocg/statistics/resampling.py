"""Metrics over resampled concept sets, from the contribution of each set."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

RowStatistics = Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]
"""Metric, template, concept set: a sum in the metric's unit and the number of values (`metrics.base.SetStatistic`)."""

CONFIDENCE = 0.95
POWER = 0.8
RESAMPLES = 2000

MIN_SETS = 6
"""The fewest sets whose range contains the metric in 95 % of samples: 1 - 2 / 2**6."""

RATIOS: Mapping[str, tuple[str, str]] = {"ordered_rate": ("coverage_ordered", "coverage_unordered")}
"""Metrics that are the ratio of two metrics, in percent, of the averages over templates."""


@dataclass(frozen=True, slots=True, eq=False)
class SetTable:
    """The contribution of each concept set to a metric: `totals` and `counts` are arrays of templates x sets.

    For a metric that is a ratio in percent, `below` is the table of the divisor, over the same sets.
    """

    totals: NDArray[Any]
    counts: NDArray[Any]
    below: SetTable | None = None

    def values(self, weights: NDArray[Any]) -> NDArray[Any]:
        """The metric for each row of `weights` (draws x sets, how often a set is drawn); NaN if it has no value."""
        import numpy as np

        # einsum and not a matrix product: on a busy machine the threads of BLAS take much longer than these sums.
        counts = np.einsum("ds,ts->dt", weights, self.counts)
        totals = np.einsum("ds,ts->dt", weights, self.totals)
        means = np.divide(totals, counts, out=np.zeros_like(totals), where=counts > 0)
        value = _ratio(means.sum(axis=1), (counts > 0).sum(axis=1))
        return value if self.below is None else 100 * _ratio(value, self.below.values(weights))

    def whole(self) -> float:
        """The metric over all sets, each counted once; NaN if it has no value."""
        import numpy as np

        return float(self.values(np.ones((1, self.totals.shape[1])))[0])

    def influences(self) -> NDArray[Any]:
        """The first-order influence of each set on a metric with a value; the sum is zero."""
        has_values = self.counts.sum(axis=1) > 0
        totals, counts = self.totals[has_values], self.counts[has_values]
        number = counts.sum(axis=1, keepdims=True)
        means = totals.sum(axis=1, keepdims=True) / number
        moved: NDArray[Any] = ((totals - means * counts) / number).mean(axis=0)
        if self.below is None:
            return moved
        below = self.below.whole()
        moved -= float(means.mean()) / below * self.below.influences()
        return moved * (100 / below)

    def beside(self, other: SetTable) -> SetTable:
        """Both tables as one: the sets of this table, then the sets of the other."""
        import numpy as np

        below = None if self.below is None or other.below is None else self.below.beside(other.below)
        return SetTable(np.hstack([self.totals, other.totals]), np.hstack([self.counts, other.counts]), below)


@dataclass(frozen=True, slots=True)
class Bounds:
    """A two-sided interval from `low` to `high`, and one-sided: at least `floor`, at most `ceiling`."""

    low: float
    high: float
    floor: float
    ceiling: float


def metric_names(statistics: RowStatistics) -> list[str]:
    """The metrics that can be computed from the statistics, with the ratios."""
    return [*statistics, *(name for name, parts in RATIOS.items() if set(parts) <= statistics.keys())]


def sets_of(statistics: RowStatistics, metric: str) -> set[str]:
    """The concept sets with a value of the metric under at least one template."""
    part, *others = RATIOS.get(metric, (metric,))
    found = {name for of_template in statistics[part].values() for name, (_, count) in of_template.items() if count}
    return found.intersection(*(sets_of(statistics, other) for other in others))


def templates_of(statistics: RowStatistics, metric: str) -> set[str]:
    """The templates with statistics of the metric."""
    return set.intersection(*(set(statistics[part]) for part in RATIOS.get(metric, (metric,))))


def set_table(
    statistics: RowStatistics, metric: str, sets: Sequence[str], templates: Collection[str] | None = None
) -> SetTable:
    """The table of a metric over `sets`, in this order, under `templates` or all templates.

    A set that is missing under a template contributes nothing.
    """
    import numpy as np

    chosen = sorted(templates_of(statistics, metric) if templates is None else templates, key=int)
    if metric in RATIOS:
        above, below = (set_table(statistics, part, sets, chosen) for part in RATIOS[metric])
        return SetTable(above.totals, above.counts, below)
    of_metric = statistics[metric]
    pairs = [[of_metric[template].get(name, (0.0, 0)) for name in sets] for template in chosen]
    totals, counts = np.moveaxis(np.array(pairs, np.float64), -1, 0)
    return SetTable(totals, counts)


@lru_cache(maxsize=2)
def drawn_sets(sets: int, resamples: int, seed: int) -> NDArray[Any]:
    """How often each of `sets` sets is drawn in each of `resamples` draws of `sets` sets with replacement."""
    import numpy as np

    draws = np.random.default_rng(seed).multinomial(sets, [1 / sets] * sets, size=resamples).astype(np.float64)
    draws.flags.writeable = False
    return draws


def bounds(values: NDArray[Any], sets: int, confidence: float) -> Bounds | None:
    """The expanded percentile interval of resampled `values`; None for too few sets or too many undefined values.

    The percentiles are those of a Student interval (Hesterberg 2015, section 3.4): plain ones are too narrow for few
    sets.
    """
    import numpy as np

    defined = values[np.isfinite(values)]
    if sets < MIN_SETS or len(defined) < confidence * len(values):
        return None
    two_sided, one_sided = _tail((1 - confidence) / 2, sets), _tail(1 - confidence, sets)
    return Bounds(*np.quantile(defined, [two_sided, 1 - two_sided, one_sided, 1 - one_sided]).tolist())


def standard_error(influences: NDArray[Any]) -> float | None:
    """The standard error of a metric from the influences of its sets; None for one set."""
    sets = len(influences)
    return float((influences**2).sum() * sets / (sets - 1)) ** 0.5 if sets > 1 else None


def smallest_change(error: float | None, sets: int, confidence: float = CONFIDENCE) -> float | None:
    """The smallest change for the worse that this number of sets detects with POWER, one-sided.

    `error` is the standard error of the change. None for too few sets, and if the sets do not differ.
    """
    if not error or sets < MIN_SETS:
        return None
    return (student_quantile(confidence, sets - 1) + student_quantile(POWER, sets - 1)) * error


def unbounded_reason(sets: int) -> str:
    """The reason why `bounds` is None."""
    if sets >= MIN_SETS:
        return "many draws of concept sets have no value"
    return f"{sets} concept {'set' if sets == 1 else 'sets'}; an interval needs {MIN_SETS} or more"


def student_quantile(share: float, freedom: int) -> float:
    """The quantile of Student's t distribution by Fisher's expansion; the error is at most 0.01 from `freedom` 5 on."""
    z = NormalDist().inv_cdf(share)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def _tail(share: float, sets: int) -> float:
    return NormalDist().cdf(student_quantile(share, sets - 1) * (sets / (sets - 1)) ** 0.5)


def _ratio(above: NDArray[Any], below: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    divided: NDArray[Any] = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return divided
