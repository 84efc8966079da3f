"""The Hugging Face hub: which commit a model is at, whether it may be had, and its files."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_ocg.errors import ModelError

TIMEOUT_SECONDS = 10.0

_INDEX = "*.safetensors.index.json"
_SHARDS = "*-of-*.safetensors"
_WANTED = ("*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken", "*.py", "*.safetensors")
_PICKLES = ("*.bin", "*.pt", "*.pth")
_UNWANTED = ("original/*", "consolidated*", "onnx/*", "*/*.safetensors", "*/*.bin", "*training_args*")


def is_cached(name: str, revision: str | None) -> bool:
    """Whether the weights of a hub model are in the local cache."""
    if name.count("/") != 1:
        return False
    folder = _snapshot(name, revision)
    return folder is not None and bool(_weights(folder))


def look_up(name: str, revision: str | None) -> tuple[str, list[str]]:
    """The commit of a hub model and the names of its files: from the local cache if it is there, else from the hub.

    Raises ModelError that says what to do for a model that is unknown, gated or out of reach.
    """
    cached = _snapshot(name, revision)
    if cached is not None and _weights(cached):
        return cached.name, [path.name for path in cached.iterdir()]
    with _explained(name, revision):
        api = importlib.import_module("huggingface_hub").HfApi()
        info = api.model_info(name, revision=revision, timeout=TIMEOUT_SECONDS)
        if info.gated:
            api.auth_check(name)
    return str(info.sha), [sibling.rfilename for sibling in info.siblings or ()]


def parameter_counts(name: str, revision: str) -> Mapping[str, int] | None:
    """How many weights of each number format the hub counts in a model's safetensors; None where it does not say."""
    try:
        with _explained(name, revision):
            api = importlib.import_module("huggingface_hub").HfApi()
            counted = api.model_info(name, revision=revision, timeout=TIMEOUT_SECONDS).safetensors
    except ModelError:
        return None
    return None if counted is None else dict(counted.parameters)


def config_file(name: str, revision: str) -> Path | None:
    """The model's `config.json`, the one file fetched for it; None where it cannot be had."""
    try:
        with _explained(name, revision):
            library = importlib.import_module("huggingface_hub")
            return Path(library.hf_hub_download(name, "config.json", revision=revision, etag_timeout=TIMEOUT_SECONDS))
    except ModelError:
        return None


def whole_snapshot(name: str, revision: str) -> Path | None:
    """The folder of a hub model at a commit in the local cache; None unless it is there whole."""
    cached = _snapshot(name, revision)
    return cached if cached is not None and _is_whole(cached) else None


def download(name: str, revision: str, *, allow_pickle: bool, notice: Callable[[str], None]) -> Path:
    """The local folder of a hub model at a commit, fetched unless it is there whole; raises ModelError.

    Processes that start at once fetch each file once: the hub's library holds a lock for every file it writes.
    """
    cached = whole_snapshot(name, revision)
    if cached is not None:
        return cached
    notice(f"downloading {name} at {revision[:12]} from the hub")
    with _explained(name, revision):
        library = importlib.import_module("huggingface_hub")
        wanted = (*_WANTED, *_PICKLES) if allow_pickle else _WANTED
        return Path(
            library.snapshot_download(
                name, revision=revision, allow_patterns=list(wanted), ignore_patterns=list(_UNWANTED)
            )
        )


@contextmanager
def _explained(name: str, revision: str | None) -> Iterator[None]:
    """Turns what the hub's library raises into one ModelError that says what to do."""
    errors: Any = importlib.import_module("huggingface_hub.errors")
    shown = f"model {name!r}"
    local = "give the path of a local folder or .gguf file instead"
    try:
        yield
    except errors.GatedRepoError as cause:
        raise ModelError(
            f"{shown} is gated: accept its licence on its hub page, then log in with `hf auth login` or set HF_TOKEN"
        ) from cause
    except errors.RevisionNotFoundError as cause:
        raise ModelError(f"{shown} has no revision {revision!r}; check it on the model's hub page") from cause
    except errors.RepositoryNotFoundError as cause:
        raise ModelError(
            f"{shown} is not on the hub, or private and you are not logged in: check the spelling, "
            f"log in with `hf auth login`, or {local}"
        ) from cause
    except errors.HFValidationError as cause:
        raise ModelError(f"{shown} is no hub id, which is ORG/NAME: check the spelling, or {local}") from cause
    except (errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError) as cause:
        raise ModelError(
            f"{shown} is not in the local hub cache and the hub cannot be reached (offline): connect once "
            f"to download it, or {local}"
        ) from cause
    except (getattr(errors, "HTTPError", OSError), OSError) as cause:
        raise ModelError(
            f"{shown} is not in the local hub cache and the hub cannot be reached "
            f"({_first_line(cause)}): connect once to download it, or {local}"
        ) from cause


def _first_line(cause: BaseException) -> str:
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]


def _snapshot(name: str, revision: str | None) -> Path | None:
    """The folder of the cached snapshot that the revision stands for, named by its commit; None where there is none."""
    library: Any = importlib.import_module("huggingface_hub")
    errors: Any = importlib.import_module("huggingface_hub.errors")
    try:
        found = library.try_to_load_from_cache(name, "config.json", revision=revision)
    except errors.HFValidationError:
        return None
    return Path(found).parent if isinstance(found, str) else None


def _weights(folder: Path) -> list[Path]:
    return [path for pattern in ("*.safetensors", *_PICKLES) for path in folder.glob(pattern)]


def _is_whole(folder: Path) -> bool:
    """Whether every weight file its index names is there, and a tokenizer; shards without an index are no whole."""
    indices = list(folder.glob(_INDEX))
    for index in indices:
        named = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        if any(not (folder / file).exists() for file in named):
            return False
    if not indices and any(folder.glob(_SHARDS)):
        return False
    return bool(_weights(folder)) and any(folder.glob("tokenizer*"))
