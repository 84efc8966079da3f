"""A run as one self-contained HTML file: it needs no network and no other file, and it does not trust replies."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ocg.analysis.order_bias import OrderBias, order_biases
from pytest_ocg.analysis.paper_figures import composed_lists
from pytest_ocg.errors import counted, printable
from pytest_ocg.report.grids import (
    Grid,
    bias_counts,
    checks_grid,
    counts_grid,
    kept_grid,
    metrics_grid,
    preference_grid,
    text_grid,
)
from pytest_ocg.report.html.figures import (
    composed_figures,
    heat_map_figure,
    history_figure,
    pattern_figure,
    template_figure,
)
from pytest_ocg.report.html.history import gate_history
from pytest_ocg.report.html.replies import pack_replies, script_json
from pytest_ocg.report.summary_table import (
    footnotes,
    interval_footnotes,
    made_by_line,
    recipe_line,
    truncation_notes,
    usage_line,
)
from pytest_ocg.results.schema import Results
from pytest_ocg.results.verdicts import Status, Verdict
from pytest_ocg.run.record import CaseRecord

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"
_LONGEST_TEXT = 4_000
_WORST_FIRST = (Status.FAILED, Status.NOT_EVALUATED, Status.PASSED)


def render_html(results: Results, records: Iterable[CaseRecord], earlier: Sequence[Results] = ()) -> str:
    """The report on `results.json` and `generations.jsonl`; the same input gives the same text.

    `earlier` are the results of earlier runs, for the gate history. Raises ExportError if the charts cannot be drawn.
    """
    records = list(records)
    biases = order_biases(records)
    composed = composed_lists(records, shots=results.selection.shots)
    histories = gate_history(results, earlier)
    style, script = _asset("report.css"), _asset("replies.js")
    page = _environment().get_template("report.html.j2")
    return page.render(
        policy=_policy(style, script),
        style=style,
        script=script,
        models=list(results.models()),
        results=results,
        verdicts=_verdicts(results),
        metrics=metrics_grid(results),
        notes=[
            *footnotes(row.metrics for row in results.rows),
            *interval_footnotes(results),
            *truncation_notes(results),
            *filter(None, map(usage_line, results.rows)),
        ],
        counts=counts_grid(results.rows),
        histories=[history_figure(points, f"history{number}") for number, points in enumerate(histories)],
        spreads=[figure for figure in (pattern_figure(results), template_figure(results)) if figure],
        preferences=preference_grid(biases),
        biases=[
            (bias_counts(bias), heat_map_figure(bias, f"bias{number}"), _kept(bias))
            for number, bias in enumerate(biases)
        ],
        composed=composed_figures(composed) if len(composed.models) > 1 else (),
        replies=_markup(script_json(pack_replies(records))),
        facts=list(_facts(results)),
        signatures=_signatures(results),
    )


def _environment() -> Environment:
    """The Jinja environment; it escapes every value and shows control and direction characters as their codes."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["svg"] = _markup
    return environment


def _printed(value: Any) -> Any:
    return printable(value, _LONGEST_TEXT) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _markup(text: str) -> Markup:
    """Our own text as markup, which is not escaped again."""
    from markupsafe import Markup

    return Markup(text)


def _asset(name: str) -> Markup:
    return _markup((TEMPLATES / name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    """A content security policy that allows only this style and this script."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {_digest(style)}",
            f"script-src {_digest(script)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _verdicts(results: Results) -> list[tuple[Verdict, Grid]]:
    """The verdicts, the worst first, each with its limits."""
    verdicts = [(verdict, checks_grid(verdict)) for verdict in results.verdicts]
    return sorted(verdicts, key=lambda one: _WORST_FIRST.index(one[0].status))


def _kept(bias: OrderBias) -> list[Grid]:
    return [
        kept_grid("Order kept by distance from the default order", "distance", bias.by_distance),
        kept_grid("Order kept by the place of the first verb asked for", "place", bias.by_first_verb),
    ]


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    """The run details, each a name and a text."""
    run, dataset, selection = results.run, results.dataset, results.selection
    yield "Measured on", recipe_line(results)
    for source in dict.fromkeys(filter(None, map(made_by_line, results.rows))):
        yield "Replies made by", source
    yield "Run", f"{run.started}, {selection.run:,} of {counted(selection.planned, 'case')}"
    if run.command_line is not None:
        yield "Command line", " ".join(["pytest", *run.command_line])
    yield "Dataset", f"{dataset.name}, {counted(dataset.sets, 'concept set')}, sha256 {dataset.sha256}"
    yield "Templates", f"sha256 {results.templates_sha256}"
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items() if version)
    yield "Versions", f"Python {run.python}, {versions}"


def _signatures(results: Results) -> Grid:
    found = {
        (name, str(score.signature)): None
        for row in results.rows
        for name, score in row.metrics.items()
        if score.signature
    }
    return text_grid("Metric signatures", ["metric", "signature"], list(found), 2)
