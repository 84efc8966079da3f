"""Threshold files: where they are found, how they are read, and how a baseline is written."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterable
from pathlib import Path

from pytest_ocg.errors import ThresholdError
from pytest_ocg.gate.parsing import parse_thresholds
from pytest_ocg.gate.thresholds import MARGIN, Thresholds
from pytest_ocg.inputs.files import read_bytes, resource
from pytest_ocg.inputs.models import id_name
from pytest_ocg.results.rows import RunRow
from pytest_ocg.results.schema import Results
from pytest_ocg.results.writing import write_whole

MAX_FILE_BYTES = 64 * 1024
PUBLISHED = Path("published")
"""The value that selects the shipped files of the paper's models, in place of a threshold file or folder."""


def file_name(model: str) -> str:
    """The name of a model's threshold file: its name in test ids, shortened if too long, and `.toml`."""
    stem = id_name(model)
    if len(stem) > 120:
        stem = f"{stem[:100]}-{hashlib.sha256(stem.encode('utf-8')).hexdigest()[:12]}"
    return f"{stem}.toml"


def find_thresholds(model: str, override: Path | None = None, *, rootdir: Path | None = None) -> Path | None:
    """The threshold file for `model`, or None if there is no such file.

    `override` is a file for every model, a folder of files, or PUBLISHED. Without it only `rootdir/thresholds` is
    searched: a run is judged by the paper's numbers only on request. Raises ThresholdError for an override that does
    not exist.
    """
    if override == PUBLISHED:
        folder = resource("thresholds")
    elif override is None:
        if rootdir is None:
            return None
        folder = rootdir / "thresholds"
    elif override.is_dir():
        folder = override
    elif _exists(override):
        return override
    else:
        raise ThresholdError(
            f"thresholds path {str(override)!r} does not exist; pass a threshold file, a folder with the file "
            f"{file_name(model)!r} for model {model!r}, or {str(PUBLISHED)!r}"
        )
    path = folder / file_name(model)
    return path if _exists(path) else None


def thresholds_for(
    models: Iterable[str], override: Path | None = None, *, rootdir: Path | None = None
) -> dict[str, Thresholds]:
    """The checked thresholds by model, for those of `models` that have a threshold file."""
    found = {model: find_thresholds(model, override, rootdir=rootdir) for model in models}
    return {model: load_thresholds(path) for model, path in found.items() if path is not None}


def load_thresholds(path: Path) -> Thresholds:
    """The thresholds in `path`, checked; raises ThresholdError, naming file, key and value."""
    return parse_thresholds(read_text(path), path)


def read_text(path: Path) -> str:
    """The text of a threshold file of at most MAX_FILE_BYTES, with its line ends unchanged."""
    hint = "pass a TOML file or a folder of TOML files"
    content = read_bytes(path, f"threshold file {str(path)!r}", MAX_FILE_BYTES, ThresholdError, hint)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ThresholdError(f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8") from error


def _exists(path: Path) -> bool:
    # A dangling link or an unreadable folder must not count as "no thresholds", which would turn the gate off.
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise ThresholdError(f"thresholds {str(path)!r} cannot be accessed ({error}); make them readable") from error
    return True


def baseline_rows(rows: Iterable[RunRow]) -> list[RunRow]:
    """For each model the row that its thresholds are written from: `ordered` if this condition was run."""
    chosen: dict[str, RunRow] = {}
    for one in rows:
        if one.row.model not in chosen or one.row.condition == "ordered":
            chosen[one.row.model] = one
    return list(chosen.values())


def write_thresholds(
    path: Path,
    results: Results,
    measured: RunRow,
    *,
    margin: float = MARGIN,
    max_drop: float | None = None,
) -> Thresholds:
    """Write limits `margin` points from the measured values, or limits on a drop, and return the new thresholds.

    `path` is a file, or an existing folder of `<model>.toml`. An existing file keeps its comments and all that was
    added or removed by hand; its limits, signature and provenance are renewed (`render_thresholds`), all or none.
    Raises ThresholdError if the run is not complete, has errors, or would break the new limits.
    """
    from pytest_ocg.gate.renewal import render_thresholds  # tomlkit is slow to import and seldom needed

    check_writable(path)
    path = path / file_name(measured.row.model) if path.is_dir() else path
    path = Path(os.path.realpath(path))  # a link is followed to its file, and a looped link does not raise
    renewed = render_thresholds(read_text(path) if _exists(path) else None, path, results, measured, margin, max_drop)
    write_file(path, renewed.text)
    return renewed.thresholds


def check_writable(path: Path | None, models: Collection[str] = ()) -> None:
    """Raise ThresholdError if `path` is the shipped files, or one file for several models."""
    if path == PUBLISHED:
        raise ThresholdError(
            f"thresholds {str(PUBLISHED)!r} come with the package and cannot be written to; pass your own file or "
            "folder with --ocg-thresholds"
        )
    if path is not None and len(models) > 1 and not path.is_dir():
        raise ThresholdError(
            f"thresholds {str(path)!r} are not an existing folder, and one file cannot have the thresholds of "
            f"{' and '.join(map(repr, models))}; pass an existing folder with --ocg-thresholds, or run one model"
        )


def write_file(path: Path, text: str) -> None:
    """Write a threshold file completely or not at all, and keep its file mode; raises ThresholdError naming it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode if path.exists() else None
        write_whole(path, text.encode("utf-8"))
        if mode is not None:
            path.chmod(stat.S_IMODE(mode))
    except OSError as error:
        raise ThresholdError(
            f"{path} cannot be written ({error.strerror}); pass another path with --ocg-thresholds"
        ) from error
