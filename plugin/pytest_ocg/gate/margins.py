"""How far a limit lies from what was measured, and what is limited where nothing else is said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from pytest_ocg.gate.thresholds import METRIC_RANGES, Bound

MARGIN = 1.0
"""The usual distance, in points."""

FIRST_LIMITS: Mapping[str, Bound] = MappingProxyType(
    {
        "coverage_ordered": "min",
        "ordered_rate": "min",
        "diverse_rate": "min",
        "coverage_unordered": "min",
        "pbleu": "max",
    }
)
"""The metrics that new thresholds limit, and on which side they are worse."""


def limit_from(metric: str, bound: str, value: float, margin: float) -> float:
    """The floor (`min`) `margin` points under a value, never under half of it, or the ceiling (`max`) over it.

    For perplexity a point is 5 % of the value. Floors are rounded down and ceilings up, to one decimal.
    """
    low, high = METRIC_RANGES[metric]
    distance = abs(value) * 0.05 * margin if metric == "perplexity" else margin
    if bound == "min":
        floor = value - (min(distance, value / 2) if value > 0 else distance)
        return max(low, math.floor(round(floor * 10, 9)) / 10)
    return min(high, math.ceil(round((value + distance) * 10, 9)) / 10)
