"""Every open model of the registry is of a family that the installed transformers has, or its note says what to do."""

from __future__ import annotations

import re

import pytest

from pytest_ocg.inputs.models import load_registry

configuration_auto = pytest.importorskip("transformers.models.auto.configuration_auto")
modeling_auto = pytest.importorskip("transformers.models.auto.modeling_auto")

# The `model_type` in the config.json of each model's repository, by the name of the repository.
FAMILIES = {
    r"meta-llama/.*": "llama",
    r"Qwen/Qwen2(\.5)?-.*": "qwen2",
    r"google/gemma-2-.*": "gemma2",
    r"microsoft/Phi-3-(mini|medium)-.*": "phi3",
    r"microsoft/Phi-3-small-.*": "phi3small",
    r"mistralai/Mistral-.*": "mistral",
    r"mistralai/Mixtral-.*": "mixtral",
    r"allenai/OLMo-2-.*": "olmo2",
    r"allenai/Llama-3\.1-Tulu-3-.*": "llama",
    r"AIDC-AI/Marco-o1": "qwen2",
    r"HuggingFaceTB/SmolLM2-.*": "llama",
}
OPEN = {name: spec for name, spec in load_registry().items() if spec.backend == "huggingface"}


def family(spec):
    [found] = {kind for pattern, kind in FAMILIES.items() if re.fullmatch(pattern, spec.source)}
    return found


def test_there_are_open_models_to_look_at():
    assert len(OPEN) == 34
    assert {family(spec) for spec in OPEN.values()} == set(FAMILIES.values())


@pytest.mark.parametrize("name", OPEN)
def test_the_installed_transformers_has_the_family_or_the_note_names_a_server(name):
    kind = family(OPEN[name])
    is_known = kind in configuration_auto.CONFIG_MAPPING and kind in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if is_known:
        assert "does not load" not in OPEN[name].note
    else:
        assert "does not load on transformers 5: serve it and use --ocg-base-url" in OPEN[name].note


def test_only_phi3_small_needs_a_server_for_its_code():
    assert [name for name, spec in OPEN.items() if family(spec) not in configuration_auto.CONFIG_MAPPING] == [
        "phi3-small"
    ]
