"""The tables of the HTML report: the text of each cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_ocg.analysis.order_bias import KeptRate, OrderBias
from pytest_ocg.analysis.paper_tables import Spread
from pytest_ocg.errors import counted
from pytest_ocg.metrics import catalogue
from pytest_ocg.report.markup import number
from pytest_ocg.report.summary_table import interval_cell, published_values, titles_of
from pytest_ocg.results.schema import MetricScore, Results, Row
from pytest_ocg.results.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, and a note in small print below it."""

    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table with caption, titles and rows; the first `left` cells of a row describe it."""

    caption: str
    titles: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    left: int = 1


def text_grid(caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> Grid:
    """A grid of plain texts."""
    return Grid(caption, titles, [[Cell(text) for text in row] for row in rows], left)


def metrics_grid(results: Results) -> Grid:
    """A row per model and condition with the 95 % interval of each metric; below it, deltas and published values."""
    rows = results.rows
    titles = titles_of(rows)
    names = list(titles)
    lines: list[list[Cell]] = []
    for row in rows:
        scores = row.metrics
        values = row.values()
        shots = f"{row.shots}-shot" if row.shots else ""
        start = [Cell(row.model), Cell(row.condition, shots)]
        lines.append([*start, *(Cell(number(values.get(name)), _interval(scores.get(name))) for name in names)])
        if row.delta_vs_original is not None:
            lines.append([Cell(""), Cell("- original"), *_plain(row.delta_vs_original, names, "+.2f")])
        published = published_values(results, row)
        if published is not None:
            lines.append([Cell(""), Cell("published"), *_plain(published, names)])
    shown = [title.replace("\n", " ") for title in titles.values()]
    return Grid("Metrics", ["model", "condition", *shown], lines, 2)


def checks_grid(verdict: Verdict) -> Grid:
    """The limits that the gate checked on a row."""
    rows = [
        [
            Cell(check.metric, check.says if check.fall else ""), Cell(number(check.value)),
            Cell(check.bound), Cell(number(check.limit)), Cell("yes" if check.holds else "no"),
        ]
        for check in verdict.checks
    ]  # fmt: skip
    return Grid("Limits checked", ["metric", "value", "bound", "limit", "holds"], rows)


def counts_grid(rows: Sequence[Row]) -> Grid:
    """The number of cases of each row by outcome."""
    keys = ("planned", "hit", "miss", "error", "not_run", "cached", "echo")
    titles = ("cases", "hit", "missed", "without a reply", "not run", "from the cache", "repeat the word list")
    lines = []
    for row in rows:
        counts = row.counts
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in counts.errors.items())
        numbers = (Cell(f"{getattr(counts, key):,}", kinds if key == "error" else "") for key in keys)
        lines.append([Cell(row.model), Cell(row.condition), *numbers])
    return Grid("Cases", ["model", "condition", *titles], lines, 2)


def spread_grid(
    caption: str, keys: Sequence[str], lines: Sequence[tuple[Sequence[str], Mapping[str, Spread], Mapping[str, Spread]]]
) -> Grid:
    """Means over models beside the paper's; each line has its keys, our spreads and the published ones."""
    metrics = catalogue.pattern_metrics()
    titles = [*keys, "models", *(title for name in metrics for title in (catalogue.label_of(name), "paper"))]
    rows = []
    for key, ours, paper in lines:
        models = max((spread.models for spread in ours.values()), default=0)
        cells = [_spread(spreads.get(name)) for name in metrics for spreads in (ours, paper)]
        rows.append([*map(Cell, key), Cell(str(models)), *cells])
    return Grid(caption, titles, rows, len(keys))


def preference_grid(biases: Sequence[OrderBias]) -> Grid:
    """How strongly each model prefers one order; a model with echoes has a second row without them."""
    titles = [
        "model", "condition", "replies with an order", "default-order share", "held-out share",
        "held-out share at random",
        "entropy (bits)", "entropy at random", "maximum entropy",
    ]  # fmt: skip
    rows = [
        [
            Cell(bias.model, note), Cell(bias.condition), Cell(f"{found.replies:,}"),
            *(Cell(number(value)) for value in (
                found.default_share, found.held_out_share, found.held_out_share_at_random, found.entropy_bits,
                found.entropy_bits_at_random, found.most_bits,
            )),
        ]
        for bias in biases
        for note, found in (("", bias.as_scored), ("without replies that repeat the word list", bias.without_echo))
        if found is bias.as_scored or bias.echoes
    ]  # fmt: skip
    return Grid("Preference for one order", titles, rows, 2)


def bias_counts(bias: OrderBias) -> str:
    """How many replies the order bias of a model was computed from, and how many were left out."""
    return (
        f"{counted(bias.replies, 'reply')}; with every concept: {bias.covered:,}. Of these, with two concepts at the "
        f"same word: {bias.undecided:,}, with the word list: {bias.echoes:,}. Replies without a distance: "
        f"{bias.without_default:,} (no other reply to their set deviates from the order asked for)."
    )


def kept_grid(caption: str, at: str, kept: Sequence[KeptRate]) -> Grid:
    """How often the order asked for is kept; `at` is the title of the distance or place."""
    rows = [
        ["none" if one.at is None else str(one.at), number(one.coverage_ordered), number(one.ordered_rate),
         f"{one.replies:,.1f}"]
        for one in kept
    ]  # fmt: skip
    return text_grid(caption, [at, *map(catalogue.label_of, ("coverage_ordered", "ordered_rate")), "replies"], rows)


def _interval(score: MetricScore | None) -> str:
    return interval_cell(score) if score and score.interval else ""


def _plain(values: Mapping[str, float | None], names: Sequence[str], form: str = ".2f") -> Iterator[Cell]:
    return (Cell(number(values.get(name), form)) for name in names)


def spread_text(spread: Spread | None) -> str:
    """A mean and its standard deviation over models, `56.25 ± 3.44`; a dash without a value."""
    cell = _spread(spread)
    return f"{cell.text} {cell.note}".rstrip()


def _spread(spread: Spread | None) -> Cell:
    if spread is None:
        return Cell("-")
    return Cell(number(spread.mean), "" if spread.deviation is None else f"± {spread.deviation:.2f}")
