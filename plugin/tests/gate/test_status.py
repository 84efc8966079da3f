from __future__ import annotations

from pathlib import Path

import pytest

from plugin.tests.nouns import results_of, rows_of
from pytest_ocg.gate.judge import default_status, exit_status, judge
from pytest_ocg.gate.thresholds import Limit, Selection, Thresholds
from pytest_ocg.results.verdicts import Status, Verdict

MODEL = "smollm2-135m"
PASSED, FAILED, OPEN = (Verdict(model="m", name="m", status=status) for status in Status)


def thresholds(**signature) -> dict[str, Thresholds]:
    selection = Selection("smoke", (Limit("coverage_ordered", 20.0),), "4:0")
    return {MODEL: Thresholds(Path("x.toml"), MODEL, (selection,), 0.0, signature)}


def names_and_statuses(verdicts) -> list[tuple[str, Status]]:
    return [(verdict.name, verdict.status) for verdict in verdicts]


def test_a_row_without_thresholds_shows_how_to_write_them(results):
    [verdict] = judge(rows_of(results), {})
    assert (verdict.model, verdict.status) == (MODEL, Status.NOT_EVALUATED)
    assert "--ocg-write-thresholds" in verdict.line()


def test_of_two_conditions_the_one_with_thresholds_is_judged(make_results):
    verdicts = judge(rows_of(make_results("ordered", "original")), thresholds(condition="ordered", shots=0))
    assert names_and_statuses(verdicts) == [(MODEL, Status.PASSED)]
    assert verdicts[0].condition == "ordered"


def test_failed_requests_of_the_other_condition_are_reported(make_results):
    results = make_results("ordered", "original")
    results["rows"][1]["counts"].update(miss=0, hit=0, error=576)
    verdicts = judge(rows_of(results), thresholds(condition="ordered"))
    assert names_and_statuses(verdicts) == [
        (f"{MODEL} ordered 0-shot", Status.PASSED),
        (f"{MODEL} original 0-shot", Status.NOT_EVALUATED),
    ]
    assert "576 errors in 576 cases" in verdicts[1].line()
    assert exit_status(verdicts, mode="auto", default=1) == 1


def test_thresholds_for_a_condition_that_was_not_run_judge_nothing(make_results):
    verdicts = judge(rows_of(make_results("original")), thresholds(condition="ordered"))
    assert names_and_statuses(verdicts) == [(MODEL, Status.NOT_EVALUATED)]
    [reason] = verdicts[0].reasons
    assert reason.startswith("condition is 'original'")
    assert "'ordered'" in reason


def test_open_thresholds_judge_every_condition_under_its_own_name(make_results):
    verdicts = judge(rows_of(make_results("ordered", "original")), thresholds())
    assert names_and_statuses(verdicts) == [
        (f"{MODEL} ordered 0-shot", Status.PASSED),
        (f"{MODEL} original 0-shot", Status.PASSED),
    ]


@pytest.mark.parametrize(
    ("verdicts", "auto", "require"),
    [
        ([PASSED], 0, 0),
        ([PASSED, PASSED], 0, 0),
        ([FAILED], 1, 1),
        ([OPEN], None, 10),
        ([], None, 10),
        ([PASSED, FAILED], 1, 1),
        ([PASSED, OPEN], None, 10),
        ([OPEN, FAILED], 1, 1),
        ([PASSED, OPEN, FAILED], 1, 1),
    ],
)
@pytest.mark.parametrize("default", [0, 1])
def test_the_worst_verdict_decides_the_exit_status(verdicts, auto, require, default):
    assert exit_status(verdicts, mode="auto", default=default) == (default if auto is None else auto)
    assert exit_status(verdicts, mode="require", default=default) == require
    assert exit_status(verdicts, mode="off", default=default) == default


@pytest.mark.parametrize("mode", ["auto", "require", "off"])
@pytest.mark.parametrize("default", [2, 3, 4, 5, 10, -1])
@pytest.mark.parametrize("verdict", [PASSED, FAILED, OPEN])
def test_any_other_exit_status_is_kept(mode, default, verdict):
    assert exit_status([verdict], mode=mode, default=default) == default


def test_a_passed_gate_pardons_misses_but_no_other_failed_test():
    assert exit_status([PASSED], mode="auto", default=1, only_misses=False) == 1
    assert exit_status([PASSED], mode="require", default=1, only_misses=False) == 1
    assert exit_status([FAILED], mode="auto", default=0, only_misses=False) == 1


@pytest.mark.parametrize(
    ("hit", "miss", "error", "status"),
    [(576, 0, 0, 0), (575, 1, 0, 1), (575, 0, 1, 1), (0, 0, 0, 1), (0, 0, 576, 1)],
)
def test_pytests_own_status_follows_from_the_counts(results, hit, miss, error, status):
    results["rows"][0]["counts"].update(hit=hit, miss=miss, error=error)
    assert default_status(results_of(results)) == status


def test_a_cut_or_empty_run_did_not_pass(results):
    results["rows"][0]["counts"].update(hit=576, miss=0, error=0)
    results["selection"]["cut"] = "interrupted"
    assert default_status(results_of(results)) == 1
    assert default_status(results_of({"rows": []})) == 1


def test_every_row_must_have_passed(make_results):
    results = make_results("ordered", "original")
    results["rows"][0]["counts"].update(hit=576, miss=0)
    assert default_status(results_of(results)) == 1
    results["rows"][1]["counts"].update(hit=576, miss=0)
    assert default_status(results_of(results)) == 0
