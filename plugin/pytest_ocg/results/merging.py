"""Shards of a run, or runs of several models, merged into the results that one run would have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pytest_ocg.errors import MergeError, MetricError, quote
from pytest_ocg.metrics import catalogue, load_metric
from pytest_ocg.metrics.base import Measurement, Replies, SetStatistic, measurement
from pytest_ocg.results.files import Run
from pytest_ocg.results.parts import MissingShard, Part, RowKey, check_alike, missing_shards, read_part
from pytest_ocg.results.schema import SCHEMA, MetricScore, PatternCounts, Results, Row, RunInfo
from pytest_ocg.results.summary import NOT_ASKED, RowFrame, summarise_row, with_deltas
from pytest_ocg.run.record import CaseRecord, record_line


@dataclass(frozen=True, slots=True)
class Merged:
    """The content of `results.json`, the lines of `generations.jsonl`, and the shards that are still missing."""

    results: Results
    lines: tuple[str, ...]
    missing: tuple[MissingShard, ...]


def merge(runs: Sequence[Run]) -> Merged:
    """The runs merged, models in the order given; the numbers are those of one run over all cases.

    Metrics that need only the replies are measured again. Metrics of a scoring model are the mean over the statistics
    that `results.json` has by concept set; the numbers of replies or pairs left out or cut are summed over the parts.
    Raises MergeError, naming both values and both folders, if parts differ in settings or overlap, or a part is not
    complete.
    """
    parts = [read_part(run) for run in runs]
    check_alike(parts)
    by_model: dict[str, list[Part]] = {}
    for part in parts:
        for model in part.run.results.models():
            by_model.setdefault(model, []).append(part)
    missing = [shard for model, of_model in by_model.items() for shard in missing_shards(model, of_model)]
    first = parts[0].run.results
    rows: list[Row] = []
    lines: list[str] = []
    for model, of_model in by_model.items():
        of_model.sort(key=lambda part: 0 if part.portion is None else part.portion.shard.index)
        for condition in first.selection.conditions:
            records = _records(of_model, (model, condition))
            rows.append(_row(of_model, (model, condition), records))
            lines += map(record_line, records)
    results = Results(
        schema=SCHEMA,
        run=_run(parts, missing),
        dataset=first.dataset,
        templates_sha256=first.templates_sha256,
        matcher=first.matcher,
        seed=first.seed,
        selection=msgspec.structs.replace(
            first.selection,
            shard=None,
            whole=None,
            planned=sum(row.counts.planned for row in rows),
            selected=sum(row.counts.selected for row in rows),
            run=len(lines),
            complete=not missing,
        ),
        rows=with_deltas(rows),
    )
    return Merged(results, tuple(lines), tuple(missing))


def _records(parts: Sequence[Part], key: RowKey) -> list[CaseRecord]:
    """The records of one row in the order of one run: by template, then set number, orders as they were."""
    found = [record for part in parts for record in part.records[key]]
    return sorted(found, key=lambda record: (record.template, len(record.set), record.set))


def _row(parts: Sequence[Part], key: RowKey, records: Sequence[CaseRecord]) -> Row:
    first, portion = parts[0].rows[key], parts[0].portion
    planned = len(records) if portion is None else portion.whole.cases_per_row
    row = summarise_row(
        RowFrame(
            model=first.model,
            condition=first.condition,
            shots=first.shots,
            published_as=first.published_as,
            identity=first.identity,
            patterns=_patterns(records) if len(records) == planned else {},
            planned=planned,
            selected=len(records),
            matcher=parts[0].run.results.matcher,
        ),
        records,
        metrics=[name for name, score in first.metrics.items() if _was_asked(name, score)],
        measure=lambda name, replies: _measurement(parts, key, name, replies),
        provenances={source: made for part in parts for source, made in part.provenances(key).items()},
    )
    for name, score in row.metrics.items():
        signature = first.metrics[name].signature if name in first.metrics else None
        if score.signature != signature:
            raise MergeError(
                f"{quote(name)} is measured as {quote(score.signature)} here, but as {quote(signature)} in "
                f"{parts[0].name}; merge with the package versions that its results.json lists"
            )
    costs = {
        name: _sum([getattr(part.rows[key].usage, name) for part in parts])
        for name in ("cost_dollars", "new_cost_dollars")
    }
    return msgspec.structs.replace(row, usage=msgspec.structs.replace(row.usage, **costs))


def _sum(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if len(known) == len(costs) else None


def _patterns(records: Sequence[CaseRecord]) -> dict[str, PatternCounts]:
    """How many cases of each pattern a complete row planned and ran."""
    counts = Counter(record.pattern for record in records)
    return {pattern: PatternCounts(planned=count, run=count) for pattern, count in counts.items()}


def _was_asked(name: str, score: MetricScore) -> bool:
    return name not in catalogue.needing("verdicts") and (score.signature is not None or score.reason != NOT_ASKED)


def _measurement(parts: Sequence[Part], key: RowKey, name: str, replies: Replies) -> Measurement:
    """The metric over the replies of all parts; raises MetricError with the parts' reasons if they do not have it."""
    rows = [part.rows[key] for part in parts]
    scores = [row.metrics[name] for row in rows]
    reason = "; ".join(dict.fromkeys(str(score.reason) for score in scores))
    signature = scores[0].signature
    if signature is None:
        raise MetricError(reason)
    if name in catalogue.needing("replies"):
        return load_metric(name).measure(replies)
    added: dict[tuple[int, str], SetStatistic] = {}
    for row in rows:
        if name not in row.statistics:
            raise MetricError(f"{name} cannot be merged, because it is not a mean over concept sets")
        for template, sets in row.statistics[name].items():
            added.update({(int(template), set_id): SetStatistic(*pair) for set_id, pair in sets.items()})
    return measurement(
        added,
        signature,
        reason=reason,
        left_out=sum(score.left_out for score in scores),
        cut=sum(score.cut for score in scores),
    )


def _run(parts: Sequence[Part], missing: Sequence[MissingShard]) -> RunInfo:
    """When and with which versions the parts were run: the first start, the sum of seconds, and the facts of each part.

    Of folders only the name is kept, and command lines are left out, because both may have paths of a machine.
    """
    runs = [part.run.results.run for part in parts]
    return RunInfo(
        started=min(run.started for run in runs),
        seconds=round(math.fsum(run.seconds for run in runs), 3),
        versions=runs[0].versions,
        python=", ".join(sorted({run.python for run in runs})),
        merged_from=[_part_facts(part) for part in parts],
        missing_shards=[{"model": one.model, "shard": str(one.shard)} for one in missing],
    )


def _part_facts(part: Part) -> dict[str, Any]:
    info: dict[str, Any] = msgspec.to_builtins(part.run.results.run)
    known = {name: value for name, value in info.items() if value is not None and name != "command_line"}
    return {
        "folder": part.run.path.resolve().parent.name,
        "shard": None if part.portion is None else str(part.portion.shard),
        **known,
    }
