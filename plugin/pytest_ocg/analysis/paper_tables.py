"""Tables 1 to 4 and 7 of the paper from the rows of any results, the published values beside ours."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pytest_ocg.errors import ResultsError, shown
from pytest_ocg.inputs.published import ModelRow, Published, SpreadRow
from pytest_ocg.results.comparability import differing_keys, run_signature

Row = Mapping[str, Any]
Values = Mapping[str, float | None]

ORDER_METRICS = ("coverage_unordered", "coverage_ordered", "ordered_rate")
REASONING_BASES: Mapping[str, str] = MappingProxyType({"Macro-o1": "Qwen2-7B", "o1-mini": "GPT-4o-mini"})
"""The models of Table 7 that reason, as the paper spells them, and what each is set against."""

_SAME = ("dataset_sha256", "templates_sha256", "matcher", "sets", "templates")


@dataclass(frozen=True, slots=True)
class ModelLine:
    """One model's numbers by metric name, in percent but for perplexity; None where there is none.

    `deltas` are against what the table compares with. What the paper prints is empty where it does not have the model.
    """

    model: str
    published_as: str | None
    values: Values
    deltas: Values
    published: Values
    published_deltas: Values


@dataclass(frozen=True, slots=True)
class ReasoningGain:
    """A reasoning model minus its base under template 0, ours and as published."""

    model: str
    base: str
    gains: Values
    published: Values


def collect_rows(results: Sequence[Mapping[str, Any]]) -> tuple[Row, ...]:
    """The rows of several `results.json`, in order, to be put into one table.

    Raises ResultsError where two runs differ in what makes numbers comparable, or hold the same row twice.
    """
    rows: dict[tuple[str, str, int], Row] = {}
    wanted: dict[str, Any] = {}
    for content in results:
        for row in content["rows"]:
            found = run_signature(content, row)
            wanted = wanted or {key: found[key] for key in _SAME}
            for key in differing_keys(found, wanted):
                raise ResultsError(
                    f"{row['model']!r} was run with {key} {shown(found[key])} and the first model with "
                    f"{shown(wanted[key])}, so they do not go into one table; run both alike"
                )
            name = (row["model"], row["condition"], row["shots"])
            if name in rows:
                raise ResultsError(
                    f"{row['model']!r} comes twice with condition {row['condition']!r} and {row['shots']} shots; "
                    "leave one of the runs out, or put shards together with ocg merge"
                )
            rows[name] = row
    return tuple(rows.values())


def table1(rows: Iterable[Row], published: Published) -> tuple[ModelLine, ...]:
    """Every metric of each model asked zero-shot for the order, deltas against `original`."""
    by_name = _index(rows)
    return tuple(
        _line(row, _values(row), _values(by_name.get((row["model"], "original", 0))), published.table1)
        for (_, condition, shots), row in by_name.items()
        if (condition, shots) == ("ordered", 0)
    )


def table4(rows: Iterable[Row], published: Published) -> tuple[ModelLine, ...]:
    """Every metric of each model asked one-shot for the order, deltas against zero-shot."""
    by_name = _index(rows)
    return tuple(
        _line(row, _values(row), _values(by_name.get((row["model"], "ordered", 0))), published.table4)
        for (_, condition, shots), row in by_name.items()
        if (condition, shots) == ("ordered", 1)
    )


def table7(rows: Iterable[Row], published: Published) -> tuple[ModelLine, ...]:
    """Coverages and ordered rate under template 0 of each model asked zero-shot, deltas against `original`."""
    by_name = _index(rows)
    return tuple(
        _line(row, values, _template0(by_name.get((row["model"], "original", 0))), published.table7)
        for (_, condition, shots), row in by_name.items()
        if (condition, shots) == ("ordered", 0) and (values := _template0(row))
    )


def reasoning_gains(lines: Iterable[ModelLine], published: Published) -> tuple[ReasoningGain, ...]:
    """What reasoning adds in Table 7, for each of the paper's pairs of which `lines` has both models."""
    by_name = {line.published_as: line for line in lines}
    return tuple(
        ReasoningGain(
            by_name[name].model,
            by_name[base].model,
            _difference(by_name[name].values, by_name[base].values),
            _difference(published.table7[name].values, published.table7[base].values),
        )
        for name, base in REASONING_BASES.items()
        if name in by_name and base in by_name
    )


def _index(rows: Iterable[Row]) -> dict[tuple[str, str, int], Row]:
    return {(row["model"], row["condition"], row["shots"]): row for row in rows}


def _values(row: Row | None) -> dict[str, float | None]:
    return {} if row is None else {name: score["value"] for name, score in row["metrics"].items()}


def _template0(row: Row | None) -> dict[str, float | None]:
    cells = {} if row is None else row["by_template"].get("0", {})
    return {name: cells[name] for name in ORDER_METRICS if name in cells}


def _line(row: Row, values: Values, others: Values, table: Mapping[str, ModelRow]) -> ModelLine:
    name = row.get("published_as")
    paper = table.get(name) if name is not None else None
    return ModelLine(
        model=row["model"],
        published_as=name,
        values=values,
        deltas=_difference(values, others),
        published=dict(paper.values) if paper else {},
        published_deltas=dict(paper.deltas) if paper else {},
    )


def _difference(values: Values, others: Values) -> dict[str, float | None]:
    """What both have, one minus the other."""
    differences: dict[str, float | None] = {}
    for name, value in values.items():
        if name in others:
            other = others[name]
            differences[name] = None if value is None or other is None else value - other
    return differences


SPREAD_METRICS = (*ORDER_METRICS, "diverse_rate")


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean over `models` and sample standard deviation, which one model does not have."""

    mean: float | None
    deviation: float | None
    models: int


@dataclass(frozen=True, slots=True)
class PatternLine:
    """A part-of-speech pattern of Table 2: spreads by metric name; `published` is empty where the paper has none."""

    pattern: str
    spreads: Mapping[str, Spread]
    published: Mapping[str, Spread]


@dataclass(frozen=True, slots=True)
class TemplateLine:
    """A template and condition of Table 3: spreads by metric name; `published` is empty where the paper has none."""

    template: int
    condition: str
    spreads: Mapping[str, Spread]
    published: Mapping[str, Spread]


def table2(rows: Iterable[Row], published: Published, *, shots: int = 0) -> tuple[PatternLine, ...]:
    """Each part-of-speech pattern asked for, alphabetically, over all models in condition `ordered`.

    The paper's numbers are zero-shot.
    """
    patterns = [row["by_pattern"] for row in rows if (row["condition"], row["shots"]) == ("ordered", shots)]
    paper = {} if shots else published.table2
    return tuple(
        PatternLine(
            pattern,
            _spreads([cells[pattern] for cells in patterns if pattern in cells]),
            _published_spreads(paper.get(pattern), len(published.table1)),
        )
        for pattern in sorted({pattern for cells in patterns for pattern in cells})
    )


def table3(rows: Iterable[Row], published: Published, *, shots: int = 0) -> tuple[TemplateLine, ...]:
    """Each template and condition, `original` before `ordered` as the paper has them, over all models.

    The paper's numbers are zero-shot.
    """
    paper = {} if shots else published.table3
    cells: dict[tuple[int, str], list[Values]] = {}
    for row in rows:
        if row["shots"] == shots:
            for template, values in row["by_template"].items():
                cells.setdefault((int(template), row["condition"]), []).append(values)
    return tuple(
        TemplateLine(*key, _spreads(cells[key]), _published_spreads(paper.get(key), len(published.table1)))
        for key in sorted(cells, key=lambda key: (key[0], key[1] == "ordered"))
    )


def spread(values: Iterable[float | None]) -> Spread:
    """Mean and sample standard deviation of those values that are there."""
    there = [value for value in values if value is not None]
    return Spread(
        statistics.fmean(there) if there else None, statistics.stdev(there) if len(there) > 1 else None, len(there)
    )


def _spreads(cells: Sequence[Values]) -> dict[str, Spread]:
    return {name: spread(values.get(name) for values in cells) for name in SPREAD_METRICS}


def _published_spreads(row: SpreadRow | None, models: int) -> dict[str, Spread]:
    if row is None:
        return {}
    return {name: Spread(row.means[name], row.deviations[name], models) for name in row.means}
