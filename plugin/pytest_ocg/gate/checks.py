"""One bound compared with a measured value, its description in words, and the baseline run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_ocg.errors import CompareError, ResultsError, quote
from pytest_ocg.gate.thresholds import Limit
from pytest_ocg.results.comparison import RowComparison, compare
from pytest_ocg.results.files import Run
from pytest_ocg.results.schema import MetricScore, Row
from pytest_ocg.results.verdicts import Bound, Check, Fall
from pytest_ocg.statistics.differences import Difference, Drop, drop_from_number, paired_drop
from pytest_ocg.statistics.intervals import Interval
from pytest_ocg.statistics.limits import LARGEST_SUM

ROUNDING = 1e-9
_MOST_SETS = 10**9


def checks(
    name: str, score: MetricScore, limit: Limit, difference: Difference | None, *, has_run: bool
) -> Iterator[Check]:
    """The check of each bound on a metric whose score is a number.

    `name` is the metric, with its part-of-speech pattern in front if the limit is for one pattern. `has_run`: there is
    a baseline run, and `difference` is how the metric differs from it. Then the baseline number of the limit is not
    used, and a drop or rise without a difference is not checked.
    """
    assert score.value is not None
    interval = interval_of(score)
    for bound, most in limit.bounds().items():
        fall, reason = None, interval.reason
        if bound in ("max_drop", "max_rise"):
            fall = _fall(interval, limit, difference, is_rise=bound == "max_rise", has_run=has_run)
            if fall is None:
                continue
            reason = interval.reason if difference is None else difference.reason
        yield _check(name, bound, most, score.value, interval, reason, fall)


def score_of(row: Row, pattern: str | None, metric: str) -> MetricScore | None:
    """The score of a metric in a results row, over all cases or the cases of one pattern."""
    score = row.metrics.get(metric)
    if pattern is None:
        return score
    of_pattern = row.by_pattern.get(pattern)
    return MetricScore(
        value=None if of_pattern is None else getattr(of_pattern, metric),
        n=0 if of_pattern is None else of_pattern.scored,
        signature=None if score is None else score.signature,
        reason=f"there is no reply to any case of {pattern}",
        interval=None,
        standard_error=None,
        sets=0,
        interval_reason="there is no interval for a single pattern",
    )


def interval_of(score: MetricScore) -> Interval:
    """The interval of a score in `results.json`; an interval with ends too large to square counts as none."""
    bounds = score.interval
    if bounds is not None and any(
        abs(end) > LARGEST_SUM for end in (bounds.low, bounds.high, bounds.floor, bounds.ceiling)
    ):
        bounds = None
    error = score.standard_error
    return Interval(
        score.value,
        bounds,
        error if error is not None and error <= LARGEST_SUM else None,
        score.sets if score.sets <= _MOST_SETS else 0,
        ""
        if bounds is not None
        else quote(score.interval_reason)
        if score.interval_reason
        else "the results have no interval",
    )


def distinct_texts(one: float, other: float, at_least: int = 1) -> tuple[str, str]:
    """Both numbers as text, with just enough decimals to look different if they are different."""
    for digits in range(at_least, 7):
        texts = f"{one:.{digits}f}", f"{other:.{digits}f}"
        if texts[0] != texts[1]:
            return texts
    return repr(one), repr(other)


def _check(
    name: str, bound: Bound, limit: float, value: float, interval: Interval, reason: str, fall: Fall | None
) -> Check:
    if fall is not None:
        holds = not fall.is_too_far(limit)
    elif bound == "min":
        holds = not value < limit - ROUNDING
    else:
        holds = not value > limit + ROUNDING
    around = None if interval.bounds is None else (interval.bounds.low, interval.bounds.high)
    if fall is None:
        decimals = len(repr(limit).partition(".")[2])
        texts = distinct_texts(value, limit, at_least=max(1, min(decimals, 6)))
        side = f"{'not ' if holds else ''}{'under' if bound == 'min' else 'over'}"
        words = f"{name} {texts[0]}{_interval_text(around)} {side} {texts[1]}"
    else:
        head = f"{name} {value:.1f}{_interval_text(around)}"
        words = _describe_fall(head, bound, limit, fall, reason)
    return Check(name, bound, limit, value, around, holds, words, fall)


def _interval_text(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f" [{interval[0]:.1f}, {interval[1]:.1f}]"


def _describe_fall(head: str, bound: Bound, limit: float, fall: Fall, reason: str) -> str:
    drop = fall.drop
    is_beyond = drop.is_beyond(limit)
    points, most = distinct_texts(drop.points, limit) if is_beyond else (f"{abs(drop.points):.1f}", f"{limit}")
    side = "under" if (bound == "max_drop") == (drop.points >= 0) else "over"
    baseline = "the baseline run's" if fall.is_paired else "its baseline of"
    text = f"{head} is {points} {side} {baseline} {fall.baseline:.1f}"
    if not is_beyond:
        return f"{text}, within {bound} {most} ({_describe_power(bound, limit, drop, reason)})"
    text += f", beyond {bound} {most}"
    if drop.at_least is None:
        return f"{text}; only the numbers decide, because there is no interval ({reason})"
    if drop.is_shown(limit):
        return f"{text}; {drop.sets} concept sets detect a {_direction(bound)} of {drop.at_least:.1f} or more"
    power = _describe_power(bound, limit, drop, reason)
    needed = drop.sets_needed(limit)
    if needed is not None:
        power += f"; about {needed:,} sets are needed to detect this one"
    decision = "; only the numbers decide, because strict is true" if fall.strict else ", but within noise"
    return f"{text}{decision} ({power})"


def _describe_power(bound: Bound, limit: float, drop: Drop, reason: str) -> str:
    if drop.smallest is None:
        return f"the noise is not known: {reason or 'the sets do not differ'}"
    return f"{drop.sets} concept sets can detect a {_direction(bound)} of {limit + drop.smallest:.1f}"


def _direction(bound: Bound) -> str:
    return "drop" if bound == "max_drop" else "rise"


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
    """The comparison with a baseline run, row by row; `refusal` is why the runs cannot be compared."""

    path: Path
    rows: tuple[RowComparison, ...] = ()
    refusal: str = ""

    def difference(self, row: Row, metric: str) -> Difference | None:
        """How the metric of a results row differs from the baseline's, None where that is not known."""
        found = (one for compared in self._compared(row) for one in compared.differences if one.metric == metric)
        return next(found, None)

    def problem(self, row: Row, name: str) -> str:
        """Why a metric cannot be compared with the baseline."""
        if self.refusal:
            return f"the baseline run cannot be used, because `ocg compare` refuses it: {self.refusal}"
        missing = name if self._compared(row) else f"row of {quote(row.model)} {quote(row.condition)}"
        return f"the baseline run {str(self.path)!r} has no {missing}"

    def _compared(self, row: Row) -> list[RowComparison]:
        key = (row.model, row.condition)
        return [compared for compared in self.rows if (compared.new_model, compared.condition) == key]


def compare_with_baseline(baseline: Run, run: Run) -> BaselineRun:
    """The run compared with the baseline, paired by concept set (`ocg compare`)."""
    try:
        return BaselineRun(baseline.path, compare(baseline, run).rows)
    except (CompareError, ResultsError) as error:
        return BaselineRun(baseline.path, refusal=str(error))
