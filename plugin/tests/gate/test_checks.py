from __future__ import annotations

import math
import re

import msgspec
import pytest

from plugin.tests.nouns import rows_of, score_of
from pytest_ocg.gate.checks import checks, interval_of
from pytest_ocg.gate.checks import score_of as score_in_row
from pytest_ocg.gate.thresholds import Limit
from pytest_ocg.results.schema import MetricScore
from pytest_ocg.results.verdicts import Check
from pytest_ocg.statistics.differences import Difference
from pytest_ocg.statistics.intervals import Interval
from pytest_ocg.statistics.resampling import Bounds

INTERVAL = {"low": 20.1, "high": 22.8, "floor": 20.3, "ceiling": 22.6}
FEW = {
    "interval": None, "standard_error": None, "sets": 4,
    "interval_reason": "4 concept sets; an interval takes 6 or more",
}  # fmt: skip


def score(**measured) -> MetricScore:
    """A score of 21.4 over 192 concept sets, with its interval."""
    return score_of(21.4, **{"n": 576, "interval": INTERVAL, "standard_error": 0.7, "sets": 192, **measured})


def only(limit: Limit, difference=None, *, has_run=False, **measured) -> Check:
    [check] = checks(limit.metric, score(**measured), limit, difference, has_run=has_run)
    return check


def drop(limit: float, baseline: float, **more) -> Limit:
    return Limit("coverage_ordered", baseline=baseline, max_drop=limit, **more)


def difference(points: float, reach: float, error: float = 0.5) -> Difference:
    bounds = Bounds(points - reach, points + reach, points - reach, points + reach)
    return Difference("coverage_ordered", 24.0, 24.0 + points, points, bounds, 0.01, 0.08, error, 2.5 * error, 192)


@pytest.mark.parametrize(
    ("limit", "measured", "holds", "says"),
    [
        (Limit("coverage_ordered", 23.0), {}, False, "coverage_ordered 21.4 [20.1, 22.8] under 23.0"),
        (Limit("coverage_ordered", 20.0), {}, True, "coverage_ordered 21.4 [20.1, 22.8] not under 20.0"),
        (Limit("pbleu", maximum=21.0), {}, False, "pbleu 21.4 [20.1, 22.8] over 21.0"),
        (Limit("pbleu", maximum=22.0), {}, True, "pbleu 21.4 [20.1, 22.8] not over 22.0"),
        (Limit("coverage_ordered", 23.0), {"interval": None}, False, "coverage_ordered 21.4 under 23.0"),
    ],
)
def test_a_limit_is_reported_with_the_interval_of_what_was_measured(limit, measured, holds, says):
    check = only(limit, **measured)
    assert (check.holds, check.says, check.fall) == (holds, says, None)


def test_a_drop_beyond_its_limit_and_the_noise_of_the_sets_is_broken():
    check = only(drop(1.0, 24.6))
    assert not check.holds
    assert check.says == (
        "coverage_ordered 21.4 [20.1, 22.8] is 3.2 under its baseline of 24.6, beyond max_drop 1.0; 192 concept sets "
        "detect a drop of 1.5 or more"
    )


@pytest.mark.parametrize(
    ("limit", "holds", "says"),
    [
        pytest.param(
            drop(1.0, 23.0), True, "1.6 under .* 23.0, beyond max_drop 1.0.*noise.*192 .* 3.5.*3,232", id="within noise"
        ),
        pytest.param(drop(1.0, 23.0, strict=True), False, "beyond max_drop 1.0.*strict.*192 .* 3.5", id="strict"),
        pytest.param(drop(2.0, 23.0), True, "1.6 under .* 23.0, within max_drop 2.0.*192 .* 4.5", id="within limit"),
    ],
)
def test_a_drop_that_the_sets_do_not_show_is_reported_with_what_they_could_show(limit, holds, says):
    check = only(limit)
    assert check.holds is holds
    assert check.says.startswith("coverage_ordered 21.4 [20.1, 22.8] is ")
    assert re.search(says, check.says), check.says


@pytest.mark.parametrize("baseline", [22.4, 22.4 + 4e-15, 22.4 - 4e-15])
def test_a_drop_exactly_at_its_limit_holds_up_to_float_rounding(baseline):
    assert only(drop(1.0, baseline, strict=True)).holds


@pytest.mark.parametrize(("limit", "holds"), [(1.0, False), (2.0, True)])
def test_without_an_interval_the_numbers_decide_and_the_reason_is_given(limit, holds):
    check = only(drop(limit, 23.0), **FEW)
    assert check.holds is holds
    assert check.says.startswith("coverage_ordered 21.4 is 1.6 under its baseline of 23.0")
    assert repr(FEW["interval_reason"]) in check.says


@pytest.mark.parametrize(
    ("baseline", "holds", "says"),
    [
        (18.0, False, "3.4 over .* 18.0, beyond max_rise 1.0.*192 .* 1.8"),
        (21.0, True, "0.4 over .* 21.0, within max_rise 1.0.*192 .* rise of 3.5"),
        (25.0, True, "3.6 under .* 25.0, within max_rise 1.0"),
    ],
)
def test_a_rise_is_judged_like_a_drop_on_the_other_side(baseline, holds, says):
    check = only(Limit("pbleu", baseline=baseline, max_rise=1.0))
    assert check.holds is holds
    assert re.search(says, check.says), check.says


@pytest.mark.parametrize(
    ("points", "reach", "holds", "says"),
    [
        (-3.0, 1.0, False, "3.0 under the baseline run's 24.0, beyond max_drop 1.0.*192 .* 2.0"),
        (-3.0, 2.5, True, "3.0 under the baseline run's 24.0, beyond max_drop 1.0.*noise"),
        (1.0, 0.5, True, "1.0 over the baseline run's 24.0, within max_drop 1.0"),
    ],
)
def test_with_a_baseline_run_the_drop_is_paired_and_the_number_does_not_count(points, reach, holds, says):
    check = only(drop(1.0, 99.0), difference(points, reach), has_run=True)
    assert (check.holds, check.fall.baseline, check.fall.is_paired) == (holds, 24.0, True)
    assert re.search(says, check.says), check.says


def test_what_a_baseline_run_does_not_have_is_not_checked_against_the_number():
    assert list(checks("coverage_ordered", score(), drop(1.0, 99.0), None, has_run=True)) == []


def test_floors_and_drops_of_one_limit_are_checked_one_by_one():
    limit = Limit("coverage_ordered", 20.0, 30.0, baseline=24.6, max_drop=1.0, max_rise=1.0)
    found = list(checks("coverage_ordered", score(), limit, None, has_run=False))
    assert [(check.bound, check.holds) for check in found] == [
        ("min", True), ("max", True), ("max_drop", False), ("max_rise", True),
    ]  # fmt: skip


def test_a_check_is_plain_data_in_a_file():
    check = only(drop(1.0, 24.6))
    assert msgspec.to_builtins(check) == {
        "metric": "coverage_ordered",
        "bound": "max_drop",
        "limit": 1.0,
        "value": 21.4,
        "interval": (20.1, 22.8),
        "holds": False,
        "says": check.says,
        "fall": {
            "baseline": 24.6,
            "drop": {
                "points": pytest.approx(3.2), "at_least": pytest.approx(3.2 - 1.2 * math.sqrt(2)),
                "smallest": pytest.approx(2.5, abs=0.05), "error": pytest.approx(0.7 * math.sqrt(2)), "sets": 192,
            },
            "strict": False,
            "is_paired": False,
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("measured", "interval"),
    [
        ({}, Interval(21.4, Bounds(**INTERVAL), 0.7, 192)),
        ({"interval": {**INTERVAL, "low": -1e200}}, Interval(21.4, None, 0.7, 192, "the results have no interval")),
        ({"standard_error": 1e200, "sets": 10**10}, Interval(21.4, Bounds(**INTERVAL), None, 0)),
        ({"interval": None, "interval_reason": "x\x1b"}, Interval(21.4, None, 0.7, 192, "'x\\x1b'")),
        ({"interval": None}, Interval(21.4, None, 0.7, 192, "the results have no interval")),
    ],
)
def test_an_interval_too_large_to_calculate_with_is_none(measured, interval):
    assert interval_of(score(**measured)) == interval


def test_a_score_by_pattern_has_the_signature_of_the_metric_and_no_interval():
    [measured] = rows_of(
        {
            "rows": [
                {
                    "metrics": {"coverage_ordered": {"value": 21.4, "n": 576, "signature": "x"}},
                    "by_pattern": {"VVVV": {"scored": 24, "coverage_ordered": 12.5}},
                }
            ]
        }
    )
    assert score_in_row(measured.row, None, "coverage_ordered").value == 21.4
    found = score_in_row(measured.row, "VVVV", "coverage_ordered")
    assert (found.value, found.n, found.signature) == (12.5, 24, "x")
    assert (interval_of(found).bounds, interval_of(found).reason) == (
        None,
        "'there is no interval for a single pattern'",
    )
    assert score_in_row(measured.row, "NNNN", "coverage_ordered").value is None
    assert score_in_row(measured.row, None, "pbleu") is None
