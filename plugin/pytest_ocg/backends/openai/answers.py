"""Reads a server's answer: a reply, an error of this case, or a failed request and how to handle it."""

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

from pytest_ocg.backends.base import COMMON_TAGS, ErrorKind, Generation, answer_of, generation_of, is_count
from pytest_ocg.backends.openai.server import Server
from pytest_ocg.inputs.models import ModelSpec

MALFORMED = "malformed"
RESUME_HINT = "the replies so far are kept, and the next run continues from there"

_NO_CREDIT = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
)
_NO_MODEL = frozenset({"model_not_found", "model_decommissioned", "model_not_available"})
_FILTERED = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})
_DENIED = frozenset({401, 402, 403, 404})
_TEMPORARY = frozenset({408, 409, 425, 429})
_SHOWN_CHARACTERS = 300


class Remedy(StrEnum):
    """How to handle a failure: stop the run, ask again, or leave this one case without a reply."""

    STOP = "stop"
    RETRY = "retry"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Failure:
    """A request without a reply.

    `status` is the HTTP status, None without a response. `codes` are the server's names for the error, in lower case;
    `parameter` is the request parameter that it names. `wait_seconds` is the time to wait that the server asks for.
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
        """How to handle it."""
        if self.error_kind is ErrorKind.FILTERED:
            return Remedy.SKIP
        if self.status in _DENIED or self.is_without_credit or _NO_MODEL.intersection(self.codes):
            return Remedy.STOP
        if self.status is None or self.status >= 500 or self.status in _TEMPORARY or MALFORMED in self.codes:
            return Remedy.RETRY
        return Remedy.SKIP

    @property
    def error_kind(self) -> ErrorKind:
        """The kind of error of a case that gets no reply because of this failure."""
        if _FILTERED.intersection(self.codes):
            return ErrorKind.FILTERED
        return ErrorKind.TIMEOUT if self.is_timeout or self.status == 429 else ErrorKind.BACKEND

    @property
    def is_without_credit(self) -> bool:
        """Whether the account has no credit left."""
        return self.status == 402 or bool(_NO_CREDIT.intersection(self.codes))


def reason_to_stop(failure: Failure, spec: ModelSpec, server: Server, *, in_a_row: int = 0) -> str:
    """One message about a failure that all requests would have: what is wrong, and what to do.

    `in_a_row` is the number of failures one after the other, if that is the reason to stop.
    """
    url, variable = server.url, server.key_variable
    if failure.is_without_credit:
        text = f"the account of the key in {variable} has no credit left: top it up or use another; {RESUME_HINT}"
    elif failure.status in (401, 403):
        text = f"{url} refuses the key in {variable}: set it to a key that may use {spec.source!r}"
    elif failure.status == 404 or _NO_MODEL.intersection(failure.codes):
        text = (
            f"{url} has no model {spec.source!r}: pass openai:NAME with a model that it serves, and check that "
            "--ocg-base-url ends as the server needs it, in most cases with /v1"
        )
    elif in_a_row:
        text = f"{in_a_row} requests in a row to {url} got no reply: run again when it answers; {RESUME_HINT}"
    elif failure.wait_seconds is not None:
        text = f"{url} asks to wait {failure.wait_seconds:,.0f} seconds: run again after that; {RESUME_HINT}"
    else:
        text = f"{url} refuses the request: check that it serves {spec.source!r} and accepts such requests"
    return f"{spec.name}: {text} ({failure})"


def failure_of(status: int, body: str, headers: Mapping[str, str]) -> Failure:
    """The failure in an HTTP response; a body that is not JSON, such as a proxy's page, is not shown."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    return _failure_in_json(status, content, _wait_seconds(headers))


def _failure_in_json(status: int, content: Any, wait_seconds: float | None = None) -> Failure:
    """The failure that a server describes in JSON, in any of the shapes that OpenAI-compatible servers use."""
    outer = content[0] if isinstance(content, list) and content else content
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
    """The time to wait by Retry-After, which is in seconds or a date; OpenAI also has a header in milliseconds."""
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
    """The times to wait in the details of Google's servers: `{"retryDelay": "34s"}` instead of Retry-After."""
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and re.fullmatch(r"\d+(\.\d+)?s", delay):
            yield float(delay[:-1])


_REASONING_FIELDS = ("reasoning_content", "reasoning")


@dataclass(frozen=True, slots=True)
class Reply:
    """A generation, and the model and configuration that the server reports; None if it does not report them."""

    generation: Generation
    model: str | None = None
    fingerprint: str | None = None


def reply_of(
    body: str, *, reasoning: tuple[str, str] | None = None, answer: tuple[str, str] | None = None
) -> Reply | Failure:
    """The reply in the body of an HTTP 200 response, or the failure in it.

    Reasoning in a field of its own is not scored. `reasoning` and `answer` are the model's tags in the text.
    """
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return Failure("the answer is cut off or not JSON", 200, (MALFORMED,))
    if not isinstance(content, dict):
        return Failure("the answer is not a JSON object", 200, (MALFORMED,))
    if content.get("error"):
        error = content["error"]
        code = error.get("code") if isinstance(error, dict) else None
        return _failure_in_json(code if isinstance(code, int) and 400 <= code < 600 else 200, content)
    choices = content.get("choices")
    tokens = _tokens(content.get("usage"))
    if not isinstance(choices, list) or not choices:
        return Reply(
            Generation(None, ErrorKind.EMPTY, "the server sent no choice", "none", *tokens), *_server_names(content)
        )
    generation = _generation(choices[0], tokens, reasoning, answer)
    return generation if isinstance(generation, Failure) else Reply(generation, *_server_names(content))


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
    found = answer_of(text, reasoning=reasoning, answer=answer, is_open=_begins_in_reasoning(text))
    has_reasoned = any(message.get(name) for name in _REASONING_FIELDS)
    if found is None or (has_reasoned and reason == "length" and not found.strip()):
        return Generation(None, ErrorKind.TRUNCATED, "the reply never leaves its reasoning", reason, *tokens)
    return generation_of(found, finish_reason=reason, prompt_tokens=tokens[0], completion_tokens=tokens[1])


def _begins_in_reasoning(text: str) -> bool:
    """Whether the reply begins inside a reasoning block, which the server's chat template opened: we cannot see it."""
    before, closing, _ = text.partition(COMMON_TAGS[1])
    return bool(closing) and COMMON_TAGS[0] not in before


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    """The numbers of prompt and completion tokens by the server; None if it does not report a possible number."""
    counts = [usage.get(name) if isinstance(usage, dict) else None for name in ("prompt_tokens", "completion_tokens")]
    prompt, completion = (count if is_count(count) else None for count in counts)
    return prompt, completion


def _server_names(content: dict[str, Any]) -> tuple[str | None, str | None]:
    model, fingerprint = (content.get(name) for name in ("model", "system_fingerprint"))
    return (model if isinstance(model, str) else None), (fingerprint if isinstance(fingerprint, str) else None)
