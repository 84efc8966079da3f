"""What a run leaves behind, written to disk: `results.json` and `generations.jsonl`."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_ocg.errors import OptionError, ResultsError
from pytest_ocg.results.whole_files import write_whole

_WAY_OUT = "all replies are in the cache: make room or choose another folder with --ocg-output and run again"


def can_be_written_to(folder: Path) -> bool:
    """Whether files can be written in the folder, or the folder made where it is not there yet."""
    folder = folder.absolute()
    there = next(path for path in (folder, *folder.parents) if os.access(path, os.F_OK))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def check_output(output: Path) -> None:
    """Raise OptionError where no results can be written to this folder."""
    if not can_be_written_to(output):
        raise OptionError(
            f"--ocg-output {str(output)!r} is no folder that can be written to, nor can it be made; name another folder"
        )


def results_folder(output: Path, results: Mapping[str, Any]) -> Path:
    """Where in `output` the results belong: those that are not complete apart, so that they replace no full ones."""
    return output if results["selection"]["complete"] else output / "partial"


def write_results(folder: Path, results: Mapping[str, Any], lines: Sequence[str], *, way_out: str = _WAY_OUT) -> None:
    """Write both files, each as a whole or not at all; raises ResultsError naming the folder and the way out."""
    body = "".join(f"{line}\n" for line in lines).encode("ascii")
    content = {**results, "generations_sha256": hashlib.sha256(body).hexdigest()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "generations.jsonl", body)
        write_whole(folder / "results.json", _written(content))
    except OSError as error:
        raise ResultsError(f"results cannot be written to {str(folder)!r} ({error.strerror}); {way_out}") from error


def _written(results: Mapping[str, Any]) -> bytes:
    """The results as JSON that can be read by eye: a value a line, but the statistics of a template's sets in one."""
    places: dict[str, str] = {}

    def moved(of_template: Mapping[str, Any]) -> str:
        place = f"statistics {len(places)} of {results['generations_sha256']}"
        places[f'"{place}"'] = json.dumps(of_template)
        return place

    rows = [
        {
            **row,
            "statistics": {
                metric: {template: moved(sets) for template, sets in by_template.items()}
                for metric, by_template in row["statistics"].items()
            },
        }
        for row in results["rows"]
    ]
    text = json.dumps({**results, "rows": rows}, indent=1)
    whole = re.sub(r'"statistics \d+ of [0-9a-f]{64}"', lambda found: places[found[0]], text)
    return f"{whole}\n".encode("ascii")
