"""A few misses to look at, spread over what was asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain, zip_longest
from typing import Any

from pytest_ocg.record import describe, read_record


def shown_misses(lines: Iterable[str], number: int) -> list[str]:
    """Up to `number` misses, one line each, taken in turn from every model and part-of-speech pattern."""
    by_pattern: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for line in lines:
        if '"outcome": "miss"' in line:
            record = read_record(line)
            of_pattern = by_pattern[record["model"], record["pattern"]]
            if len(of_pattern) < number:
                of_pattern.append(miss_line(record))
    in_turn = chain.from_iterable(zip_longest(*by_pattern.values()))
    return [text for text in in_turn if text is not None][:number]


def miss_line(record: Mapping[str, Any]) -> str:
    """The miss on one line, with the template and pattern it was asked by."""
    said = describe(record["concepts"], record["missing"], record["order_break"], record["reply"])
    return f"{record['model']} t{record['template']} {record['pattern']}: {said}"
