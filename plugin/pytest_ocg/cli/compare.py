"""`ocg compare`: compares two runs, paired by concept set."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from pytest_ocg.report.comparison import render_comparison, render_comparison_markdown
from pytest_ocg.report.verdicts import tell_github
from pytest_ocg.results.comparison import compare
from pytest_ocg.results.files import load_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    for name, which in (("old", "first"), ("new", "second")):
        parser.add_argument(
            name,
            type=Path,
            metavar=name.upper(),
            help=f"results.json of the {which} run, or its folder, with generations.jsonl",
        )
    parser.add_argument(
        "--intersection",
        action="store_true",
        help="if the runs differ in concept sets, templates or metrics, compare what both have",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write the comparison as one JSON object")
    form.add_argument("--markdown", action="store_true", help="write the comparison for a pull request")


def run(arguments: argparse.Namespace, stream: TextIO) -> int:
    """Write the comparison to `stream` and return 0 for any difference.

    In GitHub Actions it is also added to the summary of the step. Raises ResultsError for files that cannot be used and
    CompareError for runs that cannot be compared.
    """
    comparison = compare(load_run(arguments.old), load_run(arguments.new), intersection=arguments.intersection)
    if arguments.json:
        plain = {"schema": 1, **asdict(comparison)}
        stream.write(json.dumps(plain, indent=2, allow_nan=False, default=str) + "\n")
    elif arguments.markdown:
        stream.write(render_comparison_markdown(comparison))
    else:
        stream.writelines(f"{line}\n" for line in render_comparison(comparison))
    lines = tell_github(os.environ, (), lambda: render_comparison_markdown(comparison))
    sys.stderr.writelines(f"{line}\n" for line in lines)
    return 0
