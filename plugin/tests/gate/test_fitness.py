"""Whether thresholds can judge a row, and the reasons if they cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugin.tests.nouns import rows_of
from pytest_ocg.gate.fitness import error_problems, selection_problems, signature_problems
from pytest_ocg.gate.thresholds import Limit, Selection, Thresholds

MODEL = "smollm2-135m"
LIMITS = (Limit("coverage_ordered", 1.0),)


@pytest.fixture
def results(make_results):
    return make_results()


def thresholds(model=MODEL, **signature) -> Thresholds:
    return Thresholds(Path("x.toml"), model, (), 0.0, signature)


def differences(results, limits) -> list[str]:
    [row] = rows_of(results)
    return list(signature_problems(row, limits))


def lacks(results, sets="4:0", pattern=None) -> list[str]:
    [row] = rows_of(results)
    return list(selection_problems(row, Selection("one", LIMITS, sets, pattern)))


@pytest.mark.parametrize("signature", [{}, {"shots": 0, "templates": [5, 4, 3, 2, 1, 0], "matcher": "inflection"}])
def test_a_run_like_its_thresholds_has_no_differences(results, signature):
    assert differences(results, thresholds(**signature)) == []


def test_a_difference_is_reported_with_both_values_and_the_way_out(results):
    assert differences(results, thresholds(shots=1, quantization="4bit")) == [
        "quantization is 'none' but the thresholds are for '4bit'; run with the settings of the thresholds, or "
        "renew them with --ocg-write-thresholds",
        "shots is 0 but the thresholds are for 1; run with the settings of the thresholds, or renew them "
        "with --ocg-write-thresholds",
    ]


def test_a_value_that_the_results_do_not_have_differs(results):
    del results["rows"][0]["identity"]["quantization"]
    [said] = differences(results, thresholds(quantization="none"))
    assert said.startswith("quantization is None but the thresholds are for 'none'; ")


@pytest.mark.parametrize(
    ("model", "said"), [("gemma2-9b", ["x.toml is for model 'gemma2-9b', not 'smollm2-135m'"]), (None, [])]
)
def test_thresholds_of_another_model_are_not_used_and_those_of_none_are(results, model, said):
    assert differences(results, thresholds(model)) == said


def test_a_whole_run_has_the_cases_of_its_selection_and_of_every_pattern(results):
    assert lacks(results) == lacks(results, pattern="VVVV") == []


@pytest.mark.parametrize("sets", ["all", "4:1"])
def test_other_sets_are_named_with_the_way_out(results, sets):
    [said] = lacks(results, sets)
    assert said.startswith(f"sets is '4:0' but the thresholds are for {sets!r}; run with the settings of")


@pytest.mark.parametrize(
    ("selection", "patterns", "pattern", "said"),
    [
        ({"run": 3}, {}, None, "partial run (3 of 576 cases)"),
        (
            {"run": 3},
            {},
            "VVVV",
            "partial run (the results have no count of the cases of VVVV; 576 cases run in all)",
        ),
        ({"run": 3}, {"planned": 576, "run": 576}, "VVVV", None),
        ({"run": 3}, {"planned": 576, "run": 3}, "VVVV", "partial run (3 of 576 cases of VVVV, 576 cases in all)"),
        ({"run": 3}, {"planned": 24, "run": 24}, "VVVV", "partial run (24 of 24 cases of VVVV, 576 cases in all)"),
        ({"run": 3}, {"planned": 0, "run": 0}, "VVVV", "partial run (0 of 0 cases of VVVV, 576 cases in all)"),
        ({"cut": "interrupted"}, {"planned": 576, "run": 576}, "VVVV", "the run stopped early: 'interrupted'"),
        ({"shard": "1/2"}, {"planned": 576, "run": 576}, "VVVV", "only shard '1/2' of the run; merge all shards"),
    ],
)
def test_a_run_without_all_cases_of_the_selection_gives_the_reason(results, selection, patterns, pattern, said):
    results["selection"].update(selection)
    results["rows"][0]["patterns"] = {"VVVV": patterns} if patterns else {}
    found = lacks(results, pattern=pattern)
    assert found == [] if said is None else found[0].startswith(said)


@pytest.mark.parametrize(
    ("hit", "miss", "error", "share", "said"),
    [
        (10, 10, 0, 0.0, None),
        (10, 9, 1, 0.05, None),
        (10, 9, 1, 0.0, "too many errors (1 error in 20 cases, a share of 0.0500; max_error_share is 0.0)"),
        (0, 11, 9, 1.0, None),
        (10, 0, 10, 1.0, "half or more of the cases have no reply (10 errors in 20 cases)"),
        (0, 0, 20, 1.0, "no reply was scored (20 errors in 20 cases)"),
        (0, 0, 0, 1.0, "no reply was scored (0 errors in 0 cases)"),
    ],
)
def test_failed_requests_beyond_the_budget_are_a_problem(hit, miss, error, share, said):
    [row] = rows_of({"rows": [{"counts": {"planned": 20, "hit": hit, "miss": miss, "error": error}}]})
    assert list(error_problems(row.row.counts, share)) == ([] if said is None else [said])
