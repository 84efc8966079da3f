"""The paper's tables and figures from any results, as lines for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_ocg.analysis.paper_figures import Bar, OrdersOfSets
from pytest_ocg.analysis.paper_tables import (
    ModelLine,
    PatternLine,
    ReasoningGain,
    Spread,
    TemplateLine,
    Values,
)
from pytest_ocg.errors import printable
from pytest_ocg.metrics import catalogue
from pytest_ocg.report.grids import Grid, spread_text, text_grid
from pytest_ocg.report.markup import code, escape, number, render_grid, table

_LONGEST_LINE = 2_000


@dataclass(frozen=True, slots=True)
class PaperTables:
    """The paper's tables and figures as far as the results allow; `missing` names the runs for the rest.

    `models` are the models in the figures.
    """

    table1: tuple[ModelLine, ...]
    table2: tuple[PatternLine, ...]
    table3: tuple[TemplateLine, ...]
    table4: tuple[ModelLine, ...]
    table7: tuple[ModelLine, ...]
    reasoning_gains: tuple[ReasoningGain, ...]
    models: tuple[str, ...]
    figure3: tuple[Bar, ...]
    figure4: tuple[OrdersOfSets, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def render_tables(tables: PaperTables) -> list[str]:
    """Each table below its caption, then `missing` and the notes; without control characters."""
    lines: list[str] = []
    for grid in _grids(tables):
        rows = [[printable(cell.text) for cell in row] for row in grid.rows]
        lines += [grid.caption, "", *render_grid(grid.titles, rows, left=grid.left), ""]
    return [*lines, *(printable(line, _LONGEST_LINE) for line in (*tables.missing, *tables.notes))]


def render_tables_markdown(tables: PaperTables) -> str:
    """The same as Markdown; text from the results is never read as markup."""
    lines = ["## Ordered CommonGen: the paper's tables", ""]
    for grid in _grids(tables):
        titles = [title.replace("\n", " ") for title in grid.titles]
        rows = [
            [escape(cell.text) if column < grid.left else cell.text for column, cell in enumerate(row)]
            for row in grid.rows
        ]
        lines += [f"### {grid.caption}", "", *table(titles, rows, left=grid.left)]
    lines += [f"- {code(line, _LONGEST_LINE)}" for line in (*tables.missing, *tables.notes)]
    return "\n".join(lines) + "\n"


def _grids(tables: PaperTables) -> Iterator[Grid]:
    patterns = [((line.pattern,), line.spreads, line.published) for line in tables.table2]
    templates = [((str(line.template), line.condition), line.spreads, line.published) for line in tables.table3]
    deviation = "mean ± standard deviation over models"
    grids = (
        _models_grid("Table 1: zero-shot; delta: ordered minus original", tables.table1),
        _spreads_grid(f"Table 2: by part-of-speech pattern; {deviation}", ("pattern",), patterns),
        _spreads_grid(f"Table 3: by template and condition; {deviation}", ("template", "condition"), templates),
        _models_grid("Table 4: one-shot; delta: one-shot minus zero-shot", tables.table4),
        _models_grid("Table 7: only template 0; delta: ordered minus original", tables.table7),
        _gains_grid(tables.reasoning_gains),
        _lists_grid(tables.figure3, len(tables.models)),
        _orders_grid(tables.figure4),
    )
    return (grid for grid in grids if grid.rows)


def _models_grid(caption: str, lines: Sequence[ModelLine]) -> Grid:
    names = _measured(cells for line in lines for cells in (line.values, line.published))
    rows = [
        [*about, *_cells(cells, names, form)]
        for line in lines
        for about, cells, form in (
            ((line.model, ""), line.values, ".2f"),
            (("", "delta"), line.deltas, "+.2f"),
            ((line.published_as or "", "paper"), line.published, ".2f"),
            (("", "delta"), line.published_deltas, "+.2f"),
        )
        if cells
    ]
    return text_grid(caption, ["model", "", *map(catalogue.title_of, names)], rows, 2)


def _gains_grid(gains: Sequence[ReasoningGain]) -> Grid:
    names = _measured(cells for gain in gains for cells in (gain.gains, gain.published))
    rows = [
        [*about, *_cells(cells, names, "+.2f")]
        for gain in gains
        for about, cells in (((f"{gain.model} - {gain.base}", ""), gain.gains), (("", "paper"), gain.published))
    ]
    caption = "Table 7: gain from reasoning; reasoning model minus base model"
    return text_grid(caption, ["models", "", *map(catalogue.title_of, names)], rows, 2)


def _spreads_grid(
    caption: str, keys: Sequence[str], lines: Sequence[tuple[Sequence[str], Mapping[str, Spread], Mapping[str, Spread]]]
) -> Grid:
    metrics = catalogue.pattern_metrics()
    rows = [
        [
            *about,
            f"{whose}n = {max(spread.models for spread in spreads.values())}",
            *(spread_text(spreads[name]) for name in metrics),
        ]
        for key, ours, paper in lines
        for about, whose, spreads in ((key, "", ours), ([""] * len(keys), "paper, ", paper))
        if spreads
    ]
    titles = [*keys, "models", *map(catalogue.title_of, metrics)]
    return text_grid(caption, titles, rows, len(keys) + 1)


def _lists_grid(bars: Sequence[Bar], models: int) -> Grid:
    return text_grid(
        f"Figure 3: ordered lists by number of models (of {models}) that composed them",
        ["models", "lists", "percent", "cumulative\npercent"],
        [[str(bar.models), f"{bar.lists:,}", number(bar.share), number(bar.cumulative_share)] for bar in bars],
    )


def _orders_grid(columns: Sequence[OrdersOfSets]) -> Grid:
    """One row for each number of orders, because there are 25 of them and usually fewer models."""
    orders = range(max((len(column.sets) for column in columns), default=0))
    means = [["mean", *(number(column.mean) for column in columns)]] if columns else []
    return text_grid(
        "Figure 4: concept sets by number of orders that at least n models composed, a column for each n",
        ["orders", *(str(column.models) for column in columns)],
        [*means, *([str(count), *(f"{column.sets[count]:,}" for column in columns)] for count in orders)],
    )


def _measured(cells: Iterable[Values]) -> list[str]:
    known = {name for values in cells for name, value in values.items() if value is not None}
    return [name for name in catalogue.published_metrics() if name in known]


def _cells(values: Values, names: Sequence[str], form: str) -> Iterator[str]:
    return (number(values.get(name), form) for name in names)
