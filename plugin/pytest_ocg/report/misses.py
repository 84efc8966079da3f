"""A few misses, or cases without a reply, to look at, spread over what was asked."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain, zip_longest
from typing import Any

from pytest_ocg.run.record import Outcome, describe, printable, read_record

# A line of `generations.jsonl` begins so; 20,000 misses are not read to show five.
_MODEL_AND_PATTERN = re.compile(r'{"id": "[^"]*", "model": "([^"]*)", .*?"pattern": "([^"]*)", ')


def shown_cases(lines: Iterable[str], outcome: Outcome, number: int) -> list[str]:
    """Up to `number` cases of this outcome, one line each, in turn from every model and part-of-speech pattern."""
    marked = f'"outcome": "{outcome}"'
    by_pattern: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for line in lines:
        start = _MODEL_AND_PATTERN.match(line)
        if start and marked in line:
            of_pattern = by_pattern[start[1], start[2]]
            if len(of_pattern) < number:
                of_pattern.append(case_line(read_record(line)))
    in_turn = chain.from_iterable(zip_longest(*by_pattern.values()))
    return [text for text in in_turn if text is not None][:number]


def case_line(record: Mapping[str, Any]) -> str:
    """What became of the case on one line, with the template and pattern it was asked by."""
    if record["outcome"] == Outcome.ERROR:
        said = f"{record['error']}: {printable(record['detail'])} | asked: {' '.join(record['concepts'])}"
    else:
        said = describe(record["concepts"], record["missing"], record["order_break"], record["reply"])
    return f"{record['model']} t{record['template']} {record['pattern']}: {said}"
