"""What the gate says about a row of results: one noun in memory, in `results.json` and in reports."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

import msgspec

from pytest_ocg.statistics.differences import Drop

Bound = Literal["min", "max", "max_drop", "max_rise"]


class Status(StrEnum):
    """What the gate says about one model."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_EVALUATED = "not_evaluated"


class Fall(msgspec.Struct, frozen=True):
    """How far a metric got worse than its baseline; `is_paired` where that is a run over the same sets."""

    baseline: float
    drop: Drop
    strict: bool
    is_paired: bool

    def is_too_far(self, limit: float) -> bool:
        """Whether the drop is beyond the limit and, unless `strict`, more than the noise of the sets."""
        return self.drop.is_beyond(limit) and (self.strict or self.drop.is_shown(limit) is not False)


class Check(msgspec.Struct, frozen=True):
    """A bound and the value held against it, with the value's 95 % interval where there is one.

    `metric` stands after its part-of-speech pattern where it is of one alone. `says` is the check in words; `fall` is
    there for `max_drop` and `max_rise`.
    """

    metric: str
    bound: Bound
    limit: float
    value: float
    interval: tuple[float, float] | None
    holds: bool
    says: str
    fall: Fall | None


class Verdict(msgspec.Struct, frozen=True):
    """What the gate says about one row of results, and why.

    `name` is what the line calls it: the model, with condition and shots where the run had several of its rows judged.
    `checks` are all bounds that were held against the row.
    """

    model: str
    name: str
    condition: str | None
    shots: int | None
    status: Status
    reasons: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of bounds that hold: how large a drop would have been seen, or was taken for noise."""
        return tuple(check.says for check in self.checks if check.holds and check.fall is not None)

    def line(self) -> str:
        """The verdict on one line, `gate: FAILED smollm2-135m coverage_ordered 21.4 [20.1, 22.8] under 23.0`."""
        said = "; ".join(self.reasons)
        said = f"({said})" if self.status is Status.PASSED else said
        name = "".join(letter if letter.isprintable() else "?" for letter in self.name[:200])
        return f"gate: {self.status.upper().replace('_', ' ')} {name} {said}"


def counts_from_baseline(verdicts: Sequence[Verdict]) -> bool:
    """Whether a baseline makes a difference to any of the verdicts, or may have if more could have been judged."""
    return any(
        verdict.status is Status.NOT_EVALUATED or any(check.fall is not None for check in verdict.checks)
        for verdict in verdicts
    )
