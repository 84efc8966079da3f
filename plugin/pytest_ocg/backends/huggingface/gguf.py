"""Models in a `.gguf` file: the header, and reading the file with transformers once only."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import math
import mmap
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ocg.errors import ModelError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The file's single values by key (without lists, such as the vocabulary), and its number of weights."""

    values: Mapping[str, int | float | str]
    parameters: int


def read_gguf_header(path: Path) -> GgufHeader | None:
    """The header of a GGUF file; None if the header is not complete or its version is unknown."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _header(_Cursor(content, len(_MAGIC))) if content[: len(_MAGIC)] == _MAGIC else None
    except (ValueError, struct.error):
        return None


class _Cursor:
    """Reads values from the bytes of a file, one after the other."""

    def __init__(self, content: mmap.mmap, offset: int) -> None:
        self._content = content
        self._offset = offset

    def number(self, code: str) -> int | float:
        layout = f"<{code}"
        value: int | float = struct.unpack_from(layout, self._content, self._offset)[0]
        self._offset += struct.calcsize(layout)
        return value

    def count(self, code: str = "Q") -> int:
        return int(self.number(code))

    def text(self) -> str:
        start = self._skip(self.count())
        return self._content[start : self._offset].decode("utf-8", errors="replace")

    def value(self, kind: int) -> int | float | str | None:
        """The next value, which has that kind; None for a list, which is skipped."""
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _TEXT:
            return self.text()
        if kind != _ARRAY:
            raise ValueError(f"GGUF has no value type {kind!r}")
        inner, length = self.count("I"), self.count()
        if inner in _NUMBERS:
            self._skip(length * struct.calcsize(f"<{_NUMBERS[inner]}"))
        else:
            for _ in range(length):
                if inner == _TEXT:
                    self._skip(self.count())
                else:
                    self.value(inner)
        return None

    def _skip(self, size: int) -> int:
        start = self._offset
        self._offset += size
        if self._offset > len(self._content):
            raise ValueError(f"the file ends before {size} bytes from {start} on")
        return start


def _header(cursor: _Cursor) -> GgufHeader | None:
    if cursor.count("I") not in _VERSIONS:
        return None
    tensors, pairs = cursor.count(), cursor.count()
    values = {}
    for _ in range(pairs):
        key = cursor.text()
        value = cursor.value(cursor.count("I"))
        if value is not None:
            values[key] = value
    parameters = 0
    for _ in range(tensors):
        cursor.text()
        parameters += math.prod(cursor.count() for _ in range(cursor.count("I")))
        cursor.count("I")
        cursor.count()
    return GgufHeader(values, parameters)


_CACHED_NAMES = ("GGUFReader", "get_tensor_name_map")


def gguf_arguments(path: Path) -> dict[str, Any]:
    """The arguments of `from_pretrained`, in addition to the folder, to read this file."""
    return {"gguf_file": path.name}


def unpacking_config() -> Any | None:
    """The `quantization_config` that unpacks the weights to plain numbers; None if transformers always does."""
    config = getattr(importlib.import_module("transformers"), "GgufConfig", None)
    return None if config is None else config(dequantize=True)


def require_gguf(path: Path) -> None:
    """Raise ModelError if the package `gguf`, which reads such files, is not installed."""
    if importlib.util.find_spec("gguf") is None:
        raise ModelError(f"model {str(path)!r}: reading a .gguf file needs the package gguf; run `pip install gguf`")


@contextmanager
def cached_parsing() -> Iterator[None]:
    """Caches the parsing of a file, because transformers does it twice: half the loading time of a small model."""
    library: Any = importlib.import_module("gguf")
    originals = {name: getattr(library, name) for name in _CACHED_NAMES if hasattr(library, name)}
    try:
        for name, original in originals.items():
            setattr(library, name, functools.cache(original))
        yield
    finally:
        for name, original in originals.items():
            setattr(library, name, original)
