"""A run as a LaTeX table with the columns of the paper's Table 1."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_ocg.errors import printable
from pytest_ocg.report.markup import number
from pytest_ocg.report.summary_table import COLUMNS, footnotes, recipe_line

TABLE1 = (
    "coverage_unordered", "coverage_ordered", "ordered_rate", "pbleu", "pbleurt", "distinct2", "diverse_rate",
    "perplexity",
)  # fmt: skip

_LONGEST_LINE = 2_000
_SPECIAL = re.compile(r"[\\{}$&#%_~^<>|]|-(?=-)")
_WRITTEN = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "-": "-{}",
}  # fmt: skip


def render_latex(results: Mapping[str, Any]) -> str:
    """A `tabular` with one row per model, deltas to `original` behind the values where both conditions were run.

    A model that was asked in condition `original` alone has that row. What was measured stands in comments above.
    """
    rows = results["rows"]
    ordered = {row["model"] for row in rows if row["condition"] == "ordered"}
    shown = [row for row in rows if row["condition"] == "ordered" or row["model"] not in ordered]
    titles = " & ".join(["model", *(escape(COLUMNS[name].replace("\n", " ")) for name in TABLE1)])
    lines = [
        *(f"% {printable(line, _LONGEST_LINE)}" for line in (recipe_line(results), *footnotes(results))),
        rf"\begin{{tabular}}{{l{'r' * len(TABLE1)}}}",
        r"\hline",
        rf"{titles} \\",
        r"\hline",
        *(rf"{' & '.join([_name(row), *(_cell(row, name) for name in TABLE1)])} \\" for row in shown),
        r"\hline",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """The text on one line, with nothing in it that LaTeX obeys."""
    return _SPECIAL.sub(lambda found: _WRITTEN.get(found.group(), rf"\{found.group()}"), printable(text))


def _name(row: Mapping[str, Any]) -> str:
    notes = [] if row["condition"] == "ordered" else [row["condition"]]
    notes += [f"{row['shots']}-shot"] if row["shots"] else []
    return escape(f"{row['model']} ({', '.join(notes)})" if notes else row["model"])


def _cell(row: Mapping[str, Any], name: str) -> str:
    value = row["metrics"].get(name, {}).get("value")
    delta = row.get("delta_vs_original", {}).get(name)
    if value is None:
        return "--"
    return number(value) if delta is None else rf"{value:.2f} {{\scriptsize (${delta:+.2f}$)}}"
