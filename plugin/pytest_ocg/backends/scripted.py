"""A backend whose replies a function returns: the fake for tests, demos and plugin authors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pytest_ocg.backends.base import Backend, Generation, GenerationSettings, generation_of
from pytest_ocg.errors import BackendError, ModelError, did_you_mean
from pytest_ocg.inputs.models import ModelSpec
from pytest_ocg.inputs.prompts import Prompt


class ScriptedBackend:
    """Calls `reply` once a prompt; deterministic if `reply` is.

    `reply` returns a text, judged like a model's raw reply, or a whole Generation. `calls` records the size of each
    batch. Each `generate` takes at least `delay_seconds`. `version` is part of the identity, so that replies of a
    changed script are not mixed up with older ones.
    """

    def __init__(
        self,
        reply: Callable[[Prompt], str | Generation],
        *,
        name: str = "scripted",
        version: str = "1",
        batch_size: int = 32,
        delay_seconds: float = 0.0,
    ) -> None:
        self.calls: list[int] = []
        self.is_closed = False
        self._reply = reply
        self._name = name
        self._version = version
        self._batch_size = batch_size
        self._delay_seconds = delay_seconds

    def identity(self) -> Mapping[str, Any]:
        """The script's name and version."""
        return {"backend": "scripted", "source": self._name, "version": self._version}

    def preferred_batch_size(self) -> int:
        """The batch size this backend was made with."""
        return self._batch_size

    def generate(self, prompts: Sequence[Prompt]) -> list[Generation]:
        """The script's reply to each prompt, in order; raises BackendError after `close` and for a wrong type."""
        if self.is_closed:
            raise BackendError(f"scripted backend {self._name!r} was asked to generate after it was closed")
        self.calls.append(len(prompts))
        if self._delay_seconds:
            time.sleep(self._delay_seconds)
        return [self._generation(prompt) for prompt in prompts]

    def provenance(self) -> Mapping[str, Any]:
        """The identity, and the batch size."""
        return {**self.identity(), "batch_size": self._batch_size, "decoding": {"strategy": "scripted"}}

    def close(self) -> None:
        """Mark this backend as closed."""
        self.is_closed = True

    def _generation(self, prompt: Prompt) -> Generation:
        reply: object = self._reply(prompt)
        if isinstance(reply, str):
            return generation_of(reply)
        if not isinstance(reply, Generation):
            raise BackendError(
                f"scripted backend {self._name!r}: its function returned {reply!r} for {' '.join(prompt.concepts)!r}; "
                "it must return a text or a Generation"
            )
        return reply


def in_order(prompt: Prompt) -> str:
    """A sentence with the concepts in the order asked for: every case is a hit."""
    return _sentence(prompt.concepts)


def reversed_order(prompt: Prompt) -> str:
    """A sentence with the concepts in reverse order: all covered, never in order."""
    return _sentence(prompt.concepts[::-1])


def quarter(prompt: Prompt) -> str:
    """A hit for every fourth order of a set: 6 of 24; for the others the concepts alphabetically, numbered by order."""
    rank = _rank(prompt.concepts)
    return f"{rank + 1}: {_sentence(prompt.concepts if rank % 4 == 0 else sorted(prompt.concepts))}"


def echo(prompt: Prompt) -> str:
    """The bare list of concepts, like a model that does not understand the task."""
    return " ".join(prompt.concepts)


def empty(prompt: Prompt) -> str:
    """An empty reply: every case is an error."""
    return ""


SCRIPTS: Mapping[str, Callable[[Prompt], str]] = MappingProxyType(
    {"in-order": in_order, "reversed-order": reversed_order, "quarter": quarter, "echo": echo, "empty": empty}
)


def script(name: str, *, batch_size: int = 32) -> ScriptedBackend:
    """The backend for a script by its name in `SCRIPTS`; raises ModelError with the nearest name."""
    reply = SCRIPTS.get(name)
    if reply is None:
        near = did_you_mean(name, SCRIPTS) or "."
        raise ModelError(f"scripted:{name} is not a script{near} The scripts are {', '.join(SCRIPTS)}")
    return ScriptedBackend(reply, name=name, batch_size=batch_size)


def open_script(spec: ModelSpec, settings: GenerationSettings, notice: Callable[[str], None]) -> Backend:
    """The backend for `--model scripted:NAME`."""
    return script(spec.source, batch_size=settings.batch_size or 32)


def _sentence(concepts: Sequence[str]) -> str:
    *first, last = concepts
    return f"The {', then the '.join(first)}, and finally the {last}." if first else f"The {last}."


def _rank(concepts: Sequence[str]) -> int:
    """The index of this order among all orders of its concepts; the alphabetical one has 0."""
    rank, remaining = 0, sorted(concepts)
    for concept in concepts:
        index = remaining.index(concept)
        rank = rank * len(remaining) + index
        del remaining[index]
    return rank
