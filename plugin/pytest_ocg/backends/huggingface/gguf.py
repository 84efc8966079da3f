"""Models in a `.gguf` file: what its header says, and how transformers is made to read it once."""

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
    """The file's single values by key (lists, such as the vocabulary, are left out), and how many weights it holds."""

    values: Mapping[str, int | float | str]
    parameters: int


def read_gguf_header(path: Path) -> GgufHeader | None:
    """The header of a GGUF file, None where the file is not whole up to there or of a version that is not known."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _header(_Cursor(content, len(_MAGIC))) if content[: len(_MAGIC)] == _MAGIC else None
    except (ValueError, struct.error):
        return None


class _Cursor:
    """Walks over the bytes of a file."""

    def __init__(self, content: mmap.mmap, place: int) -> None:
        self._content = content
        self._place = place

    def number(self, code: str) -> int | float:
        layout = f"<{code}"
        value: int | float = struct.unpack_from(layout, self._content, self._place)[0]
        self._place += struct.calcsize(layout)
        return value

    def count(self, code: str = "Q") -> int:
        return int(self.number(code))

    def text(self) -> str:
        start = self._skip(self.count())
        return self._content[start : self._place].decode("utf-8", errors="replace")

    def value(self, kind: int) -> int | float | str | None:
        """The value of that kind which comes next; None for a list, which is passed over."""
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _TEXT:
            return self.text()
        if kind != _ARRAY:
            raise ValueError(f"GGUF values have no kind {kind!r}")
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
        start = self._place
        self._place += size
        if self._place > len(self._content):
            raise ValueError(f"{size} bytes from {start} on are more than there are")
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
