"""Where CommonGen-lite comes from: the local hub cache, or else one download from the hub."""

from __future__ import annotations

import importlib
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_ocg.errors import ConceptError

REPOSITORY = "allenai/commongen_lite"
DATA_FILE = "commongen_hard_nohuman.json"
SUFFIXES = (".json", ".jsonl", ".parquet")
TIMEOUT_SECONDS = 10.0

_WAYS_OUT = (
    "Ways out: --ocg-concepts everyday (shipped with this plugin, but other concept sets than the paper's), or "
    "--ocg-concepts PATH with a JSON or JSONL file of concept sets"
)


def commongen_lite_file(revision: str | None = None) -> Path:
    """The local path of the data file of `allenai/commongen_lite` at a revision (default: its main branch).

    What is in the hub cache is used without asking the network, so later runs read what the first one read. Otherwise
    the hub is asked once, with a time limit. Raises ConceptError that names the ways out.
    """
    try:
        hub = importlib.import_module("huggingface_hub")
        errors = importlib.import_module("huggingface_hub.errors")
    except ImportError as cause:
        raise ConceptError(f"commongen-lite: huggingface_hub cannot be imported ({cause}). {_WAYS_OUT}") from cause
    return _cached(hub, errors, revision) or _downloaded(hub, errors, revision)


def _cached(hub: Any, errors: Any, revision: str | None) -> Path | None:
    try:
        folder = Path(
            hub.snapshot_download(
                REPOSITORY,
                repo_type="dataset",
                revision=revision,
                local_files_only=True,
                allow_patterns=[f"*{suffix}" for suffix in SUFFIXES],
            )
        )
    except errors.LocalEntryNotFoundError:
        return None
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    name = _data_file(names)
    return None if name is None else folder / name


def _downloaded(hub: Any, errors: Any, revision: str | None) -> Path:
    shown = f"{REPOSITORY}@{revision}" if revision else REPOSITORY
    try:
        # Asked first, because it takes a time limit: downloads retry, and against a silent server never give up.
        info = hub.HfApi().dataset_info(REPOSITORY, revision=revision, timeout=TIMEOUT_SECONDS)
        names = [sibling.rfilename for sibling in info.siblings or ()]
        name = _data_file(names)
        if name is None:
            raise ConceptError(
                f"commongen-lite: {shown} has no data file that can be told apart among {names!r}. {_WAYS_OUT}"
            )
        return Path(
            hub.hf_hub_download(REPOSITORY, name, repo_type="dataset", revision=revision, etag_timeout=TIMEOUT_SECONDS)
        )
    except errors.RevisionNotFoundError as cause:
        raise ConceptError(
            f"commongen-lite: {REPOSITORY} has no revision {revision!r}; leave out "
            f"--ocg-concepts-revision for the newest. {_WAYS_OUT}"
        ) from cause
    # The hub's HTTP error derives from that of the HTTP library it is built on, which differs between its versions.
    except (*errors.HfHubHTTPError.__bases__, OSError, ValueError) as cause:
        reason = str(cause).strip().splitlines() or [""]
        raise ConceptError(
            f"commongen-lite: {shown} is not in the local hub cache and cannot be had from the hub "
            f"({type(cause).__name__}: {reason[0]}). {_WAYS_OUT}"
        ) from cause


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
