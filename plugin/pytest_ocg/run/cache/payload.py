"""How a reply and an analysis are written into the cache and read back."""

from __future__ import annotations

import json
import zlib

from pytest_ocg.backends.base import Generation
from pytest_ocg.run.cache.errors import Damaged

_DEFAULTS = {"detail": "", "finish_reason": "stop", "prompt_tokens": None, "completion_tokens": None}
_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True)


def payload_of(generation: Generation) -> str:
    """A reply as ASCII JSON, so that NUL and lone surrogates survive; what has its usual value is left out."""
    fields = {"text": generation.text} | {name: getattr(generation, name) for name in _DEFAULTS}
    return _JSON.encode({name: value for name, value in fields.items() if value != _DEFAULTS.get(name, ...)})


def generation_from(payload: str) -> Generation:
    """The reply `payload_of` wrote; raises Damaged where it wrote no such thing."""
    try:
        return Generation(**json.loads(payload))
    except (TypeError, ValueError) as error:
        raise Damaged(f"a stored reply reads {payload[:80]!r}") from error


def compressed(packed: str) -> bytes:
    """An analysis in about a third of its space."""
    return zlib.compress(packed.encode("utf-8", "surrogatepass"))


def decompressed(stored: bytes) -> str:
    """The analysis `compressed` wrote; raises Damaged where it wrote no such thing."""
    try:
        return zlib.decompress(stored).decode("utf-8", "surrogatepass")
    except (zlib.error, TypeError, ValueError) as error:
        raise Damaged("a stored analysis cannot be unpacked") from error
