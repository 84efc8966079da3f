"""What a reasoning model answers, once its reasoning block is taken away."""

from __future__ import annotations

COMMON_TAGS = ("<think>", "</think>")


def opens_reasoning(prompt: str, reasoning: tuple[str, str] | None) -> bool:
    """Whether the rendered prompt itself opens the reasoning block, so that the reply begins inside it."""
    return prompt.rstrip().endswith((reasoning or COMMON_TAGS)[0])


def answer_of(
    text: str,
    *,
    reasoning: tuple[str, str] | None = None,
    answer: tuple[str, str] | None = None,
    is_open: bool = False,
) -> str | None:
    """The part of a reply that is its answer, None for a reply that never leaves its reasoning (SPEC section 2).

    All up to the last closing tag is reasoning, whether or not it was opened. `is_open` says that the prompt opened the
    block. Without `reasoning` tags the common `<think>` counts, but only where the reply begins with it or the prompt
    ends with it: a model not known to reason may write about tags. What `answer` tags enclose is the whole answer.
    """
    tags = reasoning
    if tags is None and (is_open or text.lstrip().startswith(COMMON_TAGS[0])):
        tags = COMMON_TAGS
    if tags is not None:
        outside = _outside(text, *tags, is_open=is_open)
        if outside is None:
            return _marked(text, *answer) if answer is not None and answer[1] in text else None
        text = outside
    return text if answer is None else _marked(text, *answer)


def _outside(text: str, opening: str, closing: str, *, is_open: bool) -> str | None:
    _, closed, rest = text.rpartition(closing)
    if not closed and is_open:
        return None
    before, reopened, _ = rest.partition(opening)
    return None if reopened and not before.strip() else before


def _marked(text: str, opening: str, closing: str) -> str:
    """What stands between the last pair of tags; up to the end where it was not closed, all where it was not opened."""
    return text.rpartition(opening)[2].partition(closing)[0]
