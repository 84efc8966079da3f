"""A run as Markdown for a pull request: verdict, numbers beside the published ones, order bias, and the recipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_ocg.analysis.order_bias import order_biases
from pytest_ocg.analysis.spread_tables import SPREAD_METRICS, Spread, table2, table3
from pytest_ocg.gate.judge import Status
from pytest_ocg.inputs.published import load_published
from pytest_ocg.report.bias_tables import render_biases
from pytest_ocg.report.grids import spread_text
from pytest_ocg.report.html.history import recorded_verdicts
from pytest_ocg.report.markup import code, folded, number, plain, table
from pytest_ocg.report.summary_table import (
    COLUMNS,
    counts_line,
    footnotes,
    made_by_line,
    published_values,
    recipe_line,
    titles_of,
)

_LONGEST_LINE = 2_000
_TITLES = {name: title.replace("\n", " ") for name, title in COLUMNS.items()}


def render_markdown(results: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> str:
    """The report on the content of `results.json` and `generations.jsonl`; text out of either cannot break it."""
    lines = ["## Ordered CommonGen", ""]
    lines += [f"- {line}" for line in _verdicts(results)]
    lines += ["", *_metrics(results), *(f"- {code(line)}" for line in footnotes(results))]
    lines += [f"- {code(counts_line(row))}" for row in results["rows"]]
    lines += [
        "",
        *_by_template(results),
        *_by_pattern(results),
        *folded("Order bias", render_biases(order_biases(records))),
    ]
    told = filter(None, map(made_by_line, results["rows"]))
    recipe = (*dict.fromkeys(told), recipe_line(results), _run_line(results))
    lines += [f"- {code(line, _LONGEST_LINE)}" for line in recipe]
    return "\n".join(lines) + "\n"


def _verdicts(results: Mapping[str, Any]) -> list[str]:
    verdicts = recorded_verdicts(results)
    lines = [code(verdict.line(), _LONGEST_LINE) for verdict in verdicts]
    bold = [
        f"**{line}**" if verdict.status is Status.FAILED else line
        for line, verdict in zip(lines, verdicts, strict=True)
    ]
    return bold or ["gate: no verdict in these results, as in any that were merged; `ocg gate RESULTS` gives it"]


def _metrics(results: Mapping[str, Any]) -> list[str]:
    rows = results["rows"]
    titles = titles_of(rows)
    names = list(titles)
    lines = []
    for row in rows:
        values = {name: score["value"] for name, score in row["metrics"].items()}
        lines.append([code(row["model"]), plain(row["condition"]), *_cells(values, names)])
        if "delta_vs_original" in row:
            lines.append(["", "- original", *_cells(row["delta_vs_original"], names, "+.2f")])
        published = published_values(results, row)
        if published is not None:
            lines.append(["", "published", *_cells(published, names)])
    shown = [plain(title.replace("\n", " ")) for title in titles.values()]
    return table(["model", "condition", *shown], lines, left=2)


def _by_template(results: Mapping[str, Any]) -> list[str]:
    lines = table3(results["rows"], load_published(), shots=results["selection"]["shots"])
    rows = [[str(line.template), plain(line.condition), *_spread_cells(line.spreads, line.published)] for line in lines]
    return _spread_table("By template", ["template", "condition"], rows)


def _by_pattern(results: Mapping[str, Any]) -> list[str]:
    lines = table2(results["rows"], load_published(), shots=results["selection"]["shots"])
    rows = [[plain(line.pattern), *_spread_cells(line.spreads, line.published)] for line in lines]
    return _spread_table("By part-of-speech pattern asked for", ["pattern"], rows)


def _spread_table(title: str, keys: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    titles = [*keys, "models", *(title for name in SPREAD_METRICS for title in (_TITLES[name], "paper"))]
    note = "Mean ± standard deviation over models. The paper's are zero-shot, over its models and its 192 concept sets."
    return folded(title, [note, "", *table(titles, rows, left=len(keys))])


def _spread_cells(spreads: Mapping[str, Spread], published: Mapping[str, Spread]) -> Iterator[str]:
    yield f"n = {spreads['coverage_unordered'].models}"
    for name in SPREAD_METRICS:
        yield from (spread_text(spreads[name]), spread_text(published.get(name)))


def _run_line(results: Mapping[str, Any]) -> str:
    run = results["run"]
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items() if version)
    return f"run {run['started']}, Python {run['python']}, {versions}"


def _cells(values: Mapping[str, float | None], names: Sequence[str], form: str = ".2f") -> list[str]:
    return [number(values.get(name), form) for name in names]
