"""What the options, the model registry and the backends share: generation settings, and the forms of a model name."""

from __future__ import annotations

from typing import Literal, get_args

MODEL_FORMS = (
    "a short name (`ocg models` lists them), a hub id ORG/NAME or ORG/NAME@REVISION, the path of a folder with "
    "config.json or of a .gguf file, openai:NAME or scripted:NAME"
)

GateMode = Literal["auto", "require", "off"]
BackendChoice = Literal["auto", "huggingface", "openai", "replay"]

Quantization = Literal["4bit", "8bit", "none"]
QUANTIZATIONS: tuple[Quantization, ...] = get_args(Quantization)

DEFAULT_MAX_NEW_TOKENS = 128
"""The cap on a reply, in new tokens, if neither an option nor the registry entry of the model sets one."""
