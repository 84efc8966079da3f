"""What a reply is remembered under, and what an analysed text is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ocg.inputs.prompts import Prompt

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical_json(value: object) -> str:
    """One text for equal values: mapping keys sorted, no white space, everything beyond ASCII escaped.

    Raises TypeError for what is not JSON and ValueError for NaN and infinities.
    """
    return _CANONICAL.encode(value)


def generation_keys(identity: Mapping[str, Any], prompts: Sequence[Prompt]) -> list[str]:
    """For each prompt the sha256, in hex, of canonical JSON of everything that can change its text, and nothing else.

    - `identity` is the backend's own account of itself. It holds the backend (two engines round differently), the
      model's source and its revision or content hash (a name can be given to other weights), dtype and quantization
      (other weights again) and the decoding (cap on new tokens, temperature, seed, reasoning tags). Only the backend
      knows which of its settings matter, so it is taken whole; the order of its keys does not count.
    - The messages, role and content of each turn: system text, template, condition, worked examples and concepts in
      their order all reach the model through these and in no other way.

    Left out is what the messages already say (template number, condition, shots, concepts: two templates that read the
    same get the same reply) and what only says how the run was organised (the model's short name, batch size, device,
    versions, date), which is kept beside the reply as its provenance.
    """
    head = '{"identity":' + canonical_json(dict(identity)) + ',"messages":'
    return [
        _sha256(head + canonical_json([[message.role, message.content] for message in prompt.messages]) + "}")
        for prompt in prompts
    ]


def provenance_id(provenance_json: str) -> str:
    """The short name of a provenance: the first 12 hex digits of the sha256 of its canonical JSON."""
    return _sha256(provenance_json)[:12]


def text_digest(text: str) -> bytes:
    """The first 16 bytes of the sha256 of `text`, lone surrogates included: enough to tell 10^15 texts apart."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _sha256(ascii_text: str) -> str:
    return hashlib.sha256(ascii_text.encode("ascii")).hexdigest()
