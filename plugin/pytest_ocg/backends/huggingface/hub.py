"""Models on the Hugging Face hub: their commit, access to them, and their files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from pytest_ocg.errors import ModelError
from pytest_ocg.inputs import hub as client

_INDEX = "*.safetensors.index.json"
_SHARDS = "*-of-*.safetensors"
_WANTED = ("*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken", "*.py", "*.safetensors")
_PICKLES = ("*.bin", "*.pt", "*.pth")
_OTHER_REVISION = "check it on the model's hub page"
_INSTEAD = "pass the path of a local folder or .gguf file instead"
_UNWANTED = ("original/*", "consolidated*", "onnx/*", "*/*.safetensors", "*/*.bin", "*training_args*")


def is_cached(name: str, revision: str | None) -> bool:
    """Whether the weights of a hub model are in the local cache."""
    if name.count("/") != 1:
        return False
    folder = _snapshot(name, revision)
    return folder is not None and bool(_weights(folder))


def look_up(name: str, revision: str | None) -> tuple[str, list[str]]:
    """The commit of a hub model and the names of its files, from the local cache if possible, else from the hub.

    Raises ModelError with the way out for a model that is unknown, gated or cannot be reached.
    """
    cached = _snapshot(name, revision)
    if cached is not None and _weights(cached):
        return cached.name, [path.name for path in cached.iterdir()]
    with _hub_library(name, revision) as library:
        api = library.HfApi()
        info = api.model_info(name, revision=revision, timeout=client.TIMEOUT_SECONDS)
        if info.gated:
            api.auth_check(name)
    return str(info.sha), [sibling.rfilename for sibling in info.siblings or ()]


def parameter_counts(name: str, revision: str) -> Mapping[str, int] | None:
    """The number of weights by number format in a model's safetensors, from the hub; None if it reports none."""
    try:
        with _hub_library(name, revision) as library:
            info = library.HfApi().model_info(name, revision=revision, timeout=client.TIMEOUT_SECONDS)
            counted = info.safetensors
    except ModelError:
        return None
    return None if counted is None else dict(counted.parameters)


def config_file(name: str, revision: str) -> Path | None:
    """The path of the model's `config.json`, downloaded alone; None if it is not available."""
    try:
        with _hub_library(name, revision) as library:
            seconds = client.TIMEOUT_SECONDS
            return Path(library.hf_hub_download(name, "config.json", revision=revision, etag_timeout=seconds))
    except ModelError:
        return None


def whole_snapshot(name: str, revision: str) -> Path | None:
    """The folder of a hub model at a commit in the local cache; None unless it is complete."""
    cached = _snapshot(name, revision)
    return cached if cached is not None and _is_complete(cached) else None


def download(name: str, revision: str, *, allow_pickle: bool, notice: Callable[[str], None]) -> Path:
    """The local folder of a hub model at a commit, downloaded unless it is complete; raises ModelError.

    Processes that start together download each file once: the hub's library locks every file that it writes.
    """
    cached = whole_snapshot(name, revision)
    if cached is not None:
        return cached
    notice(f"downloading {name} at {revision[:12]} from the hub")
    with _hub_library(name, revision) as library:
        wanted = (*_WANTED, *_PICKLES) if allow_pickle else _WANTED
        return Path(
            library.snapshot_download(
                name, revision=revision, allow_patterns=list(wanted), ignore_patterns=list(_UNWANTED)
            )
        )


def _hub_library(name: str, revision: str | None) -> AbstractContextManager[Any]:
    """The hub's library, for a model; its exceptions become a ModelError."""
    return client.hub_library(client.HubRequest(f"model {name!r}", revision, ModelError, _OTHER_REVISION, _INSTEAD))


def _snapshot(name: str, revision: str | None) -> Path | None:
    """The folder of the cached snapshot of the revision, named by its commit; None if there is none."""
    file = client.cached_file(name, "config.json", revision)
    return None if file is None else file.parent


def _weights(folder: Path) -> list[Path]:
    return [path for pattern in ("*.safetensors", *_PICKLES) for path in folder.glob(pattern)]


def _is_complete(folder: Path) -> bool:
    """Whether all weight files in the index and a tokenizer exist; False for shards without an index."""
    indices = list(folder.glob(_INDEX))
    for index in indices:
        named = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        if any(not (folder / file).exists() for file in named):
            return False
    if not indices and any(folder.glob(_SHARDS)):
        return False
    return bool(_weights(folder)) and any(folder.glob("tokenizer*"))
