"""`ocg export`: writes the cases of a run as a table for other programs."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import TextIO

from pytest_ocg.errors import ExportError, OptionError
from pytest_ocg.report.export import render_csv, render_parquet
from pytest_ocg.results.files import load_records, load_run
from pytest_ocg.results.writing import write_whole

FORMATS = ("csv", "parquet")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    parser.add_argument(
        "source", type=Path, metavar="RESULTS", help="the folder of a run, its results.json, or a generations.jsonl"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="a .csv or .parquet file; default: CSV on the terminal"
    )
    parser.add_argument("--format", choices=FORMATS, help="default: the ending of FILE, without FILE csv")
    parser.add_argument(
        "--spreadsheet",
        action="store_true",
        help="in CSV, add an apostrophe before a text that a spreadsheet would run as a formula",
    )


def run(arguments: argparse.Namespace, stream: TextIO) -> int:
    """Write the table and return 0.

    Raises OptionError for an unclear format, ResultsError for a run that cannot be read, and ExportError for a table
    that cannot be written.
    """
    output, source = arguments.output, arguments.source
    chosen = _chosen_format(arguments)
    records = load_records(source) if source.suffix == ".jsonl" else load_run(source).records
    if chosen == "parquet":
        _write(output, render_parquet(records))
        return 0
    export = render_csv(records, for_spreadsheet=arguments.spreadsheet)
    if export.formulas and not arguments.spreadsheet:
        sys.stderr.write(
            f"note: cells that begin with =, +, -, @, a tab or a line break: {export.formulas:,}; a spreadsheet may "
            "run them as formulas; add --spreadsheet to prevent it\n"
        )
    if output is None:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", newline="")
        stream.write(export.text)
    else:
        _write(output, export.text.encode("utf-8"))
    return 0


def _chosen_format(arguments: argparse.Namespace) -> str:
    output: Path | None = arguments.output
    chosen: str = arguments.format or ("csv" if output is None else output.suffix.removeprefix(".").lower())
    if chosen not in FORMATS:
        raise OptionError(f"--output {str(output)!r} does not end in .csv or .parquet; rename it, or add --format")
    if chosen == "parquet" and output is None:
        raise OptionError("--format 'parquet' cannot be written to the terminal; add --output FILE")
    if chosen == "parquet" and arguments.spreadsheet:
        raise OptionError(
            "--spreadsheet works with CSV only; remove it for Parquet, where texts cannot become formulas"
        )
    return chosen


def _write(path: Path, content: bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as error:
        raise ExportError(f"{str(path)!r} cannot be written ({error.strerror}); choose another --output") from error
