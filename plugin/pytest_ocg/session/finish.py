"""What a run leaves behind: `results.json`, `generations.jsonl`, and the verdicts on it."""

from __future__ import annotations

import platform
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from pytest_ocg.errors import OcgError, ResultsError
from pytest_ocg.gate import judge as gate
from pytest_ocg.gate import judge as gate_status
from pytest_ocg.gate.checks import hold_against
from pytest_ocg.gate.files import baseline_rows, file_name, thresholds_for, write_thresholds
from pytest_ocg.gate.thresholds import Thresholds
from pytest_ocg.inputs.models import ModelSpec, cost_of
from pytest_ocg.metrics.base import MetricFactory, ScoringContext
from pytest_ocg.report.formats import write_report
from pytest_ocg.results.files import RESULTS_SCHEMA, Run, load_run
from pytest_ocg.results.rows import Entry, entry_of
from pytest_ocg.results.summary import add_deltas, measure_metric, summarise_row
from pytest_ocg.results.writing import results_folder, write_results
from pytest_ocg.run.judging.coverage import matcher_signature
from pytest_ocg.run.plan import Plan
from pytest_ocg.run.record import read_record
from pytest_ocg.session.benchmark import Benchmark

PACKAGES = ("pytest", "pytest-xdist", "transformers", "torch", "bitsandbytes", "spacy", "sacrebleu", "openai")


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the reports of a run brought: a `generations.jsonl` line per case id, and how the run went.

    `cut` says why a run stopped early. `only_misses`: every failed test is a miss or a case without a reply.
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
    """A run summed up: the content of `results.json`, where it lies, the verdicts, and the exit status.

    `problems` is what could not be done at the end, each with its way out.
    """

    results: Mapping[str, Any]
    lines: tuple[str, ...]
    folder: Path | None
    verdicts: tuple[gate.Verdict, ...]
    written: tuple[Path, ...]
    reports: tuple[Path, ...]
    problems: tuple[str, ...]
    exit_status: int


def summarise(
    plan: Plan,
    identities: Mapping[str, Mapping[str, Any]],
    gathered: Gathered,
    scoring: ScoringContext | None,
    metrics: Sequence[str],
    own_metrics: Mapping[str, MetricFactory],
) -> dict[str, Any]:
    """The content of `results.json` (schema 1): rows in the plan's order, numbers however tests were spread.

    Without `scoring`, what needs a scoring model is not computed.
    """
    options = plan.options
    entries: defaultdict[tuple[str, str], list[Entry]] = defaultdict(list)
    planned: Counter[tuple[str, str]] = Counter()
    selected: Counter[tuple[str, str]] = Counter()
    patterns: defaultdict[tuple[str, str], dict[str, dict[str, int]]] = defaultdict(dict)
    for case in plan.cases:
        key = (case.model, case.condition)
        planned[key] += 1
        selected[key] += case.id in gathered.selected
        line = gathered.lines.get(case.id)
        of_pattern = patterns[key].setdefault(case.pattern, {"planned": 0, "run": 0})
        of_pattern["planned"] += 1
        of_pattern["run"] += line is not None
        if line is not None:
            entries[key].append(entry_of(read_record(line)))
    matcher = matcher_signature(options.matcher)
    # Of replies made elsewhere nothing is known but what was said of them.
    stated = {"quantization": options.quantization} if options.backend == "replay" and options.quantization else {}
    rows = [
        {
            "model": model,
            "condition": condition,
            "shots": options.shots,
            "published_as": plan.specs[model].published_as,
            "identity": {**stated, **identities.get(model, {})},
            "patterns": patterns[model, condition],
            **summarise_row(
                entries[model, condition],
                planned=planned[model, condition],
                selected=selected[model, condition],
                matcher=matcher,
                metrics=metrics,
                measure=partial(measure_metric, scoring=scoring, own=own_metrics),
                provenances=gathered.provenances,
            ),
        }
        for model, condition in planned
        if selected[model, condition]
    ]
    for row in rows:
        row["usage"] |= _costs(plan.specs[row["model"]], row["usage"])
    add_deltas(rows)
    ran = len(gathered.lines)
    return {
        "schema": RESULTS_SCHEMA,
        "run": {
            "started": datetime.fromtimestamp(gathered.started, UTC).isoformat(timespec="seconds"),
            "seconds": round(gathered.seconds, 3),
            "versions": dict(_versions()),
            "python": platform.python_version(),
            "platform": platform.platform(),
        },
        "dataset": {
            "name": plan.dataset.name,
            "sha256": plan.dataset.sha256,
            "sets": len(plan.dataset.sets),
            "dropped": plan.dataset.dropped,
        },
        "templates_sha256": plan.templates.sha256,
        "matcher": matcher,
        "seed": options.seed,
        "selection": {
            "sets": None if options.sets is None else str(options.sets),
            "shard": None if options.shard is None else str(options.shard),
            "whole": None if plan.whole is None else asdict(plan.whole),
            "templates": list(options.templates),
            "conditions": list(options.conditions),
            "shots": options.shots,
            "planned": planned.total(),
            "selected": len(gathered.selected),
            "run": ran,
            "complete": ran == planned.total() and gathered.cut is None,
            "cut": gathered.cut,
        },
        "rows": rows,
    }


def _costs(spec: ModelSpec, usage: Mapping[str, int]) -> dict[str, float | None]:
    """What the tokens cost in US dollars, all of them and those of this run; None where the price is not known."""
    return {
        "cost_dollars": cost_of(spec.price, usage["prompt_tokens"], usage["completion_tokens"]),
        "new_cost_dollars": cost_of(spec.price, usage["new_prompt_tokens"], usage["new_completion_tokens"]),
    }


def finish(
    benchmark: Benchmark, gathered: Gathered, exitstatus: int, progress: Callable[[str, int, int], None]
) -> Finished:
    """Sum up, write the files, judge by thresholds; what fails here is told, and nothing gathered is lost by it.

    `progress` hears how far scoring models are: label, done, total. A run that is not complete goes into the subfolder
    `partial`, so that it never takes the place of a full one.
    """
    options, problems = benchmark.options, list[str]()
    with benchmark.scoring(progress) as scoring:
        results = summarise(
            benchmark.plan,
            benchmark.identities,
            gathered,
            scoring if gathered.cut is None else None,
            benchmark.metrics,
            benchmark.own_metrics,
        )
    results["run"]["command_line"] = list(benchmark.config.invocation_params.args)
    lines = tuple(gathered.lines[case.id] for case in benchmark.plan.cases if case.id in gathered.lines)
    written: list[Path] = []
    if options.write_thresholds and exitstatus in (gate_status.OK, gate_status.TESTS_FAILED):
        for row in baseline_rows(results):
            try:
                written.append(write_thresholds(_thresholds_path(benchmark, row["model"]), results, row))
            except OcgError as error:
                problems.append(str(error))
    folder = results_folder(options.output, results)
    verdicts = _verdicts(benchmark, results, lines, problems)
    status = gate_status.exit_status(verdicts, mode=options.gate, default=exitstatus, only_misses=gathered.only_misses)
    told = [verdict.as_json() for verdict in verdicts]
    results["gate"] = {"mode": options.gate, "verdicts": told, "exit_status": status}
    is_written = True
    try:
        write_results(folder, results, lines)
    except ResultsError as error:
        problems.append(str(error))
        is_written = False
    reports = tuple(_write_reports(options.report, results, lines, problems))
    if problems and status == gate_status.OK:
        status = gate_status.TESTS_FAILED
    return Finished(
        results, lines, folder if is_written else None, verdicts, tuple(written), reports, tuple(problems), status
    )


def _write_reports(
    paths: Sequence[Path], results: Mapping[str, Any], lines: Iterable[str], problems: list[str]
) -> Iterator[Path]:
    records = list(map(read_record, lines)) if paths else []
    for path in paths:
        try:
            path = results_folder(path.parent, results) / path.name
            write_report(path, results, records)
            yield path
        except OcgError as error:
            problems.append(str(error))


def _thresholds_path(benchmark: Benchmark, model: str) -> Path:
    chosen = benchmark.options.thresholds
    if chosen is not None:
        return chosen
    return benchmark.config.rootpath / "thresholds" / file_name(model)


def _verdicts(
    benchmark: Benchmark, results: Mapping[str, Any], lines: Sequence[str], problems: list[str]
) -> tuple[gate.Verdict, ...]:
    options = benchmark.options
    if options.gate == "off":
        return ()
    baseline, found = None, dict[str, Thresholds]()
    try:
        if options.baseline is not None:
            run = Run(options.output / "results.json", results, tuple(map(read_record, lines)))
            baseline = hold_against(load_run(options.baseline), run)
        found = thresholds_for(benchmark.plan.specs, options.thresholds, rootdir=benchmark.config.rootpath)
    except OcgError as error:
        problems.append(str(error))
    verdicts = gate.judge(results, found, baseline)
    if baseline is not None and not gate.counts_from_baseline(verdicts):
        benchmark.notice(gate.UNUSED_BASELINE)
    return verdicts


def _versions() -> Iterator[tuple[str, str | None]]:
    for name in ("pytest-ordered-commongen", *PACKAGES):
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, None
