from __future__ import annotations

import argparse
import io
import json

import pytest

from plugin.tests.nouns import full_results
from pytest_ocg.cli.gate import add_arguments, run
from pytest_ocg.errors import ResultsError, ThresholdError

MODEL = "smollm2-135m"


@pytest.fixture
def folder(tmp_path, monkeypatch, make_results):
    """A folder to stand in, with the results of a whole run and a floor of 20 on its 21.4."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path, make_results())
    limit(tmp_path, "[selection.smoke.metrics.coverage_ordered]\nmin = 20.0\n")
    return tmp_path


def save(folder, results) -> None:
    (folder / "results.json").write_text(json.dumps(full_results(results)), encoding="utf-8")


def limit(folder, metrics, model=MODEL) -> None:
    (folder / "thresholds").mkdir(exist_ok=True)
    (folder / "thresholds" / f"{model}.toml").write_text(
        f'schema = 1\nmodel = "{model}"\n[selection.smoke]\nsets = "4:0"\n{metrics}', encoding="utf-8"
    )


def gate(*words: object) -> tuple[int, str]:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    stream = io.StringIO()
    return run(parser.parse_args(list(map(str, words))), stream), stream.getvalue()


@pytest.mark.parametrize(
    "words",
    [
        ["results.json"],
        ["."],
        ["results.json", "thresholds"],
        ["results.json", f"thresholds/{MODEL}.toml"],
        ["results.json", "--require"],
    ],
)
def test_limits_that_hold_exit_with_0_although_sentences_were_missed(folder, words):
    assert gate(*words) == (0, "gate: PASSED smollm2-135m (1 limit holds)\n")


def test_a_broken_limit_exits_with_1(folder):
    limit(folder, "[selection.smoke.metrics.coverage_ordered]\nmin = 23\n")
    assert gate("results.json") == (1, "gate: FAILED smollm2-135m coverage_ordered 21.4 under 23.0\n")


@pytest.mark.parametrize(("require", "status"), [([], 1), (["--require"], 10)])
def test_a_partial_run_has_pytests_status_or_10_where_a_verdict_is_required(folder, make_results, require, status):
    results = make_results()
    results["selection"].update(planned=27648, run=192, complete=False)
    results["rows"][0]["counts"].update(planned=27648, hit=40, miss=152)
    save(folder, results)
    found, said = gate("results.json", *require)
    assert found == status
    assert said.startswith("gate: NOT EVALUATED smollm2-135m partial run (192 of 27,648 cases); ")


def test_a_partial_run_without_a_miss_has_pytests_own_0(folder, make_results):
    results = make_results()
    results["selection"].update(planned=27648, run=192, complete=False)
    results["rows"][0]["counts"].update(planned=27648, hit=192, miss=0)
    save(folder, results)
    assert gate("results.json")[0] == 0
    assert gate("results.json", "--require")[0] == 10


@pytest.mark.parametrize(
    ("hit", "error", "is_judged"), [(0, 576, False), (288, 288, False), (0, 0, False), (575, 1, True)]
)
@pytest.mark.parametrize("share", [0, 1])
def test_more_failed_requests_than_allowed_never_pass(folder, make_results, hit, error, is_judged, share):
    results = make_results()
    results["rows"][0]["counts"].update(hit=hit, miss=0, error=error)
    save(folder, results)
    path = folder / "thresholds" / f"{MODEL}.toml"
    path.write_text(f"max_error_share = {share}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    is_green = is_judged and share == 1
    assert gate("results.json")[0] == (0 if is_green else 1)
    assert gate("results.json", "--require")[0] == (0 if is_green else 10)


def test_a_model_without_thresholds_is_named_and_keeps_pytests_status(folder):
    (folder / "empty").mkdir()
    status, said = gate("results.json", "empty")
    assert status == 1
    assert said.startswith("gate: NOT EVALUATED smollm2-135m ")
    assert "--ocg-write-thresholds" in said
    assert gate("results.json", "empty", "--require") == (10, said)


def test_of_several_models_the_worst_decides(folder, make_results):
    results = make_results("ordered", "ordered")
    results["rows"][1]["model"] = "other-model"
    save(folder, results)
    assert gate("results.json")[0] == 1
    assert gate("results.json", "--require")[0] == 10
    limit(folder, "[selection.smoke.metrics.coverage_ordered]\nmin = 21.4\n", "other-model")
    assert gate("results.json", "--require") == (
        0,
        "gate: PASSED smollm2-135m (1 limit holds)\ngate: PASSED other-model (1 limit holds)\n",
    )
    limit(folder, "[selection.smoke.metrics.coverage_ordered]\nmin = 21.5\n", "other-model")
    assert gate("results.json", "--require")[0] == 1


def test_results_without_rows_do_not_pass(folder, make_results):
    save(folder, {**make_results(), "rows": []})
    status, said = gate("results.json")
    assert (status, said.startswith("gate: NOT EVALUATED ")) == (1, True)
    assert gate("results.json", "--require") == (10, said)


def test_json_has_the_same_verdict_for_programs(folder):
    limit(folder, "[selection.smoke.metrics.coverage_ordered]\nmin = 23\n")
    status, said = gate("results.json", "--json")
    assert status == 1
    assert json.loads(said) == {
        "schema": 1,
        "exit_status": 1,
        "verdicts": [
            {
                "model": MODEL,
                "name": MODEL,
                "condition": "ordered",
                "shots": 0,
                "status": "failed",
                "reasons": ["coverage_ordered 21.4 under 23.0"],
                "checks": [
                    {
                        "metric": "coverage_ordered",
                        "bound": "min",
                        "limit": 23.0,
                        "value": 21.4,
                        "interval": None,
                        "holds": False,
                        "says": "coverage_ordered 21.4 under 23.0",
                        "fall": None,
                    }
                ],
                "thresholds": str(folder / "thresholds" / f"{MODEL}.toml"),
            }
        ],
    }


def test_markdown_is_for_a_pull_request(folder):
    status, said = gate("results.json", "--markdown")
    assert status == 0
    assert said.startswith(
        "## Ordered CommonGen: gate\n\n<code>gate&#58; PASSED smollm2-135m &#40;1 limit holds&#41;</code>\n"
    )
    assert "| <code>coverage&#95;ordered</code> | 21.40 | - | min | 20.00 | - | yes |" in said


def test_a_workflow_gets_annotations_beside_the_verdict_and_a_summary(folder, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    limit(folder, "[selection.smoke.metrics.coverage_ordered]\nmin = 23\n")
    status, said = gate("results.json", "--json")
    assert (status, json.loads(said)["exit_status"]) == (1, 1)
    assert capsys.readouterr().err == (
        "::error title=Ordered CommonGen smollm2-135m%3A failed::coverage_ordered 21.4 under 23.0\n"
    )
    assert (folder / "summary.md").read_text(encoding="utf-8").startswith("## Ordered CommonGen: gate\n")


HITS = {f"bake_V {name}cake_N": 2 for name in "abcdefgh"}


def test_a_drop_is_measured_from_the_baseline_run_if_one_is_named(folder, make_run, capsys):
    old, new = make_run("old", HITS), make_run("new", dict.fromkeys(HITS, 1))
    limit(folder, "[selection.smoke.metrics.coverage_ordered]\nmax_drop = 10\nbaseline = 21.4\n")
    assert gate(new)[0] == 0
    status, said = gate(new, "--baseline", old)
    assert status == 1
    assert said.startswith("gate: FAILED smollm2-135m coverage_ordered 21.4 is 50.0 under the baseline run's 100.0, ")
    assert capsys.readouterr().err == ""
    limit(folder, "[selection.smoke.metrics.coverage_ordered]\nmin = 20\n")
    assert gate(new, "--baseline", old)[0] == 0
    assert capsys.readouterr().err.startswith("note: no limit uses the baseline run")


def test_a_baseline_that_does_not_exist_is_an_error(folder, make_run):
    with pytest.raises(ResultsError, match="results file 'nowhere' does not exist"):
        gate(make_run("new", HITS), "--baseline", "nowhere")


@pytest.mark.parametrize("words", [(), ("--require",), ("--baseline", "results.json")])
def test_results_that_no_run_wrote_are_an_error_and_no_verdict(folder, make_results, words):
    results = make_results()
    results["rows"][0]["counts"]["hit"] = "many"
    save(folder, results)
    with pytest.raises(ResultsError, match=r"'results\.json'.* rows\[0\]\.counts\.hit is 'many'"):
        gate("results.json", *words)


def test_thresholds_that_cannot_be_used_are_an_error(folder):
    limit(folder, "[selection.smoke.metrics.coverage_ordered]\nmin = 7500\n")
    with pytest.raises(ThresholdError, match=rf"{MODEL}\.toml: .*coverage_ordered\.min is 7500"):
        gate("results.json")
    with pytest.raises(ThresholdError, match="'nowhere' does not exist"):
        gate("results.json", "nowhere")
