"""What loading a model takes of memory, told from its configuration and headers, against what there is."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ocg.backends.huggingface import hub
from pytest_ocg.backends.huggingface.devices import Device, Memory
from pytest_ocg.backends.huggingface.gguf import read_gguf_header
from pytest_ocg.backends.huggingface.sources import Source, stored_counts
from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.settings import Quantization

PROMPT_TOKENS = 128
MARGIN = 0.1

_FULL_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
# NF4 keeps a float32 scale for every 64 weights.
_PACKED_BYTES = {"4bit": 0.5 + 4 / 64, "8bit": 1.0}
_LAYERS = ("num_hidden_layers", "n_layer", "num_layers")
_HEADS = ("num_attention_heads", "n_head")
_WIDTH = ("hidden_size", "n_embd", "d_model")
_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
_EXPERT_WIDTH = ("moe_intermediate_size", "intermediate_size")


@dataclass(frozen=True, slots=True)
class ModelSize:
    """What a model is made of, in numbers of values.

    `whole` of the `parameters` are in full precision while the model is loaded, whatever its quantization: embeddings
    and output layer, the experts of a mixture (quantized once they are there), all of a GGUF file. `packed_bytes` is
    the size of weights kept as they are stored, because the checkpoint itself is quantized, else None. `cached` counts
    the keys and values kept for a token, None where the configuration does not say.
    """

    parameters: int
    whole: int
    packed_bytes: int | None
    cached: int | None


@dataclass(frozen=True, slots=True)
class Load:
    """How a model is to be loaded and used."""

    device: Device
    quantization: Quantization
    batch_size: int
    max_new_tokens: int


def size_of(source: Source, config: Mapping[str, Any]) -> ModelSize | None:
    """The size of a model with this `config.json`, asked of the hub if it is not here; None where it cannot be told."""
    if source.kind == "gguf":
        return None if source.path is None else _gguf_size(source.path)
    folder = source.path
    if folder is None and source.revision is not None:
        folder = hub.whole_snapshot(source.name, source.revision)
    if folder is not None:
        counts = stored_counts(folder)
    else:
        counts = None if source.revision is None else hub.parameter_counts(source.name, source.revision)
    return None if counts is None else _checkpoint_size(counts, config)


def weights_bytes(size: ModelSize, dtype: str, quantization: Quantization) -> int:
    """The most that the weights take at one time while they are loaded.

    Norms and biases are counted as quantized, which they are not; they are less than a thousandth.
    """
    if size.packed_bytes is not None:
        return size.packed_bytes
    full = _FULL_BYTES[dtype]
    packed = _PACKED_BYTES.get(quantization, full)
    return round(size.whole * full + (size.parameters - size.whole) * packed)


def cache_bytes(size: ModelSize, load: Load) -> int | None:
    """What keys and values of a batch take, at `PROMPT_TOKENS` a prompt and replies up to the cap; None if unknown."""
    if size.cached is None:
        return None
    return size.cached * _FULL_BYTES[load.device.dtype] * load.batch_size * (PROMPT_TOKENS + load.max_new_tokens)


def check_footprint(name: str, size: ModelSize, load: Load, memory: Memory, *, is_dealt: bool) -> None:
    """Raise ModelError, with what would fit, where the weights alone are more than the memory of one worker.

    A batch that does not fit besides is no error: it is halved once memory runs out. `is_dealt` says whether workers
    get their GPUs by `--ocg-gpus-per-worker`.
    """
    weights = weights_bytes(size, load.device.dtype, load.quantization)
    if weights <= memory.total_bytes:
        return
    form = load.device.dtype if load.quantization == "none" else load.quantization
    cache = cache_bytes(size, load)
    batch = "" if cache is None else f", keys and values for a batch of {load.batch_size} another {_gigabytes(cache)}"
    where = {0: "available", 1: "on the GPU"}.get(memory.gpus, f"on the {memory.gpus} GPUs it gets")
    raise ModelError(
        f"model {name!r} does not fit into memory: its weights take about {_gigabytes(weights)} in {form}{batch}, "
        f"and there are {_gigabytes(memory.total_bytes)} {where}; {_way_out(size, load, memory, is_dealt=is_dealt)}"
    )


def _way_out(size: ModelSize, load: Load, memory: Memory, *, is_dealt: bool) -> str:
    ways = []
    smaller = _with_margin(weights_bytes(size, load.device.dtype, "4bit"))
    if smaller <= memory.total_bytes and load.device.kind != "mps":
        ways.append(f"pass --ocg-quantization 4bit (about {_gigabytes(smaller)})")
    if memory.gpus:
        needed = _with_margin(
            weights_bytes(size, load.device.dtype, load.quantization) + (cache_bytes(size, load) or 0)
        )
        count = math.ceil(needed * memory.gpus / memory.total_bytes)
        ways.append(f"{_more_gpus(count, load.device, is_dealt=is_dealt)} where {count} such GPUs are visible")
    ways.append("serve it elsewhere and pass --ocg-base-url")
    return ", or ".join(ways)


def _more_gpus(count: int, device: Device, *, is_dealt: bool) -> str:
    if is_dealt:
        return f"pass --ocg-gpus-per-worker {count}"
    return "run it" if device.name == "cuda" else "pass --ocg-device cuda"


def _with_margin(size_bytes: int) -> int:
    return round(size_bytes * (1 + MARGIN))


def _gigabytes(size_bytes: int) -> str:
    return f"{size_bytes / 10**9:.1f} GB"


def _checkpoint_size(counts: Mapping[str, int], config: Mapping[str, Any]) -> ModelSize:
    parameters = sum(counts.values())
    text = config.get("text_config")
    shape = text if isinstance(text, dict) else config
    layers, width = _number(shape, *_LAYERS), _number(shape, *_WIDTH)
    # An output layer of its own is counted only where it is certain: too small a size refuses no model wrongly.
    is_tied = shape.get("tie_word_embeddings", config.get("tie_word_embeddings")) is not False
    embeddings = (_number(shape, "vocab_size") or 0) * (width or 0) * (1 if is_tied else 2)
    experts, expert_width = _number(shape, *_EXPERTS), _number(shape, *_EXPERT_WIDTH)
    stacked = 3 * (layers or 0) * (experts or 0) * (expert_width or 0) * (width or 0)
    packed_bytes = sum(_bytes(dtype, count) for dtype, count in counts.items())
    return ModelSize(
        parameters,
        whole=min(embeddings + stacked, parameters),
        packed_bytes=packed_bytes if "quantization_config" in config else None,
        cached=_cached(
            layers,
            heads=_number(shape, *_HEADS),
            key_heads=_number(shape, "num_key_value_heads"),
            width=width,
            head_width=_number(shape, "head_dim"),
        ),
    )


def _gguf_size(path: Path) -> ModelSize | None:
    header = read_gguf_header(path)
    if header is None:
        return None
    values, kind = header.values, header.values.get("general.architecture")
    cached = _cached(
        _number(values, f"{kind}.block_count"),
        heads=_number(values, f"{kind}.attention.head_count"),
        key_heads=_number(values, f"{kind}.attention.head_count_kv"),
        width=_number(values, f"{kind}.embedding_length"),
        head_width=_number(values, f"{kind}.attention.key_length"),
    )
    return ModelSize(header.parameters, header.parameters, None, cached)


def _cached(
    layers: int | None, *, heads: int | None, key_heads: int | None, width: int | None, head_width: int | None
) -> int | None:
    if layers is None or heads is None or (head_width is None and width is None):
        return None
    each = head_width if head_width is not None else (width or 0) // heads
    return 2 * layers * (heads if key_heads is None else key_heads) * each


def _number(values: Mapping[str, Any], *names: str) -> int | None:
    """The first of these that is a whole number above 0, None where there is none."""
    return next((values[name] for name in names if type(values.get(name)) is int and values[name] > 0), None)


def _bytes(dtype: str, count: int) -> int:
    """What so many values take in a safetensors format, which has its bits in its name; BOOL is a byte."""
    bits = re.search(r"\d+", dtype)
    return count * (8 if bits is None else int(bits.group())) // 8
