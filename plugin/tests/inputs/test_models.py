"""The registry holds the paper's models, and a registry file that is broken is refused."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_ocg
from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.files import resource
from pytest_ocg.inputs.models import ModelSpec, id_names, load_registry, resolve_model


@pytest.fixture(scope="module")
def registry():
    return load_registry()


def published(table: str, column: str) -> list[str]:
    with resource("fixtures", "published", table).open(encoding="utf-8", newline="") as file:
        return [row[column] for row in csv.DictReader(file)]


def short_name(row_name: str) -> str:
    return row_name.lower().replace(" ", "").replace("ü", "u")


def test_every_model_of_table_5_is_in_the_registry_with_its_source(registry):
    rows = published("table5_models.csv", "model")
    sources = published("table5_models.csv", "source_id")
    assert len(rows) == 36
    for row, source in zip(rows, sources, strict=True):
        spec = registry[short_name(row)]
        prefix, _, hosted = source.partition("/")
        is_hosted = prefix in ("OpenAI", "Gemini")
        assert spec.source == (hosted if is_hosted else source)
        assert spec.backend == ("openai" if is_hosted else "huggingface")
        assert spec.quantization == ("none" if is_hosted else "4bit")
        assert spec.published_as == row
        assert bool(spec.base_url) == (prefix == "Gemini")


@pytest.mark.parametrize("table", ["table1_zero_shot.csv", "table4_one_shot.csv", "table7_reasoning.csv"])
def test_every_row_of_the_result_tables_belongs_to_one_model(registry, table):
    names = [spec.published_as for spec in registry.values()]
    assert [names.count(row) for row in published(table, "model")] == [1] * len(published(table, "model"))


def test_the_registry_is_the_papers_models_and_one_to_try_with(registry):
    assert list(registry)[:36] == [short_name(row) for row in published("table5_models.csv", "model")]
    assert list(registry)[36:] == ["marco-o1", "gpt-4o-mini", "o1-mini", "smollm2-135m"]
    assert {spec.name for spec in registry.values()} == set(registry)
    assert registry["smollm2-135m"] == ModelSpec(
        "smollm2-135m",
        "huggingface",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        note="small enough for a CPU; not in the paper",
    )
    assert registry["smollm2-135m"].published_as is None


def test_a_reasoning_model_has_its_tags_and_a_larger_cap(registry):
    spec = registry["marco-o1"]
    assert spec.source == "AIDC-AI/Marco-o1"
    assert spec.reasoning == ("<Thought>", "</Thought>")
    assert spec.answer == ("<Output>", "</Output>")
    assert spec.max_new_tokens == 2048
    assert spec.published_as == "Macro-o1"


def test_gemini_is_reached_through_its_openai_compatible_endpoint(registry):
    for name in ("gemini-flash", "gemini-pro"):
        assert registry[name].base_url == "https://generativelanguage.googleapis.com/v1beta/openai/"
        assert registry[name].key_variable == "GEMINI_API_KEY"


def test_no_shipped_model_runs_its_own_code_unasked(registry):
    assert [spec.name for spec in registry.values() if spec.trust_remote_code] == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gemma2-9b", "without a system role"),
        ("mistral-7b", "without a system role"),
        ("phi3-small", "--ocg-trust-remote-code"),
        ("phi3-medium", "drops a system turn"),
        ("olmo2-7b", "OMLo2-7B"),
        ("gpt-3.5", "retired"),
        ("o1-mini", "retired"),
        ("gemini-pro", "retired"),
    ],
)
def test_what_is_special_about_a_model_is_noted(registry, name, words):
    assert words in registry[name].note


def test_every_short_name_can_stand_in_a_test_id_as_it_is(registry):
    assert list(id_names(list(registry.values()))) == list(registry)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('sorce = "x"', ": models.m: unknown key 'sorce'; did you mean 'source'? (known keys: backend, source,"),
        ('name = "x"', ": models.m: unknown key 'name'"),
        ('quantization = "4-bit"', ": models.m: quantization must be one of 4bit, 8bit, none, not '4-bit'"),
        ("revision = 1", ": models.m: revision must be a string that is not blank, not 1"),
        ('note = ""', ": models.m: note must be a string that is not blank, not ''"),
        ('reasoning = "<think>"', ": models.m: reasoning must be a list of an opening and a closing tag, not '<th"),
        ('answer = ["<a>"]', ": models.m: answer must be a list of an opening and a closing tag, not ['<a>']"),
        ('answer = ["<a>", ""]', ": models.m: answer must be a list of an opening and a closing tag, not ['<a>', '']"),
        ("max_new_tokens = 0", ": models.m: max_new_tokens must be a whole number from 1, not 0"),
        ("max_new_tokens = true", ": models.m: max_new_tokens must be a whole number from 1, not True"),
        ("price = 5.0", ": models.m: price: must be a table, not 5.0"),
        ("price = { input = 5.0, output = 15.0 }", ": models.m: price: the key 'date' is missing"),
        ("price = { input = -1, output = 1, date = 2024-05-13 }", ": models.m: price: input must be US dollars per"),
        ("price = { input = 1, output = nan, date = 2024-05-13 }", ": models.m: price: output must be US dollars per"),
        ('price = { input = 1, output = 1, date = "May" }', ": models.m: price: date must be the day the price was"),
        ('trust_remote_code = "yes"', ": models.m: trust_remote_code must be true or false, not 'yes'"),
        ('[models.n]\nsource = "x"', ": models.n: the key 'backend' is missing"),
        ('[models.n]\nbackend = "openai"', ": models.n: the key 'source' is missing"),
        ('[models.n]\nbackend = "vllm"\nsource = "x"', ": models.n: backend must be one of huggingface, openai, not"),
        ('[models.N]\nbackend = "openai"\nsource = "x"', ": models.N: a short name is lower-case letters"),
        ('[models."a/b"]\nbackend = "openai"\nsource = "x"', ": models.a/b: a short name is lower-case letters"),
        ("[model]", ": unknown key 'model'; did you mean 'models'?"),
        ("[[models.n]]", ": models.n: must be a table, not [{}]"),
        ("x", " is not valid TOML: "),
    ],
)
def test_a_broken_registry_is_refused_with_file_model_and_key(tmp_path, line, message):
    path = tmp_path / "models.toml"
    path.write_text(f'[models.m]\nbackend = "huggingface"\nsource = "org/m"\n{line}\n', encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        load_registry(path)
    assert str(caught.value).startswith(f"{path}{message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [("", ": the key 'models' is missing"), ("models = 3", ": models must be a table of [models.NAME] tables")],
)
def test_a_registry_without_models_is_refused(tmp_path, content, message):
    path = tmp_path / "models.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        load_registry(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_the_inputs_import_nothing_heavy():
    script = (
        "import sys\n"
        "from pytest_ocg.inputs import concepts, models, prompts\n"
        "models.load_registry(), prompts.load_templates(), concepts.load_dataset('everyday')\n"
        "heavy = {'torch', 'transformers', 'spacy', 'openai', 'sacrebleu', 'huggingface_hub', 'numpy', 'pytest'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    source_root = str(Path(pytest_ocg.__file__).parents[1])
    process = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": source_root}, capture_output=True, text=True, check=True
    )
    assert process.stdout == "[]\n"


def test_a_registered_name_may_have_capitals():
    registry = {**load_registry(), "MyModel": ModelSpec("MyModel", "scripted", "quarter")}
    assert resolve_model("MyModel", registry).source == "quarter"
