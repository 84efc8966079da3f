"""`ocg merge`: writes the results of shards, or of several models, as one run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from pytest_ocg.errors import MergeError, counted, quote
from pytest_ocg.results.files import Run, load_run
from pytest_ocg.results.merging import Merged, merge
from pytest_ocg.results.writing import results_folder, write_results

MERGED, SHARDS_MISSING = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    parser.add_argument(
        "parts",
        type=Path,
        metavar="DIR",
        nargs="+",
        help="the folder of a shard (pytest --ocg-shard I/N), or of a run of another model",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", required=True, help="folder for generations.jsonl and results.json"
    )
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="if shards are missing, write the others to the subfolder partial; no gate accepts it as a complete run",
    )
    parser.add_argument("--json", action="store_true", help="write the facts of the merged run as one JSON object")


def run(arguments: argparse.Namespace, stream: TextIO) -> int:
    """Write the merged results, report their folder, and return 0; if shards are missing, write nothing and return 1.

    Raises ResultsError for files that cannot be used, MergeError for runs that cannot be merged.
    """
    runs = [load_run(path) for path in arguments.parts]
    merged = merge(runs)
    folder = None
    if arguments.allow_missing or not merged.missing:
        folder = results_folder(arguments.output, merged.results)
        _check_output_is_no_input(folder, runs)
        way_out = "free disk space or choose another --output, then merge again"
        write_results(folder, merged.results, merged.lines, way_out=way_out)
    status = SHARDS_MISSING if folder is None else MERGED
    if arguments.json:
        plain = {
            "schema": 1,
            "exit_status": status,
            "folder": None if folder is None else str(folder),
            "cases": len(merged.lines),
            "planned": merged.results.selection.planned,
            "merged_from": merged.results.run.merged_from,
            "missing_shards": merged.results.run.missing_shards,
        }
        stream.write(json.dumps(plain, indent=2, allow_nan=False) + "\n")
    else:
        stream.writelines(f"{line}\n" for line in _summary_lines(merged, folder))
    return status


def _check_output_is_no_input(folder: Path, runs: Sequence[Run]) -> None:
    for part in runs:
        if folder.resolve() == part.path.resolve().parent:
            raise MergeError(
                f"--output: {str(folder)!r} is one of the folders to merge and would be overwritten; choose another"
            )


def _summary_lines(merged: Merged, folder: Path | None) -> list[str]:
    selection = merged.results.selection
    lines = [f"missing: {one}" for one in merged.missing]
    models = ", ".join(dict.fromkeys(quote(row.model) for row in merged.results.rows))
    runs = len(merged.results.run.merged_from or ())
    lines.append(f"{counted(runs, 'run')} of {models}: {selection.run:,} of {counted(selection.planned, 'case')}")
    if folder is None:
        lines.append("nothing was written; run the missing shards, or add --allow-missing to write the others")
    else:
        lines.append(f"results: {folder}/results.json, generations.jsonl")
    return lines
