"""`ocg compare`: two runs held against each other, paired by concept set."""

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
    for name, which in (("old", "before"), ("new", "after")):
        parser.add_argument(
            name,
            type=Path,
            metavar=name.upper(),
            help=f"results.json from {which}, or the folder it lies in with generations.jsonl",
        )
    parser.add_argument(
        "--intersection",
        action="store_true",
        help="compare on the concept sets, templates and metrics that both runs have, where they are not the same",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write the comparison as one JSON object")
    form.add_argument("--markdown", action="store_true", help="write the comparison for a pull request")


def run(arguments: argparse.Namespace, stream: TextIO) -> int:
    """Write the comparison to `stream` and return 0, whatever the difference.

    In GitHub Actions it goes to the summary of the step as well. Raises ResultsError for files that cannot be used and
    CompareError for runs that are not alike.
    """
    comparison = compare(load_run(arguments.old), load_run(arguments.new), intersection=arguments.intersection)
    if arguments.json:
        plain = {"schema": 1, **asdict(comparison)}
        stream.write(json.dumps(plain, indent=2, allow_nan=False, default=str) + "\n")
    elif arguments.markdown:
        stream.write(render_comparison_markdown(comparison))
    else:
        stream.writelines(f"{line}\n" for line in render_comparison(comparison))
    told = tell_github(os.environ, (), lambda: render_comparison_markdown(comparison))
    sys.stderr.writelines(f"{line}\n" for line in told)
    return 0
