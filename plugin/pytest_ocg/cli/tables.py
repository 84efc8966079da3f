"""`ocg tables`: writes the paper's tables and figures from the results of any number of runs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from pytest_ocg.analysis.paper_figures import ComposedLists, composed_lists, figure3, figure4
from pytest_ocg.analysis.paper_tables import (
    ModelLine,
    reasoning_gains,
    table1,
    table2,
    table3,
    table4,
    table7,
)
from pytest_ocg.errors import quote
from pytest_ocg.inputs.published import load_published
from pytest_ocg.metrics import catalogue
from pytest_ocg.report.paper_tables import PaperTables, render_tables, render_tables_markdown
from pytest_ocg.report.summary_table import footnotes, recipe_line
from pytest_ocg.results.files import Run, load_results, load_run
from pytest_ocg.results.rows import run_rows
from pytest_ocg.results.schema import Row
from pytest_ocg.results.signature import comparable_rows
from pytest_ocg.run.record import CaseRecord

_NEEDS: Mapping[str, str] = {
    "table1": "Table 1 needs a run with --ocg-shots 0 and --ocg-condition ordered",
    "table2": "Table 2 needs a run with --ocg-shots 0 and --ocg-condition ordered",
    "table3": "Table 3 needs a run with --ocg-shots 0",
    "table4": "Table 4 needs the same model run with --ocg-shots 0 and 1",
    "table7": "Table 7 needs a run with --ocg-shots 0, --ocg-condition ordered and template 0",
    "reasoning_gains": "the gain from reasoning in Table 7 needs marco-o1 and qwen2-7b, or o1-mini and gpt-4o-mini",
    "figures": "Figures 3 and 4 need the generations.jsonl of two models or more, run with --ocg-shots 0",
}
_PAPER = "paper: 192 concept sets of CommonGen-lite, six templates; Table 7 has template 0 only"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    parser.add_argument(
        "results",
        type=Path,
        nargs="+",
        metavar="RESULTS",
        help="results.json of a run, or its folder; figures need the generations.jsonl of two models or more",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write the tables as one JSON object")
    form.add_argument("--markdown", action="store_true", help="write the tables for a pull request")


def run(arguments: argparse.Namespace, stream: TextIO) -> int:
    """Write the tables and return 0, also if some are missing.

    Raises ResultsError for files that cannot be used and for runs that cannot be in one table.
    """
    tables = _paper_tables(arguments.results)
    if arguments.json:
        stream.write(json.dumps({"schema": 1, **asdict(tables)}, indent=2, allow_nan=False) + "\n")
    elif arguments.markdown:
        stream.write(render_tables_markdown(tables))
    else:
        stream.writelines(f"{line}\n" for line in render_tables(tables))
    return 0


def _paper_tables(paths: Sequence[Path]) -> PaperTables:
    runs = [Run(path, load_results(path), ()) for path in paths]
    rows, published = comparable_rows([found.results for found in runs]), load_published()
    composed = composed_lists(_records(filter(_has_generations, paths)))
    has_figures = len(composed.models) > 1
    first, fourth, seventh = (table(rows, published) for table in (table1, table4, table7))
    lines: dict[str, Any] = {
        "table1": first,
        "table2": table2(rows, published),
        "table3": table3(rows, published),
        "table4": fourth,
        "table7": seventh,
        "reasoning_gains": reasoning_gains(seventh, published),
    }
    has_table = {**lines, "figures": has_figures}
    return PaperTables(
        **lines,
        models=composed.models if has_figures else (),
        figure3=figure3(composed) if has_figures else (),
        figure4=figure4(composed) if has_figures else (),
        missing=(
            *(need for name, need in _NEEDS.items() if not has_table[name]),
            *_without_deltas("Tables 1 and 7", "--ocg-condition both", first),
            *_without_deltas("Table 4", "--ocg-shots 0 as well", fourth),
        ),
        notes=(
            *(_figure_notes(composed, first) if has_figures else ()),
            *_metric_notes(rows),
            *_run_notes(runs),
            _PAPER,
        ),
    )


def _has_generations(path: Path) -> bool:
    """Whether the replies are in the folder of the results; they do not belong to a renamed results file."""
    folder = path if path.is_dir() else path.parent
    return path in (folder, folder / "results.json") and (folder / "generations.jsonl").exists()


def _records(paths: Iterable[Path]) -> Iterator[CaseRecord]:
    """The records of one run after another, because all of them do not fit into memory."""
    for path in paths:
        yield from load_run(path).records


def _without_deltas(tables: str, option: str, lines: Iterable[ModelLine]) -> Iterator[str]:
    models = ", ".join(line.model for line in lines if not line.deltas)
    if models:
        yield f"deltas in {tables} need {option} for {models}"


def _figure_notes(composed: ComposedLists, lines: Iterable[ModelLine]) -> Iterator[str]:
    left_out = ", ".join(line.model for line in lines if line.model not in composed.models)
    if left_out:
        yield f"Figures 3 and 4 do not show {left_out}: there is no generations.jsonl with the results"
    if composed.unjudged:
        yield f"Figures 3 and 4: lists without a reply of a model, counted as not composed: {composed.unjudged:,}"


def _metric_notes(rows: Sequence[Row]) -> Iterator[str]:
    """Why a metric has no value, and which metrics were measured in different ways."""
    names = catalogue.published_metrics()
    measured = [{name: row.metrics[name] for name in names if name in row.metrics} for row in rows]
    yield from footnotes(measured)
    for name in names:
        there = [scores[name] for scores in measured if name in scores and scores[name].value is not None]
        signatures = dict.fromkeys(quote(score.signature) for score in there)
        if len(signatures) > 1:
            yield f"{name} was measured as {', '.join(signatures)}, so its values cannot be compared"


def _run_notes(runs: Sequence[Run]) -> Iterator[str]:
    """The recipe of each run, once for equal ones, and the problems of rows that are not complete."""
    yield from dict.fromkeys(recipe_line(found.results) for found in runs)
    for found in runs:
        for one in run_rows(found.results):
            for problem in one.problems:
                yield f"{one.row.model} {one.row.condition} {one.row.shots}-shot: {problem}"
