from __future__ import annotations

import math

import pytest

from pytest_ocg.gate.checks import checks, interval_of, score_of
from pytest_ocg.gate.thresholds import Limit
from pytest_ocg.statistics.differences import Difference
from pytest_ocg.statistics.intervals import Interval
from pytest_ocg.statistics.resampling import Bounds

INTERVAL = {"low": 20.1, "high": 22.8, "floor": 20.3, "ceiling": 22.6}


def score(value=21.4, interval=INTERVAL, error=0.7, sets=192, reason=None):
    return {
        "value": value, "n": 576, "interval": interval, "standard_error": error, "sets": sets,
        "interval_reason": reason,
    }  # fmt: skip


def only(limit: Limit, difference=None, *, has_run=False, **measured):
    [check] = checks(limit.metric, score(**measured), limit, difference, has_run=has_run)
    return check


def drop(limit: float, baseline: float, **more) -> Limit:
    return Limit("coverage_ordered", baseline=baseline, max_drop=limit, **more)


def difference(points: float, reach: float, error: float = 0.5) -> Difference:
    bounds = Bounds(points - reach, points + reach, points - reach, points + reach)
    return Difference("coverage_ordered", 24.0, 24.0 + points, points, bounds, 0.01, 0.08, error, 2.5 * error, 192)


def test_a_limit_is_told_with_the_interval_of_what_was_measured():
    assert str(only(Limit("coverage_ordered", 23.0))) == "coverage_ordered 21.4 [20.1, 22.8] under 23.0"
    assert str(only(Limit("pbleu", maximum=21.0))) == "pbleu 21.4 [20.1, 22.8] over 21.0"
    assert str(only(Limit("coverage_ordered", 20.0))) == "coverage_ordered 21.4 [20.1, 22.8] not under 20.0"
    assert str(only(Limit("pbleu", maximum=22.0))) == "pbleu 21.4 [20.1, 22.8] not over 22.0"
    assert str(only(Limit("coverage_ordered", 23.0), interval=None)) == "coverage_ordered 21.4 under 23.0"


def test_a_drop_beyond_its_limit_and_the_noise_of_the_sets_is_broken():
    check = only(drop(1.0, 24.6))
    assert not check.holds
    assert str(check) == (
        "coverage_ordered 21.4 [20.1, 22.8] is 3.2 under its baseline of 24.6, beyond max_drop 1.0; 192 concept sets "
        "show 1.5 or more"
    )


def test_a_drop_beyond_its_limit_but_within_the_noise_holds_and_says_what_could_have_been_seen():
    check = only(drop(1.0, 23.0))
    assert check.holds
    assert str(check) == (
        "coverage_ordered 21.4 [20.1, 22.8] is 1.6 under its baseline of 23.0, beyond max_drop 1.0, but within noise "
        "(192 concept sets can show a drop of 3.5; to show this one takes about 3,232 sets)"
    )


def test_a_strict_limit_is_broken_by_the_numbers_alone():
    check = only(drop(1.0, 23.0, strict=True))
    assert not check.holds
    assert "beyond max_drop 1.0; by the numbers alone, for it is strict (192 concept sets can show" in str(check)


def test_a_drop_within_its_limit_says_how_small_a_drop_would_have_been_seen():
    check = only(drop(2.0, 23.0))
    assert check.holds
    assert str(check) == (
        "coverage_ordered 21.4 [20.1, 22.8] is 1.6 under its baseline of 23.0, within max_drop 2.0 "
        "(192 concept sets can show a drop of 4.5)"
    )


@pytest.mark.parametrize("baseline", [22.4, 22.4 + 4e-15, 22.4 - 4e-15])
def test_a_drop_exactly_at_its_limit_holds_up_to_float_rounding(baseline):
    assert only(drop(1.0, baseline, strict=True)).holds


def test_without_an_interval_the_numbers_decide_and_say_so():
    few = {"interval": None, "error": None, "sets": 4, "reason": "4 concept sets; an interval needs 6 or more"}
    check = only(drop(1.0, 23.0), **few)
    assert not check.holds
    assert str(check) == (
        "coverage_ordered 21.4 is 1.6 under its baseline of 23.0, beyond max_drop 1.0; by the numbers alone, for there "
        "is no interval ('4 concept sets; an interval needs 6 or more')"
    )
    assert "within max_drop 2.0 (what would be noise is not known: '4 concept sets;" in str(only(drop(2.0, 23), **few))


@pytest.mark.parametrize(
    ("baseline", "holds", "said"),
    [
        (18.0, False, "is 3.4 over its baseline of 18.0, beyond max_rise 1.0; 192 concept sets show 1.8 or more"),
        (21.0, True, "is 0.4 over its baseline of 21.0, within max_rise 1.0 (192 concept sets can show a rise of 3.5)"),
        (25.0, True, "is 3.6 under its baseline of 25.0, within max_rise 1.0"),
    ],
)
def test_a_rise_is_judged_like_a_drop_on_the_other_side(baseline, holds, said):
    check = only(Limit("pbleu", baseline=baseline, max_rise=1.0))
    assert (check.holds, said in str(check)) == (holds, True), str(check)


@pytest.mark.parametrize(
    ("points", "reach", "holds", "said"),
    [
        (
            -3.0,
            1.0,
            False,
            "is 3.0 under the baseline run's 24.0, beyond max_drop 1.0; 192 concept sets show 2.0 or more",
        ),
        (-3.0, 2.5, True, "is 3.0 under the baseline run's 24.0, beyond max_drop 1.0, but within noise"),
        (1.0, 0.5, True, "is 1.0 over the baseline run's 24.0, within max_drop 1.0"),
    ],
)
def test_with_a_baseline_run_the_drop_is_paired_and_the_number_does_not_count(points, reach, holds, said):
    check = only(drop(1.0, 99.0), difference(points, reach), has_run=True)
    assert (check.holds, said in str(check)) == (holds, True), str(check)


def test_what_a_baseline_run_does_not_have_is_not_checked_against_the_number():
    assert list(checks("coverage_ordered", score(), drop(1.0, 99.0), None, has_run=True)) == []


def test_floors_and_drops_of_one_limit_are_checked_one_by_one():
    limit = Limit("coverage_ordered", 20.0, 30.0, baseline=24.6, max_drop=1.0, max_rise=1.0)
    found = list(checks("coverage_ordered", score(), limit, None, has_run=False))
    assert [(check.bound, check.holds) for check in found] == [
        ("min", True), ("max", True), ("max_drop", False), ("max_rise", True),
    ]  # fmt: skip


def test_a_check_is_plain_data_for_results():
    plain = only(drop(1.0, 24.6)).as_json()
    assert plain["fall"] == {
        "baseline": 24.6,
        "drop": {
            "points": pytest.approx(3.2), "at_least": pytest.approx(3.2 - 1.2 * math.sqrt(2)),
            "smallest": pytest.approx(2.5, abs=0.05), "error": pytest.approx(0.7 * math.sqrt(2)), "sets": 192,
        },
        "strict": False,
        "is_paired": False,
    }  # fmt: skip
    assert (plain["metric"], plain["bound"], plain["limit"], plain["holds"]) == (
        "coverage_ordered", "max_drop", 1.0, False,
    )  # fmt: skip
    assert plain["interval"] == [20.1, 22.8]
    assert plain["says"].startswith("coverage_ordered 21.4 [20.1, 22.8] is 3.2 under")


@pytest.mark.parametrize(
    ("changed", "interval"),
    [
        ({}, Interval(21.4, Bounds(**INTERVAL), 0.7, 192)),
        ({"interval": {**INTERVAL, "floor": math.nan}}, Interval(21.4, None, 0.7, 192, "the results have none")),
        ({"interval": {**INTERVAL, "low": -1e200}}, Interval(21.4, None, 0.7, 192, "the results have none")),
        ({"error": 1e200, "sets": 10**400}, Interval(21.4, Bounds(**INTERVAL), None, 0)),
        ({"interval": "wide"}, Interval(21.4, None, 0.7, 192, "the results have none")),
        ({"interval": None, "reason": "x\x1b"}, Interval(21.4, None, 0.7, 192, "'x\\x1b'")),
        ({"error": -1, "sets": True}, Interval(21.4, Bounds(**INTERVAL), None, 0)),
        ({"error": math.inf, "sets": "9"}, Interval(21.4, Bounds(**INTERVAL), None, 0)),
    ],
)
def test_an_interval_is_read_from_results_that_may_be_anybodys(changed, interval):
    assert interval_of(score(**changed)) == interval


@pytest.mark.parametrize("broken", [None, 3, {}, []])
def test_results_without_a_score_have_no_interval(broken):
    assert interval_of(broken) == Interval(None, None, None, 0, "the results have none")


def test_a_score_by_pattern_has_the_signature_of_the_metric_and_no_interval():
    row = {
        "metrics": {"coverage_ordered": score() | {"signature": "x"}},
        "by_pattern": {"VVVV": {"scored": 24, "coverage_ordered": 12.5}},
    }
    assert score_of(row, None, "coverage_ordered")["value"] == 21.4
    found = score_of(row, "VVVV", "coverage_ordered")
    assert (found["value"], found["n"], found["signature"]) == (12.5, 24, "x")
    assert interval_of(found).reason == "'there is none by pattern'"
    assert score_of(row, "NNNN", "coverage_ordered")["value"] is None
