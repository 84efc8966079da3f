"""Whether a model fits follows from its headers: here those of large models, without any weights."""

from __future__ import annotations

import json

import pytest

from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.huggingface import backend as huggingface
from pytest_ocg.backends.huggingface.backend import HuggingFaceBackend
from pytest_ocg.backends.huggingface.devices import Device, Memory
from pytest_ocg.backends.huggingface.footprint import (
    LoadPlan,
    ModelSize,
    cache_bytes,
    check_footprint,
    size_of,
    weights_bytes,
)
from pytest_ocg.backends.huggingface.loading import Loadable
from pytest_ocg.backends.huggingface.sources import Source
from pytest_ocg.backends.scripted import ScriptedBackend
from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.models import ModelSpec

GPU = Device("cuda", "bfloat16", True)
LLAMA_70B = {
    "hidden_size": 8192,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
LLAMA_405B = {**LLAMA_70B, "hidden_size": 16384, "num_hidden_layers": 126, "num_attention_heads": 128}
MIXTRAL = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "intermediate_size": 14336,
    "num_local_experts": 8,
    "vocab_size": 32000,
    "tie_word_embeddings": False,
}
GPT2_XL = {"n_embd": 1600, "n_layer": 48, "n_head": 25, "vocab_size": 50257}
SIZE_70B = ModelSize(70_553_706_496, 2_101_346_304, None, 163_840)
SIZE_405B = ModelSize(405_853_388_800, 4_202_692_608, None, 258_048)
SIZE_MIXTRAL = ModelSize(46_702_792_704, 45_359_300_608, None, None)


@pytest.fixture
def headers(tmp_path):
    """Builds a folder of a configuration, an empty tokenizer, and weight files that have only a header."""

    def make(config, *files, index=True):
        (tmp_path / "config.json").write_text(json.dumps(config))
        (tmp_path / "tokenizer.json").write_text("{}")
        for number, tensors in enumerate(files):
            header = {"__metadata__": {"format": "pt"}}
            for name, (dtype, *shape) in tensors.items():
                header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]}
            packed = json.dumps(header).encode()
            (tmp_path / f"model-{number}.safetensors").write_bytes(len(packed).to_bytes(8, "little") + packed)
        if index:
            named = {name: f"model-{number}.safetensors" for number, tensors in enumerate(files) for name in tensors}
            (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": named}))
        return Source("folder", "big", content="0" * 64, path=tmp_path)

    return make


def load(device=GPU, quantization="none", batch_size=192, max_new_tokens=128):
    return LoadPlan(device, quantization, batch_size, max_new_tokens)


@pytest.mark.parametrize(
    ("config", "parameters", "size"),
    [
        (LLAMA_70B, SIZE_70B.parameters, SIZE_70B),
        (LLAMA_405B, SIZE_405B.parameters, SIZE_405B),
        (MIXTRAL, SIZE_MIXTRAL.parameters, SIZE_MIXTRAL),
        ({"text_config": LLAMA_70B}, SIZE_70B.parameters, SIZE_70B),
        (GPT2_XL, 1_557_611_200, ModelSize(1_557_611_200, 80_411_200, None, 153_600)),
        ({**LLAMA_70B, "head_dim": 256}, 10**11, ModelSize(10**11, 2_101_346_304, None, 327_680)),
        ({**LLAMA_70B, "quantization_config": {}}, 10**11, ModelSize(10**11, 2_101_346_304, 2 * 10**11, 163_840)),
        ({**LLAMA_70B, "vocab_size": "many"}, 10**11, ModelSize(10**11, 0, None, 163_840)),
        ({}, 5, ModelSize(5, 0, None, None)),
    ],
)
def test_the_size_of_a_model_comes_from_headers_and_configuration(config, parameters, size, headers):
    source = headers(config, {"a": ("BF16", 1, 2)}, {"b": ("BF16", parameters - 3), "c": ("BF16",)})
    assert size_of(source, config) == size


def test_weights_in_a_second_layout_are_not_counted_twice(headers, tmp_path):
    source = headers({}, {"a": ("F32", 3)}, {"b": ("F16", 4)})
    (tmp_path / "consolidated.safetensors").write_bytes((tmp_path / "model-0.safetensors").read_bytes())
    assert size_of(source, {}).parameters == 7
    (tmp_path / "model.safetensors").write_bytes((tmp_path / "model-1.safetensors").read_bytes())
    assert size_of(source, {}).parameters == 4


def test_weights_of_a_quantized_checkpoint_are_as_large_as_they_are_stored(headers):
    tensors = {"a": ("U8", 100), "b": ("F8_E4M3", 10), "c": ("BF16", 5), "d": ("BOOL", 3), "e": ("F32", 2)}
    size = size_of(headers({}, tensors, index=False), {"quantization_config": {"load_in_4bit": True}})
    assert [weights_bytes(size, "bfloat16", kind) for kind in ("none", "4bit")] == [131, 131]


@pytest.mark.parametrize(
    "content", [b"", b"torn", b"\x04" + b"\0" * 7 + b"null", b"\xff" * 8, b"\x0a" + b"\0" * 7 + b'{"a": "b"}']
)
def test_a_damaged_weight_file_has_no_size(content, headers, tmp_path):
    source = headers({}, {"a": ("F32", 3)})
    (tmp_path / "model-0.safetensors").write_bytes(content)
    assert size_of(source, {}) is None


def test_a_folder_without_safetensors_has_no_size(headers):
    assert size_of(headers({}, index=False), {}) is None
    assert size_of(headers({}, index=True), {}) is None


@pytest.mark.parametrize(
    ("size", "dtype", "quantization", "gigabytes"),
    [
        (SIZE_70B, "bfloat16", "none", 141.1),
        (SIZE_70B, "float32", "none", 282.2),
        (SIZE_70B, "bfloat16", "8bit", 72.7),
        (SIZE_70B, "bfloat16", "4bit", 42.7),
        (SIZE_405B, "bfloat16", "none", 811.7),
        (SIZE_405B, "float16", "4bit", 234.3),
        (SIZE_MIXTRAL, "bfloat16", "4bit", 91.5),
    ],
)
def test_the_size_of_weights_follows_their_format(size, dtype, quantization, gigabytes):
    assert round(weights_bytes(size, dtype, quantization) / 10**9, 1) == gigabytes


def test_the_cache_is_for_a_whole_batch_and_unknown_is_not_zero():
    assert cache_bytes(SIZE_70B, load()) == 163_840 * 2 * 192 * 256
    assert cache_bytes(SIZE_MIXTRAL, load()) is None


GB = 10**9
SERVE = "serve it elsewhere and pass --ocg-base-url"


@pytest.mark.parametrize(
    ("size", "plan", "memory", "is_assigned", "message"),
    [
        (
            SIZE_70B,
            load(),
            Memory(85 * GB, 1),
            True,
            "its weights need about 141.1 GB in bfloat16, and the keys and values of a batch of 192 another 16.1 GB, "
            "but only 85.0 GB are on the GPU; pass --ocg-quantization 4bit (about 47.0 GB), or pass "
            f"--ocg-gpus-per-worker 3 on a machine with 3 such GPUs, or {SERVE}",
        ),
        (
            SIZE_405B,
            load(quantization="4bit"),
            Memory(170 * GB, 2),
            False,
            "its weights need about 234.3 GB in 4bit, and the keys and values of a batch of 192 another 25.4 GB, but "
            f"only 170.0 GB are on the 2 GPUs it gets; run it on a machine with 4 such GPUs, or {SERVE}",
        ),
        (
            SIZE_70B,
            load(Device("cuda:1", "float16", False), "8bit", 1),
            Memory(48 * GB, 1),
            False,
            "its weights need about 72.7 GB in 8bit, and the keys and values of a batch of 1 another 0.1 GB, but "
            "only 48.0 GB are on the GPU; pass --ocg-quantization 4bit (about 47.0 GB), or pass --ocg-device cuda on "
            f"a machine with 2 such GPUs, or {SERVE}",
        ),
        (
            SIZE_MIXTRAL,
            load(quantization="4bit"),
            Memory(85 * GB, 1),
            True,
            "its weights need about 91.5 GB in 4bit, but only 85.0 GB are on the GPU; pass --ocg-gpus-per-worker 2 "
            f"on a machine with 2 such GPUs, or {SERVE}",
        ),
        (
            SIZE_70B,
            load(Device("cpu", "float32", True), batch_size=96),
            Memory(64 * GB, 0),
            False,
            "its weights need about 282.2 GB in float32, and the keys and values of a batch of 96 another 16.1 GB, but "
            f"only 64.0 GB are available; pass --ocg-quantization 4bit (about 51.6 GB), or {SERVE}",
        ),
        (
            SIZE_70B,
            load(Device("mps", "bfloat16", True), batch_size=96),
            Memory(64 * GB, 0),
            False,
            "its weights need about 141.1 GB in bfloat16, and the keys and values of a batch of 96 another 8.1 GB, but "
            f"only 64.0 GB are available; {SERVE}",
        ),
    ],
)
def test_a_model_that_does_not_fit_is_refused_with_settings_that_fit(size, plan, memory, is_assigned, message):
    with pytest.raises(ModelError) as caught:
        check_footprint("big", size, plan, memory, is_assigned=is_assigned)
    assert str(caught.value) == f"model 'big' does not fit into memory: {message}"


@pytest.mark.parametrize("total", [weights_bytes(SIZE_70B, "bfloat16", "4bit"), 80 * GB])
def test_weights_that_fit_are_not_refused_for_their_batch(total):
    assert check_footprint("big", SIZE_70B, load(quantization="4bit"), Memory(total, 1), is_assigned=True) is None


def open_backend(source, **settings):
    spec = ModelSpec("big", "huggingface", str(source.path))
    return HuggingFaceBackend(spec, GenerationSettings(device="cpu", **settings))


def test_a_backend_checks_the_memory_of_each_worker(headers, monkeypatch):
    asked = []
    monkeypatch.setattr(huggingface, "memory_of", lambda device, gpus: asked.append((device.name, gpus)))
    open_backend(headers(LLAMA_70B, {"a": ("BF16", 70, 10**9)})).check_loading(2)
    assert asked == [("cpu", 2)]
    monkeypatch.setattr(huggingface, "memory_of", lambda device, gpus: Memory(8 * GB, 0))
    with pytest.raises(ModelError, match=r"does not fit into memory: its weights need about 280\.0 GB in float32"):
        open_backend(headers(LLAMA_70B, {"a": ("BF16", 70, 10**9)})).check_loading(None)
    open_backend(headers(LLAMA_70B, {"a": ("BF16", 10**9)})).check_loading(None)


def test_only_backends_that_load_a_model_are_asked(headers):
    assert isinstance(open_backend(headers({}, {"a": ("BF16", 1)})), Loadable)
    assert not isinstance(ScriptedBackend(lambda prompt: "A dog."), Loadable)
