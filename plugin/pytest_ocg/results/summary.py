"""The content of `results.json` from judged cases: one row for each model and condition."""

from __future__ import annotations

import platform
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from typing import Any

import msgspec

from pytest_ocg.errors import MetricError, OcgError
from pytest_ocg.inputs.models import Price
from pytest_ocg.metrics import catalogue, load_metric, open_model_metric
from pytest_ocg.metrics.base import Measurement, MetricFactory, Replies, ScoringContext, average
from pytest_ocg.metrics.diversity import diverse_rate
from pytest_ocg.metrics.order import SetVerdict, measure_order, ordered_rate
from pytest_ocg.results.rows import counts_of, usage_of
from pytest_ocg.results.schema import (
    SCHEMA,
    DatasetInfo,
    MetricScore,
    PatternCounts,
    PatternScores,
    Results,
    Row,
    RunInfo,
    RunSelection,
)
from pytest_ocg.run.judging.coverage import matcher_signature
from pytest_ocg.run.plan import Plan
from pytest_ocg.run.record import CaseRecord, ReplyRecord
from pytest_ocg.statistics.intervals import Interval, intervals
from pytest_ocg.statistics.limits import LARGEST_NUMBER

PACKAGES = ("pytest", "pytest-xdist", "transformers", "torch", "bitsandbytes", "spacy", "sacrebleu", "openai")
NOT_ASKED = "not asked for; --ocg-metrics all computes it"
CUT = "the run stopped early, so no scoring model was loaded"

Measure = Callable[[str, Replies], Measurement]
"""Returns the measurement of a metric, by its name, on the scored replies."""

_UNKNOWN = "what each concept set adds to it is not known"


@dataclass(frozen=True, slots=True)
class Gathered:
    """The content of a run's reports: a record for each case id, and facts of the run; `cut` is why it ended early.

    `provenances` is how replies were made, by the id in their records. `identities` is by model.
    """

    records: Mapping[str, CaseRecord]
    provenances: Mapping[str, Mapping[str, Any]]
    identities: Mapping[str, Mapping[str, Any]]
    selected: frozenset[str]
    started: float
    seconds: float
    cut: str | None
    command_line: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measures:
    """The metrics to compute beyond those of verdicts, those added by hooks, and what scoring models need, if any."""

    names: tuple[str, ...]
    own: Mapping[str, MetricFactory] = field(default_factory=dict)
    scoring: ScoringContext | None = None


@dataclass(frozen=True, slots=True)
class RowFrame:
    """The fields of a row that are not computed from replies; `planned` and `selected` count its cases."""

    model: str
    condition: str
    shots: int
    published_as: str | None
    identity: Mapping[str, Any]
    patterns: Mapping[str, PatternCounts]
    planned: int
    selected: int
    matcher: str
    price: Price | None = None


def summarise(plan: Plan, gathered: Gathered, measures: Measures) -> Results:
    """The content of `results.json`: rows in the plan's order; the numbers do not depend on how tests were spread.

    Without `measures.scoring`, metrics that need a scoring model are not computed.
    """
    options = plan.options
    records: defaultdict[tuple[str, str], list[CaseRecord]] = defaultdict(list)
    planned: Counter[tuple[str, str]] = Counter()
    selected: Counter[tuple[str, str]] = Counter()
    patterns: defaultdict[tuple[str, str], dict[str, Counter[str]]] = defaultdict(dict)
    for case in plan.cases:
        key = (case.model, case.condition)
        planned[key] += 1
        selected[key] += case.id in gathered.selected
        record = gathered.records.get(case.id)
        of_pattern = patterns[key].setdefault(case.pattern, Counter())
        of_pattern["planned"] += 1
        if record is not None:
            of_pattern["run"] += 1
            records[key].append(record)
    matcher = matcher_signature(options.matcher)
    # Of replies made elsewhere, only what the options state is known.
    stated = {"quantization": options.quantization} if options.backend == "replay" and options.quantization else {}
    rows = [
        summarise_row(
            RowFrame(
                model=model,
                condition=condition,
                shots=options.shots,
                published_as=plan.specs[model].published_as,
                identity={**stated, **gathered.identities.get(model, {})},
                patterns={
                    pattern: PatternCounts(planned=counts["planned"], run=counts["run"])
                    for pattern, counts in patterns[model, condition].items()
                },
                planned=planned[model, condition],
                selected=selected[model, condition],
                matcher=matcher,
                price=plan.specs[model].price,
            ),
            records[model, condition],
            metrics=measures.names,
            measure=partial(measure_metric, measures=measures),
            provenances=gathered.provenances,
        )
        for model, condition in planned
        if selected[model, condition]
    ]
    ran = len(gathered.records)
    return Results(
        schema=SCHEMA,
        run=RunInfo(
            started=datetime.fromtimestamp(gathered.started, UTC).isoformat(timespec="seconds"),
            seconds=round(gathered.seconds, 3),
            versions=dict(_versions()),
            python=platform.python_version(),
            platform=platform.platform(),
            command_line=list(gathered.command_line),
        ),
        dataset=DatasetInfo(
            name=plan.dataset.name,
            sha256=plan.dataset.sha256,
            sets=len(plan.dataset.sets),
            dropped=plan.dataset.dropped,
        ),
        templates_sha256=plan.templates.sha256,
        matcher=matcher,
        seed=options.seed,
        selection=RunSelection(
            sets=None if options.sets is None else str(options.sets),
            shard=None if options.shard is None else str(options.shard),
            whole=plan.whole,
            templates=list(options.templates),
            conditions=list(options.conditions),
            shots=options.shots,
            planned=planned.total(),
            selected=len(gathered.selected),
            run=ran,
            complete=ran == planned.total() and gathered.cut is None,
            cut=gathered.cut,
        ),
        rows=with_deltas(rows),
    )


def summarise_row(
    frame: RowFrame,
    records: Sequence[CaseRecord],
    *,
    metrics: Sequence[str],
    measure: Measure,
    provenances: Mapping[str, Mapping[str, Any]],
) -> Row:
    """Counts and metrics of one model and condition (docs/definitions.md, Metrics); errors enter no metric.

    `metrics` are those beyond the coverages. If `measure` raises an OcgError, its message is the reason of the metric.
    """
    scored = [record for record in records if isinstance(record, ReplyRecord)]
    measured, reasons = _measured(scored, frame.matcher, metrics, measure)
    statistics = {
        name: plain_statistics(measurement)
        for name, measurement in measured.items()
        if measurement.statistics is not None
    }
    found = intervals(statistics)
    templates = sorted({template for measurement in measured.values() for template in measurement.by_template})
    sources = Counter(record.made_by for record in records)
    return Row(
        model=frame.model,
        condition=frame.condition,
        shots=frame.shots,
        published_as=frame.published_as,
        identity=dict(frame.identity),
        patterns=dict(frame.patterns),
        counts=counts_of(records, frame.planned, frame.selected),
        usage=usage_of(records, frame.price),
        metrics={
            name: score_of(measured[name], found.get(name), name)
            if name in measured
            else unmeasured(reasons.get(name, NOT_ASKED))
            for name in dict.fromkeys((*catalogue.METRICS, *metrics))
        },
        by_template={
            str(template): {
                name: measurement.by_template[template].value
                for name, measurement in measured.items()
                if template in measurement.by_template
            }
            for template in templates
        },
        statistics=statistics,
        by_pattern=_by_pattern(scored),
        made_by=[_source(count, provenances.get(source, {})) for source, count in sorted(sources.items())],
    )


def _source(count: int, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """One way in which replies were made, with their number, also if a backend uses the same name."""
    return {"replies": count, **{name: value for name, value in provenance.items() if name != "replies"}}


def with_deltas(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows; each `ordered` row has its metrics minus those of its `original` twin, if that was run (Table 1)."""
    twins = {(row.model, row.shots): row for row in rows if row.condition == "original"}
    return tuple(
        msgspec.structs.replace(row, delta_vs_original=_deltas(row, twins[row.model, row.shots]))
        if row.condition == "ordered" and (row.model, row.shots) in twins
        else row
        for row in rows
    )


def _deltas(row: Row, twin: Row) -> dict[str, float | None]:
    deltas: dict[str, float | None] = {}
    for name, value in row.values().items():
        other = twin.value(name)
        deltas[name] = None if value is None or other is None else value - other
    return deltas


def _measured(
    scored: Sequence[ReplyRecord], matcher: str, wanted: Sequence[str], measure: Measure
) -> tuple[dict[str, Measurement], dict[str, str]]:
    """The measurements by metric, and the reasons of those that could not be measured."""
    replies: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for record in scored:
        replies[record.template, record.set].append(record.reply)
    order = measure_order(_verdicts(scored), matcher=matcher)
    measured: dict[str, Measurement] = {name: getattr(order, name) for name in catalogue.needing("verdicts")}
    reasons: dict[str, str] = {}
    for name in wanted:
        try:
            measured[name] = measure(name, replies)
        except OcgError as error:
            reasons[name] = str(error)
    return measured, reasons


def measure_metric(name: str, replies: Replies, *, measures: Measures) -> Measurement:
    """The metric called `name`, shipped or added by a hook, on these replies.

    Raises an OcgError if the metric needs a scoring context and has none, or if a hook's metric fails in any way.
    """
    scoring = measures.scoring
    if name in measures.own:
        try:
            return measures.own[name]().measure(replies)
        except Exception as error:
            raise MetricError(f"{name} failed with {type(error).__name__}: {error}") from error
    if name not in catalogue.needing("model"):
        return load_metric(name, store=None if scoring is None else scoring.store).measure(replies)
    if scoring is None:
        raise OcgError(CUT)
    return open_model_metric(name, scoring).measure(replies)


def score_of(measurement: Measurement, interval: Interval | None, name: str) -> MetricScore:
    """A measurement as the score of a row, with its 95 % interval over concept sets, or the reason for having none."""
    score = measurement.score
    if interval is None:
        known = catalogue.METRICS[name].without_interval if name in catalogue.METRICS else ""
        interval = Interval(None, None, None, 0, known or _UNKNOWN)
    if score.value is None:
        interval = Interval(None, None, None, 0, "the metric has no value")
    elif _is_too_large(interval):
        interval = Interval(None, None, None, interval.sets, "its values are too large for one")
    return MetricScore(
        value=score.value,
        n=score.count,
        signature=score.signature,
        reason=score.reason or None,
        left_out=measurement.left_out,
        cut=measurement.cut,
        interval=interval.bounds,
        standard_error=interval.standard_error,
        sets=interval.sets,
        interval_reason=interval.reason or None,
    )


def _is_too_large(interval: Interval) -> bool:
    numbers = [interval.standard_error or 0.0]
    if interval.bounds is not None:
        bounds = interval.bounds
        numbers += [bounds.low, bounds.high, bounds.floor, bounds.ceiling]
    return not all(abs(number) <= LARGEST_NUMBER for number in numbers)


def unmeasured(reason: str) -> MetricScore:
    """The score of a metric that was not measured."""
    return MetricScore(
        value=None,
        n=0,
        signature=None,
        reason=reason,
        interval=None,
        standard_error=None,
        sets=0,
        interval_reason="the metric has no value",
    )


def plain_statistics(measurement: Measurement) -> dict[str, dict[str, tuple[float, int]]]:
    """What each set adds to a measurement that is a mean over sets: by template and set, a sum and a count."""
    plain: dict[str, dict[str, tuple[float, int]]] = {}
    for (template, set_id), statistic in sorted((measurement.statistics or {}).items()):
        plain.setdefault(str(template), {})[str(set_id)] = (statistic.total, statistic.count)
    return plain


def _verdicts(scored: Iterable[ReplyRecord]) -> dict[tuple[int, str], SetVerdict]:
    counts: defaultdict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for record in scored:
        count = counts[record.template, record.set]
        count[0] += 1
        count[1] += record.covered
        count[2] += record.in_order
    return {key: SetVerdict(*count) for key, count in counts.items()}


def _by_pattern(scored: Sequence[ReplyRecord]) -> dict[str, PatternScores]:
    """Scores by pattern (Table 2): coverage by the order asked for; the diverse rate is that of whole sets."""
    replies: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    by_pattern: defaultdict[str, list[ReplyRecord]] = defaultdict(list)
    for record in scored:
        replies[record.template, record.set].append(record.reply)
        by_pattern[record.pattern].append(record)
    rates = {key: diverse_rate(texts) for key, texts in replies.items()}
    table = {}
    for pattern, records in sorted(by_pattern.items()):
        order = measure_order(_verdicts(records), matcher="")
        keys = {(record.template, record.set) for record in records}
        unordered, ordered = order.coverage_unordered.score.value, order.coverage_ordered.score.value
        set_rates = [rate for key in sorted(keys) if (rate := rates[key]) is not None]
        mean_rate = average(set_rates)
        table[pattern] = PatternScores(
            scored=len(records),
            coverage_unordered=unordered,
            coverage_ordered=ordered,
            ordered_rate=ordered_rate(ordered, unordered),
            diverse_rate=None if mean_rate is None else 100 * mean_rate,
        )
    return table


def _versions() -> Iterator[tuple[str, str | None]]:
    for name in ("pytest-ordered-commongen", *PACKAGES):
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, None
