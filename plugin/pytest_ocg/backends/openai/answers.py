"""What a server's answer amounts to: a reply, an error of this case, or a failed request and what to do about it."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

from pytest_ocg.backends.base import COMMON_TAGS, ErrorKind, Generation, answer_of, generation_of
from pytest_ocg.backends.openai.server import Server
from pytest_ocg.inputs.models import ModelSpec

MALFORMED = "malformed"
KEPT = "what was generated is kept, and the next run goes on from there"

_NO_CREDIT = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
)
_NO_MODEL = frozenset({"model_not_found", "model_decommissioned", "model_not_available"})
_FILTERED = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})
_DENIED = frozenset({401, 402, 403, 404})
_PASSING = frozenset({408, 409, 425, 429})
_SHOWN_CHARACTERS = 300


class Remedy(StrEnum):
    """What is to be done about a failure: stop the run, ask again, or leave this one case without a reply."""

    STOP = "stop"
    RETRY = "retry"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Failure:
    """A request without a reply.

    `status` is the HTTP status, None where there was no response. `codes` are the server's own names for what is wrong,
    in lower case, `parameter` the one it names. `wait_seconds` is how long the server asks to be left alone.
    """

    message: str
    status: int | None = None
    codes: tuple[str, ...] = ()
    parameter: str = ""
    wait_seconds: float | None = None
    is_timeout: bool = False

    def __str__(self) -> str:
        name = "" if self.status is None else " ".join([f"HTTP {self.status}", *self.codes[:1]])
        return ": ".join(filter(None, (name, self.message)))

    @property
    def remedy(self) -> Remedy:
        """What is to be done about it."""
        if self.error_kind is ErrorKind.FILTERED:
            return Remedy.LEAVE
        if self.status in _DENIED or self.is_without_credit or _NO_MODEL.intersection(self.codes):
            return Remedy.STOP
        if self.status is None or self.status >= 500 or self.status in _PASSING or MALFORMED in self.codes:
            return Remedy.RETRY
        return Remedy.LEAVE

    @property
    def error_kind(self) -> ErrorKind:
        """What the case is counted as where it stays without a reply."""
        if _FILTERED.intersection(self.codes):
            return ErrorKind.FILTERED
        return ErrorKind.TIMEOUT if self.is_timeout or self.status == 429 else ErrorKind.BACKEND

    @property
    def is_without_credit(self) -> bool:
        """Whether the account has nothing left to pay with."""
        return self.status == 402 or bool(_NO_CREDIT.intersection(self.codes))


def reason_to_stop(failure: Failure, spec: ModelSpec, server: Server, *, in_a_row: int = 0) -> str:
    """One message on a failure that all requests would share: what it is, and the way out.

    `in_a_row` is set where it is the last of so many failures, one after the other.
    """
    url, variable = server.url, server.key_variable
    if failure.is_without_credit:
        said = f"the account of the key in {variable} has no credit left: top it up or use another; {KEPT}"
    elif failure.status in (401, 403):
        said = f"{url} refuses the key in {variable}: put a key into it that may use {spec.source!r}"
    elif failure.status == 404 or _NO_MODEL.intersection(failure.codes):
        said = (
            f"there is no model {spec.source!r} at {url}: name one it serves as openai:NAME, and see that "
            "--ocg-base-url ends as the server wants it, mostly in /v1"
        )
    elif in_a_row:
        said = f"{in_a_row} requests in a row to {url} brought no reply: run again when it answers; {KEPT}"
    elif failure.wait_seconds is not None:
        said = f"{url} asks to be left alone for {failure.wait_seconds:,.0f} seconds: run again then; {KEPT}"
    else:
        said = f"{url} refuses what is asked: see that it serves {spec.source!r} and takes such requests"
    return f"{spec.name}: {said} ({failure})"


def failure_of(status: int, body: str, headers: Mapping[str, str]) -> Failure:
    """The failure behind an HTTP response; a body that is not JSON, such as a proxy's page, is not shown."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    return described_failure(status, said, _wait_seconds(headers))


def described_failure(status: int, said: Any, wait_seconds: float | None = None) -> Failure:
    """The failure that a server describes in JSON, in any of the shapes that OpenAI-compatible servers use."""
    outer = said[0] if isinstance(said, list) and said else said
    error = outer.get("error", outer) if isinstance(outer, dict) else outer
    if isinstance(error, str):
        error = {"message": error}
    if not isinstance(error, dict):
        error = {}
    inner = error.get("innererror")
    named = [error.get("code"), error.get("type"), error.get("status")]
    named += [inner.get("code")] if isinstance(inner, dict) else []
    message, detail = error.get("message"), error.get("detail")
    if not isinstance(message, str):
        message = detail if isinstance(detail, str) else "" if detail is None else json.dumps(detail)
    return Failure(
        _on_one_line(message),
        status,
        tuple(dict.fromkeys(name.lower() for name in named if isinstance(name, str) and name)),
        error["param"] if isinstance(error.get("param"), str) else "",
        wait_seconds if wait_seconds is not None else next(_retry_delays(error.get("details")), None),
    )


def _on_one_line(text: str) -> str:
    shown = "".join(character if character.isprintable() else " " for character in text[:_SHOWN_CHARACTERS])
    return " ".join(shown.split())


def _wait_seconds(headers: Mapping[str, str]) -> float | None:
    """What Retry-After asks for, in seconds or as a date; OpenAI has a header in milliseconds beside it."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) * unit
        except ValueError:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - time.time()
            except ValueError:
                continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    return None


def _retry_delays(details: Any) -> Iterator[float]:
    """What Google's servers say instead of Retry-After: `{"retryDelay": "34s"}` among the details."""
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and re.fullmatch(r"\d+(\.\d+)?s", delay):
            yield float(delay[:-1])


_REASONING_FIELDS = ("reasoning_content", "reasoning")


@dataclass(frozen=True, slots=True)
class Reply:
    """A generation, and the names of the model and its configuration as the server reports them, None where not."""

    generation: Generation
    model: str | None = None
    fingerprint: str | None = None


def reply_of(
    body: str, *, reasoning: tuple[str, str] | None = None, answer: tuple[str, str] | None = None
) -> Reply | Failure:
    """The reply in the body of an HTTP 200 response, or the failure that it turns out to be.

    What a server keeps apart as reasoning is not scored. `reasoning` and `answer` are the model's tags in the text.
    """
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return Failure("the answer is cut off or not JSON", 200, (MALFORMED,))
    if not isinstance(said, dict):
        return Failure("the answer is not a JSON object", 200, (MALFORMED,))
    if said.get("error"):
        error = said["error"]
        code = error.get("code") if isinstance(error, dict) else None
        return described_failure(code if isinstance(code, int) and 400 <= code < 600 else 200, said)
    choices = said.get("choices")
    tokens = _tokens(said.get("usage"))
    if not isinstance(choices, list) or not choices:
        return Reply(Generation(None, ErrorKind.EMPTY, "the server sent no choice", "none", *tokens), *_reported(said))
    generation = _generation(choices[0], tokens, reasoning, answer)
    return generation if isinstance(generation, Failure) else Reply(generation, *_reported(said))


def _generation(
    choice: Any,
    tokens: tuple[int | None, int | None],
    reasoning: tuple[str, str] | None,
    answer: tuple[str, str] | None,
) -> Generation | Failure:
    message = choice.get("message", {}) if isinstance(choice, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(content, str | None):
        return Failure("the answer has no message with a text", 200, (MALFORMED,))
    reason = str(choice.get("finish_reason"))
    if reason.startswith("content_filter"):
        return Generation(None, ErrorKind.FILTERED, f"finish_reason {reason!r}", reason, *tokens)
    if message.get("refusal"):
        return Generation(None, ErrorKind.REFUSED, str(message["refusal"]), reason, *tokens)
    if reason not in ("stop", "length"):
        detail = f"finish_reason {reason!r} is neither 'stop' nor 'length'"
        return Generation(None, ErrorKind.BACKEND, detail, reason, *tokens)
    text = content or ""
    found = answer_of(text, reasoning=reasoning, answer=answer, is_open=_closes_what_it_did_not_open(text))
    has_reasoned = any(message.get(name) for name in _REASONING_FIELDS)
    if found is None or (has_reasoned and reason == "length" and not found.strip()):
        return Generation(None, ErrorKind.TRUNCATED, "the reply never leaves its reasoning", reason, *tokens)
    return generation_of(found, finish_reason=reason, prompt_tokens=tokens[0], completion_tokens=tokens[1])


def _closes_what_it_did_not_open(text: str) -> bool:
    """Whether the reply began inside a reasoning block: the chat template that opened it is the server's, unseen."""
    before, closing, _ = text.partition(COMMON_TAGS[1])
    return bool(closing) and COMMON_TAGS[0] not in before


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    """Prompt and completion tokens as counted by the server."""
    counts = [usage.get(name) if isinstance(usage, dict) else None for name in ("prompt_tokens", "completion_tokens")]
    prompt, completion = (count if type(count) is int and count >= 0 else None for count in counts)
    return prompt, completion


def _reported(said: dict[str, Any]) -> tuple[str | None, str | None]:
    model, fingerprint = (said.get(name) for name in ("model", "system_fingerprint"))
    return (model if isinstance(model, str) else None), (fingerprint if isinstance(fingerprint, str) else None)
