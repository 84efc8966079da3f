"""The figures of the HTML report: each a chart, its legend, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_ocg.analysis.order_bias import OrderBias
from pytest_ocg.analysis.paper_figures import ComposedLists, figure3, figure4
from pytest_ocg.analysis.paper_tables import Spread, table2, table3
from pytest_ocg.inputs.published import load_published
from pytest_ocg.metrics import catalogue
from pytest_ocg.report.grids import Grid, spread_grid, text_grid
from pytest_ocg.report.html.charts import ChartText, Series, draw_heat_map, draw_series
from pytest_ocg.report.html.history import Point
from pytest_ocg.report.markup import number
from pytest_ocg.results.schema import Results

Line = tuple[Sequence[str], Mapping[str, Spread], Mapping[str, Spread]]


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """The form and tone of the marks, and their meaning."""

    form: str
    tone: int
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart as SVG with its title, its legend, and the same numbers as a table."""

    title: str
    svg: str
    legend: Sequence[LegendEntry]
    grid: Grid


def pattern_figure(results: Results) -> Figure | None:
    """Coverage by the part-of-speech pattern asked for; None without patterns."""
    lines = table2(results.rows, load_published(), shots=results.selection.shots)
    spreads = [((line.pattern,), line.spreads, line.published) for line in lines]
    return _spread_figure("patterns", "By part-of-speech pattern asked for", ("pattern",), spreads)


def template_figure(results: Results) -> Figure | None:
    """Coverage by template and condition; None without templates."""
    lines = table3(results.rows, load_published(), shots=results.selection.shots)
    spreads = [((str(line.template), line.condition), line.spreads, line.published) for line in lines]
    return _spread_figure("templates", "By template", ("template", "condition"), spreads)


def heat_map_figure(bias: OrderBias, name: str) -> Figure:
    """The place in one model's replies of the concept asked for at each place."""
    shares = [
        [100 * count / sum(counts) if sum(counts) else None for count in counts] for counts in bias.as_scored.heat_map
    ]
    title = f"{bias.model} {bias.condition} {bias.shots}-shot"
    kept = [row[place] for place, row in enumerate(shares)]
    description = (
        f"On the diagonal, where the order asked for is kept, from first to last place: {_listed(kept)} percent."
    )
    places = [str(place + 1) for place in range(bias.concepts)]
    rows = [[place, *map(number, row)] for place, row in zip(places, shares, strict=True)]
    return Figure(
        title,
        draw_heat_map(
            ChartText(name, f"{title}: heat map", description, "place in the reply", "place asked for"), shares
        ),
        (),
        text_grid(
            "Place in the reply, in percent of the replies",
            ["place asked for", *(f"place {place}" for place in places)],
            rows,
        ),
    )


def composed_figures(composed: ComposedLists) -> tuple[Figure, Figure]:
    """Figures 3 and 4: the number of models that composed each ordered list, and the orders composed of each set."""
    bars, columns = figure3(composed), figure4(composed)
    labels = [str(bar.models) for bar in bars]
    cumulative = [bar.cumulative_share for bar in bars]
    title = "Ordered lists by number of models that composed them (Figure 3)"
    description = (
        f"In percent of {len(composed.by_list):,} lists, from 0 models to all: {_listed([b.share for b in bars])}."
    )
    third = Figure(
        title,
        draw_series(
            ChartText("figure3", title, description, "models", "percent of lists"),
            labels,
            [Series("bar", 1, [bar.share for bar in bars]), Series("line", 2, cumulative)],
            top=100,
        ),
        (
            LegendEntry("bar", 1, "composed by exactly this many models"),
            LegendEntry("line", 2, "composed by at most this many models"),
        ),
        text_grid(
            "Ordered lists",
            ["models", "lists", "percent", "cumulative percent"],
            [[str(b.models), f"{b.lists:,}", number(b.share), number(b.cumulative_share)] for b in bars],
        ),
    )
    title = "Orders of a concept set that at least n models composed (Figure 4)"
    means = [column.mean for column in columns]
    description = f"Mean over concept sets, from 1 model to all: {_listed(means)} orders."
    fourth = Figure(
        title,
        draw_series(
            ChartText("figure4", title, description, "at least this many models", "orders per concept set"),
            [str(column.models) for column in columns],
            [Series("bar", 1, means)],
        ),
        (LegendEntry("bar", 1, "mean number of orders per concept set"),),
        text_grid(
            "Concept sets by number of orders that at least this many models composed",
            ["models", "mean", *map(str, range(max((len(column.sets) for column in columns), default=0)))],
            [[str(c.models), number(c.mean), *(f"{sets:,}" for sets in c.sets)] for c in columns],
        ),
    )
    return third, fourth


def history_figure(points: Sequence[Point], name: str) -> Figure:
    """Coverage and verdicts over the runs of one row; runs with other settings are only in the table."""
    comparable = [point for point in points if not point.differs]
    title = f"{points[0].model} {points[0].condition} {points[0].shots}-shot"
    metrics = ("coverage_ordered", "coverage_unordered")
    values = {metric: [point.values.get(metric) for point in comparable] for metric in metrics}
    description = f"{catalogue.label_of(metrics[0])}, oldest run first: {_listed(values[metrics[0]])} percent."
    rows = [
        [
            point.started,
            point.verdict.status.upper().replace("_", " ") if point.verdict else "-",
            *(number(point.values.get(metric)) for metric in (*metrics, "ordered_rate")),
            f"not comparable; differs in: {', '.join(point.differs)}" if point.differs else "",
        ]
        for point in points
    ]
    return Figure(
        title,
        draw_series(
            ChartText(name, f"{title}: runs", description, "run", "percent"),
            [point.started[:10] for point in comparable],
            [Series("line", tone, values[metric]) for tone, metric in enumerate(metrics, 1)],
            top=100,
        ),
        [LegendEntry("line", tone, catalogue.label_of(metric)) for tone, metric in enumerate(metrics, 1)],
        text_grid(
            "Runs",
            ["run", "gate", *(catalogue.label_of(metric) for metric in (*metrics, "ordered_rate")), "note"],
            rows,
            2,
        ),
    )


def _spread_figure(name: str, title: str, keys: Sequence[str], lines: Sequence[Line]) -> Figure | None:
    if not lines:
        return None
    title_of_value = catalogue.label_of("coverage_ordered")
    ours = [spreads["coverage_ordered"] for _, spreads, _ in lines]
    paper = [published["coverage_ordered"].mean if published else None for _, _, published in lines]
    means = [spread.mean for spread in ours]
    series = [
        Series("bar", 1, means, [spread.deviation for spread in ours]),
        Series("dot", 2, [spreads["coverage_unordered"].mean for _, spreads, _ in lines]),
    ]
    legend = [
        LegendEntry("bar", 1, title_of_value),
        LegendEntry("dot", 2, catalogue.label_of("coverage_unordered")),
    ]
    if any(value is not None for value in paper):
        series.append(Series("diamond", 3, paper))
        legend.append(LegendEntry("diamond", 3, f"{title_of_value}, mean of the paper's models"))
    labels = [" ".join(key) for key, _, _ in lines]
    values = ", ".join(f"{label} {number(mean)}" for label, mean in zip(labels, means, strict=True))
    chart = ChartText(
        name, title, f"{catalogue.label_of('coverage_ordered')} in percent: {values}.", " and ".join(keys), "percent"
    )
    return Figure(title, draw_series(chart, labels, series, top=100), legend, spread_grid(title, keys, lines))


def _listed(values: Sequence[float | None]) -> str:
    return ", ".join(number(value, ".1f") for value in values)
