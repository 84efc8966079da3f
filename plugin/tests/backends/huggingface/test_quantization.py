from __future__ import annotations

import pytest

from pytest_ocg.backends.huggingface import quantization
from pytest_ocg.backends.huggingface.quantization import (
    check_quantization,
    count_quantized,
    quantize_experts,
    quantize_linears,
)
from pytest_ocg.errors import ModelError

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("asked", "kind"), [("none", "mps"), ("none", "cpu"), ("4bit", "cpu"), ("8bit", "cuda"), ("4bit", "cuda")]
)
def test_what_can_be_had_passes(asked, kind):
    assert check_quantization(asked, kind) is None


@pytest.mark.parametrize("missing", ["bitsandbytes", "accelerate"])
def test_a_missing_package_is_named_with_the_command(missing, monkeypatch):
    monkeypatch.setattr(quantization.importlib.util, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(
        ModelError, match=f"'4bit' needs {missing}, which is not installed; run `pip install {missing}`"
    ):
        check_quantization("4bit", "cpu")
    check_quantization("none", "cpu")


@pytest.mark.parametrize("asked", ["4bit", "8bit"])
def test_quantizing_in_place_stays_near_the_original_and_skips_the_output_layer(asked, make_model):
    model = make_model("Llama", initializer_range=0.05, tie_word_embeddings=False)
    tokens = torch.arange(4, 16)[None]
    with torch.inference_mode():
        exact = model(tokens).logits
        quantize_linears(model, asked, torch.float32)
        rough = model(tokens).logits
    assert count_quantized(model, asked) == 14
    assert type(model.lm_head) is torch.nn.Linear
    error = (rough - exact).norm() / exact.norm()
    assert 0 < error < 0.3


@pytest.mark.parametrize("asked", ["4bit", "8bit"])
def test_a_model_in_full_precision_does_not_count_as_quantized(asked, make_model):
    with pytest.raises(ModelError, match=f"'{asked}': only 0% of the weights of Llama"):
        count_quantized(make_model("Llama"), asked)


def test_experts_are_quantized_too(make_model):
    model = make_model("Mixtral", num_local_experts=4, initializer_range=0.05)
    tokens = torch.arange(4, 16)[None]
    with torch.inference_mode():
        exact = model(tokens).logits
        quantize_linears(model, "4bit", torch.float32)
        with pytest.raises(ModelError, match=r"'4bit': only \d+% of the weights of Mixtral"):
            count_quantized(model, "4bit")
        quantize_experts(model)
        rough = model(tokens).logits
    assert count_quantized(model, "4bit") == 2 * (4 + 2)
    error = (rough - exact).norm() / exact.norm()
    assert 0 < error < 0.3


def test_a_saved_mixture_of_experts_is_loaded_in_four_bits(save_model, backend_of, make_prompt):
    backend = backend_of(save_model("Mixtral", num_local_experts=4), quantization="4bit")
    backend.generate([make_prompt("dog"), make_prompt("dog", "catch")])
    assert backend.provenance()["quantized_layers"] >= 2 * (4 + 2)


@pytest.mark.parametrize("repacks", [True, False])
def test_a_layer_that_cannot_be_repacked_on_this_processor_is_named(repacks, make_model, monkeypatch):
    monkeypatch.setattr("bitsandbytes.nn.modules.has_avx512bf16", lambda: repacks)
    model = make_model("Llama", hidden_size=32, tie_word_embeddings=False)
    quantize_linears(model, "4bit", torch.float32)
    if not repacks:
        assert count_quantized(model, "4bit") == 14
        return
    with pytest.raises(ModelError, match=r"'model\.layers\.0\.self_attn\.q_proj' of LlamaForCausalLM is 32 x 32; pass"):
        count_quantized(model, "4bit")
