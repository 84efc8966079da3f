"""Where concept sets are read from: files, which may be anybody's, and CommonGen-lite from the hub or its cache."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_ocg.errors import ConceptError, shown
from pytest_ocg.inputs import hub
from pytest_ocg.inputs.files import check_file, read_bytes

MAX_FILE_BYTES = 64 * 1024 * 1024

_WANTED = "name a JSON or JSONL file"


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file; `place` is `sets.jsonl:3` (line) or `sets.json[2]` (index from 0)."""

    place: str
    fields: Mapping[str, Any]


def read_rows(path: Path) -> list[Row]:
    """The objects of a JSON list, a JSONL file or (by its suffix) a Parquet file, in file order, at least one.

    Raises ConceptError naming the file and the place in it.
    """
    rows = _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_json(path)
    if not rows:
        raise ConceptError(f"{path}: holds no concept set; expected objects with a list under 'concept_set'")
    for row in rows:
        if not isinstance(row.fields, dict):
            raise ConceptError(
                f"{row.place}: must be an object with a list under 'concept_set', not {shown(row.fields)}"
            )
    return rows


def _read_json(path: Path) -> list[Row]:
    content = read_bytes(path, f"concepts {str(path)!r}", MAX_FILE_BYTES, ConceptError, _WANTED)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        line = cause.object.count(b"\n", 0, cause.start) + 1
        raise ConceptError(
            f"{path}:{line}: is not UTF-8 text (byte {cause.object[cause.start]:#04x}); save the file as UTF-8"
        ) from cause
    if text.lstrip().startswith("["):
        return [Row(f"{path}[{index}]", item) for index, item in enumerate(_parse(text, str(path)))]
    # Not str.splitlines: JSON strings may hold U+2028 and other characters that it breaks lines at.
    lines = enumerate(text.split("\n"), 1)
    return [Row(f"{path}:{number}", _parse(line, f"{path}:{number}")) for number, line in lines if line.strip()]


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as cause:
        inside = f" at line {cause.lineno}" if cause.lineno > 1 else ""
        raise ConceptError(
            f"{place}: is not valid JSON{inside}, column {cause.colno}: {cause.msg}; a concept file is "
            "a JSON list of objects, or one object a line"
        ) from cause
    except (ValueError, RecursionError) as cause:
        raise ConceptError(f"{place}: is not usable JSON: {cause}") from cause


def _read_parquet(path: Path) -> list[Row]:
    check_file(path, f"concepts {str(path)!r}", MAX_FILE_BYTES, ConceptError, _WANTED)
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as cause:
        raise ConceptError(
            f"{path}: reading Parquet needs pyarrow, which is not installed; run "
            "`pip install pyarrow`, or convert the file to JSONL"
        ) from cause
    try:
        table = parquet.read_table(path, columns=["concept_set"])
    # pyarrow's own errors are ValueError, KeyError or OSError underneath.
    except (ValueError, KeyError, OSError) as cause:
        raise ConceptError(f"{path}: cannot be read as Parquet with a column 'concept_set': {cause}") from cause
    return [Row(f"{path}[{index}]", row) for index, row in enumerate(table.to_pylist())]


REPOSITORY = "allenai/commongen_lite"
DATA_FILE = "commongen_hard_nohuman.json"
SUFFIXES = (".json", ".jsonl", ".parquet")

_INSTEAD = (
    "pass --ocg-concepts everyday (shipped with this plugin, but other concept sets than the paper's) or "
    "--ocg-concepts PATH with a JSON or JSONL file of concept sets"
)
_OTHER_REVISION = f"leave out --ocg-concepts-revision for the newest, or {_INSTEAD}"


def commongen_lite_file(revision: str | None = None) -> Path:
    """The local path of the data file of `allenai/commongen_lite` at a revision (default: its main branch).

    What is in the hub cache is used without asking the network, so later runs read what the first one read. Otherwise
    the hub is asked once, with a time limit. Raises ConceptError that names the ways out.
    """
    wanted = hub.Wanted(f"commongen-lite: {REPOSITORY}", revision, ConceptError, _OTHER_REVISION, _INSTEAD)
    with hub.asking(wanted) as library:
        return _cached(library, revision) or _downloaded(library, wanted)


def _cached(library: Any, revision: str | None) -> Path | None:
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


def _downloaded(library: Any, wanted: hub.Wanted) -> Path:
    revision, seconds = wanted.revision, hub.TIMEOUT_SECONDS
    # Asked first, because it takes a time limit: downloads retry, and against a silent server never give up.
    info = library.HfApi().dataset_info(REPOSITORY, revision=revision, timeout=seconds)
    names = [sibling.rfilename for sibling in info.siblings or ()]
    name = _data_file(names)
    if name is None:
        raise ConceptError(f"{wanted.name} has no data file that can be told apart among {names!r}; {_INSTEAD}")
    return Path(library.hf_hub_download(REPOSITORY, name, repo_type="dataset", revision=revision, etag_timeout=seconds))


def _data_file(names: list[str]) -> str | None:
    """The file to read: the known one, else the only one of its kind or of the split `train`, JSON before Parquet."""
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
