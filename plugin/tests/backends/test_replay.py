"""Replies made elsewhere: found by concepts, template and condition, checked line by line."""

import json
import os

import pytest

from pytest_ocg.backends.base import ErrorKind, GenerationSettings
from pytest_ocg.backends.replay import MAX_FILE_BYTES, ReplayBackend
from pytest_ocg.errors import BackendError
from pytest_ocg.inputs.models import ModelSpec
from pytest_ocg.inputs.prompts import Prompt


def prompt(*concepts, template=0, condition="ordered"):
    return Prompt(concepts, template, condition, 0, ())


@pytest.fixture
def replay(tmp_path):
    def make(*rows, model="m"):
        path = tmp_path / "outputs.jsonl"
        path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
        return ReplayBackend(ModelSpec(model, "replay", str(path)), GenerationSettings(), lambda text: None)

    return make


def test_a_reply_is_found_by_concepts_in_order_template_and_condition(replay):
    backend = replay(
        {"concepts": ["dog", "run"], "reply": " The dog runs. "},
        {"concepts": "run_V dog_N", "template": 3, "condition": "original", "reply": "Run, dog!"},
    )
    made = backend.generate([prompt("dog", "run"), prompt("run", "dog", template=3, condition="original")])
    assert [generation.text for generation in made] == ["The dog runs.", "Run, dog!"]


@pytest.mark.parametrize(
    "wanted", [prompt("run", "dog"), prompt("dog", "run", template=1), prompt("dog", "run", condition="original")]
)
def test_a_prompt_without_a_row_is_an_error_of_its_own_kind(replay, wanted):
    [generation] = replay({"concepts": ["dog", "run"], "reply": "The dog runs."}).generate([wanted])
    assert (generation.text, generation.error) == (None, ErrorKind.MISSING)


def test_an_empty_reply_is_an_error_and_a_recorded_error_keeps_its_kind(replay):
    backend = replay(
        {"concepts": ["a", "b"], "reply": "  "},
        {"concepts": ["b", "a"], "reply": None, "error": "filtered", "detail": "by the provider"},
    )
    made = backend.generate([prompt("a", "b"), prompt("b", "a")])
    assert [generation.error for generation in made] == [ErrorKind.EMPTY, ErrorKind.FILTERED]


def test_a_file_too_large_for_replies_is_not_read(replay, tmp_path):
    backend = replay()
    os.truncate(tmp_path / "outputs.jsonl", MAX_FILE_BYTES + 1)
    with pytest.raises(BackendError, match=rf"outputs.jsonl' is too large: .*{MAX_FILE_BYTES:,}"):
        backend.generate([prompt("a")])


def test_rows_of_other_models_are_ignored(replay):
    rows = [{"concepts": ["a", "b"], "reply": text, "model": model} for model, text in (("x", "no"), ("M", "yes"))]
    assert replay(*rows).generate([prompt("a", "b")])[0].text == "yes"
    with pytest.raises(BackendError, match="has no reply of 'other'"):
        replay(*rows, model="other").generate([prompt("a", "b")])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "line 2: "),
        ("[]", "must be a JSON object, not list"),
        ({"reply": "x"}, "'concepts' must be a list of words"),
        ({"concepts": ["a"], "reply": 3}, "'reply' must be a text"),
        ({"concepts": ["a"], "reply": None, "error": "tired"}, "'reply' must be a text"),
        ({"concepts": ["a"], "reply": "x", "template": "0"}, "'template' must be a number, not '0'"),
        ({"concepts": ["a"], "reply": "x", "condition": "both"}, "'condition' must be 'ordered' or 'original'"),
        ({"concepts": ["dog", "run"], "reply": "other"}, "a second, different reply for 'dog run'"),
        ("[" * 100_000, "line 2: "),
    ],
)
def test_a_row_that_cannot_be_read_is_named_by_file_and_line(replay, row, message):
    with pytest.raises(BackendError) as caught:
        replay({"concepts": ["dog", "run"], "reply": "The dog runs."}, row).generate([prompt("a")])
    assert message in str(caught.value)
    assert "outputs.jsonl, line 2" in str(caught.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "*outputs.jsonl, line 1: *"),
        (
            '{"concepts": ["a"], "reply": "x", "model": "y"}',
            "*outputs.jsonl has no reply of 'mine/model'; *",
        ),
        ("", "*outputs.jsonl has no reply of 'mine/model'; the file is empty or its rows name other models"),
    ],
    ids=["malformed", "other model", "empty"],
)
def test_a_file_that_cannot_be_judged_is_a_usage_error(bench, row, message):
    (bench.path / "outputs.jsonl").write_text(row, encoding="utf-8")
    result = bench.run("--ocg-outputs", "outputs.jsonl", model="mine/model")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert not (bench.path / "ocg-results").exists()


def test_another_file_is_another_identity(replay):
    first = replay({"concepts": ["a"], "reply": "x"}).identity()
    assert replay({"concepts": ["a"], "reply": "y"}).identity() != first


def test_generations_of_an_earlier_run_can_be_judged_again(bench):
    bench.run("--ocg-output", "first")
    again = bench.run("--ocg-outputs", "first/generations.jsonl", "--ocg-cache", "other", model="scripted_quarter")
    assert again.parseoutcomes() == {"passed": 18, "missed": 54}
    first, second = bench.results("first")["rows"][0], bench.results()["rows"][0]
    assert first["metrics"] == second["metrics"]
    assert second["identity"]["backend"] == "replay"


def test_replies_of_a_model_of_the_registry_are_read_from_the_file_and_not_from_its_hub(bench):
    bench.run(model="scripted:quarter")
    lines = [{**line, "model": "gemma2-9b"} for line in bench.generations()]
    (bench.path / "old.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    again = bench.run("--ocg-outputs", "old.jsonl", model="gemma2-9b")
    assert again.parseoutcomes() == {"passed": 18, "missed": 54}
    [row] = bench.results()["rows"]
    assert (row["identity"]["backend"], row["published_as"]) == ("replay", "Gemma2-9B")
