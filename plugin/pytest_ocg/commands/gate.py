"""`ocg gate`: a results file held against thresholds, with the exit status a pipeline acts on."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from pytest_ocg.gate import Verdict, default_status, exit_status, judge
from pytest_ocg.results_files import load_results
from pytest_ocg.threshold_files import thresholds_for
from pytest_ocg.thresholds import Thresholds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    parser.add_argument("results", type=Path, metavar="RESULTS", help="results.json, or the folder it lies in")
    parser.add_argument(
        "thresholds",
        type=Path,
        metavar="THRESHOLDS",
        nargs="?",
        help="a threshold file, or a folder of MODEL.toml files; default: thresholds/MODEL.toml here, "
        "then those that come with the package",
    )
    parser.add_argument("--require", action="store_true", help="exit with 10 where a model cannot be judged")
    parser.add_argument("--json", action="store_true", help="write the verdicts as one JSON object")


def run(arguments: argparse.Namespace, stream: TextIO) -> int:
    """Write the verdicts to `stream` and return the exit status: 0, 1, or with --require 10.

    Without --require, a run that cannot be judged has the status pytest gave it. Raises ResultsError and
    ThresholdError for files that cannot be used.
    """
    results = load_results(arguments.results)
    models = dict.fromkeys(row["model"] for row in results["rows"])
    thresholds = thresholds_for(models, arguments.thresholds, rootdir=Path.cwd())
    verdicts = judge(results, thresholds)
    status = exit_status(verdicts, mode="require" if arguments.require else "auto", default=default_status(results))
    if arguments.json:
        stream.write(json.dumps(_as_json(verdicts, thresholds, status), indent=2, allow_nan=False) + "\n")
    else:
        stream.writelines(f"{verdict.line()}\n" for verdict in verdicts)
        if not verdicts:
            stream.write("gate: NOT EVALUATED the results have no rows\n")
    return status


def _as_json(verdicts: Sequence[Verdict], thresholds: Mapping[str, Thresholds], status: int) -> dict[str, Any]:
    return {
        "schema": 1,
        "exit_status": status,
        "verdicts": [
            {
                "model": verdict.model,
                "name": verdict.name or verdict.model,
                "status": verdict.status.value,
                "reasons": list(verdict.reasons),
                "broken": [
                    {"metric": broken.metric, "value": broken.value, "bound": broken.bound, "limit": broken.limit}
                    for broken in verdict.broken
                ],
                "thresholds": str(thresholds[verdict.model].path) if verdict.model in thresholds else None,
            }
            for verdict in verdicts
        ],
    }
