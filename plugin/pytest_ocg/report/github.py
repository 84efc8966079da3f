"""What a workflow of GitHub Actions is told: a summary of the step, and annotations for what the gate found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pytest_ocg.gate.judge import Status, Verdict

_LEVELS = {Status.FAILED: "error", Status.NOT_EVALUATED: "warning"}


def tell_github(
    environment: Mapping[str, str], verdicts: Sequence[Verdict], render: Callable[[], str]
) -> Iterator[str]:
    """The lines to print, after the Markdown that `render` makes was put into the summary of the step.

    Nothing happens outside of GitHub Actions; a summary that cannot be written is one more line.
    """
    if environment.get("GITHUB_ACTIONS") != "true":
        return
    for verdict in verdicts:
        level = _LEVELS.get(verdict.status)
        if level is not None:
            title = f"Ordered CommonGen {verdict.name or verdict.model}: {verdict.status.replace('_', ' ')}"
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
