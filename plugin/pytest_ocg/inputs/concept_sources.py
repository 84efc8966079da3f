"""The sources of concept sets: any file of the user, and CommonGen-lite from the hub or its cache."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_ocg.errors import ConceptError, quote
from pytest_ocg.inputs import hub
from pytest_ocg.inputs.files import check_file, read_bytes

MAX_FILE_BYTES = 64 * 1024 * 1024

_FILE_HINT = "pass a JSON, JSONL or Parquet file"


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file; `place` is `sets.jsonl:3` (line) or `sets.json[2]` (index from 0)."""

    place: str
    fields: Mapping[str, Any]


def read_rows(path: Path) -> list[Row]:
    """The objects of a JSON list, a JSONL file or a Parquet file (`.parquet`), in file order; at least one.

    Raises ConceptError, which names the file and the place in it.
    """
    rows = _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_json(path)
    if not rows:
        raise ConceptError(f"{path} contains no concept set; expected objects with a list under 'concept_set'")
    for row in rows:
        if not isinstance(row.fields, dict):
            raise ConceptError(
                f"{row.place}: must be an object with a list under 'concept_set', not {quote(row.fields)}"
            )
    return rows


def _read_json(path: Path) -> list[Row]:
    content = read_bytes(path, f"concept file {str(path)!r}", MAX_FILE_BYTES, ConceptError, _FILE_HINT)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        line = cause.object.count(b"\n", 0, cause.start) + 1
        raise ConceptError(
            f"{path}:{line} is not UTF-8 text (byte {cause.object[cause.start]:#04x}); save the file as UTF-8"
        ) from cause
    if text.lstrip().startswith("["):
        return [Row(f"{path}[{index}]", item) for index, item in enumerate(_parse(text, str(path)))]
    # Not str.splitlines: it also splits at U+2028 and other characters that JSON strings may contain.
    lines = enumerate(text.split("\n"), 1)
    return [Row(f"{path}:{number}", _parse(line, f"{path}:{number}")) for number, line in lines if line.strip()]


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as cause:
        inside = f" at line {cause.lineno}" if cause.lineno > 1 else ""
        raise ConceptError(
            f"{place} is not valid JSON{inside}, column {cause.colno}: {cause.msg}; a concept file is "
            "a JSON list of objects, or has one JSON object per line"
        ) from cause
    except (ValueError, RecursionError) as cause:
        raise ConceptError(f"{place} cannot be read as JSON: {cause}") from cause


def _read_parquet(path: Path) -> list[Row]:
    check_file(path, f"concept file {str(path)!r}", MAX_FILE_BYTES, ConceptError, _FILE_HINT)
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as cause:
        raise ConceptError(
            f"{path}: reading Parquet needs pyarrow, which is not installed; run "
            "`pip install pyarrow`, or convert the file to JSONL"
        ) from cause
    try:
        table = parquet.read_table(path, columns=["concept_set"])
    # The errors of pyarrow are subclasses of ValueError, KeyError or OSError.
    except (ValueError, KeyError, OSError) as cause:
        raise ConceptError(f"{path} cannot be read as Parquet with a column 'concept_set': {cause}") from cause
    return [Row(f"{path}[{index}]", row) for index, row in enumerate(table.to_pylist())]


REPOSITORY = "allenai/commongen_lite"
DATA_FILE = "commongen_hard_nohuman.json"
SUFFIXES = (".json", ".jsonl", ".parquet")

_ALTERNATIVES = (
    "pass --ocg-concepts everyday (shipped with this plugin, not the concept sets of the paper) or "
    "--ocg-concepts PATH with a JSON, JSONL or Parquet file of concept sets"
)
_OTHER_REVISION = f"omit --ocg-concepts-revision to get the newest, or {_ALTERNATIVES}"


def commongen_lite_file(revision: str | None = None) -> Path:
    """The local path of the data file of `allenai/commongen_lite` at a revision (default: its main branch).

    A file in the hub cache is used without a network request, so later runs read the same file as the first one.
    Otherwise there is one request to the hub, with a time limit. Raises ConceptError, which says what to do.
    """
    request = hub.HubRequest(f"commongen-lite: {REPOSITORY}", revision, ConceptError, _OTHER_REVISION, _ALTERNATIVES)
    with hub.hub_library(request) as library:
        return _cached_file(library, revision) or _downloaded_file(library, request)


def _cached_file(library: Any, revision: str | None) -> Path | None:
    try:
        folder = Path(
            library.snapshot_download(
                REPOSITORY,
                repo_type="dataset",
                revision=revision,
                local_files_only=True,
                allow_patterns=[f"*{suffix}" for suffix in SUFFIXES],
            )
        )
    except library.errors.LocalEntryNotFoundError:
        return None
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    name = _data_file(names)
    return None if name is None else folder / name


def _downloaded_file(library: Any, request: hub.HubRequest) -> Path:
    revision, seconds = request.revision, hub.TIMEOUT_SECONDS
    # This call comes first because it has a time limit: downloads retry for ever if the server does not answer.
    info = library.HfApi().dataset_info(REPOSITORY, revision=revision, timeout=seconds)
    names = [sibling.rfilename for sibling in info.siblings or ()]
    name = _data_file(names)
    if name is None:
        raise ConceptError(f"{request.name}: none of its files {names!r} is clearly the data file; {_ALTERNATIVES}")
    return Path(library.hf_hub_download(REPOSITORY, name, repo_type="dataset", revision=revision, etag_timeout=seconds))


def _data_file(names: list[str]) -> str | None:
    """The file to read: DATA_FILE, else the only JSON file or the only one of the split `train`; then Parquet alike."""
    if DATA_FILE in names:
        return DATA_FILE
    for suffixes in ((".json", ".jsonl"), (".parquet",)):
        candidates = [
            name
            for name in names
            if PurePosixPath(name).suffix in suffixes
            and PurePosixPath(name).name != "dataset_infos.json"
            and not any(part.startswith(".") for part in PurePosixPath(name).parts)
        ]
        of_split = [name for name in candidates if "train" in name]
        for choice in (candidates, of_split):
            if len(choice) == 1:
                return choice[0]
    return None
