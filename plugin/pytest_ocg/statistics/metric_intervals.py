"""The intervals of a row of results, beside its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pytest_ocg.statistics.intervals import WITHOUT_INTERVAL, Interval, intervals
from pytest_ocg.statistics.resampling import RowStatistics

_UNKNOWN = "what each concept set adds to it is not known"


def add_intervals(metrics: Mapping[str, dict[str, Any]], row_statistics: RowStatistics) -> None:
    """Give each metric its 95 % interval over concept sets, as it stands in `results.json`.

    `interval` has `low` and `high`, and the one-sided `floor` and `ceiling`; it is None where `interval_reason` says
    why. `standard_error` is None for fewer than two sets; `sets` is how many have a value.
    """
    found = intervals(row_statistics)
    for name, score in metrics.items():
        interval = found.get(name) or Interval(None, None, None, 0, WITHOUT_INTERVAL.get(name, _UNKNOWN))
        if score["value"] is None:
            interval = Interval(None, None, None, 0, "the metric has no value")
        score |= {
            "interval": None if interval.bounds is None else asdict(interval.bounds),
            "standard_error": interval.standard_error,
            "sets": interval.sets,
            "interval_reason": interval.reason or None,
        }
