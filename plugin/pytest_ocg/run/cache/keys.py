"""The cache keys of replies and of analysed texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ocg.inputs.prompts import Prompt

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical_json(value: object) -> str:
    """The same text for equal values: mapping keys sorted, no white space, non-ASCII characters escaped.

    Raises TypeError for a value that JSON does not have, and ValueError for NaN and infinities.
    """
    return _CANONICAL.encode(value)


def generation_keys(identity: Mapping[str, Any], prompts: Sequence[Prompt]) -> list[str]:
    """For each prompt the sha256, in hex, of canonical JSON of everything that can change its reply, and nothing else.

    - `identity` comes from the backend. It has the backend (two engines round differently), the source of the model
      and its revision or content hash (a name can refer to other weights later), dtype and quantization (both change
      the weights) and the decoding (cap on new tokens, temperature, seed, reasoning tags). Only the backend knows
      which of its settings matter, so the whole identity is used; the order of its keys does not matter.
    - The messages are the role and content of each turn. System text, template, condition, worked examples and
      concepts in their order reach the model only through them.

    The key leaves out what the messages already contain (template number, condition, shots, concepts: two templates
    with the same text get the same reply) and how the run was organised (short name of the model, batch size, device,
    versions, date), which is stored with the reply as its provenance.
    """
    head = '{"identity":' + canonical_json(dict(identity)) + ',"messages":'
    return [
        _sha256(head + canonical_json([[message.role, message.content] for message in prompt.messages]) + "}")
        for prompt in prompts
    ]


def provenance_id(provenance_json: str) -> str:
    """The id of a provenance: the first 12 hex digits of the sha256 of its canonical JSON."""
    return _sha256(provenance_json)[:12]


def text_digest(text: str) -> bytes:
    """The first 16 bytes of the sha256 of `text`, which may have lone surrogates; enough for 10^15 different texts."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _sha256(ascii_text: str) -> str:
    return hashlib.sha256(ascii_text.encode("ascii")).hexdigest()
