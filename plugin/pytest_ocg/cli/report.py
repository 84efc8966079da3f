"""`ocg report`: writes the report of a run to a file or to the terminal."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TextIO

import msgspec

from pytest_ocg.errors import OptionError
from pytest_ocg.gate.files import thresholds_for
from pytest_ocg.gate.judge import judge
from pytest_ocg.report.formats import REPORT_SUFFIXES, require_report, write_report
from pytest_ocg.report.latex import render_latex
from pytest_ocg.report.markdown import render_markdown
from pytest_ocg.results.files import load_results, load_run
from pytest_ocg.results.rows import run_rows
from pytest_ocg.results.schema import GateInfo, Results

_WITH_VERDICT = (".html", ".md")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    parser.add_argument(
        "results",
        type=Path,
        metavar="RESULTS",
        help="results.json with generations.jsonl in the same folder, or this folder",
    )
    where = parser.add_mutually_exclusive_group(required=True)
    endings = ", ".join(REPORT_SUFFIXES)
    where.add_argument("-o", "--output", type=Path, metavar="FILE", help=f"a file that ends in {endings}")
    where.add_argument("--markdown", action="store_true", help="write Markdown for a pull request to the terminal")
    where.add_argument("--latex", action="store_true", help="write a LaTeX table to the terminal")
    parser.add_argument(
        "--thresholds",
        type=Path,
        metavar="PATH",
        help="a threshold file, a folder of MODEL.toml files, or published; the report shows their verdict",
    )
    parser.add_argument(
        "--earlier",
        type=Path,
        nargs="+",
        default=[],
        metavar="RESULTS",
        help="results of earlier runs, for the history of the gate in the HTML report",
    )


def run(arguments: argparse.Namespace, stream: TextIO) -> int:
    """Write the report and return 0.

    Raises OptionError for a file name that a report cannot have, ResultsError for results that cannot be used, and
    ExportError if writing fails.
    """
    output: Path | None = arguments.output
    if output is not None:
        require_report(output, REPORT_SUFFIXES)
    if arguments.earlier and (output is None or output.suffix.lower() != ".html"):
        raise OptionError(
            f"--earlier {str(arguments.earlier[0])!r} works with the HTML report only; add --output FILE.html"
        )
    if arguments.thresholds is not None and not (
        arguments.markdown or (output is not None and output.suffix.lower() in _WITH_VERDICT)
    ):
        raise OptionError(
            f"--thresholds {str(arguments.thresholds)!r} works only with a report that has a verdict; add --markdown, "
            f"or --output with a file that ends in {' or '.join(_WITH_VERDICT)}"
        )
    found = load_run(arguments.results)
    earlier = list(map(load_results, arguments.earlier))
    results = found.results if arguments.thresholds is None else _judged(found.results, arguments.thresholds)
    if output is not None:
        write_report(output, results, found.records, earlier)
    elif arguments.latex:
        stream.write(render_latex(results))
    else:
        stream.write(render_markdown(results, found.records))
    return 0


def _judged(results: Results, path: Path) -> Results:
    """The results with the verdicts of the thresholds in `path`, which replace their own verdicts."""
    verdicts = judge(run_rows(results), thresholds_for(results.models(), path))
    return msgspec.structs.replace(results, gate=GateInfo(verdicts=verdicts))
