"""`ocg gate`: checks results against thresholds; the exit status is for a pipeline."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import msgspec

from pytest_ocg.gate.checks import compare_with_baseline
from pytest_ocg.gate.files import thresholds_for
from pytest_ocg.gate.judge import UNUSED_BASELINE, default_status, exit_status, judge
from pytest_ocg.gate.thresholds import Thresholds
from pytest_ocg.report.verdicts import render_verdicts, render_verdicts_markdown, tell_github
from pytest_ocg.results.files import load_results, load_run
from pytest_ocg.results.rows import run_rows
from pytest_ocg.results.verdicts import Verdict, counts_from_baseline


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    parser.add_argument(
        "results",
        type=Path,
        metavar="RESULTS",
        help="results.json, or its folder; generations.jsonl is read only with --baseline",
    )
    parser.add_argument(
        "thresholds",
        type=Path,
        metavar="THRESHOLDS",
        nargs="?",
        help="a threshold file, a folder of MODEL.toml files, or published for those of the paper's models; default: "
        "thresholds/MODEL.toml in the current folder",
    )
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="RESULTS",
        help="an earlier run with its generations.jsonl; max_drop and max_rise are measured from it, paired by "
        "concept set",
    )
    parser.add_argument("--require", action="store_true", help="exit with 10 if a model cannot be judged")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write the verdicts as one JSON object")
    form.add_argument("--markdown", action="store_true", help="write the verdicts for a pull request")


def run(arguments: argparse.Namespace, stream: TextIO) -> int:
    """Write the verdicts to `stream` and return the exit status: 0, 1, or with --require 10.

    Without --require, a run that cannot be judged has the exit status of pytest. In GitHub Actions annotations are
    written to standard error, and the verdicts to the summary of the step. Raises ResultsError and ThresholdError for
    files that cannot be used.
    """
    baseline = None
    if arguments.baseline is None:
        results = load_results(arguments.results)
    else:
        judged = load_run(arguments.results)
        results, baseline = judged.results, compare_with_baseline(load_run(arguments.baseline), judged)
    thresholds = thresholds_for(results.models(), arguments.thresholds, rootdir=Path.cwd())
    verdicts = judge(run_rows(results), thresholds, baseline)
    status = exit_status(verdicts, mode="require" if arguments.require else "auto", default=default_status(results))
    if arguments.json:
        stream.write(json.dumps(_as_json(verdicts, thresholds, status), indent=2, allow_nan=False) + "\n")
    elif arguments.markdown:
        stream.write(render_verdicts_markdown(verdicts))
    else:
        stream.writelines(f"{line}\n" for line in render_verdicts(verdicts))
    if baseline is not None and not counts_from_baseline(verdicts):
        sys.stderr.write(f"note: {UNUSED_BASELINE}\n")
    lines = tell_github(os.environ, verdicts, lambda: render_verdicts_markdown(verdicts))
    sys.stderr.writelines(f"{line}\n" for line in lines)
    return status


def _as_json(verdicts: Sequence[Verdict], thresholds: Mapping[str, Thresholds], status: int) -> dict[str, Any]:
    return {
        "schema": 1,
        "exit_status": status,
        "verdicts": [
            {
                **msgspec.to_builtins(verdict),
                "thresholds": str(thresholds[verdict.model].path) if verdict.model in thresholds else None,
            }
            for verdict in verdicts
        ],
    }
