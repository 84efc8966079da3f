"""What the gate said, as lines for a terminal and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ocg.gate.checks import Check
from pytest_ocg.gate.judge import Status, Verdict
from pytest_ocg.report.markup import code, number, plain, table

NO_ROWS = "gate: NOT EVALUATED the results have no rows"
_LONGEST_LINE = 2_000
_TITLES = ("metric", "value", "95 % interval", "bound", "limit", "baseline", "holds")


def render_verdicts(verdicts: Sequence[Verdict]) -> list[str]:
    """What is to be said of single limits, then a line for each verdict."""
    notes = [f"gate: {note}" for verdict in verdicts for note in verdict.notes]
    return [*notes, *(verdict.line() for verdict in verdicts)] if verdicts else [NO_ROWS]


def render_verdicts_markdown(verdicts: Sequence[Verdict]) -> str:
    """The verdicts with a table of what was held against each; no text out of the results is read as markup."""
    lines = ["## Ordered CommonGen: gate", ""]
    for verdict in verdicts:
        line = code(verdict.line(), _LONGEST_LINE)
        lines += [f"**{line}**" if verdict.status is Status.FAILED else line, ""]
        if verdict.checks:
            lines += table(_TITLES, map(_cells, verdict.checks))
        lines += [*(f"- {code(note, _LONGEST_LINE)}" for note in verdict.notes), *([""] if verdict.notes else [])]
    return "\n".join(lines if verdicts else [*lines, code(NO_ROWS)]).rstrip("\n") + "\n"


def _cells(check: Check) -> list[str]:
    return [
        code(check.name),
        number(check.value),
        "-" if check.interval is None else f"{check.interval[0]:.2f} to {check.interval[1]:.2f}",
        plain(check.bound),
        number(check.limit),
        number(None if check.fall is None else check.fall.baseline),
        "yes" if check.holds else "**no**",
    ]
