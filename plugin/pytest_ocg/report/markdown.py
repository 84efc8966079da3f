"""A run as Markdown for a pull request: verdict, metrics with the published values, order bias, and run details."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_ocg.analysis.order_bias import KeptRate, OrderBias, order_biases
from pytest_ocg.analysis.paper_tables import Spread, table2, table3
from pytest_ocg.inputs.published import load_published
from pytest_ocg.metrics import catalogue
from pytest_ocg.report.grids import bias_counts, spread_text
from pytest_ocg.report.markup import code, collapsible, escape, number, table
from pytest_ocg.report.summary_table import (
    counts_line,
    footnotes,
    made_by_line,
    published_values,
    recipe_line,
    titles_of,
)
from pytest_ocg.results.schema import Results
from pytest_ocg.results.verdicts import Status
from pytest_ocg.run.record import CaseRecord


def render_biases(biases: Sequence[OrderBias]) -> list[str]:
    """One table with all preferences, then for each model how often it keeps the order asked for."""
    if not biases:
        return ["There are no replies.", ""]
    lines = ["Which order does the model prefer, independent of the order asked for?", "", *_preferences(biases)]
    for bias in biases:
        lines += [f"{_name(bias)}: {bias_counts(bias)}", ""]
        lines += [f"{_name(bias)}: replies with all concepts in order, in percent", ""]
        lines += _kept_table("distance of the order asked for from the default order", bias.by_distance)
        lines += _kept_table("place of the first verb asked for", bias.by_first_verb)
        lines += [f"{_name(bias)}: place of each concept in the reply, in percent of the replies", "", *_heat_map(bias)]
    return lines


def _preferences(biases: Sequence[OrderBias]) -> list[str]:
    titles = [
        "model", "replies with an order", "default-order share", "held-out share", "held-out share at random",
        "entropy (bits)", "entropy at random", "maximum entropy",
    ]  # fmt: skip
    rows = [
        [
            f"{_name(bias)}{note}", f"{found.replies:,}", number(found.default_share), number(found.held_out_share),
            number(found.held_out_share_at_random), number(found.entropy_bits), number(found.entropy_bits_at_random),
            number(found.most_bits),
        ]
        for bias in biases
        for note, found in (("", bias.as_scored), (", without replies that repeat the word list", bias.without_echo))
        if found is bias.as_scored or bias.echoes
    ]  # fmt: skip
    return table(titles, rows)


def _kept_table(title: str, kept: Sequence[KeptRate]) -> list[str]:
    places = ["none" if one.at is None else str(one.at) for one in kept]
    shares = ["in order", *(number(one.coverage_ordered) for one in kept)]
    return table([title, *places], [shares, ["replies", *(f"{one.replies:,.1f}" for one in kept)]])


def _heat_map(bias: OrderBias) -> list[str]:
    places = [str(place + 1) for place in range(bias.concepts)]
    rows = [
        [place, *(number(100 * cell / sum(cells) if sum(cells) else None) for cell in cells)]
        for place, cells in zip(places, bias.as_scored.heat_map, strict=True)
    ]
    return table(["place asked for", *(f"place {place}" for place in places)], rows)


def _name(bias: OrderBias) -> str:
    return f"{code(bias.model)} {escape(bias.condition)} {bias.shots}-shot"


_LONGEST_LINE = 2_000


def render_markdown(results: Results, records: Iterable[CaseRecord]) -> str:
    """The report on `results.json` and `generations.jsonl`; text from either cannot break it."""
    lines = ["## Ordered CommonGen", ""]
    lines += [f"- {line}" for line in _verdicts(results)]
    lines += ["", *_metrics(results), *(f"- {code(line)}" for line in footnotes(row.metrics for row in results.rows))]
    lines += [f"- {code(counts_line(row))}" for row in results.rows]
    lines += [
        "",
        *_by_template(results),
        *_by_pattern(results),
        *collapsible("Order bias", render_biases(order_biases(records))),
    ]
    sources = filter(None, map(made_by_line, results.rows))
    details = (*dict.fromkeys(sources), recipe_line(results), _run_line(results))
    lines += [f"- {code(line, _LONGEST_LINE)}" for line in details]
    return "\n".join(lines) + "\n"


def _verdicts(results: Results) -> list[str]:
    verdicts = results.verdicts
    lines = [code(verdict.line(), _LONGEST_LINE) for verdict in verdicts]
    bold = [
        f"**{line}**" if verdict.status is Status.FAILED else line
        for line, verdict in zip(lines, verdicts, strict=True)
    ]
    return bold or [
        "gate: these results have no verdict: the gate was off, no case was run, or the results were merged; "
        "run `ocg gate RESULTS` to get one"
    ]


def _metrics(results: Results) -> list[str]:
    rows = results.rows
    titles = titles_of(rows)
    names = list(titles)
    lines = []
    for row in rows:
        values = row.values()
        lines.append([code(row.model), escape(row.condition), *_cells(values, names)])
        if row.delta_vs_original is not None:
            lines.append(["", "- original", *_cells(row.delta_vs_original, names, "+.2f")])
        published = published_values(results, row)
        if published is not None:
            lines.append(["", "published", *_cells(published, names)])
    shown = [escape(title.replace("\n", " ")) for title in titles.values()]
    return table(["model", "condition", *shown], lines, left=2)


def _by_template(results: Results) -> list[str]:
    lines = table3(results.rows, load_published(), shots=results.selection.shots)
    rows = [
        [str(line.template), escape(line.condition), *_spread_cells(line.spreads, line.published)] for line in lines
    ]
    return _spread_table("By template", ["template", "condition"], rows)


def _by_pattern(results: Results) -> list[str]:
    lines = table2(results.rows, load_published(), shots=results.selection.shots)
    rows = [[escape(line.pattern), *_spread_cells(line.spreads, line.published)] for line in lines]
    return _spread_table("By part-of-speech pattern asked for", ["pattern"], rows)


def _spread_table(title: str, keys: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    titles = [
        *keys,
        "models",
        *(title for name in catalogue.pattern_metrics() for title in (catalogue.label_of(name), "paper")),
    ]
    note = (
        "Mean ± standard deviation over models. The paper's values are zero-shot, over its models and 192 concept sets."
    )
    return collapsible(title, [note, "", *table(titles, rows, left=len(keys))])


def _spread_cells(spreads: Mapping[str, Spread], published: Mapping[str, Spread]) -> Iterator[str]:
    yield f"n = {spreads['coverage_unordered'].models}"
    for name in catalogue.pattern_metrics():
        yield from (spread_text(spreads[name]), spread_text(published.get(name)))


def _run_line(results: Results) -> str:
    run = results.run
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items() if version)
    return f"run {run.started}, Python {run.python}, {versions}"


def _cells(values: Mapping[str, float | None], names: Sequence[str], form: str = ".2f") -> list[str]:
    return [number(values.get(name), form) for name in names]
