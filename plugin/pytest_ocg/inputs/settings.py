"""How replies may be made: what options, the model registry and the backends all refer to."""

from __future__ import annotations

from typing import Literal, get_args

Quantization = Literal["4bit", "8bit", "none"]
QUANTIZATIONS: tuple[Quantization, ...] = get_args(Quantization)

DEFAULT_MAX_NEW_TOKENS = 128
"""The cap on a reply, in new tokens, where neither an option nor the model's registry entry sets one."""
