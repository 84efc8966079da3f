"""What became of one case: hit, miss or error, and everything a report may want to say about it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from sys import intern
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

from pytest_ocg.backends.base import Generation
from pytest_ocg.errors import printable, shown
from pytest_ocg.inputs.cases import Case
from pytest_ocg.run.judging.coverage import Coverage

Result = TypeVar("Result")

Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
"""A whole number of something, as files have it; arithmetic with it cannot overflow."""


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


class CaseRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="outcome"):
    """One line of `generations.jsonl` read back: the judged case as plain data; a HitRecord, MissRecord or ErrorRecord.

    `concepts` are lemmas in the order asked for, `pattern` their tags. `made_by` is the id of the provenance of the
    reply, `cached` whether it was there before the run.
    """

    outcome: ClassVar[Outcome]

    id: str
    model: str
    condition: str
    shots: Count
    template: Count
    set: str
    pattern: str
    concepts: tuple[str, ...]
    finish_reason: str | None
    prompt_tokens: Count | None
    completion_tokens: Count | None
    cached: bool
    made_by: str

    def __post_init__(self) -> None:
        if not self.concepts or len(self.concepts) != len(self.pattern):
            raise ValueError(f"concepts {shown(self.concepts)} do not go with the pattern {shown(self.pattern)}")
        # 27,648 records repeat a few hundred texts: each is kept once.
        for field in _REPEATED:
            msgspec.structs.force_setattr(self, field, intern(getattr(self, field)))
        msgspec.structs.force_setattr(self, "concepts", tuple(map(intern, self.concepts)))


class ReplyRecord(CaseRecord, frozen=True, kw_only=True):
    """A case with a reply; the other fields are those of `Coverage` and of `Record`."""

    reply: str
    covered: bool
    in_order: bool
    missing: tuple[str, ...]
    order_break: str | None
    positions: tuple[tuple[Count, ...], ...]
    echo: bool

    def __post_init__(self) -> None:
        # A class with slots is made anew, so that super() without arguments does not find it.
        CaseRecord.__post_init__(self)
        if len(self.positions) != len(self.concepts):
            raise ValueError(f"positions {shown(self.positions)} are not one list for each of the concepts")


class HitRecord(ReplyRecord, frozen=True, kw_only=True, tag=Outcome.HIT.value):
    """A reply that does what was asked."""

    outcome = Outcome.HIT


class MissRecord(ReplyRecord, frozen=True, kw_only=True, tag=Outcome.MISS.value):
    """A reply that does not."""

    outcome = Outcome.MISS


class ErrorRecord(CaseRecord, frozen=True, kw_only=True, tag=Outcome.ERROR.value):
    """A case without a reply: `error` is the kind, `detail` what was said about it."""

    outcome = Outcome.ERROR

    reply: None
    error: str
    detail: str


_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(", ", ": "))
_DECODER = msgspec.json.Decoder(HitRecord | MissRecord | ErrorRecord)
_REPEATED = ("model", "condition", "set", "pattern", "made_by")
_LINE_ORDER = (
    "id", "model", "condition", "shots", "template", "set", "pattern", "concepts", "outcome", "reply", "finish_reason",
    "prompt_tokens", "completion_tokens", "cached", "made_by", "error", "detail", "covered", "in_order", "missing",
    "order_break", "positions", "echo",
)  # fmt: skip
_MODEL_AND_PATTERN = re.compile(r'{"id": "[^"]*", "model": "([^"]*)", .*?"pattern": "([^"]*)", ')


def read_record(line: str | bytes) -> CaseRecord:
    """The record in one line of `generations.jsonl`; raises ValueError saying what is wrong with any other text."""
    record: CaseRecord = read_json(line, _DECODER)
    return record


def read_json(content: str | bytes, decoder: msgspec.json.Decoder[Result]) -> Result:
    """What the decoder makes of JSON that may hold lone surrogates, as replies do; raises ValueError.

    msgspec is several times quicker than json, and refuses these.
    """
    try:
        return decoder.decode(content)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        converted: Result = msgspec.convert(json.loads(content, parse_constant=_refused), decoder.type)
        return converted


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def record_line(record: CaseRecord) -> str:
    """The line of `generations.jsonl` that the record was read from, written anew as `Record.as_json` writes it."""
    plain: dict[str, Any] = msgspec.to_builtins(record)
    return _ENCODER.encode({name: plain[name] for name in _LINE_ORDER if name in plain})


def line_id(line: str) -> str:
    """The id at the start of a line that `Record.as_json` wrote, without reading the rest."""
    return line[8 : line.index('"', 8)]


def model_and_pattern(line: str, outcome: Outcome) -> tuple[str, str] | None:
    """Model and pattern in a line that `Record.as_json` wrote, None for another outcome, without reading it all."""
    found = _MODEL_AND_PATTERN.match(line) if f'"outcome": "{outcome}"' in line else None
    return None if found is None else (found[1], found[2])


def describe(asked: Sequence[str], missing: Sequence[str], order_break: str | None, reply: str) -> str:
    """One line on a judged reply: what is missing or where the order breaks, what was asked, what came."""
    if missing:
        reason = f"{', '.join(missing)} missing"
    elif order_break is not None:
        reason = f"order breaks at {order_break}"
    else:
        reason = "as asked"
    return f"{reason} | asked: {' '.join(asked)} | reply: {printable(reply)}"
