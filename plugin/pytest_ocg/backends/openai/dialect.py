"""What of a chat request a server takes: found out from its refusals, once, and kept to from then on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.openai.answers import Failure
from pytest_ocg.inputs.prompts import Message, fold_system

_IS_REFUSAL = re.compile(
    r"unsupported|not support|not enabled|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|extra_forbidden"
    r"|cannot find field|must alternate|only user and assistant",
    re.IGNORECASE,
)
_IS_ABOUT_SYSTEM = re.compile(
    r"system\W.{0,40}(role|message|prompt|instruction|turn)|role.{0,40}system|developer instruction"
    r"|roles must alternate|only user and assistant roles",
    re.IGNORECASE,
)
_DISPENSABLE = {
    "temperature": "refuses temperature 0: it decodes as it does by default, not greedily",
    "seed": "takes no seed",
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How requests are worded for a server: the name of the cap, what is left out, and where the system text stands."""

    cap: str = "max_tokens"
    left_out: tuple[str, ...] = ()
    folds_system: bool = False

    def parameters(self, settings: GenerationSettings) -> dict[str, Any]:
        """The decoding parameters as sent."""
        wanted = {"temperature": 0, "seed": settings.seed, self.cap: settings.max_new_tokens}
        return {name: value for name, value in wanted.items() if name not in self.left_out}

    def turns(self, messages: Sequence[Message]) -> list[Mapping[str, str]]:
        """The messages as sent."""
        told = fold_system(messages) if self.folds_system else messages
        return [{"role": message.role, "content": message.content} for message in told]

    def recorded(self, settings: GenerationSettings) -> dict[str, Any]:
        """The decoding as it took place, with None for what the server chooses itself."""
        return {**dict.fromkeys(self.left_out), **self.parameters(settings)}


@dataclass(frozen=True, slots=True)
class Adapted:
    """A dialect that a refusal led to, and what that means for the replies."""

    dialect: Dialect
    consequence: str


def adapted(dialect: Dialect, failure: Failure) -> Adapted | None:
    """The dialect without what the failure says the server does not take, None where it says no such thing."""
    said = " ".join((failure.parameter, *failure.codes, failure.message))
    if _IS_REFUSAL.search(said) is None:
        return None
    if not dialect.folds_system and _IS_ABOUT_SYSTEM.search(said):
        return Adapted(
            replace(dialect, folds_system=True),
            "takes no system role: the system text stands in front of the first user turn",
        )
    if dialect.cap == "max_tokens" and _names(failure, "max_tokens"):
        return Adapted(replace(dialect, cap="max_completion_tokens"), "wants the cap as max_completion_tokens")
    for name, consequence in _DISPENSABLE.items():
        if name not in dialect.left_out and _names(failure, name):
            return Adapted(replace(dialect, left_out=(*dialect.left_out, name)), consequence)
    return None


def _names(failure: Failure, name: str) -> bool:
    """Whether the failure is about the parameter: the one it names, or where it names none, one in its message."""
    if failure.parameter:
        return failure.parameter == name
    return re.search(rf"\b{name}\b", failure.message) is not None
