"""`ocg gate`: a results file held against thresholds, with the exit status a pipeline acts on."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from pytest_ocg.errors import ResultsError
from pytest_ocg.gate import Verdict, default_status, exit_status, judge
from pytest_ocg.threshold_files import thresholds_for
from pytest_ocg.thresholds import Thresholds

RESULTS_SCHEMA = 1
MAX_RESULTS_BYTES = 64 * 1024 * 1024


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


def load_results(path: Path) -> Mapping[str, Any]:
    """The results in `path`, a file or the folder of a `results.json`; of its rows only the model is checked.

    Raises ResultsError for what is not a results file of this schema.
    """
    path = path / "results.json" if path.is_dir() else path
    try:
        if not path.is_file():
            raise ResultsError(
                f"results {str(path)!r} do not exist; give the results.json of a run, or the folder "
                "that --ocg-output named"
            )
        with path.open("rb") as file:
            content = file.read(MAX_RESULTS_BYTES + 1)
    except OSError as error:
        raise ResultsError(f"results {str(path)!r} cannot be read ({error.strerror}); make them readable") from error
    if len(content) > MAX_RESULTS_BYTES:
        raise ResultsError(f"results {str(path)!r} are over {MAX_RESULTS_BYTES} bytes, too large for a results.json")
    try:
        results = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"results {str(path)!r} are not JSON ({error}); run the benchmark again") from error
    if not isinstance(results, dict):
        raise ResultsError(
            f"results {str(path)!r} hold a {type(results).__name__}, not an object; give the "
            "results.json of a run, not its generations.jsonl"
        )
    schema = results.get("schema")
    if type(schema) is not int or schema != RESULTS_SCHEMA:
        raise ResultsError(
            f"results {str(path)!r} have schema {schema!r}, this version reads {RESULTS_SCHEMA}; use "
            "the version of pytest-ordered-commongen that wrote them, or run the benchmark again"
        )
    rows = results.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, dict) and _is_name(row.get("model")) for row in rows):
        raise ResultsError(
            f"results {str(path)!r} have no list of rows that each name their model; run the benchmark again"
        )
    return results


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


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
