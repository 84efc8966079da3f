"""The memory that a model needs, from its configuration and headers, compared with the memory that is available."""

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
    """The size of a model, in numbers of values.

    `full_precision` of the `parameters` are in full precision during loading, with any quantization: embeddings and
    output layer, the experts of a mixture (quantized after loading), all of a GGUF file. `packed_bytes` is the size of
    the weights of a checkpoint that is itself quantized, else None. `cached_per_token` counts the keys and values in
    the cache for one token, None if the configuration does not contain it.
    """

    parameters: int
    full_precision: int
    packed_bytes: int | None
    cached_per_token: int | None


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """The settings with which a model will be loaded and used."""

    device: Device
    quantization: Quantization
    batch_size: int
    max_new_tokens: int


def size_of(source: Source, config: Mapping[str, Any]) -> ModelSize | None:
    """The size of a model with this `config.json`, from the hub if it is not on this machine; None if unknown."""
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
    """The largest size of the weights at any time during loading.

    Counts norms and biases as quantized; they are not, but they are less than a thousandth of the weights.
    """
    if size.packed_bytes is not None:
        return size.packed_bytes
    full = _FULL_BYTES[dtype]
    packed = _PACKED_BYTES.get(quantization, full)
    return round(size.full_precision * full + (size.parameters - size.full_precision) * packed)


def cache_bytes(size: ModelSize, load: LoadPlan) -> int | None:
    """The size of a batch's keys and values, at `PROMPT_TOKENS` a prompt and replies up to the cap; None if unknown."""
    if size.cached_per_token is None:
        return None
    return (
        size.cached_per_token * _FULL_BYTES[load.device.dtype] * load.batch_size * (PROMPT_TOKENS + load.max_new_tokens)
    )


def check_footprint(name: str, size: ModelSize, load: LoadPlan, memory: Memory, *, is_assigned: bool) -> None:
    """Raise ModelError, with settings that fit, if the weights alone are larger than the memory of one worker.

    A batch that does not fit is not an error: it is halved when memory runs out. `is_assigned` is whether workers get
    their GPUs by `--ocg-gpus-per-worker`.
    """
    weights = weights_bytes(size, load.device.dtype, load.quantization)
    if weights <= memory.total_bytes:
        return
    form = load.device.dtype if load.quantization == "none" else load.quantization
    cache = cache_bytes(size, load)
    batch = (
        ""
        if cache is None
        else f", and the keys and values of a batch of {load.batch_size} another {_gigabytes(cache)}"
    )
    where = {0: "available", 1: "on the GPU"}.get(memory.gpus, f"on the {memory.gpus} GPUs it gets")
    raise ModelError(
        f"model {name!r} does not fit into memory: its weights need about {_gigabytes(weights)} in {form}{batch}, "
        f"but only {_gigabytes(memory.total_bytes)} are {where}; "
        f"{_way_out(size, load, memory, is_assigned=is_assigned)}"
    )


def _way_out(size: ModelSize, load: LoadPlan, memory: Memory, *, is_assigned: bool) -> str:
    ways = []
    smaller = _with_margin(weights_bytes(size, load.device.dtype, "4bit"))
    if smaller <= memory.total_bytes and load.device.kind != "mps":
        ways.append(f"pass --ocg-quantization 4bit (about {_gigabytes(smaller)})")
    if memory.gpus:
        needed = _with_margin(
            weights_bytes(size, load.device.dtype, load.quantization) + (cache_bytes(size, load) or 0)
        )
        count = math.ceil(needed * memory.gpus / memory.total_bytes)
        ways.append(f"{_more_gpus(count, load.device, is_assigned=is_assigned)} on a machine with {count} such GPUs")
    ways.append("serve it elsewhere and pass --ocg-base-url")
    return ", or ".join(ways)


def _more_gpus(count: int, device: Device, *, is_assigned: bool) -> str:
    if is_assigned:
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
    # We count a separate output layer only if it is certain: a size that is too small refuses no model by mistake.
    is_tied = shape.get("tie_word_embeddings", config.get("tie_word_embeddings")) is not False
    embeddings = (_number(shape, "vocab_size") or 0) * (width or 0) * (1 if is_tied else 2)
    experts, expert_width = _number(shape, *_EXPERTS), _number(shape, *_EXPERT_WIDTH)
    stacked = 3 * (layers or 0) * (experts or 0) * (expert_width or 0) * (width or 0)
    packed_bytes = sum(_bytes(dtype, count) for dtype, count in counts.items())
    return ModelSize(
        parameters,
        full_precision=min(embeddings + stacked, parameters),
        packed_bytes=packed_bytes if "quantization_config" in config else None,
        cached_per_token=_cached_per_token(
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
    cached = _cached_per_token(
        _number(values, f"{kind}.block_count"),
        heads=_number(values, f"{kind}.attention.head_count"),
        key_heads=_number(values, f"{kind}.attention.head_count_kv"),
        width=_number(values, f"{kind}.embedding_length"),
        head_width=_number(values, f"{kind}.attention.key_length"),
    )
    return ModelSize(header.parameters, header.parameters, None, cached)


def _cached_per_token(
    layers: int | None, *, heads: int | None, key_heads: int | None, width: int | None, head_width: int | None
) -> int | None:
    if layers is None or heads is None or (head_width is None and width is None):
        return None
    width_per_head = head_width if head_width is not None else (width or 0) // heads
    return 2 * layers * (heads if key_heads is None else key_heads) * width_per_head


def _number(values: Mapping[str, Any], *names: str) -> int | None:
    """The first of these values that is a whole number above 0, None if there is none."""
    return next((values[name] for name in names if type(values.get(name)) is int and values[name] > 0), None)


def _bytes(dtype: str, count: int) -> int:
    """The size of so many values in a safetensors format, whose name contains its bits; BOOL is one byte."""
    bits = re.search(r"\d+", dtype)
    return count * (8 if bits is None else int(bits.group())) // 8
