"""What a model's name stands for, given where replies come from."""

import pytest

TELLING = """
from pytest_ocg.backends.scripted import SCRIPTS, ScriptedBackend

def pytest_ocg_make_backend(spec, settings):
    print("asked for", spec.backend, spec.source)
    return ScriptedBackend(SCRIPTS["in-order"])
"""


@pytest.mark.parametrize("name", ["foo", "llama3:8b", "/models/tuned", "openai:foo", "org/name"])
@pytest.mark.parametrize("way", ["url", "backend"])
def test_a_server_may_call_its_models_as_it_likes(bench, monkeypatch, name, way):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    bench.pytester.makeconftest(TELLING)
    options = ("--ocg-base-url", "http://127.0.0.1:1/v1") if way == "url" else ("--ocg-backend", "openai")
    result = bench.run(*options, "-s", model=name)
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"asked for openai {name.removeprefix('openai:')}"])


def test_a_name_that_the_registry_has_keeps_what_the_registry_knows_of_it(bench, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    bench.pytester.makeconftest(TELLING)
    result = bench.run("--ocg-base-url", "http://127.0.0.1:1/v1", "-s", model="gemma2-9b")
    result.stdout.fnmatch_lines(["asked for openai google/gemma-2-9b-it"])
    assert bench.results()["rows"][0]["published_as"] == "Gemma2-9B"


def test_what_the_registry_knows_of_a_hub_id_holds_behind_a_server(bench):
    bench.pytester.makeconftest(
        TELLING.replace("spec.source)", "spec.source, spec.reasoning, settings.max_new_tokens)")
    )
    result = bench.run("--ocg-base-url", "http://127.0.0.1:1/v1", "-s", model="AIDC-AI/Marco-o1")
    result.stdout.fnmatch_lines(["asked for openai AIDC-AI/Marco-o1 ('<Thought>', '</Thought>') *"])
