"""From judged cases to numbers: one row per model and condition, as plain data for `results.json`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pytest_ocg.errors import MetricError, OcgError
from pytest_ocg.metrics import MODEL_METRICS, ORDER_METRICS, load_metric, open_model_metric
from pytest_ocg.metrics.base import Measurement, MetricFactory, Replies, ScoringContext, Statistics, average
from pytest_ocg.metrics.diversity import diverse_rate
from pytest_ocg.metrics.order import SetVerdict, measure_order, ordered_rate
from pytest_ocg.results.rows import Entry, counts_of, usage_of
from pytest_ocg.statistics.intervals import add_intervals

TABLE_METRICS = (*ORDER_METRICS, "pbleu", "pbleurt", "distinct2", "distinct2_pooled", "diverse_rate", "perplexity")
Measure = Callable[[str, Replies], Measurement]
"""What comes back for the name of a metric and the scored replies."""

_NO_METRICS: Mapping[str, MetricFactory] = MappingProxyType({})
NOT_ASKED = "not asked for; --ocg-metrics all computes it"
CUT = "the run was cut, so no scoring model was loaded"


def summarise_row(
    entries: Sequence[Entry],
    *,
    planned: int,
    selected: int,
    matcher: str,
    metrics: Sequence[str],
    measure: Measure,
    provenances: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Counts and metrics of one model and condition (docs/definitions.md, Metrics); errors enter no metric.

    `metrics` are those beyond the coverages. Where `measure` raises an OcgError, its message is why there is no value.
    """
    scored = [entry for entry in entries if entry.reply is not None]
    measured = _measured(scored, matcher, metrics, measure)
    sources = Counter(entry.made_by for entry in entries)
    return {
        "counts": counts_of(entries, planned, selected),
        "usage": usage_of(entries),
        "metrics": measured.metrics,
        "by_template": measured.by_template,
        "statistics": measured.statistics,
        "by_pattern": _by_pattern(scored),
        "made_by": [{"replies": count, **provenances.get(source, {})} for source, count in sorted(sources.items())],
    }


def add_deltas(rows: Sequence[dict[str, Any]]) -> None:
    """Give each `ordered` row the difference of its metrics to its `original` twin, where both were run (Table 1)."""
    twins = {(row["model"], row["shots"]): row for row in rows if row["condition"] == "original"}
    for row in rows:
        twin = twins.get((row["model"], row["shots"]))
        if row["condition"] != "ordered" or twin is None:
            continue
        row["delta_vs_original"] = {
            name: None
            if score["value"] is None or twin["metrics"][name]["value"] is None
            else score["value"] - twin["metrics"][name]["value"]
            for name, score in row["metrics"].items()
        }


@dataclass(frozen=True, slots=True)
class _Measured:
    metrics: dict[str, dict[str, Any]]
    by_template: dict[str, dict[str, float | None]]
    statistics: dict[str, dict[str, dict[str, list[float]]]]


def _measured(scored: Sequence[Entry], matcher: str, wanted: Sequence[str], measure: Measure) -> _Measured:
    replies: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for entry in scored:
        replies[entry.template, entry.set_id].append(entry.reply or "")
    order = measure_order(_verdicts(scored), matcher=matcher)
    measured: dict[str, Measurement] = {name: getattr(order, name) for name in ORDER_METRICS}
    reasons: dict[str, str] = {}
    for name in wanted:
        try:
            measured[name] = measure(name, replies)
        except OcgError as error:
            reasons[name] = str(error)
    metrics = {
        name: plain_measurement(measured[name])
        if name in measured
        else {"value": None, "n": 0, "signature": None, "reason": reasons.get(name, NOT_ASKED)}
        for name in dict.fromkeys((*TABLE_METRICS, *wanted))
    }
    templates = sorted({template for measurement in measured.values() for template in measurement.by_template})
    by_template = {
        str(template): {
            name: measurement.by_template[template].value
            for name, measurement in measured.items()
            if template in measurement.by_template
        }
        for template in templates
    }
    statistics = {
        name: plain_statistics(measurement.statistics)
        for name, measurement in measured.items()
        if measurement.statistics is not None
    }
    add_intervals(metrics, statistics)
    return _Measured(metrics, by_template, statistics)


def measure_metric(
    name: str, replies: Replies, *, scoring: ScoringContext | None, own: Mapping[str, MetricFactory] = _NO_METRICS
) -> Measurement:
    """The metric called `name` on these replies, one of `own` or a shipped one.

    Raises an OcgError for want of the `scoring` that it needs, and where one of `own` fails in whatever way.
    """
    if name in own:
        try:
            return own[name]().measure(replies)
        except Exception as error:
            raise MetricError(f"{name} failed with {type(error).__name__}: {error}") from error
    if name not in MODEL_METRICS:
        return load_metric(name, store=None if scoring is None else scoring.store).measure(replies)
    if scoring is None:
        raise OcgError(CUT)
    return open_model_metric(name, scoring).measure(replies)


def plain_measurement(measurement: Measurement) -> dict[str, Any]:
    """A measurement as it stands in `results.json`, without its statistics."""
    score = measurement.score
    return {
        "value": score.value,
        "n": score.count,
        "signature": score.signature,
        "reason": score.reason or None,
        "left_out": measurement.left_out,
        "cut": measurement.cut,
    }


def plain_statistics(statistics: Statistics) -> dict[str, dict[str, list[float]]]:
    """What each set adds, as it stands in `results.json`: by template and set, the sum and of how many."""
    plain: dict[str, dict[str, list[float]]] = {}
    for (template, set_id), statistic in sorted(statistics.items()):
        plain.setdefault(str(template), {})[set_id] = [statistic.total, statistic.count]
    return plain


def _verdicts(scored: Iterable[Entry]) -> dict[tuple[int, str], SetVerdict]:
    counts: defaultdict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for entry in scored:
        count = counts[entry.template, entry.set_id]
        count[0] += 1
        count[1] += entry.covered
        count[2] += entry.in_order
    return {key: SetVerdict(*count) for key, count in counts.items()}


def _by_pattern(scored: Sequence[Entry]) -> dict[str, dict[str, Any]]:
    """Table 2: coverage by the order asked for; the diverse rate is that of the whole sets with these tags."""
    replies: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    by_pattern: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in scored:
        replies[entry.template, entry.set_id].append(entry.reply or "")
        by_pattern[entry.pattern].append(entry)
    rates = {key: diverse_rate(texts) for key, texts in replies.items()}
    table = {}
    for pattern, entries in sorted(by_pattern.items()):
        order = measure_order(_verdicts(entries), matcher="")
        keys = {(entry.template, entry.set_id) for entry in entries}
        unordered, ordered = order.coverage_unordered.score.value, order.coverage_ordered.score.value
        set_rates = [rate for key in sorted(keys) if (rate := rates[key]) is not None]
        mean_rate = average(set_rates)
        table[pattern] = {
            "scored": len(entries),
            "coverage_unordered": unordered,
            "coverage_ordered": ordered,
            "ordered_rate": ordered_rate(ordered, unordered),
            "diverse_rate": None if mean_rate is None else 100 * mean_rate,
        }
    return table
