"""The interface between the runner and a source of replies, and the answer inside a raw reply."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol

from pytest_ocg.errors import BackendError, ModelError, OcgError
from pytest_ocg.inputs.prompts import Prompt
from pytest_ocg.inputs.settings import DEFAULT_MAX_NEW_TOKENS, Quantization
from pytest_ocg.statistics.limits import LARGEST_COUNT

BACKEND_METHODS = ("identity", "preferred_batch_size", "generate", "provenance", "close")


class ErrorKind(StrEnum):
    """Why there is no reply to judge (docs/definitions.md, Outcomes)."""

    EMPTY = "empty"
    FILTERED = "filtered"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    TRUNCATED = "truncated"
    MISSING = "missing"
    BACKEND = "backend"


@dataclass(frozen=True, slots=True)
class Generation:
    """The result for one prompt: a stripped reply, or a kind of error and its message.

    Exactly one of `text` and `error` is set. `finish_reason` is `stop` or `length` for a reply. Token counts are for
    this prompt alone, without padding; None where the backend does not know them.
    """

    text: str | None
    error: ErrorKind | None = None
    detail: str = ""
    finish_reason: str = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def __post_init__(self) -> None:
        if (self.text is None) == (self.error is None):
            raise ValueError(f"a generation needs either a text or an error, not {self.text!r} and {self.error!r}")
        if self.text is not None and type(self.text) is not str:
            self._make_plain("text")
        if type(self.detail) is not str:
            self._make_plain("detail")
        if type(self.finish_reason) is not str:
            self._make_plain("finish_reason")
        if self.prompt_tokens is not None and not is_count(self.prompt_tokens):
            raise _not_a_count("prompt_tokens", self.prompt_tokens)
        if self.completion_tokens is not None and not is_count(self.completion_tokens):
            raise _not_a_count("completion_tokens", self.completion_tokens)

    def _make_plain(self, name: str) -> None:
        """Replace a subclass of str, which cannot be written to files, by a str."""
        text = getattr(self, name)
        if not isinstance(text, str):
            raise ValueError(f"{name} of a generation must be a text, not {text!r}")
        object.__setattr__(self, name, str.__str__(text))


def _not_a_count(name: str, tokens: object) -> ValueError:
    return ValueError(f"{name} of a generation must be None or a whole number up to {LARGEST_COUNT:,}, not {tokens!r}")


def is_count(value: object) -> bool:
    """Whether a value is a whole number of tokens, 0 to LARGEST_COUNT."""
    return type(value) is int and 0 <= value <= LARGEST_COUNT


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """How replies are generated. Decoding is always greedy (docs/definitions.md, Decoding); the cap is in new tokens.

    With `batch_size` None the backend chooses for its device. `dtype` and `device` are `auto` or a name of torch.
    `concurrency` is the number of requests that run at the same time, for a backend that asks a server.
    """

    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS
    seed: int = 0
    batch_size: int | None = None
    quantization: Quantization = "none"
    dtype: str = "auto"
    device: str = "auto"
    trust_remote_code: bool = False
    allow_pickle: bool = False
    concurrency: int = 16


class GenerationStopped(BackendError):
    """Generation cannot continue; `made` maps the index of each prompt that has an answer to its generation."""

    def __init__(self, message: str, made: Mapping[int, Generation] = MappingProxyType({})) -> None:
        super().__init__(message)
        self.made = made


class Backend(Protocol):
    """A source of replies for one model, opened on the first `generate` and freed by `close`."""

    def identity(self) -> Mapping[str, Any]:
        """Everything that can change the text except the messages, as JSON values, without loading the model."""
        ...

    def preferred_batch_size(self) -> int:
        """The number of prompts for one call of `generate`, without loading the model."""
        ...

    def generate(self, prompts: Sequence[Prompt]) -> list[Generation]:
        """One generation per prompt, in the same order.

        Raises BackendError if no more prompts can be answered, GenerationStopped if some of these were. An error of one
        prompt is in its generation.
        """
        ...

    def provenance(self) -> Mapping[str, Any]:
        """How replies were generated, as JSON values: identity, versions, device, batch size, effective decoding.

        Called after `generate`, so that it reports what was done and not what was planned.
        """
        ...

    def close(self) -> None:
        """Free memory and connections; `generate` must not be called afterwards."""
        ...


def require_backend(made: Any, model: str) -> Backend:
    """The object `made` for the model, as a Backend; raises ModelError with the names of the missing methods."""
    missing = [method for method in BACKEND_METHODS if not callable(getattr(made, method, None))]
    if missing:
        raise ModelError(
            f"model {model!r}: pytest_ocg_make_backend returned {made!r}, which has no {', '.join(missing)}; return an "
            "object with the methods of pytest_ocg.Backend, such as a ScriptedBackend, or None"
        )
    backend: Backend = made
    return backend


@contextmanager
def wrap_backend_errors(model: str) -> Iterator[None]:
    """Turns an unexpected exception of a backend into a BackendError, which ends the run; logs the traceback."""
    try:
        yield
    except OcgError:
        raise
    except Exception as error:
        logging.getLogger("pytest_ocg").exception("%s: the backend failed", model)
        raise BackendError(
            f"{model}: the backend failed with {type(error).__name__}: {error}; to keep its traceback run "
            "with -n 0 --log-file FILE"
        ) from error


def generation_of(
    text: str, *, finish_reason: str = "stop", prompt_tokens: int | None = None, completion_tokens: int | None = None
) -> Generation:
    """The generation for raw reply `text`: the stripped text, or an error if it is empty."""
    stripped = text.strip()
    if stripped:
        return Generation(
            stripped, finish_reason=finish_reason, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens
        )
    kind = ErrorKind.TRUNCATED if finish_reason == "length" else ErrorKind.EMPTY
    detail = "cut off before any answer" if kind is ErrorKind.TRUNCATED else "the reply is empty"
    return Generation(None, kind, detail, finish_reason, prompt_tokens, completion_tokens)


COMMON_TAGS = ("<think>", "</think>")


def opens_reasoning(prompt: str, reasoning: tuple[str, str] | None) -> bool:
    """Whether the rendered prompt opens the reasoning block, so that the reply begins inside it."""
    return prompt.rstrip().endswith((reasoning or COMMON_TAGS)[0])


def answer_of(
    text: str,
    *,
    reasoning: tuple[str, str] | None = None,
    answer: tuple[str, str] | None = None,
    is_open: bool = False,
) -> str | None:
    """The part of a reply that is its answer, None for a reply that never leaves its reasoning.

    Defined in docs/definitions.md, Decoding.

    Everything up to the last closing tag is reasoning, with or without an opening tag. `is_open` means that the prompt
    opened the block. Without `reasoning` tags the common `<think>` counts, but only if the reply begins with it or the
    prompt ends with it, because other models may write about tags. With `answer` tags, the text between them is the
    whole answer.
    """
    tags = reasoning
    if tags is None and (is_open or text.lstrip().startswith(COMMON_TAGS[0])):
        tags = COMMON_TAGS
    if tags is not None:
        outside = _outside_reasoning(text, *tags, is_open=is_open)
        if outside is None:
            return _inside_tags(text, *answer) if answer is not None and answer[1] in text else None
        text = outside
    return text if answer is None else _inside_tags(text, *answer)


def _outside_reasoning(text: str, opening: str, closing: str, *, is_open: bool) -> str | None:
    _, closed, rest = text.rpartition(closing)
    if not closed and is_open:
        return None
    before, reopened, _ = rest.partition(opening)
    return None if reopened and not before.strip() else before


def _inside_tags(text: str, opening: str, closing: str) -> str:
    """The text between the last pair of tags; up to the end without a closing tag, all of it without an opening one."""
    return text.rpartition(opening)[2].partition(closing)[0]
