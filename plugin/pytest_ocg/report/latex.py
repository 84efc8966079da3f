"""A run as a LaTeX table with the columns of the paper's Table 1."""

from __future__ import annotations

import re

from pytest_ocg.errors import printable
from pytest_ocg.metrics import catalogue
from pytest_ocg.report.markup import number
from pytest_ocg.report.summary_table import footnotes, recipe_line
from pytest_ocg.results.schema import Results, Row

_LONGEST_LINE = 2_000
_SPECIAL = re.compile(r"[\\{}$&#%_~^<>|]|-(?=-)")
_WRITTEN = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "-": "-{}",
}  # fmt: skip


def render_latex(results: Results) -> str:
    """A `tabular` with one row per model; if both conditions were run, the delta to `original` follows each value.

    A model that was run only in condition `original` has that row. Comments above describe what was measured.
    """
    rows, names = results.rows, catalogue.published_metrics()
    ordered = {row.model for row in rows if row.condition == "ordered"}
    shown = [row for row in rows if row.condition == "ordered" or row.model not in ordered]
    titles = " & ".join(["model", *(escape(catalogue.label_of(name)) for name in names)])
    lines = [
        *(
            f"% {printable(line, _LONGEST_LINE)}"
            for line in (recipe_line(results), *footnotes(row.metrics for row in rows))
        ),
        rf"\begin{{tabular}}{{l{'r' * len(names)}}}",
        r"\hline",
        rf"{titles} \\",
        r"\hline",
        *(rf"{' & '.join([_name(row), *(_cell(row, name) for name in names)])} \\" for row in shown),
        r"\hline",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """The text on one line, with every LaTeX command character escaped."""
    return _SPECIAL.sub(lambda found: _WRITTEN.get(found.group(), rf"\{found.group()}"), printable(text))


def _name(row: Row) -> str:
    notes = [] if row.condition == "ordered" else [row.condition]
    notes += [f"{row.shots}-shot"] if row.shots else []
    return escape(f"{row.model} ({', '.join(notes)})" if notes else row.model)


def _cell(row: Row, name: str) -> str:
    value, delta = row.value(name), (row.delta_vs_original or {}).get(name)
    if value is None:
        return "--"
    return number(value) if delta is None else rf"{value:.2f} {{\scriptsize (${delta:+.2f}$)}}"
