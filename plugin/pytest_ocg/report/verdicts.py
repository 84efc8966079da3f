"""The verdicts of the gate as lines for a terminal, as Markdown, and as annotations for GitHub Actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pytest_ocg.report.markup import code, escape, number, table
from pytest_ocg.results.verdicts import Check, Status, Verdict

NO_ROWS = "gate: NOT EVALUATED the results have no rows"
_LONGEST_LINE = 2_000
_TITLES = ("metric", "value", "95 % interval", "bound", "limit", "baseline", "holds")


def render_verdicts(verdicts: Sequence[Verdict]) -> list[str]:
    """The notes on single limits, then one line for each verdict."""
    notes = [f"gate: {note}" for verdict in verdicts for note in verdict.notes]
    return [*notes, *(verdict.line() for verdict in verdicts)] if verdicts else [NO_ROWS]


def render_verdicts_markdown(verdicts: Sequence[Verdict]) -> str:
    """The verdicts, each with a table of its limits; text from the results is never read as markup."""
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
        code(check.metric),
        number(check.value),
        "-" if check.interval is None else f"{check.interval[0]:.2f} to {check.interval[1]:.2f}",
        escape(check.bound),
        number(check.limit),
        number(None if check.fall is None else check.fall.baseline),
        "yes" if check.holds else "**no**",
    ]


_LEVELS = {Status.FAILED: "error", Status.NOT_EVALUATED: "warning"}


def tell_github(
    environment: Mapping[str, str], verdicts: Sequence[Verdict], render: Callable[[], str]
) -> Iterator[str]:
    """The lines to print in GitHub Actions; the Markdown from `render` is added to the step summary.

    Outside GitHub Actions there are no lines and nothing is written. If the summary cannot be written, one more line
    reports it.
    """
    if environment.get("GITHUB_ACTIONS") != "true":
        return
    for verdict in verdicts:
        level = _LEVELS.get(verdict.status)
        if level is not None:
            title = f"Ordered CommonGen {verdict.name}: {verdict.status.replace('_', ' ')}"
            yield from (f"::{level} title={_property(title)}::{_message(reason)}" for reason in verdict.reasons)
    summary = environment.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(f"{render().rstrip()}\n\n")
        except OSError as error:
            yield f"::warning::{_message(f'the summary {summary!r} cannot be written ({error.strerror})')}"


def _message(text: str) -> str:
    """The text as the data of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """The text as a property of a workflow command."""
    return _message(text).replace(":", "%3A").replace(",", "%2C")
