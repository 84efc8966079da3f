"""Reads a model from a `.gguf` file, once: transformers by itself parses the whole file three times."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_ocg.errors import ModelError

_MEMOISED = ("GGUFReader", "get_tensor_name_map")


def gguf_arguments(path: Path) -> dict[str, Any]:
    """What `from_pretrained` is given besides the folder to read this file."""
    return {"gguf_file": path.name}


def unpacking_config() -> Any | None:
    """The `quantization_config` that has the weights unpacked to plain numbers; None where that is all there is."""
    config = getattr(importlib.import_module("transformers"), "GgufConfig", None)
    return None if config is None else config(dequantize=True)


def require_gguf(path: Path) -> None:
    """Raise ModelError where the package that reads such files is not installed."""
    if importlib.util.find_spec("gguf") is None:
        raise ModelError(f"model {str(path)!r}: reading a .gguf file needs the package gguf: `pip install gguf`")


@contextmanager
def read_once() -> Iterator[None]:
    """Within it, parsing a file a second time gives what the first gave: half the loading time of a small model."""
    library: Any = importlib.import_module("gguf")
    originals = {name: getattr(library, name) for name in _MEMOISED if hasattr(library, name)}
    try:
        for name, original in originals.items():
            setattr(library, name, functools.cache(original))
        yield
    finally:
        for name, original in originals.items():
            setattr(library, name, original)
