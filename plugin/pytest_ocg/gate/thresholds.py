"""Thresholds of a model: limits on metrics, for one or more selections of the benchmark's cases."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_ocg.metrics import catalogue
from pytest_ocg.results.schema import Row
from pytest_ocg.results.verdicts import Bound
from pytest_ocg.statistics.limits import LARGEST_NUMBER

SCHEMA = 1
GUIDE = "the guide (`ocg thresholds --help` shows its path)"
"""How messages and written files name thresholds/README.md; its path differs between a checkout and an installation."""

MARGIN = 1.0
"""The usual distance of a limit from the measured value, in points."""

Origin = Literal["measured", "published"]


@dataclass(frozen=True, slots=True)
class Limit:
    """The limits on one metric, in its own unit; each bound and the signature may be left open.

    `max_drop` and `max_rise` are distances from `baseline`. With `strict` only the numbers decide, without the noise.
    """

    metric: str
    minimum: float | None = None
    maximum: float | None = None
    signature: str | None = None
    baseline: float | None = None
    max_drop: float | None = None
    max_rise: float | None = None
    strict: bool = False

    def bounds(self) -> dict[Bound, float]:
        """The bounds that are set, by their names in a threshold file."""
        every: dict[Bound, float | None] = {
            "min": self.minimum,
            "max": self.maximum,
            "max_drop": self.max_drop,
            "max_rise": self.max_rise,
        }
        return {bound: limit for bound, limit in every.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class Selection:
    """Some of the cases and their limits: `sets` is `all` or `N:SEED`; `pattern` is such as `VVVV`, None for all."""

    name: str
    limits: tuple[Limit, ...]
    sets: str = "all"
    pattern: str | None = None

    @property
    def options(self) -> str:
        """The command line options that run it, empty for the whole benchmark."""
        sample = [] if self.sets == "all" else [f"--ocg-sets {self.sets}"]
        return " ".join([*sample, *([] if self.pattern is None else [f"-k {self.pattern}"])])

    def __str__(self) -> str:
        return f"{self.name} ({self.options or 'all concept sets'})"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The limits for one model, and the kind of run that they are for.

    `model` is its name in test ids, None for any model. `signature` maps SIGNATURE_KEYS, except `sets`, to the values
    that a run must have; an absent key is not compared. `max_error_share` is 0 to 1. `origin` is where the numbers come
    from.
    """

    path: Path
    model: str | None
    selections: tuple[Selection, ...]
    max_error_share: float = 0.0
    signature: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin = "measured"

    def concerns(self, row: Row) -> bool:
        """Whether a results row has the condition and the shots that these thresholds are for."""
        found = {"condition": row.condition, "shots": row.shots}
        return all(self.signature.get(key, value) == value for key, value in found.items())


def is_number(value: object) -> bool:
    """Whether `value` is a finite int or float; a bool or an int too large for a float is not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST_NUMBER <= value <= LARGEST_NUMBER


def limit_from(metric: str, bound: str, value: float, margin: float) -> float:
    """The floor (`min`) `margin` points under a value, but at least half of it, or the ceiling (`max`) over it.

    For perplexity a point is 5 % of the value. Floors are rounded down and ceilings up, to one decimal.
    """
    facts = catalogue.METRICS[metric]
    distance = margin if facts.margin_share is None else abs(value) * facts.margin_share * margin
    if bound == "min":
        floor = value - (min(distance, value / 2) if value > 0 else distance)
        return max(facts.low, math.floor(round(floor * 10, 9)) / 10)
    return min(facts.high, math.ceil(round((value + distance) * 10, 9)) / 10)
