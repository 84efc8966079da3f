from __future__ import annotations

import io
import json

import pytest

from pytest_ocg.cli import main

HITS = {f"bake_V {name}cake_N": number % 3 for number, name in enumerate("abcdefgh")}
WORSE = dict.fromkeys(HITS, 0)


def ocg_compare(*words: object) -> tuple[int, str]:
    stream = io.StringIO()
    return main(["compare", *map(str, words)], stream), stream.getvalue()


@pytest.fixture
def folders(make_run):
    return make_run("old", HITS), make_run("new", WORSE)


def test_a_comparison_exits_with_0_whatever_the_difference(folders):
    status, said = ocg_compare(*folders)
    assert status == 0
    assert said.startswith(f"old: {folders[0] / 'results.json'}\nnew: {folders[1] / 'results.json'}\n")
    assert "cases: 7 hit to miss, 0 miss to hit, 0 hit in both, 9 missed in both" in said
    assert "concept sets that changed most:\n\nbake_V ccake_N: 2 to 0 hits of 2 (2 lost, 0 gained)\n" in said
    assert ocg_compare(folders[1] / "results.json", folders[0])[0] == 0


def test_json_has_every_number_of_the_comparison(folders):
    status, said = ocg_compare(*folders, "--json")
    comparison = json.loads(said)
    assert (status, comparison["schema"], comparison["old"]) == (0, 1, str(folders[0] / "results.json"))
    [row] = comparison["rows"]
    found = {one["metric"]: one for one in row["differences"]}["coverage_ordered"]
    assert found["difference"] == pytest.approx(-100 * 7 / 16)
    assert found["bounds"].keys() == {"low", "high", "floor", "ceiling"}
    assert row["cases"]["most_changed"][0]["example"]["old_reply"] == "It is bake ccake"


def test_markdown_is_for_a_pull_request(folders):
    status, said = ocg_compare(*folders, "--markdown")
    assert status == 0
    assert said.startswith("## Ordered CommonGen: two runs compared\n\n- old: <code>")


def test_a_workflow_gets_the_comparison_in_its_summary(folders, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    assert ocg_compare(*folders)[0] == 0
    assert (tmp_path / "summary.md").read_text().startswith("## Ordered CommonGen: two runs compared\n")
    assert capsys.readouterr().err == ""


def test_runs_that_are_not_alike_exit_with_2_and_one_line(folders, make_run, capsys):
    other = make_run("other", WORSE, matcher="lemma")
    assert ocg_compare(folders[0], other) == (2, "")
    said = capsys.readouterr().err
    assert said.startswith("ocg: 'smollm2-135m' 'ordered' in ")
    assert said.count("\n") == 1


def test_an_intersection_is_taken_only_when_asked_for(folders, make_run, capsys):
    fewer = make_run("fewer", dict(list(HITS.items())[:7]))
    assert ocg_compare(folders[0], fewer)[0] == 2
    assert "the old run has 16 cases and the new run 14, and 14 are in both" in capsys.readouterr().err
    status, said = ocg_compare(folders[0], fewer, "--intersection")
    assert (status, "7 concept sets, templates 0" in said) == (0, True)


def test_files_that_cannot_be_used_exit_with_2(folders, tmp_path, capsys):
    assert ocg_compare(folders[0], tmp_path / "nowhere") == (2, "")
    assert "nowhere' does not exist; pass the results.json of a run, or the folder" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["only-one"], ["a", "b", "--json", "--markdown"], ["a", "b", "--nonsense"]])
def test_a_misused_command_line_exits_with_2(words, capsys):
    with pytest.raises(SystemExit) as caught:
        ocg_compare(*words)
    assert caught.value.code == 2
    assert "usage: ocg" in capsys.readouterr().err


def test_two_output_folders_of_the_benchmark_are_compared(bench):
    bench.run("--ocg-output", "old")
    bench.run("--ocg-output", "new", model="scripted:in-order")
    status, said = ocg_compare(bench.path / "old", bench.path / "new")
    assert status == 0
    assert "scripted_quarter -> scripted_in-order ordered: 3 concept sets, templates 0, 0-shot" in said
    assert "cases: 0 hit to miss, 54 miss to hit, 18 hit in both, 0 missed in both" in said
    assert "3 concept sets; an interval needs 6 or more" in said
    assert "distinct (pooled)" in said
