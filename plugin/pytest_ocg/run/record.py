"""What became of one case: hit, miss or error, and everything a report may want to say about it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pytest_ocg.backends.base import Generation
from pytest_ocg.errors import printable
from pytest_ocg.inputs.cases import Case
from pytest_ocg.run.judging.coverage import Coverage


class Outcome(StrEnum):
    """The verdict on one generation (docs/definitions.md, Outcomes)."""

    HIT = "hit"
    MISS = "miss"
    ERROR = "error"


class Miss(AssertionError):
    """A reply that does not use the concepts as asked."""


class NoReply(AssertionError):
    """A case without a reply to judge."""


@dataclass(frozen=True, slots=True)
class Record:
    """One judged case; what the fixture `ocg_generation` hands to a test.

    `coverage` is None exactly where there is no reply. `is_echo`: the reply contains the bare concept list as asked.
    `made_by` is the id of the provenance of the reply, `is_cached` whether it was there before this run.
    """

    case: Case
    generation: Generation
    coverage: Coverage | None
    is_echo: bool
    is_cached: bool
    made_by: str

    @property
    def reply(self) -> str | None:
        """The scored reply, None where there is none."""
        return self.generation.text

    @property
    def outcome(self) -> Outcome:
        """Hit is covered in order (condition `ordered`) or covered (`original`); without a reply it is an error."""
        if self.coverage is None:
            return Outcome.ERROR
        hit = self.coverage.in_order if self.case.condition == "ordered" else self.coverage.is_covered
        return Outcome.HIT if hit else Outcome.MISS

    @property
    def is_hit(self) -> bool:
        """Whether the reply does what was asked."""
        return self.outcome is Outcome.HIT

    def check(self) -> None:
        """Return on a hit; raise Miss, whose message is `explain()`, on a miss."""
        if self.outcome is not Outcome.HIT:
            raise Miss(self.explain())

    def explain(self) -> str:
        """One line: what is missing or where the order breaks, then the reply with control characters escaped."""
        if self.coverage is None:
            return f"no reply ({self.generation.error}): {printable(self.generation.detail)}"
        coverage = self.coverage
        return describe(self.case.lemmas, coverage.missing, coverage.order_break, self.generation.text or "")

    def as_json(self) -> str:
        """One line of `generations.jsonl`, pure ASCII so that any reply survives any channel."""
        case, generation, coverage = self.case, self.generation, self.coverage
        plain: dict[str, Any] = {
            "id": case.id,
            "model": case.model,
            "condition": case.condition,
            "shots": case.shots,
            "template": case.template,
            "set": case.set_id,
            "pattern": case.pattern,
            "concepts": case.lemmas,
            "outcome": self.outcome.value,
            "reply": generation.text,
            "finish_reason": generation.finish_reason,
            "prompt_tokens": generation.prompt_tokens,
            "completion_tokens": generation.completion_tokens,
            "cached": self.is_cached,
            "made_by": self.made_by,
        }
        if coverage is None:
            plain["error"] = str(generation.error)
            plain["detail"] = generation.detail
        else:
            plain["covered"] = coverage.is_covered
            plain["in_order"] = coverage.in_order
            plain["missing"] = coverage.missing
            plain["order_break"] = coverage.order_break
            plain["positions"] = coverage.positions
            plain["echo"] = self.is_echo
        return _ENCODER.encode(plain)


_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(", ", ": "))


def read_record(line: str) -> Mapping[str, Any]:
    """The plain data of one `generations.jsonl` line, as `Record.as_json` wrote it."""
    plain: Mapping[str, Any] = json.loads(line)
    return plain


def describe(asked: Sequence[str], missing: Sequence[str], order_break: str | None, reply: str) -> str:
    """One line on a judged reply: what is missing or where the order breaks, what was asked, what came."""
    if missing:
        reason = f"{', '.join(missing)} missing"
    elif order_break is not None:
        reason = f"order breaks at {order_break}"
    else:
        reason = "as asked"
    return f"{reason} | asked: {' '.join(asked)} | reply: {printable(reply)}"
