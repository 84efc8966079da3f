"""Weights in 4 or 8 bits by bitsandbytes: whether that can be had, how it is asked for, and whether it really is so."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Literal

from pytest_ocg.errors import ModelError

Quantization = Literal["4bit", "8bit", "none"]

_LAYER = {"4bit": "Linear4bit", "8bit": "Linear8bitLt"}
_NEEDED = ("bitsandbytes", "accelerate")


def check_quantization(quantization: Quantization, kind: str) -> None:
    """Raise ModelError where this quantization cannot be had on a device of that kind, without importing anything."""
    if quantization == "none":
        return
    if kind not in ("cpu", "cuda"):
        raise ModelError(
            f"quantization {quantization!r} is not to be had on device {kind!r}; "
            "pass --ocg-quantization none, or --ocg-device cpu"
        )
    for package in _NEEDED:
        if importlib.util.find_spec(package) is None:
            raise ModelError(
                f"quantization {quantization!r} needs {package}, which is not installed: `pip install {package}`, "
                "or pass --ocg-quantization none"
            )


def quantization_config(quantization: Quantization, dtype: Any) -> Any | None:
    """What transformers is to be given as `quantization_config`, None for none; `dtype` is what is computed in."""
    if quantization == "none":
        return None
    config = importlib.import_module("transformers").BitsAndBytesConfig
    if quantization == "8bit":
        return config(load_in_8bit=True)
    return config(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype)


def quantize_linears(model: Any, quantization: Quantization, dtype: Any) -> None:
    """Quantize in place every linear layer but the output layer of a model that was loaded in full precision.

    For GGUF files, which transformers does not quantize while loading.
    """
    linear: Any = importlib.import_module("torch.nn").Linear
    output = model.get_output_embeddings()
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if type(layer) is linear and layer is not output:
                setattr(parent, name, _quantized(layer, quantization, dtype))


def count_quantized(model: Any, quantization: Quantization) -> int:
    """How many linear layers of the loaded model hold quantized weights; raises ModelError where none does."""
    if quantization == "none":
        return 0
    count = sum(1 for layer in model.modules() if type(layer).__name__ == _LAYER[quantization] and _is_small(layer))
    if not count:
        raise ModelError(
            f"quantization {quantization!r} was asked for but no layer of {type(model).__name__} was quantized; "
            "pass --ocg-quantization none, or use another checkpoint"
        )
    return count


def _quantized(layer: Any, quantization: Quantization, dtype: Any) -> Any:
    library: Any = importlib.import_module("bitsandbytes.nn")
    device = layer.weight.device
    shape = (layer.in_features, layer.out_features, layer.bias is not None)
    if quantization == "4bit":
        made = library.Linear4bit(*shape, compute_dtype=dtype, quant_type="nf4", device="meta")
        made.weight = library.Params4bit(layer.weight.data, requires_grad=False, quant_type="nf4", module=made)
    else:
        made = library.Linear8bitLt(*shape, has_fp16_weights=False, device="meta")
        made.weight = library.Int8Params(layer.weight.data, requires_grad=False, has_fp16_weights=False)
    made.bias = layer.bias
    return made.to(device)


def _is_small(layer: Any) -> bool:
    return bool(layer.weight.element_size() == 1)
