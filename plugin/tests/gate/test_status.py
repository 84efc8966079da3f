from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ocg.gate.judge import Status, Verdict, default_status, exit_status, judge
from pytest_ocg.gate.thresholds import Limit, Selection, Thresholds

MODEL = "smollm2-135m"
PASSED, FAILED, OPEN = (Verdict("m", status) for status in Status)


def thresholds(**signature) -> Thresholds:
    selection = Selection("smoke", (Limit("coverage_ordered", 20.0),), "4:0")
    return Thresholds(Path("x.toml"), MODEL, (selection,), 0.0, signature)


@pytest.fixture
def results(make_results):
    return make_results()


def test_a_row_for_which_there_are_no_thresholds_says_how_to_take_them(results):
    assert [verdict.line() for verdict in judge(results, {})] == [
        "gate: NOT EVALUATED smollm2-135m no thresholds for this model; take them with --ocg-write-thresholds"
    ]


def test_of_two_conditions_the_one_with_thresholds_is_judged(make_results):
    verdicts = judge(make_results("ordered", "original"), {MODEL: thresholds(condition="ordered", shots=0)})
    assert [verdict.line() for verdict in verdicts] == ["gate: PASSED smollm2-135m (1 limit holds)"]


def test_failed_requests_of_the_other_condition_are_not_passed_over(make_results):
    results = make_results("ordered", "original")
    results["rows"][1]["counts"].update(miss=0, hit=0, error=576)
    verdicts = judge(results, {MODEL: thresholds(condition="ordered")})
    assert [verdict.status for verdict in verdicts] == [Status.PASSED, Status.NOT_EVALUATED]
    assert (
        verdicts[1]
        .line()
        .startswith("gate: NOT EVALUATED smollm2-135m original 0-shot no reply was scored (576 errors in 576 cases)")
    )
    assert exit_status(verdicts, mode="auto", default=1) == 1


def test_thresholds_for_a_condition_that_was_not_run_judge_nothing(make_results):
    verdicts = judge(make_results("original"), {MODEL: thresholds(condition="ordered")})
    assert [verdict.status for verdict in verdicts] == [Status.NOT_EVALUATED]
    assert "condition is 'original' but the thresholds are for 'ordered'" in verdicts[0].line()


def test_open_thresholds_judge_every_condition_under_its_own_name(make_results):
    verdicts = judge(make_results("ordered", "original"), {MODEL: thresholds()})
    assert [verdict.line() for verdict in verdicts] == [
        "gate: PASSED smollm2-135m ordered 0-shot (1 limit holds)",
        "gate: PASSED smollm2-135m original 0-shot (1 limit holds)",
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
def test_an_exit_status_that_says_something_else_is_kept(mode, default, verdict):
    assert exit_status([verdict], mode=mode, default=default) == default


def test_a_passed_gate_pardons_misses_but_no_other_failed_test():
    assert exit_status([PASSED], mode="auto", default=1, only_misses=False) == 1
    assert exit_status([PASSED], mode="require", default=1, only_misses=False) == 1
    assert exit_status([FAILED], mode="auto", default=0, only_misses=False) == 1


@pytest.mark.parametrize(
    ("counts", "status"),
    [
        ({"hit": 576, "miss": 0, "error": 0}, 0),
        ({"hit": 575, "miss": 1, "error": 0}, 1),
        ({"hit": 575, "miss": 0, "error": 1}, 1),
        ({"hit": 0, "miss": 0, "error": 0}, 1),
        ({"hit": 0, "miss": 0, "error": 576}, 1),
        ({}, 1),
        ({"hit": "576", "miss": 0, "error": 0}, 1),
    ],
)
def test_pytests_own_status_is_read_off_the_counts(results, counts, status):
    results["rows"][0]["counts"] = counts
    assert default_status(results) == status


def test_a_cut_or_empty_run_was_not_green(results):
    results["rows"][0]["counts"] = {"hit": 576, "miss": 0, "error": 0}
    results["selection"]["cut"] = "interrupted"
    assert default_status(results) == 1
    assert default_status({"rows": []}) == 1
