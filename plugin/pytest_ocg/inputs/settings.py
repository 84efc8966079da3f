"""Generation settings that the options, the model registry and the backends share."""

from __future__ import annotations

from typing import Literal, get_args

Quantization = Literal["4bit", "8bit", "none"]
QUANTIZATIONS: tuple[Quantization, ...] = get_args(Quantization)

DEFAULT_MAX_NEW_TOKENS = 128
"""The cap on a reply, in new tokens, if neither an option nor the registry entry of the model sets one."""
