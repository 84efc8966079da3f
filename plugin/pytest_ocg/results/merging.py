"""Shards of a run, or runs of several models, put together as one run would have left them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ocg.errors import MergeError, MetricError, shown
from pytest_ocg.metrics import METRIC_PATHS, ORDER_METRICS, load_metric
from pytest_ocg.metrics.base import Measurement, Replies, SetStatistic, measurement
from pytest_ocg.results.agreement import MissingShard, check_alike, missing_shards
from pytest_ocg.results.files import RESULTS_SCHEMA, Run, row_statistics
from pytest_ocg.results.parts import Part, RowKey, read_part
from pytest_ocg.results.rows import entry_of
from pytest_ocg.results.summary import NOT_ASKED, add_deltas, summarise_row


@dataclass(frozen=True, slots=True)
class Merged:
    """The content of `results.json`, the lines of `generations.jsonl`, and the shards that a whole run still needs."""

    results: Mapping[str, Any]
    lines: tuple[str, ...]
    missing: tuple[MissingShard, ...]


def merge(runs: Sequence[Run]) -> Merged:
    """The runs as one, models in the order given; the numbers are those of one run over everything.

    What can be told from replies alone is measured anew. What needs a scoring model is the mean over what the sets of
    all parts add, which `results.json` has; how many replies or pairs were left out or cut is the sum over the parts.
    Raises MergeError, naming both values and both folders, for parts that are not alike or overlap, and ResultsError or
    MergeError for a part that is not whole in itself.
    """
    parts = [read_part(run) for run in runs]
    check_alike(parts)
    by_model: dict[str, list[Part]] = {}
    for part in parts:
        for model in dict.fromkeys(model for model, _ in part.rows):
            by_model.setdefault(model, []).append(part)
    missing = [shard for model, of_model in by_model.items() for shard in missing_shards(model, of_model)]
    first = parts[0].run.results
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    for model, of_model in by_model.items():
        of_model.sort(key=lambda part: 0 if part.portion is None else part.portion.shard.index)
        for condition in first["selection"]["conditions"]:
            records = _records(of_model, (model, condition))
            rows.append(_row(of_model, (model, condition), records))
            lines += map(json.dumps, records)
    add_deltas(rows)
    results = {
        "schema": RESULTS_SCHEMA,
        "run": _run(parts, missing),
        **{key: first[key] for key in ("dataset", "templates_sha256", "matcher", "seed")},
        "selection": {
            **first["selection"],
            "shard": None,
            "whole": None,
            "planned": sum(row["counts"]["planned"] for row in rows),
            "selected": sum(row["counts"]["selected"] for row in rows),
            "run": len(lines),
            "complete": not missing,
        },
        "rows": rows,
    }
    return Merged(results, tuple(lines), tuple(missing))


def _records(parts: Sequence[Part], key: RowKey) -> list[Mapping[str, Any]]:
    """The records of one row in the order of one run: template after template, sets by number, orders as they were."""
    found = [record for part in parts for record in part.records[key]]
    return sorted(found, key=lambda record: (record["template"], len(record["set"]), record["set"]))


def _row(parts: Sequence[Part], key: RowKey, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first, portion = parts[0].rows[key], parts[0].portion
    planned = len(records) if portion is None else portion.whole.cases_per_row
    row = {
        **{name: first.get(name) for name in ("model", "condition", "shots", "published_as", "identity")},
        "patterns": _patterns(records) if len(records) == planned else {},
        **summarise_row(
            [entry_of(record) for record in records],
            planned=planned,
            selected=len(records),
            matcher=parts[0].run.results["matcher"],
            metrics=[name for name, score in first["metrics"].items() if _was_asked(name, score)],
            measure=lambda name, replies: _measurement(parts, key, name, replies),
            provenances={source: made for part in parts for source, made in part.provenances(key).items()},
        ),
    }
    for name, score in row["metrics"].items():
        signature = first["metrics"].get(name, {}).get("signature")
        if score["signature"] != signature:
            raise MergeError(
                f"{shown(name)} is measured as {shown(score['signature'])} here, but was as {shown(signature)} in "
                f"{parts[0].name}; merge with the versions that its results.json lists"
            )
    for name in ("cost_dollars", "new_cost_dollars"):
        costs = [part.rows[key]["usage"][name] for part in parts]
        row["usage"][name] = None if None in costs else math.fsum(costs)
    return row


def _patterns(records: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """How many cases of each pattern were planned and run: all of a whole row; of what is missing nobody knows."""
    counts = Counter(record["pattern"] for record in records)
    return {pattern: {"planned": count, "run": count} for pattern, count in counts.items()}


def _was_asked(name: str, score: Mapping[str, Any]) -> bool:
    return name not in ORDER_METRICS and (score["signature"] is not None or score["reason"] != NOT_ASKED)


def _measurement(parts: Sequence[Part], key: RowKey, name: str, replies: Replies) -> Measurement:
    """The metric on the replies of all parts; raises MetricError where the parts do not have it, as they say why."""
    scores = [part.rows[key]["metrics"][name] for part in parts]
    reason = "; ".join(dict.fromkeys(str(score["reason"]) for score in scores))
    if scores[0]["signature"] is None:
        raise MetricError(reason)
    if name in METRIC_PATHS:
        return load_metric(name).measure(replies)
    added: dict[tuple[int, str], SetStatistic] = {}
    for part in parts:
        statistics = row_statistics(part.run, part.rows[key])
        if name not in statistics:
            raise MetricError(f"{name} is no mean over concept sets, which alone can be put together")
        for template, sets in statistics[name].items():
            added.update({(int(template), set_id): SetStatistic(*pair) for set_id, pair in sets.items()})
    return measurement(
        added,
        scores[0]["signature"],
        reason=reason,
        left_out=sum(score["left_out"] for score in scores),
        cut=sum(score["cut"] for score in scores),
    )


def _run(parts: Sequence[Part], missing: Sequence[MissingShard]) -> dict[str, Any]:
    """When and by what the parts were run: the first start, all seconds together, and each part's own account.

    Folders stand there by name alone, and command lines not at all, since both may hold paths of a machine.
    """
    runs = [part.run.results["run"] for part in parts]
    return {
        "started": min(run["started"] for run in runs),
        "seconds": round(math.fsum(run["seconds"] for run in runs), 3),
        "versions": runs[0]["versions"],
        "python": ", ".join(sorted({run["python"] for run in runs})),
        "merged_from": [
            {
                "folder": part.run.path.resolve().parent.name,
                "shard": None if part.portion is None else str(part.portion.shard),
                **{name: value for name, value in run.items() if name != "command_line"},
            }
            for part, run in zip(parts, runs, strict=True)
        ],
        "missing_shards": [{"model": one.model, "shard": str(one.shard)} for one in missing],
    }
