"""Weights in 4 or 8 bits by bitsandbytes: whether it is available, how to request it, and whether it took place."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.settings import Quantization

MIN_SHARE = 0.8

_STACKED = 3
_PACKED_ROWS, _PACKED_COLUMNS = 32, 64
_NEEDED = ("bitsandbytes", "accelerate")


def check_quantization(quantization: Quantization, kind: str) -> None:
    """Raise ModelError if this quantization is not available on a device of that kind; imports nothing."""
    if quantization == "none":
        return
    if kind not in ("cpu", "cuda"):
        raise ModelError(
            f"quantization {quantization!r} is not available on device {kind!r}; "
            "pass --ocg-quantization none, or --ocg-device cpu"
        )
    for package in _NEEDED:
        if importlib.util.find_spec(package) is None:
            raise ModelError(
                f"quantization {quantization!r} needs {package}, which is not installed; run `pip install {package}`, "
                "or pass --ocg-quantization none"
            )


def quantization_config(quantization: Quantization, dtype: Any) -> Any | None:
    """The `quantization_config` for transformers, None for no quantization; `dtype` is the computation format."""
    if quantization == "none":
        return None
    config = importlib.import_module("transformers").BitsAndBytesConfig
    if quantization == "8bit":
        return config(load_in_8bit=True)
    return config(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype)


def quantize_linears(model: Any, quantization: Quantization, dtype: Any) -> None:
    """Quantize in place every linear layer except the output layer of a model that is in full precision.

    For GGUF files, which transformers does not quantize during loading.
    """
    linear: Any = importlib.import_module("torch.nn").Linear
    output = model.get_output_embeddings()
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if type(layer) is linear and layer is not output:
                setattr(parent, name, _quantized(layer, quantization, dtype))


def quantize_experts(model: Any) -> None:
    """Quantize in place, to 4 bits, the stacked weights of a mixture of experts.

    Transformers does not quantize them, because they are not linear layers; they are nine tenths of such a model.
    """
    library: Any = importlib.import_module("bitsandbytes.nn.parametrize")
    for module in list(model.modules()):
        for name, weight in list(module.named_parameters(recurse=False)):
            if weight.ndim == _STACKED and weight.is_floating_point():
                library.replace_parameter_4bit(module, name, quant_type="nf4")


def count_quantized(model: Any, quantization: Quantization) -> int:
    """The number of quantized weight matrices of the loaded model.

    Embeddings and the output layer do not count: they are not quantized by design. Raises ModelError if less than
    `MIN_SHARE` of the other weights are quantized, or if bitsandbytes cannot compute with the shape of a layer.
    """
    if quantization == "none":
        return 0
    _check_shapes(model)
    embedding: Any = importlib.import_module("torch.nn").Embedding
    layers = [*(layer for layer in model.modules() if isinstance(layer, embedding)), model.get_output_embeddings()]
    excluded = {id(layer.weight) for layer in layers if layer is not None}
    packed = 2 if quantization == "4bit" else 1
    count = quantized = full = 0
    for weight in model.parameters():
        if not weight.is_floating_point():
            count += 1
            quantized += weight.numel() * packed
        elif weight.ndim > 1 and id(weight) not in excluded:
            full += weight.numel()
    share = quantized / (quantized + full) if quantized else 0.0
    if share < MIN_SHARE:
        raise ModelError(
            f"quantization {quantization!r}: only {share:.0%} of the weights of {type(model).__name__} are quantized; "
            f"pass --ocg-quantization none, or serve it elsewhere and pass --ocg-base-url"
        )
    return count


def _check_shapes(model: Any) -> None:
    """Raise ModelError for a 4-bit layer that bitsandbytes cannot repack; it repacks on processors with bfloat16."""
    four_bit: Any = importlib.import_module("bitsandbytes.nn").Linear4bit
    for name, layer in model.named_modules():
        if not isinstance(layer, four_bit) or layer.weight.device.type != "cpu" or not layer.support_avx512bf16_for_cpu:
            continue
        if layer.out_features % _PACKED_ROWS or layer.in_features % _PACKED_COLUMNS:
            raise ModelError(
                f"quantization '4bit': on this processor bitsandbytes supports only layers in multiples of "
                f"{_PACKED_ROWS} x {_PACKED_COLUMNS}, but {name!r} of {type(model).__name__} is "
                f"{layer.out_features} x {layer.in_features}; pass --ocg-quantization 8bit or none"
            )


def _quantized(layer: Any, quantization: Quantization, dtype: Any) -> Any:
    library: Any = importlib.import_module("bitsandbytes.nn")
    device = layer.weight.device
    shape = (layer.in_features, layer.out_features, layer.bias is not None)
    if quantization == "4bit":
        made = library.Linear4bit(*shape, compute_dtype=dtype, quant_type="nf4", device="meta")
        plain = {"requires_grad": False, "compress_statistics": False}  # as transformers does it
        made.weight = library.Params4bit(layer.weight.data, quant_type="nf4", module=made, **plain)
    else:
        made = library.Linear8bitLt(*shape, has_fp16_weights=False, device="meta")
        made.weight = library.Int8Params(layer.weight.data, requires_grad=False, has_fp16_weights=False)
    made.bias = layer.bias
    return made.to(device)
