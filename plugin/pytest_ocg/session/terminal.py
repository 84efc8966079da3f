"""The summary on the terminal at the end of a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_ocg.report.summary_table import (
    counts_line,
    footnotes,
    made_by_line,
    recipe_line,
    render_breakdown,
    render_table,
    row_line,
    shown_cases,
    truncation_notes,
    usage_line,
)
from pytest_ocg.report.verdicts import tell_github
from pytest_ocg.results.summary import NOT_ASKED
from pytest_ocg.results.verdicts import Status
from pytest_ocg.run.record import Outcome

if TYPE_CHECKING:
    from pytest_ocg.session.benchmark import Benchmark
    from pytest_ocg.session.finish import Finished

COLOURS = {Status.PASSED: "green", Status.FAILED: "red", Status.NOT_EVALUATED: "yellow"}


def print_summary(reporter: pytest.TerminalReporter, finished: Finished, benchmark: Benchmark) -> None:
    """Print some misses, the table, how it was measured, the paths of the files, and the verdicts.

    `-v` adds intervals, templates, patterns and signatures; `-q` prints one line for each row and the verdicts.
    """
    results = finished.results
    if not results.rows:
        return
    if reporter.verbosity < 0:
        for row in results.rows:
            reporter.write_line(row_line(row))
        for line in footnotes(row.metrics for row in results.rows):
            if NOT_ASKED not in line:
                reporter.write_line(line)
    else:
        _print_cases(reporter, finished, Outcome.MISS, "misses", benchmark.options.show_misses)
        _print_cases(reporter, finished, Outcome.ERROR, "cases without a reply", benchmark.options.show_misses)
        reporter.write_sep("=", "ordered commongen")
        for line in render_table(results, with_intervals=reporter.verbosity > 0):
            reporter.write_line(line)
        if reporter.verbosity > 0:
            for line in render_breakdown(results):
                reporter.write_line(line)
        reporter.write_line("")
        for row in results.rows:
            for line in filter(None, (counts_line(row), usage_line(row))):
                reporter.write_line(line)
        for line in dict.fromkeys(filter(None, map(made_by_line, results.rows))):
            reporter.write_line(line)
        reporter.write_line(recipe_line(results))
    if reporter.verbosity > 0:
        _print_signatures(reporter, finished)
    for notice in (*benchmark.notices, *truncation_notes(results)):
        reporter.write_line(f"note: {notice}", yellow=True)
    for path in finished.written:
        reporter.write_line(f"thresholds written: {path}")
    if finished.folder is not None and reporter.verbosity >= 0:
        reporter.write_line(f"results: {finished.folder}/results.json, generations.jsonl")
    for path in finished.reports:
        reporter.write_line(f"report: {path}")
    for problem in finished.problems:
        reporter.write_line(f"ocg: {problem}", red=True)
    for note in (note for verdict in finished.verdicts for note in verdict.notes):
        reporter.write_line(f"gate: {note}")
    for verdict in finished.verdicts:
        reporter.write_line(verdict.line(), **{COLOURS[verdict.status]: True})
    for line in tell_github(os.environ, finished.verdicts, lambda: _markdown(finished)):
        reporter.write_line(line)


def _markdown(finished: Finished) -> str:
    from pytest_ocg.report.markdown import render_markdown  # only GitHub Actions needs it

    return render_markdown(finished.results, finished.records)


def _print_cases(
    reporter: pytest.TerminalReporter, finished: Finished, outcome: Outcome, noun: str, number: int
) -> None:
    total = sum(getattr(row.counts, outcome.value) for row in finished.results.rows)
    cases = shown_cases(finished.lines, outcome, number) if total else []
    if cases:
        more = " (--ocg-show-misses N shows more)" if len(cases) < total else ""
        reporter.write_sep("=", f"{len(cases)} of {total:,} {noun}{more}")
    for case in cases:
        reporter.write_line(case)


def _print_signatures(reporter: pytest.TerminalReporter, finished: Finished) -> None:
    signatures = {
        name: score.signature for row in finished.results.rows for name, score in row.metrics.items() if score.signature
    }
    for name, signature in signatures.items():
        reporter.write_line(f"{name}: {signature}")
