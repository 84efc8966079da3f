"""Which selection of a threshold file a run is judged by."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ocg.gate.judge import evaluate
from pytest_ocg.gate.thresholds import Limit, Selection, Thresholds

FULL = Selection("full", (Limit("coverage_ordered", 50.0),))
SMOKE = Selection("smoke", (Limit("coverage_ordered", 20.0),), "4:0")
VERBS = Selection("verbs", (Limit("coverage_ordered", 10.0), Limit("ordered_rate", 15.0)), "4:0", "VVVV")


@pytest.fixture
def results(make_results):
    """A whole run of four sets, one of them four verbs."""
    results = make_results()
    [row] = results["rows"]
    row["by_pattern"] = {"VVVV": {"scored": 144, "coverage_ordered": 12.5, "ordered_rate": 25.0}}
    row["patterns"] = {"VVVV": {"planned": 144, "run": 144}, "NNVV": {"planned": 432, "run": 432}}
    return results


def partial(results, hit=18, miss=126, error=0, **of_pattern):
    """What `-k VVVV` leaves of the run."""
    done = hit + miss + error
    results["selection"].update(selected=done, run=done, complete=False)
    [row] = results["rows"]
    row["counts"].update(selected=done, hit=hit, miss=miss, error=error)
    row["patterns"] = {"VVVV": {"planned": 144, "run": done, **of_pattern}, "NNVV": {"planned": 432, "run": 0}}
    return results


def line(results, *selections, **budget) -> str:
    [row] = results["rows"]
    return evaluate(results, row, Thresholds(Path("x.toml"), "smollm2-135m", selections, **budget)).line()


def test_a_run_is_judged_by_the_selection_of_its_sets_alone(results):
    assert line(results, FULL, SMOKE) == "gate: PASSED smollm2-135m (1 limit holds: smoke)"
    results["selection"]["sets"] = None
    assert line(results, FULL, SMOKE) == "gate: FAILED smollm2-135m coverage_ordered 21.4 under 50.0"


def test_a_run_of_no_selection_is_told_which_there_are_and_how_they_are_run(results):
    results["selection"]["sets"] = "8:3"
    assert line(results, FULL, SMOKE, VERBS) == (
        "gate: NOT EVALUATED smollm2-135m no selection of x.toml has these cases, of sets '8:3'; there are full (all "
        "concept sets), smoke (--ocg-sets 4:0), verbs (--ocg-sets 4:0 -k VVVV)"
    )


def test_a_partial_run_is_told_the_selections_first_and_what_it_lacks_once(results):
    said = line(partial(results), FULL, SMOKE)
    assert said == (
        "gate: NOT EVALUATED smollm2-135m no selection of x.toml has these cases, of sets '4:0'; there are full (all "
        "concept sets), smoke (--ocg-sets 4:0); partial run (144 of 576 cases)"
    )


def test_a_run_that_the_only_selection_does_not_fit_is_told_how_that_is_run(results):
    said = line(partial(results, run=24, hit=10, miss=14), VERBS)
    assert said == (
        "gate: NOT EVALUATED smollm2-135m partial run (24 of 144 cases of VVVV, 24 cases in all); selection verbs is "
        "run with --ocg-sets 4:0 -k VVVV"
    )


def test_a_whole_run_holds_the_limits_of_its_patterns_as_well(results):
    assert line(results, SMOKE, VERBS) == "gate: PASSED smollm2-135m (3 limits hold: smoke, verbs)"
    results["rows"][0]["by_pattern"]["VVVV"]["coverage_ordered"] = 9.5
    assert line(results, SMOKE, VERBS) == "gate: FAILED smollm2-135m VVVV coverage_ordered 9.5 under 10.0"


def test_all_cases_of_a_pattern_are_judged_without_the_others(results):
    assert line(partial(results), SMOKE, VERBS) == "gate: PASSED smollm2-135m (2 limits hold: verbs)"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hit": 10, "miss": 14, "run": 24}, "partial run (24 of 144 cases of VVVV, 24 cases in all)"),
        ({"hit": 18, "miss": 150, "run": 144}, "partial run (144 of 144 cases of VVVV, 168 cases in all)"),
        ({"planned": None}, "partial run (144 of None cases of VVVV, 144 cases in all)"),
        ({"hit": 0, "miss": 0, "planned": 0, "run": 0}, "partial run (0 of 0 cases of VVVV, 0 cases in all)"),
    ],
)
def test_a_part_of_a_pattern_or_more_than_it_is_not_judged(results, change, said):
    assert f"gate: NOT EVALUATED smollm2-135m {said}" in line(partial(results, **change), VERBS)


@pytest.mark.parametrize(("key", "value", "said"), [("cut", "interrupted", "was cut"), ("shard", "1/2", "only shard")])
def test_a_cut_run_or_a_shard_of_a_pattern_is_not_judged(results, key, value, said):
    partial(results)["selection"][key] = value
    assert said in line(results, VERBS)


def test_failed_requests_of_a_pattern_are_over_budget_too(results):
    assert "errors over budget (2 errors in 144 cases" in line(partial(results, miss=124, error=2), VERBS)
    assert "no reply was scored (144 errors in 144 cases)" in line(partial(results, hit=0, miss=0, error=144), VERBS)


def test_a_pattern_that_the_sets_do_not_have_is_not_computed(results):
    nouns = Selection("nouns", (Limit("coverage_ordered", 1.0),), "4:0", "NNNN")
    assert line(results, nouns) == (
        "gate: NOT EVALUATED smollm2-135m NNNN coverage_ordered was not computed "
        "('there is no reply to a case of NNNN')"
    )


def test_thresholds_that_leave_the_model_open_judge_any(results):
    [row] = results["rows"]
    row["model"] = "checkpoint-1200"
    limits = Thresholds(Path("x.toml"), None, (SMOKE,))
    assert evaluate(results, row, limits).line() == "gate: PASSED checkpoint-1200 (1 limit holds)"


@pytest.mark.parametrize(
    ("wanted", "is_same"),
    [("inflection", True), ("lemma", False), ("inflect", False), ("inflection|spacy:3.8.18", False)],
)
def test_a_matcher_without_versions_leaves_them_open(results, wanted, is_same):
    [row] = results["rows"]
    verdict = evaluate(results, row, Thresholds(Path("x.toml"), None, (SMOKE,), 0.0, {"matcher": wanted}))
    assert (verdict.status == "passed") is is_same


def test_a_drop_that_is_small_only_because_errors_are_left_out_is_not_passed(results):
    [row] = results["rows"]
    row["counts"].update(miss=433, error=20)
    limit = Limit("coverage_ordered", baseline=22.0, max_drop=1.0)
    said = line(results, Selection("smoke", (limit,), "4:0"), max_error_share=0.1)
    assert said == (
        "gate: NOT EVALUATED smollm2-135m coverage_ordered 21.4 holds 21.0 only because 20 errors are left out "
        "(20.7 with them as misses)"
    )
