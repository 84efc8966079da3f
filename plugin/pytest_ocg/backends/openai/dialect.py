"""The parts of a chat request that a server accepts: learned once from its refusals, then used for all requests."""

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
_OPTIONAL_PARAMETERS = {
    "temperature": "does not accept temperature 0: it decodes with its default, not greedily",
    "seed": "does not accept a seed",
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """The form of requests to a server: the name of the cap, the omitted parameters, and where the system text goes."""

    cap: str = "max_tokens"
    omitted: tuple[str, ...] = ()
    folds_system: bool = False

    def parameters(self, settings: GenerationSettings) -> dict[str, Any]:
        """The decoding parameters as sent."""
        wanted = {"temperature": 0, "seed": settings.seed, self.cap: settings.max_new_tokens}
        return {name: value for name, value in wanted.items() if name not in self.omitted}

    def sent_messages(self, messages: Sequence[Message]) -> list[Mapping[str, str]]:
        """The messages as sent."""
        sent = fold_system(messages) if self.folds_system else messages
        return [{"role": message.role, "content": message.content} for message in sent]

    def effective(self, settings: GenerationSettings) -> dict[str, Any]:
        """The effective decoding, with None for a value that the server chooses."""
        return {**dict.fromkeys(self.omitted), **self.parameters(settings)}


@dataclass(frozen=True, slots=True)
class Adaptation:
    """The dialect after a refusal, and a text on what the server does not accept."""

    dialect: Dialect
    consequence: str


def adapt_dialect(dialect: Dialect, failure: Failure) -> Adaptation | None:
    """The dialect without the part that the failure names as not accepted; None if it names no such part."""
    text = " ".join((failure.parameter, *failure.codes, failure.message))
    if _IS_REFUSAL.search(text) is None:
        return None
    if not dialect.folds_system and _IS_ABOUT_SYSTEM.search(text):
        return Adaptation(
            replace(dialect, folds_system=True),
            "does not accept a system role: the system text is put in front of the first user turn",
        )
    if dialect.cap == "max_tokens" and _names(failure, "max_tokens"):
        return Adaptation(
            replace(dialect, cap="max_completion_tokens"),
            "needs the parameter max_completion_tokens instead of max_tokens",
        )
    for name, consequence in _OPTIONAL_PARAMETERS.items():
        if name not in dialect.omitted and _names(failure, name):
            return Adaptation(replace(dialect, omitted=(*dialect.omitted, name)), consequence)
    return None


def _names(failure: Failure, name: str) -> bool:
    """Whether the failure is about the parameter: in its own field, or without that field, in its message."""
    if failure.parameter:
        return failure.parameter == name
    return re.search(rf"\b{name}\b", failure.message) is not None
