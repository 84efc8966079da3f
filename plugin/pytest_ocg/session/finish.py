"""The end of a session: numbers, files, verdicts and the exit status, computed from the reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pytest_ocg.errors import OcgError, ResultsError
from pytest_ocg.gate.checks import compare_with_baseline
from pytest_ocg.gate.files import baseline_rows, file_name, write_thresholds
from pytest_ocg.gate.judge import OK, TESTS_FAILED, UNUSED_BASELINE, exit_status, judge
from pytest_ocg.gate.thresholds import Thresholds
from pytest_ocg.report.formats import write_report
from pytest_ocg.results.files import Run
from pytest_ocg.results.rows import RunRow, run_rows
from pytest_ocg.results.schema import GateInfo, Results
from pytest_ocg.results.summary import Gathered, Measures, summarise
from pytest_ocg.results.verdicts import Verdict, counts_from_baseline
from pytest_ocg.results.writing import results_folder, write_results
from pytest_ocg.run.record import CaseRecord, read_record
from pytest_ocg.session.benchmark import Benchmark


@dataclass(frozen=True, slots=True)
class Reported:
    """The content of a run's reports: a `generations.jsonl` line per case id, and facts of the run.

    `cut` is the reason why a run stopped early. `only_misses`: every failed test is a miss or a case without a reply.
    """

    lines: Mapping[str, str]
    provenances: Mapping[str, Mapping[str, Any]]
    selected: frozenset[str]
    started: float
    seconds: float
    cut: str | None
    only_misses: bool


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished run: its results and cases in the order of the plan, their folder, the verdicts and the exit status.

    `folder` is None if the results could not be written. `problems` are errors at the end, each with its way out.
    """

    results: Results
    lines: tuple[str, ...]
    records: tuple[CaseRecord, ...]
    folder: Path | None
    verdicts: tuple[Verdict, ...]
    written: tuple[Path, ...]
    reports: tuple[Path, ...]
    problems: tuple[str, ...]
    exit_status: int


def finish(
    benchmark: Benchmark, reported: Reported, exitstatus: int, progress: Callable[[str, int, int], None]
) -> Finished:
    """Compute the results, write the files and apply the thresholds; an error here is reported and loses no replies.

    `progress` is called with the state of a scoring model: label, done, total. A run that is not complete is written to
    the subfolder `partial`, so that it never replaces a complete run.
    """
    options, problems = benchmark.options, list[str]()
    lines = {case.id: reported.lines[case.id] for case in benchmark.plan.cases if case.id in reported.lines}
    records = {case: read_record(line) for case, line in lines.items()}
    results = _summarised(benchmark, reported, records, progress)
    rows = run_rows(results)
    thresholds, written = dict(benchmark.thresholds), list[Path]()
    if options.write_thresholds and exitstatus in (OK, TESTS_FAILED):
        for path, model, new in _written_thresholds(benchmark, results, rows, problems):
            written.append(path)
            thresholds[model] = new
    folder = results_folder(options.output, results)
    verdicts = _verdicts(benchmark, Run(folder / "results.json", results, tuple(records.values())), rows, thresholds)
    status = exit_status(verdicts, mode=options.gate, default=exitstatus, only_misses=reported.only_misses)
    gate = GateInfo(mode=options.gate, verdicts=verdicts, exit_status=status)
    results = msgspec.structs.replace(results, gate=gate)
    is_written = True
    try:
        write_results(folder, results, tuple(lines.values()))
    except ResultsError as error:
        problems.append(str(error))
        is_written = False
    reports = tuple(_write_reports(benchmark, results, tuple(records.values()), problems))
    if problems and status == OK:
        status = TESTS_FAILED
    return Finished(
        results,
        tuple(lines.values()),
        tuple(records.values()),
        folder if is_written else None,
        verdicts,
        tuple(written),
        reports,
        tuple(problems),
        status,
    )


def _summarised(
    benchmark: Benchmark,
    reported: Reported,
    records: Mapping[str, CaseRecord],
    progress: Callable[[str, int, int], None],
) -> Results:
    gathered = Gathered(
        records=records,
        provenances=reported.provenances,
        identities=benchmark.identities,
        selected=reported.selected,
        started=reported.started,
        seconds=reported.seconds,
        cut=reported.cut,
        command_line=tuple(map(str, benchmark.config.invocation_params.args)),
    )
    with benchmark.scoring(progress) as scoring:
        measures = Measures(benchmark.metrics, benchmark.own_metrics, scoring if reported.cut is None else None)
        return summarise(benchmark.plan, gathered, measures)


def _written_thresholds(
    benchmark: Benchmark, results: Results, rows: tuple[RunRow, ...], problems: list[str]
) -> Iterator[tuple[Path, str, Thresholds]]:
    """Each written file, its model, and its new thresholds."""
    for measured in baseline_rows(rows):
        model = measured.row.model
        path = benchmark.options.thresholds or benchmark.config.rootpath / "thresholds" / file_name(model)
        try:
            new = write_thresholds(path, results, measured)
        except OcgError as error:
            problems.append(str(error))
        else:
            yield new.path, model, new


def _verdicts(
    benchmark: Benchmark, run: Run, rows: tuple[RunRow, ...], thresholds: Mapping[str, Thresholds]
) -> tuple[Verdict, ...]:
    if benchmark.options.gate == "off":
        return ()
    baseline = None if benchmark.baseline is None else compare_with_baseline(benchmark.baseline, run)
    verdicts = judge(rows, thresholds, baseline)
    if baseline is not None and not counts_from_baseline(verdicts):
        benchmark.notice(UNUSED_BASELINE)
    return verdicts


def _write_reports(
    benchmark: Benchmark, results: Results, records: tuple[CaseRecord, ...], problems: list[str]
) -> Iterator[Path]:
    for path in benchmark.options.report:
        try:
            path = results_folder(path.parent, results) / path.name
            write_report(path, results, records)
            yield path
        except OcgError as error:
            problems.append(str(error))
