"""What a model must hold: limits on metrics, for one or more selections of the benchmark's cases."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_ocg.metrics import catalogue
from pytest_ocg.results.schema import Row
from pytest_ocg.results.verdicts import Bound

SCHEMA = 1
GUIDE = "the guide that `ocg thresholds --help` names"
"""What messages and written files call thresholds/README.md, which lies elsewhere in a checkout than installed."""

MARGIN = 1.0
"""The usual distance of a limit from what was measured, in points."""

Origin = Literal["measured", "published"]


@dataclass(frozen=True, slots=True)
class Limit:
    """What is asked of one metric, in its own unit; each bound may be left open, and so may the signature.

    `max_drop` and `max_rise` count from `baseline`. `strict` lets them be broken by the numbers alone, however noisy.
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
        """The bounds that are not left open, by their names in a threshold file."""
        every: dict[Bound, float | None] = {
            "min": self.minimum,
            "max": self.maximum,
            "max_drop": self.max_drop,
            "max_rise": self.max_rise,
        }
        return {bound: limit for bound, limit in every.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice of cases and the limits for it: `sets` is `all` or `N:SEED`, `pattern` such as `VVVV`, None for all."""

    name: str
    limits: tuple[Limit, ...]
    sets: str = "all"
    pattern: str | None = None

    @property
    def options(self) -> str:
        """The command line options that run it, empty for the benchmark as a whole."""
        sample = [] if self.sets == "all" else [f"--ocg-sets {self.sets}"]
        return " ".join([*sample, *([] if self.pattern is None else [f"-k {self.pattern}"])])

    def __str__(self) -> str:
        return f"{self.name} ({self.options or 'all concept sets'})"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What one model must hold, and the kind of run it was laid down for.

    `model` is its name in test ids, None where the file leaves it open. `signature` maps SIGNATURE_KEYS but `sets` to
    what a run must have been made with; a key that is absent is left open. `max_error_share` is 0 to 1. `origin` says
    whose numbers they are.
    """

    path: Path
    model: str | None
    selections: tuple[Selection, ...]
    max_error_share: float = 0.0
    signature: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin = "measured"

    def concerns(self, row: Row) -> bool:
        """Whether a results row has the condition and the shots these thresholds were laid down for."""
        found = {"condition": row.condition, "shots": row.shots}
        return all(self.signature.get(key, value) == value for key, value in found.items())


def is_number(value: object) -> bool:
    """Whether `value` is a finite int or float; a bool is not, nor is an int that no float can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e300 <= value <= 1e300


def limit_from(metric: str, bound: str, value: float, margin: float) -> float:
    """The floor (`min`) `margin` points under a value, never under half of it, or the ceiling (`max`) over it.

    For perplexity a point is 5 % of the value. Floors are rounded down and ceilings up, to one decimal.
    """
    facts = catalogue.METRICS[metric]
    distance = margin if facts.margin_share is None else abs(value) * facts.margin_share * margin
    if bound == "min":
        floor = value - (min(distance, value / 2) if value > 0 else distance)
        return max(facts.low, math.floor(round(floor * 10, 9)) / 10)
    return min(facts.high, math.ceil(round((value + distance) * 10, 9)) / 10)
