from __future__ import annotations

import json

import pytest

from pytest_ocg.backends.huggingface import loading
from pytest_ocg.backends.huggingface.chat import ChatFormat
from pytest_ocg.backends.huggingface.devices import Device
from pytest_ocg.backends.huggingface.loading import check_device, end_tokens
from pytest_ocg.errors import BackendError, ModelError

torch = pytest.importorskip("torch")

CHAT = ChatFormat("0" * 64, "native", ("<|im_end|>", "<|eot_id|>"), ())


@pytest.mark.parametrize(
    ("configured", "ends"),
    [((None,), {1, 3}), ((7,), {1, 3, 7}), (([7, 8], 9), {1, 3, 7, 8, 9}), ((0, None), {0, 1, 3}), ((), {1, 3})],
)
def test_every_end_token_counts(configured, ends, make_tokenizer):
    assert end_tokens(make_tokenizer(), CHAT, *configured) == ends


def test_a_tokenizer_without_a_pad_token_works(save_model, backend_of, make_prompt, make_tokenizer):
    prompts = [make_prompt("dog"), make_prompt("dog", "catch", "frisbee")]
    with_pad = backend_of(save_model(name="with")).generate(prompts)
    folder = save_model(name="without", tokenizer=make_tokenizer(pad_token=None))
    assert backend_of(folder).generate(prompts) == with_pad


@pytest.mark.parametrize("quantization", ["4bit", "8bit"])
def test_quantized_weights_are_quantized(quantization, save_model, backend_of, make_prompt):
    backend = backend_of(save_model(), quantization=quantization)
    backend.generate([make_prompt("dog")])
    made = backend.provenance()
    assert (made["quantization"], made["quantized_layers"], made["dtype"]) == (quantization, 14, "float32")


def test_quantization_that_did_not_take_place_is_an_error(save_model, backend_of, make_prompt, monkeypatch):
    monkeypatch.setattr(loading, "quantization_config", lambda quantization, dtype: None)
    backend = backend_of(save_model(), quantization="4bit")
    with pytest.raises(ModelError, match="'4bit': only 0% of the weights of LlamaForCausalLM are quantized"):
        backend.generate([make_prompt("dog")])


@pytest.mark.parametrize(("dtype", "loaded"), [("auto", torch.float32), ("bf16", torch.bfloat16)])
def test_weights_have_the_number_format_that_was_asked_for(dtype, loaded, save_model, backend_of, make_prompt):
    backend = backend_of(save_model(dtype="float16"), dtype=dtype)
    backend.generate([make_prompt("dog")])
    assert backend._loaded.model.dtype is loaded


def _without_weight(folder):
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def _change_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_without_weight, "lacks 1 weight, such as 'model.layers.1.mlp.up_proj.weight'; use a complete"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"torn"), "check that its files are complete"),
        (lambda folder: (folder / "model.safetensors").unlink(), "check that its files are complete"),
        (lambda folder: _change_config(folder, model_type="quark"), "check that its files are complete"),
        (lambda folder: _change_config(folder, hidden_size=48), "check that its files are complete"),
        (
            lambda folder: _change_config(folder, model_type="quark", auto_map={"AutoConfig": "a.B"}),
            "it needs code from its own repository; read that code, then pass --ocg-trust-remote-code",
        ),
    ],
)
def test_a_model_that_cannot_be_loaded_is_an_error_of_one_line(damage, message, save_model, backend_of, make_prompt):
    folder = save_model()
    damage(folder)
    with pytest.raises(ModelError, match=message) as caught:
        backend_of(folder).generate([make_prompt("dog")])
    assert str(caught.value).startswith(f"model {str(folder)!r} cannot be loaded: ")
    assert "\n" not in str(caught.value)


def test_pickled_weights_are_loaded_when_asked_for(save_model, backend_of, make_prompt):
    from safetensors.torch import load_file

    folder = save_model()
    expected = backend_of(folder).generate([make_prompt("dog")])
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert backend_of(folder, allow_pickle=True).generate([make_prompt("dog")]) == expected


class _Torch:
    """A fake of torch on a machine."""

    __version__ = "9.9"

    def __init__(self, *, cuda=False, mps=False, bfloat16=True):
        answers = {"is_available": staticmethod(lambda: cuda), "is_bf16_supported": staticmethod(lambda: bfloat16)}
        self.cuda = type("Cuda", (), answers)
        self.backends = type("Backends", (), {"mps": type("Mps", (), {"is_available": staticmethod(lambda: mps)})})


@pytest.mark.parametrize(
    ("device", "found", "message"),
    [
        (Device("cuda", "bfloat16", True), {}, "device 'cuda' is not available in torch 9.9: install a torch for"),
        (Device("cuda:1", "float16", False), {}, "device 'cuda:1' is not available in torch .* pass --ocg-device cpu"),
        (Device("mps", "bfloat16", False), {}, "device 'mps' is not available in torch .* pass --ocg-device cpu"),
        (Device("cpu", "float32", True), {"cuda": True}, "not detected before: pass --ocg-device cuda"),
        (Device("cuda", "bfloat16", True), {"cuda": True, "bfloat16": False}, "pass --ocg-dtype float16"),
    ],
)
def test_a_device_that_torch_does_not_have_is_an_error_with_a_way_out(device, found, message):
    with pytest.raises(BackendError, match=message):
        check_device(device, _Torch(**found))


@pytest.mark.parametrize(
    ("device", "found"),
    [
        (Device("cpu", "float32", True), {}),
        (Device("cpu", "float32", False), {"cuda": True}),
        (Device("cuda", "bfloat16", True), {"cuda": True}),
        (Device("cuda", "float16", True), {"cuda": True, "bfloat16": False}),
        (Device("mps", "bfloat16", True), {"mps": True}),
    ],
)
def test_a_device_that_torch_has_is_used(device, found):
    assert check_device(device, _Torch(**found)) is None


@pytest.mark.parametrize(
    ("kind", "places", "is_refused"),
    [
        ("cuda", {"a": 0, "b": "cpu"}, True),
        ("cuda", {"a": 0, "b": "disk"}, True),
        ("cuda", {"a": 0, "b": 1}, False),
        ("cpu", {"": "cpu"}, False),
        ("cpu", None, False),
    ],
)
def test_a_model_in_slow_memory_is_an_error(kind, places, is_refused):
    model = type("Model", (), {"hf_device_map": places})()
    source = loading.Source("folder", "big")
    device = Device(kind, "bfloat16", True)
    if is_refused:
        with pytest.raises(BackendError, match=r"model 'big' does not fit .* pass --ocg-quantization 4bit"):
            loading._check_placement(model, source, device)
    else:
        loading._check_placement(model, source, device)
