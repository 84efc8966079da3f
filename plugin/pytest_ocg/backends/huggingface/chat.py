"""Renders a chat for a model: with its chat template, or as plain text if it has none."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.prompts import Message, fold_system

PINNED_DATE = "26 Jul 2024"
END_MARKERS = (
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|endoftext|>", "<|END_OF_TURN_TOKEN|>",
    "<|return|>", "<turn|>", "</s>",
)  # fmt: skip
START_MARKERS = (
    "<|im_start|>", "<|start_header_id|>", "<start_of_turn>", "<|user|>", "<|system|>", "<|assistant|>",
    "<|START_OF_TURN_TOKEN|>", "<|turn>", "[INST]", "[/INST]",
)  # fmt: skip

# Replaces the function of this name that transformers passes to templates.
_PINNED_CLOCK = (
    "{% macro strftime_now(form) %}{{ form | replace('%d', '26') | replace('%B', 'July') | replace('%b', 'Jul') | "
    "replace('%m', '07') | replace('%Y', '2024') | replace('%y', '24') | replace('%A', 'Friday') | "
    "replace('%a', 'Fri') | replace('%H', '12') | replace('%M', '00') | replace('%S', '00') }}{% endmacro %}"
)
_PROBE = "c0mmongen system probe"


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How turns become one text for a model.

    `template_sha256` is of the chat template, None for a model without one. `system_role` is the place of the system
    text: `native`, `folded` in front of the first user turn, or `plain` text above it. `end_markers` and
    `start_markers` are the texts that the template writes after and before a turn.
    """

    template_sha256: str | None
    system_role: Literal["native", "folded", "plain"]
    end_markers: tuple[str, ...] = ()
    start_markers: tuple[str, ...] = ()


def chat_format(tokenizer: Any) -> ChatFormat:
    """The format for a loaded tokenizer; raises ModelError if its chat template cannot be rendered."""
    template = _template(tokenizer)
    if template is None:
        return ChatFormat(None, "plain")
    digest = hashlib.sha256(template.encode()).hexdigest()
    ends, starts = (tuple(filter(template.__contains__, markers)) for markers in (END_MARKERS, START_MARKERS))
    probe = (Message("system", _PROBE), Message("user", "user"))
    try:
        if _PROBE in _apply(tokenizer, probe):
            return ChatFormat(digest, "native", ends, starts)
    except ModelError:  # some templates raise, others omit the text: we fold for both
        pass
    if _PROBE not in _apply(tokenizer, fold_system(probe)):
        raise ModelError(
            f"the chat template of {tokenizer.name_or_path!r} omits the user's text; "
            "use a checkpoint whose chat template works"
        )
    return ChatFormat(digest, "folded", ends, starts)


def render(tokenizer: Any, chat: ChatFormat, messages: Sequence[Message]) -> str:
    """The whole prompt as text, up to the start of the reply; raises ModelError if the template raises."""
    if chat.system_role == "plain":
        return "\n\n".join(message.content for message in messages)
    return _apply(tokenizer, fold_system(messages) if chat.system_role == "folded" else messages)


def encode(tokenizer: Any, text: str) -> list[int]:
    """The token ids of a rendered prompt, with exactly one start token if the tokenizer adds one."""
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    start = tokenizer.bos_token_id
    if start is None or tokenizer("a")["input_ids"][:1] != [start]:
        return ids
    while ids[:1] == [start]:
        ids = ids[1:]
    return [start, *ids]


def cut_at_marker(text: str, chat: ChatFormat) -> str:
    """The reply up to the first turn marker with text before it; the rest is a leaked next turn."""
    places = [text.find(marker) for marker in (*chat.end_markers, *chat.start_markers)]
    return text[: min((place for place in places if place >= 0 and text[:place].strip()), default=len(text))]


def _template(tokenizer: Any) -> str | None:
    if not tokenizer.chat_template:
        return None
    try:
        template: str = tokenizer.get_chat_template()
    except ValueError as cause:  # several named templates without a default
        raise ModelError(
            f"the tokenizer of {tokenizer.name_or_path!r} has chat templates but no default one: {cause}"
        ) from cause
    return template


def _apply(tokenizer: Any, turns: Sequence[Message]) -> str:
    from jinja2.exceptions import TemplateError

    template = tokenizer.get_chat_template()
    # Some templates write today's date into the system turn. We pin it, so that a prompt is the same every day.
    clock = _PINNED_CLOCK if "strftime_now" in template else ""
    try:
        text: str = tokenizer.apply_chat_template(
            [{"role": turn.role, "content": turn.content} for turn in turns],
            tokenize=False,
            add_generation_prompt=True,
            chat_template=clock + template,
            date_string=PINNED_DATE,
        )
    except (TemplateError, TypeError, ValueError) as cause:  # templates raise more than raise_exception does
        roles = ", ".join(turn.role for turn in turns)
        raise ModelError(
            f"the chat template of {tokenizer.name_or_path!r} refuses the turns {roles}: {cause}; "
            "use a checkpoint whose chat template accepts them"
        ) from cause
    return text
