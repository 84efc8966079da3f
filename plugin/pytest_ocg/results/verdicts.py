"""The verdict of the gate on a row of results: one noun in memory, in `results.json` and in reports."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

import msgspec

from pytest_ocg.statistics.differences import Drop

Bound = Literal["min", "max", "max_drop", "max_rise"]


class Status(StrEnum):
    """The result of the gate for one row."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_EVALUATED = "not_evaluated"


class Fall(msgspec.Struct, frozen=True):
    """How far a metric got worse than its baseline; `is_paired` if the baseline is a run over the same sets."""

    baseline: float
    drop: Drop
    strict: bool
    is_paired: bool

    def is_too_far(self, limit: float) -> bool:
        """Whether the drop is beyond the limit and, unless `strict`, more than the noise of the sets."""
        return self.drop.is_beyond(limit) and (self.strict or self.drop.is_shown(limit) is not False)


class Check(msgspec.Struct, frozen=True):
    """A bound and the value compared with it, with the 95 % interval of the value if there is one.

    `metric` has its part-of-speech pattern in front if it is of one pattern. `says` is the check in words. Only
    `max_drop` and `max_rise` have a `fall`.
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
    """The verdict of the gate on one row of results, and the reasons.

    `name` is the name in the verdict line: the model, with condition and shots if several of its rows were judged.
    `checks` are all bounds that were compared with the row.
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
        """The notes on drops and rises that hold: which drop would be detected, or that it is within the noise."""
        return tuple(check.says for check in self.checks if check.holds and check.fall is not None)

    def line(self) -> str:
        """The verdict on one line, `gate: FAILED smollm2-135m coverage_ordered 21.4 [20.1, 22.8] under 23.0`."""
        reasons = "; ".join(self.reasons)
        reasons = f"({reasons})" if self.status is Status.PASSED else reasons
        name = "".join(letter if letter.isprintable() else "?" for letter in self.name[:200])
        return f"gate: {self.status.upper().replace('_', ' ')} {name} {reasons}"


def counts_from_baseline(verdicts: Sequence[Verdict]) -> bool:
    """Whether any verdict uses the baseline, or might use it if the row could be judged."""
    return any(
        verdict.status is Status.NOT_EVALUATED or any(check.fall is not None for check in verdict.checks)
        for verdict in verdicts
    )
