"""Tables 2 and 3 of the paper, means over models, from the rows of any results; the published values beside ours."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_ocg.analysis.model_tables import ORDER_METRICS, Row, Values
from pytest_ocg.inputs.published import Published, SpreadRow

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
