"""A row of the results as lines of text: by template, by part-of-speech pattern, and all of it in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_ocg.report.markup import number
from pytest_ocg.report.summary_table import COLUMNS, render_grid, titles_of

PATTERN_METRICS = ("coverage_unordered", "coverage_ordered", "ordered_rate", "diverse_rate")


def render_breakdown(results: Mapping[str, Any]) -> Iterator[str]:
    """For each row a table with a line per template (Table 3), and one with a line per pattern asked for (Table 2)."""
    for row in results["rows"]:
        name = f"{row['model']} {row['condition']}"
        titles = titles_of([row])
        lines = [[f"t{template}", *_cells(scores, list(titles))] for template, scores in row["by_template"].items()]
        yield from ("", f"{name}, by template", *render_grid(["template", *titles.values()], lines, left=1))
        lines = [
            [pattern, f"{scores['scored']:,}", *_cells(scores, PATTERN_METRICS)]
            for pattern, scores in row["by_pattern"].items()
        ]
        heads = ["pattern", "replies", *(COLUMNS[metric] for metric in PATTERN_METRICS)]
        yield from ("", f"{name}, by pattern asked for", *render_grid(heads, lines, left=1))


def row_line(row: Mapping[str, Any]) -> str:
    """A row in one line: its cases, and each metric that has a value."""
    counts = row["counts"]
    scores = [
        f"{title.replace(chr(10), ' ')} {number(row['metrics'][name]['value'])}"
        for name, title in titles_of([row]).items()
    ]
    told = f"{counts['hit']:,} hit, {counts['miss']:,} missed, {counts['error']:,} without a reply"
    return "; ".join([f"{row['model']} {row['condition']}: {told}", *scores])


def _cells(scores: Mapping[str, float | None], names: Sequence[str]) -> list[str]:
    return [number(scores.get(name)) for name in names]
