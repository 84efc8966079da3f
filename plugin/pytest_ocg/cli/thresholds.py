"""`ocg thresholds`: shows the thresholds of a model, or writes them from results or from the paper."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from pytest_ocg.errors import OptionError, printable
from pytest_ocg.gate.files import (
    baseline_rows,
    check_writable,
    file_name,
    find_thresholds,
    load_thresholds,
    write_thresholds,
)
from pytest_ocg.gate.published import write_published
from pytest_ocg.gate.thresholds import MARGIN, Limit, Thresholds
from pytest_ocg.inputs.files import resource
from pytest_ocg.report.markup import render_grid
from pytest_ocg.results.files import load_results
from pytest_ocg.results.rows import run_rows

_COLUMNS = ("selection", "cases", "metric", "min", "max", "max_drop", "max_rise", "baseline", "strict")
_LONGEST_LINE = 2_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter  # a wrapped path cannot be copied
    parser.epilog = f"This file explains each line of a threshold file:\n  {resource('thresholds', 'README.md')}"
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = _action(actions, "show", "show the thresholds of a model")
    show.add_argument("model", metavar="MODEL", help="a model's name, or a threshold file")
    show.add_argument(
        "thresholds",
        type=Path,
        metavar="THRESHOLDS",
        nargs="?",
        help="a threshold file, a folder of MODEL.toml files, or published; default: thresholds/MODEL.toml in the "
        "current folder",
    )
    write = _action(actions, "write", "write or renew threshold files from a run")
    write.add_argument("results", type=Path, metavar="RESULTS", help="results.json, or its folder")
    write.add_argument(
        "thresholds",
        type=Path,
        metavar="THRESHOLDS",
        nargs="?",
        help="a threshold file, or a folder of MODEL.toml files; default: thresholds/MODEL.toml in the current folder",
    )
    write.add_argument(
        "--margin",
        type=float,
        default=MARGIN,
        metavar="POINTS",
        help=f"distance of min and max from the measured value; default: {MARGIN}",
    )
    write.add_argument(
        "--max-drop",
        type=float,
        metavar="POINTS",
        help="in a new selection, write max_drop (a drop from the baseline, in addition to the noise) and not min",
    )
    published = _action(actions, "from-published", "write the threshold files of the paper's models")
    published.add_argument(
        "folder", type=Path, metavar="FOLDER", nargs="?", default=Path("thresholds"), help="default: thresholds"
    )


def _action(actions: Any, name: str, summary: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}."
    )
    parser.add_argument("--json", action="store_true", help="write one JSON object")
    return parser


def run(arguments: argparse.Namespace, stream: TextIO) -> int:
    """Run the action, write its result, and return 0.

    Raises OptionError for a model without thresholds, ResultsError and ThresholdError for files that cannot be used.
    """
    action: Callable[[argparse.Namespace, TextIO], None] = {
        "show": _show,
        "write": _write,
        "from-published": _from_published,
    }[arguments.action]
    action(arguments, stream)
    return 0


def _show(arguments: argparse.Namespace, stream: TextIO) -> None:
    path = Path(arguments.model)
    found = path if path.is_file() else find_thresholds(arguments.model, arguments.thresholds, rootdir=Path.cwd())
    if found is None:
        raise OptionError(
            f"no thresholds found for {arguments.model!r}; give a threshold file, or a folder with "
            f"{file_name(arguments.model)!r}, or published"
        )
    thresholds = load_thresholds(found)
    if arguments.json:
        stream.write(json.dumps(_plain(thresholds), indent=2, allow_nan=False) + "\n")
        return
    named = "any model" if thresholds.model is None else thresholds.model
    facts = [
        f"{thresholds.path}: {named}, {thresholds.origin}, max_error_share {thresholds.max_error_share}",
        *(f"{key}: {value}" for key, value in thresholds.signature.items()),
    ]
    rows = [[printable(cell) for cell in row] for row in _rows(thresholds)]
    lines = [printable(fact, _LONGEST_LINE) for fact in facts]
    stream.writelines(f"{line}\n" for line in (*lines, "", *render_grid(_COLUMNS, rows, left=3)))


def _rows(thresholds: Thresholds) -> Iterator[list[str]]:
    for selection in thresholds.selections:
        for limit in selection.limits:
            yield [selection.name, selection.options or "all", limit.metric, *_cells(limit)]


def _cells(limit: Limit) -> list[str]:
    numbers = (limit.minimum, limit.maximum, limit.max_drop, limit.max_rise, limit.baseline)
    return [*("-" if value is None else f"{value:g}" for value in numbers), "yes" if limit.strict else "no"]


def _plain(thresholds: Thresholds) -> Mapping[str, Any]:
    return {
        "schema": 1,
        "path": str(thresholds.path),
        "model": thresholds.model,
        "origin": thresholds.origin,
        "max_error_share": thresholds.max_error_share,
        "signature": dict(thresholds.signature),
        "selections": [asdict(selection) for selection in thresholds.selections],
    }


def _write(arguments: argparse.Namespace, stream: TextIO) -> None:
    results = load_results(arguments.results)
    rows = baseline_rows(run_rows(results))
    check_writable(arguments.thresholds, [one.row.model for one in rows])
    written = [
        write_thresholds(
            arguments.thresholds or Path("thresholds", file_name(one.row.model)),
            results,
            one,
            margin=arguments.margin,
            max_drop=arguments.max_drop,
        ).path
        for one in rows
    ]
    _report_written(written, arguments, stream)


def _from_published(arguments: argparse.Namespace, stream: TextIO) -> None:
    _report_written(write_published(arguments.folder), arguments, stream)


def _report_written(written: list[Path], arguments: argparse.Namespace, stream: TextIO) -> None:
    names = [str(path) for path in written]
    if arguments.json:
        stream.write(json.dumps({"schema": 1, "written": names}, indent=2) + "\n")
    else:
        stream.writelines(f"thresholds written: {name}\n" for name in names)
