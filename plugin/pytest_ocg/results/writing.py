"""The files of a run, written to disk: `results.json` and `generations.jsonl`, each completely or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from pytest_ocg.errors import OptionError, ResultsError
from pytest_ocg.results.schema import Results

_WAY_OUT = "all replies are in the cache: free some space, or choose another folder with --ocg-output, and run again"


def write_whole(path: Path, content: bytes) -> None:
    """Replace the file at `path` by `content`, which is on the disk before the old file is gone; raises OSError."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def can_be_written_to(folder: Path) -> bool:
    """Whether files can be written to the folder, or the folder can be created if it does not exist."""
    folder = folder.absolute()
    existing = next(path for path in (folder, *folder.parents) if os.access(path, os.F_OK))
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def check_output(output: Path) -> None:
    """Raise OptionError if results cannot be written to this folder."""
    if not can_be_written_to(output):
        raise OptionError(
            f"--ocg-output {str(output)!r} is not a folder, or cannot be created or written to; choose another folder"
        )


def results_folder(output: Path, results: Results) -> Path:
    """The folder for the results: `output`, or its `partial` if they are not complete, so complete ones are kept."""
    return output if results.selection.complete else output / "partial"


def write_results(folder: Path, results: Results, lines: Sequence[str], *, way_out: str = _WAY_OUT) -> None:
    """Write both files, each completely or not at all; raises ResultsError naming the folder and the way out."""
    body = "".join(f"{line}\n" for line in lines).encode("ascii")
    content = results_json(results, hashlib.sha256(body).hexdigest())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "generations.jsonl", body)
        write_whole(folder / "results.json", content)
    except OSError as error:
        raise ResultsError(f"results cannot be written to {str(folder)!r} ({error.strerror}); {way_out}") from error


def results_json(results: Results, generations_sha256: str) -> bytes:
    """The results as readable JSON: one value a line, but the statistics of a template on one line."""
    plain: dict[str, Any] = _without_none(msgspec.to_builtins(results), results)
    plain["run"] = _without_none(plain["run"], results.run)
    if results.gate is not None:
        plain["gate"] = _without_none(plain["gate"], results.gate)
    plain["generations_sha256"] = generations_sha256
    places: dict[str, str] = {}

    def placeholder(of_template: Any) -> str:
        place = f"statistics {len(places)} of {generations_sha256}"
        places[f'"{place}"'] = json.dumps(of_template)
        return place

    rows = []
    for row, noun in zip(plain["rows"], results.rows, strict=True):
        for score in row["metrics"].values():
            if score["signature"] is None:
                del score["left_out"], score["cut"]
        row["statistics"] = {
            metric: {template: placeholder(sets) for template, sets in by_template.items()}
            for metric, by_template in row["statistics"].items()
        }
        rows.append(_without_none(row, noun))
    text = json.dumps({**plain, "rows": rows}, indent=1)
    whole = re.sub(r'"statistics \d+ of [0-9a-f]{64}"', lambda found: places[found[0]], text)
    return f"{whole}\n".encode("ascii")


def _without_none(plain: dict[str, Any], noun: msgspec.Struct) -> dict[str, Any]:
    """The plain data without the optional fields that are None."""
    optional = {field.name for field in msgspec.structs.fields(noun) if field.default is None}
    return {name: value for name, value in plain.items() if value is not None or name not in optional}
