"""Coverage without and with order, and the ordered rate, from counts of verdicts (docs/definitions.md, Metrics)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_ocg.errors import MetricError
from pytest_ocg.metrics.base import Measurement, Score, SetKey, SetStatistic, measurement

_NOTHING_SCORED = "no reply was scored"


@dataclass(frozen=True, slots=True)
class SetVerdict:
    """Of one set under one template: replies scored (without errors), replies that cover it, that cover it in order."""

    scored: int
    covered: int
    in_order: int

    def __post_init__(self) -> None:
        if not 0 <= self.in_order <= self.covered <= self.scored:
            raise MetricError(
                f"verdicts of a set must be 0 <= in order <= covered <= scored, not {self.in_order!r} in order, "
                f"{self.covered!r} covered, {self.scored!r} scored"
            )


Verdicts = Mapping[SetKey, SetVerdict]


@dataclass(frozen=True, slots=True)
class OrderMeasurements:
    """The three metrics that need verdicts only; the attributes are the names of the metrics."""

    coverage_unordered: Measurement
    coverage_ordered: Measurement
    ordered_rate: Measurement


def measure_order(verdicts: Verdicts, *, matcher: str) -> OrderMeasurements:
    """Coverage without order, with order, and the ordered rate, in percent; `count` is the number of scored replies.

    `matcher` is the signature of the matcher that made the verdicts; it is part of each metric's signature.
    """
    recipe = f"share:replies|mean:replies,templates|matcher:{matcher}"
    scored = {key: verdict for key, verdict in verdicts.items() if verdict.scored}
    unordered = measurement(
        {key: SetStatistic(100.0 * verdict.covered, verdict.scored) for key, verdict in scored.items()},
        f"hit:covered|{recipe}",
        reason=_NOTHING_SCORED,
    )
    ordered = measurement(
        {key: SetStatistic(100.0 * verdict.in_order, verdict.scored) for key, verdict in scored.items()},
        f"hit:in-order|{recipe}",
        reason=_NOTHING_SCORED,
    )
    signature = f"ratio:coverage_ordered/coverage_unordered,after-mean-over-templates|matcher:{matcher}"
    rate = Measurement(
        score=_rate_score(ordered.score, unordered.score, signature),
        by_template={
            template: _rate_score(ordered.by_template[template], unordered.by_template[template], signature)
            for template in ordered.by_template
        },
        statistics=None,
    )
    return OrderMeasurements(unordered, ordered, rate)


def ordered_rate(coverage_ordered: float | None, coverage_unordered: float | None) -> float | None:
    """The share of covering replies that keep the order, in percent; None if a coverage is None or nothing is covered.

    Both coverages are averages over the templates, or those of one template.
    """
    if coverage_ordered is None or not coverage_unordered:
        return None
    return 100 * coverage_ordered / coverage_unordered


def _rate_score(ordered: Score, unordered: Score, signature: str) -> Score:
    value = ordered_rate(ordered.value, unordered.value)
    reason = "" if value is not None else unordered.reason or "no reply is covered"
    return Score(value, unordered.count, signature, reason)
