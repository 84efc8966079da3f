"""One bound held against what was measured, how that is told, and the run that drops count from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_ocg.errors import CompareError, ResultsError, shown
from pytest_ocg.gate.thresholds import Bound, Limit, is_number
from pytest_ocg.results.comparability import dig
from pytest_ocg.results.comparison import RowComparison, compare
from pytest_ocg.results.files import Run
from pytest_ocg.statistics.differences import Difference, Drop, drop_from_number, paired_drop
from pytest_ocg.statistics.intervals import Interval
from pytest_ocg.statistics.resampling import Bounds

ROUNDING = 1e-9
_MOST_SETS = 10**9


@dataclass(frozen=True, slots=True)
class Fall:
    """How far a metric got worse than its baseline; `is_paired` where that is a run over the same sets."""

    baseline: float
    drop: Drop
    strict: bool
    is_paired: bool

    def is_too_far(self, limit: float) -> bool:
        """Whether the drop is beyond the limit and, unless `strict`, more than the noise of the sets."""
        return self.drop.is_beyond(limit) and (self.strict or self.drop.is_shown(limit) is not False)


@dataclass(frozen=True, slots=True)
class Check:
    """A bound and the value held against it, with the value's 95 % interval where there is one.

    `name` is the metric, after its part-of-speech pattern where it is of one alone. `fall` is there for `max_drop` and
    `max_rise`; `reason` says why there is no interval, of the value or of its difference to a baseline run.
    """

    name: str
    bound: Bound
    limit: float
    value: float
    interval: tuple[float, float] | None
    reason: str
    fall: Fall | None = None

    @property
    def holds(self) -> bool:
        """Whether the value keeps the bound; exactly at it does."""
        if self.fall is not None:
            return not self.fall.is_too_far(self.limit)
        if self.bound == "min":
            return not self.value < self.limit - ROUNDING
        return not self.value > self.limit + ROUNDING

    def __str__(self) -> str:
        if self.fall is not None:
            return self._fall_told(self.fall)
        decimals = len(repr(self.limit).partition(".")[2])
        value, limit = told_apart(self.value, self.limit, at_least=max(1, min(decimals, 6)))
        side = f"{'not ' if self.holds else ''}{'under' if self.bound == 'min' else 'over'}"
        return f"{self.name} {value}{self._interval_told()} {side} {limit}"

    def as_json(self) -> dict[str, Any]:
        """The check as plain data, with what it says."""
        return {
            "metric": self.name,
            "bound": self.bound,
            "limit": self.limit,
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "holds": self.holds,
            "says": str(self),
            "fall": None if self.fall is None else asdict(self.fall),
        }

    def _interval_told(self) -> str:
        return "" if self.interval is None else f" [{self.interval[0]:.1f}, {self.interval[1]:.1f}]"

    def _fall_told(self, fall: Fall) -> str:
        drop, limit = fall.drop, self.limit
        is_beyond = drop.is_beyond(limit)
        points, bound = told_apart(drop.points, limit) if is_beyond else (f"{abs(drop.points):.1f}", f"{limit}")
        side = "under" if (self.bound == "max_drop") == (drop.points >= 0) else "over"
        baseline = "the baseline run's" if fall.is_paired else "its baseline of"
        told = f"{self.name} {self.value:.1f}{self._interval_told()} is {points} {side} {baseline} {fall.baseline:.1f}"
        if not is_beyond:
            return f"{told}, within {self.bound} {bound} ({self._power_told(drop)})"
        told += f", beyond {self.bound} {bound}"
        if drop.at_least is None:
            return f"{told}; by the numbers alone, for there is no interval ({self.reason})"
        if drop.is_shown(limit):
            return f"{told}; {drop.sets} concept sets show {drop.at_least:.1f} or more"
        unsure = self._power_told(drop)
        needed = drop.sets_needed(limit)
        if needed is not None:
            unsure += f"; to show this one takes about {needed:,} sets"
        spoke = "; by the numbers alone, for it is strict" if fall.strict else ", but within noise"
        return f"{told}{spoke} ({unsure})"

    def _power_told(self, drop: Drop) -> str:
        if drop.smallest is None:
            return f"what would be noise is not known: {self.reason or 'the sets do not differ'}"
        word = "drop" if self.bound == "max_drop" else "rise"
        return f"{drop.sets} concept sets can show a {word} of {self.limit + drop.smallest:.1f}"


def checks(
    name: str, score: Mapping[str, Any], limit: Limit, difference: Difference | None, *, has_run: bool
) -> Iterator[Check]:
    """The check of each bound on a metric whose score is a number.

    With `has_run` there is a baseline run, and `difference` is how the metric differs from it; the baseline's number in
    the limit does not count then, and without a difference there is no check.
    """
    value, interval = float(score["value"]), interval_of(score)
    around = None if interval.bounds is None else (interval.bounds.low, interval.bounds.high)
    for bound, most in limit.bounds().items():
        fall, reason = None, interval.reason
        if bound in ("max_drop", "max_rise"):
            fall = _fall(interval, limit, difference, is_rise=bound == "max_rise", has_run=has_run)
            if fall is None:
                continue
            reason = interval.reason if difference is None else difference.reason
        yield Check(name, bound, most, value, around, reason, fall)


def score_of(row: Mapping[str, Any], pattern: str | None, metric: str) -> Any:
    """What a results row has of a metric, over all cases or those of one pattern, as under its `metrics`."""
    score = dig(row, "metrics", metric)
    if pattern is None:
        return score
    of_pattern = dig(row, "by_pattern", pattern)
    return {
        "value": dig(of_pattern, metric),
        "n": dig(of_pattern, "scored"),
        "signature": dig(score, "signature"),
        "reason": f"there is no reply to a case of {pattern}",
        "interval_reason": "there is none by pattern",
    }


def interval_of(score: object) -> Interval:
    """The interval that a score in `results.json` has; numbers that make no sense are none."""
    value, error, sets = (dig(score, key) for key in ("value", "standard_error", "sets"))
    ends = [dig(score, "interval", end) for end in ("low", "high", "floor", "ceiling")]
    bounds = Bounds(*map(float, ends)) if all(map(_can_be_squared, ends)) else None
    reason = dig(score, "interval_reason")
    return Interval(
        float(value) if is_number(value) else None,
        bounds,
        float(error) if _can_be_squared(error) and error >= 0 else None,
        sets if type(sets) is int and 0 < sets <= _MOST_SETS else 0,
        "" if bounds is not None else shown(reason) if reason else "the results have none",
    )


def _can_be_squared(value: Any) -> bool:
    return is_number(value) and abs(value) <= 1e100


def told_apart(one: float, other: float, at_least: int = 1) -> tuple[str, str]:
    """Both numbers with as few decimals as make them look different, where they are."""
    for digits in range(at_least, 7):
        texts = f"{one:.{digits}f}", f"{other:.{digits}f}"
        if texts[0] != texts[1]:
            return texts
    return repr(one), repr(other)


def _fall(
    interval: Interval, limit: Limit, difference: Difference | None, *, is_rise: bool, has_run: bool
) -> Fall | None:
    if has_run:
        drop = None if difference is None else paired_drop(difference, is_lower_better=is_rise)
        baseline = None if difference is None else difference.old
    else:
        baseline = limit.baseline
        drop = None if baseline is None else drop_from_number(interval, baseline, is_lower_better=is_rise)
    if drop is None or baseline is None:
        return None
    return Fall(baseline, drop, limit.strict, is_paired=has_run)


@dataclass(frozen=True, slots=True)
class BaselineRun:
    """The comparison with a baseline, row by row; `refusal` is why there is none."""

    path: Path
    rows: tuple[RowComparison, ...] = ()
    refusal: str = ""

    def difference(self, row: Mapping[str, Any], metric: str) -> Difference | None:
        """How the metric of a results row differs from the baseline's, None where that is not known."""
        found = (one for compared in self._compared(row) for one in compared.differences if one.metric == metric)
        return next(found, None)

    def problem(self, row: Mapping[str, Any], name: str) -> str:
        """Why a metric cannot be held against the baseline."""
        if self.refusal:
            return f"the baseline run cannot be counted from, for `ocg compare` refuses it: {self.refusal}"
        missing = name if self._compared(row) else f"row of {shown(row.get('model'))} {shown(row.get('condition'))}"
        return f"the baseline run {str(self.path)!r} has no {missing}"

    def _compared(self, row: Mapping[str, Any]) -> list[RowComparison]:
        key = (row.get("model"), row.get("condition"))
        return [compared for compared in self.rows if (compared.new_model, compared.condition) == key]


def hold_against(baseline: Run, run: Run) -> BaselineRun:
    """The run compared with the baseline, paired by concept set (`ocg compare`)."""
    try:
        return BaselineRun(baseline.path, compare(baseline, run).rows)
    except (CompareError, ResultsError) as error:
        return BaselineRun(baseline.path, refusal=str(error))
