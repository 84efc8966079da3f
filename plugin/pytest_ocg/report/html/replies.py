"""The replies of a run, packed for the HTML page: each text once, the cases as columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pytest_ocg.run.judging.coverage import pack_positions
from pytest_ocg.run.record import CaseRecord, ErrorRecord, Outcome, ReplyRecord

OUTCOMES = tuple(outcome.value for outcome in Outcome)
MAX_TEXT_BYTES = 3_500_000

_LENGTHS = (8000, 4000, 2000, 1000, 500, 300, 200, 150, 100)


class _Numbering:
    """Numbers for values in the order of first use; equal values have the same number."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def __call__(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


def pack_replies(records: Iterable[CaseRecord]) -> dict[str, Any]:
    """The data of the reply browser, made of lists and dicts.

    `texts` are the distinct replies; for a case without a reply the text is its error. If all texts together are over
    MAX_TEXT_BYTES, each is cut to `longest` characters; otherwise `longest` is None. `asked` are the patterns with
    their concepts in the order asked for. In `columns`, `found` is the offsets of each concept in UTF-16 units, packed
    by `coverage.pack_positions`, and `break` is the index of the concept that breaks the order, or -1.
    """
    runs, asked, texts = _Numbering(), _Numbering(), _Numbering()
    columns: dict[str, list[Any]] = {
        name: [] for name in ("run", "template", "asked", "outcome", "text", "found", "break")
    }
    for record in records:
        concepts, order_break, found = record.concepts, None, ""
        if isinstance(record, ReplyRecord):
            text, order_break = record.reply, record.order_break
            found = pack_positions(_units(text, record.positions))
        else:
            assert isinstance(record, ErrorRecord)
            text = f"{record.error}: {record.detail}"
        columns["run"].append(runs((record.model, record.condition, record.shots)))
        columns["template"].append(record.template)
        columns["asked"].append(asked((record.pattern, concepts)))
        columns["outcome"].append(OUTCOMES.index(record.outcome))
        columns["text"].append(texts(text))
        columns["found"].append(found)
        columns["break"].append(concepts.index(order_break) if order_break in concepts else -1)
    longest = _longest(texts.numbers)
    return {
        "runs": list(runs.numbers),
        "asked": list(asked.numbers),
        "texts": [text[:longest] for text in texts.numbers],
        "longest": longest,
        "columns": columns,
    }


def script_json(data: Any) -> str:
    """The data as JSON for a `script` element: ASCII only, and no `<`, so no tag can begin or end in it."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _longest(texts: Iterable[str]) -> int | None:
    sizes = [(len(text), len(json.dumps(text))) for text in texts]
    if sum(size for _, size in sizes) <= MAX_TEXT_BYTES:
        return None
    for longest in _LENGTHS:
        if sum(size * min(1, longest / length) for length, size in sizes if length) <= MAX_TEXT_BYTES:
            return longest
    return _LENGTHS[-1]


def _units(text: str, positions: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Offsets in characters as a browser counts them: a character above U+FFFF counts twice."""
    if text.isascii() or max(text) <= "\uffff":
        return tuple(map(tuple, positions))
    return tuple(
        tuple(offset + sum(character > "\uffff" for character in text[:offset]) for offset in offsets)
        for offsets in positions
    )
