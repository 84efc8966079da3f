"""The verdict of the gate on a row of results: one noun in memory, in `results.json` and in reports."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Literal

import msgspec

from pytest_ocg.run.record import Number
from pytest_ocg.statistics.differences import Drop


def absent() -> Any:
    """The default None of a field that files of older versions may not have; unlike other such fields it is written."""
    return msgspec.field(default_factory=lambda: None)


Bound = Literal["min", "max", "max_drop", "max_rise"]


class Status(StrEnum):
    """The result of the gate for one row."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_EVALUATED = "not_evaluated"


class Fall(msgspec.Struct, frozen=True):
    """How far a metric got worse than its baseline; `is_paired` if the baseline is a run over the same sets."""

    baseline: Number
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
    limit: Number
    value: Number
    interval: tuple[Number, Number] | None
    holds: bool
    says: str
    fall: Fall | None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of the gate on one row of results, and the reasons.

    `name` is the name in the verdict line: the model, with condition and shots if several of its rows were judged.
    `checks` are all bounds that were compared with the row.
    """

    model: str
    name: str = ""
    condition: str | None = absent()
    shots: int | None = absent()
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
        name = "".join(letter if letter.isprintable() else "?" for letter in (self.name or self.model)[:200])
        return f"gate: {self.status.upper().replace('_', ' ')} {name} {reasons}"


def counts_from_baseline(verdicts: Sequence[Verdict]) -> bool:
    """Whether any verdict uses the baseline, or might use it if the row could be judged."""
    return any(
        verdict.status is Status.NOT_EVALUATED or any(check.fall is not None for check in verdict.checks)
        for verdict in verdicts
    )
