"""What `--model NAME` stands for, the message if it is unknown, and how models are named in test ids."""

from __future__ import annotations

import re

import pytest

from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.models import ModelSpec, id_name, id_names, load_registry, resolve_model

ACCEPTED = (
    "A model is a short name (`ocg models` lists them), a hub id ORG/NAME or ORG/NAME@REVISION, the path of a folder "
    "with config.json or of a .gguf file, openai:NAME or scripted:NAME"
)


@pytest.fixture(scope="module")
def registry():
    return load_registry()


@pytest.mark.parametrize("name", ["gemma2-9b", "Gemma2-9B", "GEMMA2-9B"])
def test_a_short_name_is_found_in_any_case(registry, name):
    assert resolve_model(name, registry) is registry["gemma2-9b"]


@pytest.mark.parametrize(
    ("name", "backend", "source", "revision"),
    [
        ("org/model", "huggingface", "org/model", None),
        ("Org-1/model_2.5-x", "huggingface", "Org-1/model_2.5-x", None),
        ("org/model@main", "huggingface", "org/model", "main"),
        ("org/model@refs/pr/7", "huggingface", "org/model", "refs/pr/7"),
        ("openai:gpt-6", "openai", "gpt-6", None),
        ("openai:org/served-model", "openai", "org/served-model", None),
        ("openai:ft:gpt-4o:me::id", "openai", "ft:gpt-4o:me::id", None),
    ],
)
def test_hub_ids_and_hosted_names_are_taken_as_they_are(registry, name, backend, source, revision):
    assert resolve_model(name, registry) == ModelSpec(name, backend, source, revision)


def test_a_registered_model_keeps_what_is_known_of_it_under_its_hub_id(registry):
    spec = resolve_model("AIDC-AI/Marco-o1@abc", registry)
    assert (spec.name, spec.revision, spec.quantization) == ("AIDC-AI/Marco-o1@abc", "abc", "4bit")
    assert spec.reasoning == ("<Thought>", "</Thought>")
    assert spec.published_as == "Macro-o1"
    hosted = resolve_model("openai:gpt-4o-2024-05-13", registry)
    assert (hosted.name, hosted.published_as) == ("openai:gpt-4o-2024-05-13", "GPT-4o")


def test_a_local_folder_is_named_by_its_last_part_and_found_from_any_place(registry, tmp_path, monkeypatch):
    folder = tmp_path / "runs" / "step 100"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    expected = ModelSpec("step 100", "huggingface", str(folder))
    for name in (str(folder), "runs/step 100", "./runs/step 100", f"{folder}/"):
        assert resolve_model(name, registry) == expected
    assert id_names([expected]) == ("step_100",)


def test_a_local_folder_goes_before_a_hub_id_of_the_same_name(registry, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert resolve_model("org/model", registry).source == "org/model"
    (tmp_path / "org" / "model").mkdir(parents=True)
    (tmp_path / "org" / "model" / "config.json").write_text("{}", encoding="utf-8")
    assert resolve_model("org/model", registry).source == str(tmp_path / "org" / "model")


def test_a_gguf_file_is_taken(registry, tmp_path):
    path = tmp_path / "small-q4.gguf"
    path.write_bytes(b"GGUF\x03\x00\x00\x00")
    assert resolve_model(str(path), registry) == ModelSpec("small-q4.gguf", "huggingface", str(path))


@pytest.mark.parametrize(
    ("files", "name", "message"),
    [
        ({}, "", "this folder has no config.json, so it is not a saved model"),
        (
            {"b.gguf": b"", "a.gguf": b""},
            "",
            "this folder has no config.json, so it is not a saved model; pass one of the files in it: a.gguf, b.gguf",
        ),
        (
            {"adapter_config.json": b"{}"},
            "",
            "this folder contains only an adapter; merge it into its base model and pass "
            "the folder of the merged model",
        ),
        (
            {"model.safetensors": b""},
            "model.safetensors",
            "this file is not a .gguf file; pass a .gguf file or the folder of the model",
        ),
        (
            {"m.gguf": b"version https://git-lfs"},
            "m.gguf",
            "this file starts with b'vers' instead of b'GGUF', so it "
            "is not a GGUF model; if it is a pointer file of Git LFS, download the model itself",
        ),
        (
            {"m.gguf": b""},
            "m.gguf",
            "this file starts with b'' instead of b'GGUF', so it is not a GGUF model; if it is "
            "a pointer file of Git LFS, download the model itself",
        ),
        ({}, "gone.gguf", f"there is no such file or folder. {ACCEPTED}"),
        ({}, "gone/model", f"there is no such file or folder. {ACCEPTED}"),
    ],
)
def test_a_path_that_is_no_model_is_refused_with_the_reason(registry, tmp_path, files, name, message):
    for file, content in files.items():
        (tmp_path / file).write_bytes(content)
    given = str(tmp_path / name) if name else str(tmp_path)
    with pytest.raises(ModelError) as caught:
        resolve_model(given, registry)
    assert str(caught.value) == f"model {given!r}: {message}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gemma2-9", "; did you mean 'gemma2-9b' or "),
        ("LLama3.1-8", "; did you mean 'llama3.1-8b' or "),
        ("gpt4o", "; did you mean 'gpt-4o' or "),
        ("zzzzzz", f". {ACCEPTED}"),
        ("", f". {ACCEPTED}"),
        ("  ", f". {ACCEPTED}"),
        ("gpt 4o", f"; did you mean 'gpt-4o'? {ACCEPTED}"),
        ("a/b/c", f". {ACCEPTED}"),
        ("org/", f". {ACCEPTED}"),
        ("org/model@", f". {ACCEPTED}"),
        ("org/mo del", f". {ACCEPTED}"),
        ("https://huggingface.co/org/model", f". {ACCEPTED}"),
    ],
)
def test_an_unknown_name_is_refused_with_near_names_and_all_forms(registry, name, hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError) as caught:
        resolve_model(name, registry)
    assert str(caught.value).startswith(f"model {name!r} is not known{hint}")
    assert str(caught.value).endswith(ACCEPTED)


@pytest.mark.parametrize("name", ["openai:", "openai: ", "openai:a b", "openai:a\nb"])
def test_a_hosted_model_needs_a_name(registry, name):
    with pytest.raises(ModelError, match="openai: must be followed by the model's name on the server"):
        resolve_model(name, registry)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_a_name_no_file_system_takes_is_refused_as_any_other(registry, name):
    with pytest.raises(ModelError, match=re.escape(f"model {name!r}")):
        resolve_model(name, registry)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gemma2-9b", "gemma2-9b"),
        ("google/gemma-2-9b-it", "google--gemma-2-9b-it"),
        ("org/model@v1.0", "org--model+v1.0"),
        ("openai:gpt-4o", "openai_gpt-4o"),
        ("my model [v2]", "my_model_v2"),
        ("/home/me/runs/step 100/", "step_100"),
        ("./runs/last", "last"),
        ("Tülu", "T_lu"),
        ("犬", "model"),
        ("", "model"),
        (".hidden", "model.hidden"),
        ("-x", "model-x"),
        ("a::b", "a_b"),
    ],
)
def test_a_name_becomes_a_readable_id(name, expected):
    assert id_name(name) == expected
    assert re.fullmatch(r"[A-Za-z0-9_+][A-Za-z0-9._+-]*", id_name(name))


def test_models_whose_ids_would_be_the_same_get_a_hash_of_their_source():
    specs = [
        ModelSpec("last", "huggingface", "/a/last"),
        ModelSpec("Last", "huggingface", "/b/Last"),
        ModelSpec("other", "huggingface", "/c/other"),
        ModelSpec("last", "openai", "last", base_url="http://localhost:8000/v1"),
    ]
    names = id_names(specs)
    assert names[2] == "other"
    assert len({name.lower() for name in names}) == 4
    assert all(re.fullmatch(r"[Ll]ast\+[0-9a-f]{8}", name) for name in names[:2] + names[3:])
    assert id_names(specs[::-1]) == names[::-1]


def test_a_model_given_twice_is_refused():
    spec = ModelSpec("last", "huggingface", "/a/last")
    with pytest.raises(ModelError, match="model 'last' is given twice, with the source '/a/last'"):
        id_names([spec, spec])
