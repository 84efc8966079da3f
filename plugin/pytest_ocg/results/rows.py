"""What a summary needs of each judged case, and what is counted of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """What a summary needs of one judged case; `reply` is None for an error."""

    template: int
    set_id: str
    pattern: str
    reply: str | None
    covered: bool
    in_order: bool
    is_hit: bool
    is_cached: bool
    is_echo: bool
    error: str | None
    made_by: str
    is_truncated: bool
    prompt_tokens: int | None
    completion_tokens: int | None


def entry_of(record: Mapping[str, Any]) -> Entry:
    """The entry for one `generations.jsonl` object."""
    return Entry(
        template=record["template"],
        set_id=record["set"],
        pattern=record["pattern"],
        reply=record["reply"],
        covered=record.get("covered", False),
        in_order=record.get("in_order", False),
        is_hit=record["outcome"] == "hit",
        is_cached=record["cached"],
        is_echo=record.get("echo", False),
        error=record.get("error"),
        made_by=record["made_by"],
        is_truncated=record["finish_reason"] == "length",
        prompt_tokens=record["prompt_tokens"],
        completion_tokens=record["completion_tokens"],
    )


def counts_of(entries: Sequence[Entry], planned: int, selected: int) -> dict[str, Any]:
    """What became of the cases of a row: planned, selected, and by outcome, errors also by kind."""
    errors = Counter(entry.error for entry in entries if entry.error is not None)
    hits = sum(entry.is_hit for entry in entries)
    return {
        "planned": planned,
        "selected": selected,
        "hit": hits,
        "miss": len(entries) - hits - errors.total(),
        "error": errors.total(),
        "not_run": selected - len(entries),
        "cached": sum(entry.is_cached for entry in entries),
        "echo": sum(entry.is_echo for entry in entries),
        "truncated": sum(entry.is_truncated for entry in entries),
        "errors": dict(sorted(errors.items())),
    }


def usage_of(entries: Sequence[Entry]) -> dict[str, int]:
    """Tokens as the backend counted them, of all cases and of those that were not in the cache."""
    counted = [
        (entry, entry.prompt_tokens or 0, entry.completion_tokens or 0)
        for entry in entries
        if entry.prompt_tokens is not None or entry.completion_tokens is not None
    ]
    return {
        "prompt_tokens": sum(prompt for _, prompt, _ in counted),
        "completion_tokens": sum(completion for _, _, completion in counted),
        "new_prompt_tokens": sum(prompt for entry, prompt, _ in counted if not entry.is_cached),
        "new_completion_tokens": sum(completion for entry, _, completion in counted if not entry.is_cached),
        "uncounted": len(entries) - len(counted),
    }
