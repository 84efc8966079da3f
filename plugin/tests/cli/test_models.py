from __future__ import annotations

import io
import json

import pytest

from pytest_ocg.cli import main, models
from pytest_ocg.inputs.models import ModelSpec, load_registry
from pytest_ocg.inputs.settings import MODEL_FORMS

REGISTRY = {
    spec.name: spec
    for spec in (
        ModelSpec("gemma2-9b", "huggingface", "google/gemma-2-9b-it", quantization="4bit", published_as="Gemma2 9B"),
        ModelSpec("gpt-4o", "openai", "gpt-4o-2024-08-06", note="hosted"),
        ModelSpec("marco-o1", "huggingface", "AIDC-AI/Marco-o1", reasoning=("<Thought>", "</Thought>")),
    )
}


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(models, "load_registry", lambda: REGISTRY)


def ocg(*arguments):
    stream = io.StringIO()
    return main(["models", *arguments], stream), stream.getvalue()


@pytest.mark.usefixtures("registry")
def test_the_models_are_in_columns_in_the_order_of_the_registry():
    assert ocg() == (
        0,
        (
            "name       source                backend      quantization  note\n"
            "---------  --------------------  -----------  ------------  ------\n"
            "gemma2-9b  google/gemma-2-9b-it  huggingface  4bit\n"
            "gpt-4o     gpt-4o-2024-08-06     openai       none          hosted\n"
            "marco-o1   AIDC-AI/Marco-o1      huggingface  none\n"
        ),
    )


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("search", "names"),
    [
        ("gemma2-9b", ["gemma2-9b"]),
        ("GEMMA", ["gemma2-9b"]),
        ("aidc-ai", ["marco-o1"]),
        ("Gemma2 9B", ["gemma2-9b"]),
        ("huggingface", ["gemma2-9b", "marco-o1"]),
        ("hosted", ["gpt-4o"]),
        ("4bit", ["gemma2-9b"]),
        ("", ["gemma2-9b", "gpt-4o", "marco-o1"]),
    ],
)
def test_a_search_finds_text_in_every_column_in_any_case(search, names):
    status, said = ocg(search)
    assert status == 0
    assert [line.split()[0] for line in said.splitlines()[2:]] == names


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(("arguments", "said"), [(["nosuch"], ""), (["nosuch", "--json"], "[]\n")])
def test_no_match_is_status_1_and_reports_other_names_of_models(capsys, arguments, said):
    assert ocg(*arguments) == (1, said)
    assert capsys.readouterr().err == (f"no registered model matches 'nosuch'; --model accepts {MODEL_FORMS}\n")


@pytest.mark.usefixtures("registry")
def test_json_has_all_facts():
    status, said = ocg("marco", "--json")
    assert status == 0
    [model] = json.loads(said)
    assert model["reasoning"] == ["<Thought>", "</Thought>"]
    assert model.keys() == set(ModelSpec.__slots__)


def test_a_registered_model_cannot_write_to_the_terminal(monkeypatch):
    monkeypatch.setattr(models, "load_registry", lambda: {"a": ModelSpec("a\x1b[31m", "huggingface", "b/c\r\x07")})
    assert ocg()[1].splitlines()[2].split() == [r"a\x1b[31m", "b/c", r"\x07", "huggingface", "none"]


def test_the_shipped_registry_can_be_listed():
    status, said = ocg("--json")
    assert status == 0
    assert [model["name"] for model in json.loads(said)] == [spec.name for spec in load_registry().values()]
    assert len(ocg()[1].splitlines()) == 2 + len(load_registry())
