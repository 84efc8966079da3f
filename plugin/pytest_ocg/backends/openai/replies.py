"""What a server's answer to a chat request amounts to: a reply, an error of this case, or a failed request."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pytest_ocg.backends.base import ErrorKind, Generation, generation_of
from pytest_ocg.backends.openai.failures import MALFORMED, Failure, described_failure
from pytest_ocg.backends.reasoning import COMMON_TAGS, answer_of

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
