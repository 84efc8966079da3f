"""Tables 1 to 4 and 7 of the paper from the rows of any results, with the published values beside."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from pytest_ocg.inputs.published import ModelRow, Published, SpreadRow
from pytest_ocg.metrics import catalogue

Values = Mapping[str, float | None]

REASONING_BASES: Mapping[str, str] = MappingProxyType({"Macro-o1": "Qwen2-7B", "o1-mini": "GPT-4o-mini"})
"""The reasoning models of Table 7, as the paper spells them, each with the model it is compared with."""


class Row(Protocol):
    """The part of a row of results that a table needs; `results.schema.Row` has it."""

    @property
    def model(self) -> str:
        """The model's name in test ids."""
        ...

    @property
    def condition(self) -> str:
        """`ordered` or `original`."""
        ...

    @property
    def shots(self) -> int:
        """The number of worked examples."""
        ...

    @property
    def published_as(self) -> str | None:
        """The model's name in the paper's tables; None if it is in none of them."""
        ...

    @property
    def by_template(self) -> Mapping[str, Values]:
        """The value of each metric by template and name."""
        ...

    def values(self) -> Values:
        """The value of each metric by name."""
        ...

    def pattern_values(self) -> Mapping[str, Values]:
        """The value of each metric by part-of-speech pattern and name."""
        ...


@dataclass(frozen=True, slots=True)
class ModelLine:
    """One model's numbers by metric name, in percent except perplexity; None without a value.

    `deltas` are the values minus those of the row that the table compares with. `published` and `published_deltas` are
    empty if the paper does not have the model.
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


def table1(rows: Iterable[Row], published: Published) -> tuple[ModelLine, ...]:
    """Every metric of each model, zero-shot in condition `ordered`; the deltas are to `original`."""
    by_name = _index(rows)
    return tuple(
        _line(row, _values(row), _values(by_name.get((row.model, "original", 0))), published.table1)
        for (_, condition, shots), row in by_name.items()
        if (condition, shots) == ("ordered", 0)
    )


def table4(rows: Iterable[Row], published: Published) -> tuple[ModelLine, ...]:
    """Every metric of each model, one-shot in condition `ordered`; the deltas are to zero-shot."""
    by_name = _index(rows)
    return tuple(
        _line(row, _values(row), _values(by_name.get((row.model, "ordered", 0))), published.table4)
        for (_, condition, shots), row in by_name.items()
        if (condition, shots) == ("ordered", 1)
    )


def table7(rows: Iterable[Row], published: Published) -> tuple[ModelLine, ...]:
    """Coverages and ordered rate under template 0 of each model, zero-shot; the deltas are to `original`."""
    by_name = _index(rows)
    return tuple(
        _line(row, values, _template0(by_name.get((row.model, "original", 0))), published.table7)
        for (_, condition, shots), row in by_name.items()
        if (condition, shots) == ("ordered", 0) and (values := _template0(row))
    )


def reasoning_gains(lines: Iterable[ModelLine], published: Published) -> tuple[ReasoningGain, ...]:
    """The gain from reasoning in Table 7, for each of the paper's pairs with both models in `lines`."""
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
    return {(row.model, row.condition, row.shots): row for row in rows}


def _values(row: Row | None) -> dict[str, float | None]:
    return {} if row is None else dict(row.values())


def _template0(row: Row | None) -> dict[str, float | None]:
    cells = {} if row is None else row.by_template.get("0", {})
    return {name: cells[name] for name in catalogue.needing("verdicts") if name in cells}


def _line(row: Row, values: Values, others: Values, table: Mapping[str, ModelRow]) -> ModelLine:
    name = row.published_as
    paper = table.get(name) if name is not None else None
    return ModelLine(
        model=row.model,
        published_as=name,
        values=values,
        deltas=_difference(values, others),
        published=dict(paper.values) if paper else {},
        published_deltas=dict(paper.deltas) if paper else {},
    )


def _difference(values: Values, others: Values) -> dict[str, float | None]:
    """The metrics that both have, `values` minus `others`."""
    differences: dict[str, float | None] = {}
    for name, value in values.items():
        if name in others:
            other = others[name]
            differences[name] = None if value is None or other is None else value - other
    return differences


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean over `models` and sample standard deviation; one model has no deviation."""

    mean: float | None
    deviation: float | None
    models: int


@dataclass(frozen=True, slots=True)
class PatternLine:
    """A part-of-speech pattern of Table 2: spreads by metric name; `published` is empty if the paper has none."""

    pattern: str
    spreads: Mapping[str, Spread]
    published: Mapping[str, Spread]


@dataclass(frozen=True, slots=True)
class TemplateLine:
    """A template and condition of Table 3: spreads by metric name; `published` is empty if the paper has none."""

    template: int
    condition: str
    spreads: Mapping[str, Spread]
    published: Mapping[str, Spread]


def table2(rows: Iterable[Row], published: Published, *, shots: int = 0) -> tuple[PatternLine, ...]:
    """Each part-of-speech pattern asked for, sorted alphabetically, over all models in condition `ordered`.

    The paper's numbers are zero-shot.
    """
    patterns = [row.pattern_values() for row in rows if (row.condition, row.shots) == ("ordered", shots)]
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
    """Each template and condition, `original` before `ordered` as in the paper, over all models.

    The paper's numbers are zero-shot.
    """
    paper = {} if shots else published.table3
    cells: dict[tuple[int, str], list[Values]] = {}
    for row in rows:
        if row.shots == shots:
            for template, values in row.by_template.items():
                cells.setdefault((int(template), row.condition), []).append(values)
    return tuple(
        TemplateLine(*key, _spreads(cells[key]), _published_spreads(paper.get(key), len(published.table1)))
        for key in sorted(cells, key=lambda key: (key[0], key[1] == "ordered"))
    )


def spread(values: Iterable[float | None]) -> Spread:
    """Mean and sample standard deviation of the values that are not None."""
    known = [value for value in values if value is not None]
    return Spread(
        statistics.fmean(known) if known else None, statistics.stdev(known) if len(known) > 1 else None, len(known)
    )


def _spreads(cells: Sequence[Values]) -> dict[str, Spread]:
    return {name: spread(values.get(name) for values in cells) for name in catalogue.pattern_metrics()}


def _published_spreads(row: SpreadRow | None, models: int) -> dict[str, Spread]:
    if row is None:
        return {}
    return {name: Spread(row.means[name], row.deviations[name], models) for name in row.means}
