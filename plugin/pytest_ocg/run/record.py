"""The result of one case: hit, miss or error, with all data that reports need."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from sys import intern
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

from pytest_ocg.backends.base import Generation
from pytest_ocg.errors import printable, quote
from pytest_ocg.inputs.cases import Case
from pytest_ocg.run.judging.coverage import Coverage
from pytest_ocg.statistics.limits import LARGEST_COUNT, LARGEST_NUMBER

Result = TypeVar("Result")

Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_COUNT)]
"""A count in a file."""

Number = Annotated[float, msgspec.Meta(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
"""A number in a file."""


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
    """One judged case; the fixture `ocg_generation` returns it to a test.

    `coverage` is None if and only if there is no reply. `is_echo`: the reply contains the bare concept list as asked.
    `made_by` is the id of the provenance of the reply; `is_cached` is true if it was in the cache before this run.
    """

    case: Case
    generation: Generation
    coverage: Coverage | None
    is_echo: bool
    is_cached: bool
    made_by: str

    @property
    def reply(self) -> str | None:
        """The scored reply, None if there is no reply."""
        return self.generation.text

    @property
    def outcome(self) -> Outcome:
        """A hit is covered in order (condition `ordered`) or covered (`original`); an error has no reply."""
        if self.coverage is None:
            return Outcome.ERROR
        hit = self.coverage.in_order if self.case.condition == "ordered" else self.coverage.is_covered
        return Outcome.HIT if hit else Outcome.MISS

    @property
    def is_hit(self) -> bool:
        """Whether the outcome is a hit."""
        return self.outcome is Outcome.HIT

    def check(self) -> None:
        """Return on a hit; raise Miss, whose message is `explain()`, on a miss."""
        if self.outcome is not Outcome.HIT:
            raise Miss(self.explain())

    def explain(self) -> str:
        """One line: the missing concepts or the order break, then the reply with control characters escaped."""
        if self.coverage is None:
            return f"no reply ({self.generation.error}): {printable(self.generation.detail)}"
        coverage = self.coverage
        return describe(self.case.lemmas, coverage.missing, coverage.order_break, self.generation.text or "")

    def as_json(self) -> str:
        """One line of `generations.jsonl`, pure ASCII, so that every reply can be written in any encoding."""
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
    """One line of `generations.jsonl`, read: the judged case as plain data; a HitRecord, MissRecord or ErrorRecord.

    `concepts` are lemmas in the order asked for, `pattern` their tags. `made_by` is the id of the provenance of the
    reply; `cached` is true if it was in the cache before the run.
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
            raise ValueError(f"concepts {quote(self.concepts)} do not match the pattern {quote(self.pattern)}")
        # 27,648 records repeat a few hundred texts: each is kept once.
        keep = msgspec.structs.force_setattr
        keep(self, "model", intern(self.model))
        keep(self, "set", intern(self.set))
        keep(self, "pattern", intern(self.pattern))
        keep(self, "made_by", intern(self.made_by))
        keep(self, "condition", intern(self.condition))
        keep(self, "concepts", tuple(map(intern, self.concepts)))


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
        # msgspec creates the class again, so that super() without arguments fails.
        CaseRecord.__post_init__(self)
        if len(self.positions) != len(self.concepts):
            raise ValueError(f"positions {quote(self.positions)} must have one list for each concept")


class HitRecord(ReplyRecord, frozen=True, kw_only=True, tag=Outcome.HIT.value):
    """A case whose reply is a hit."""

    outcome = Outcome.HIT


class MissRecord(ReplyRecord, frozen=True, kw_only=True, tag=Outcome.MISS.value):
    """A case whose reply is a miss."""

    outcome = Outcome.MISS


class ErrorRecord(CaseRecord, frozen=True, kw_only=True, tag=Outcome.ERROR.value):
    """A case without a reply: `error` is the kind, `detail` the description."""

    outcome = Outcome.ERROR

    reply: None
    error: str
    detail: str


_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(", ", ": "))
RECORD_TYPES = HitRecord | MissRecord | ErrorRecord
_DECODER = msgspec.json.Decoder(RECORD_TYPES)
_LINE_ORDER = (
    "id", "model", "condition", "shots", "template", "set", "pattern", "concepts", "outcome", "reply", "finish_reason",
    "prompt_tokens", "completion_tokens", "cached", "made_by", "error", "detail", "covered", "in_order", "missing",
    "order_break", "positions", "echo",
)  # fmt: skip
_MODEL_AND_PATTERN = re.compile(r'{"id": "[^"]*", "model": "([^"]*)", .*?"pattern": "([^"]*)", ')


def read_record(line: str | bytes) -> CaseRecord:
    """The record in one line of `generations.jsonl`; raises ValueError, which says what is wrong."""
    record: CaseRecord = read_json(line, _DECODER)
    return record


def read_json(content: str | bytes, decoder: msgspec.json.Decoder[Result]) -> Result:
    """The decoded JSON, which may contain lone surrogates as replies do; raises ValueError.

    msgspec is several times faster than json but does not accept lone surrogates.
    """
    try:
        return decoder.decode(content)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        converted: Result = msgspec.convert(load_json(content), decoder.type)
        return converted


def load_json(content: str | bytes) -> Any:
    """The content as plain data, with lone surrogates but without NaN and infinite numbers; raises ValueError."""
    return json.loads(content, parse_constant=_refuse_constant, parse_float=_finite)


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large")
    return number


def record_line(record: CaseRecord) -> str:
    """The record as a line of `generations.jsonl`, in the form of `Record.as_json`."""
    plain: dict[str, Any] = msgspec.to_builtins(record)
    return _ENCODER.encode({name: plain[name] for name in _LINE_ORDER if name in plain})


def line_id(line: str) -> str:
    """The id at the start of a line from `Record.as_json`; the rest is not parsed."""
    return line[8 : line.index('"', 8)]


def model_and_pattern(line: str, outcome: Outcome) -> tuple[str, str] | None:
    """Model and pattern in a line from `Record.as_json`, None for another outcome; the rest is not parsed."""
    found = _MODEL_AND_PATTERN.match(line) if f'"outcome": "{outcome}"' in line else None
    return None if found is None else (found[1], found[2])


def describe(asked: Sequence[str], missing: Sequence[str], order_break: str | None, reply: str) -> str:
    """One line about a judged reply: the missing concepts or the order break, the concepts asked for, the reply."""
    if missing:
        reason = f"{', '.join(missing)} missing"
    elif order_break is not None:
        reason = f"order breaks at {order_break}"
    else:
        reason = "as asked"
    return f"{reason} | asked: {' '.join(asked)} | reply: {printable(reply)}"
