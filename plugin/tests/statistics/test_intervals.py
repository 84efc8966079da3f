from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ocg.statistics.intervals import Interval, intervals
from pytest_ocg.statistics.resampling import Bounds

SHARES = st.lists(st.integers(0, 24), min_size=6, max_size=20)


def statistics_of(*hits: int, metric: str = "pbleu", count: int = 24):
    """A metric under one template, from hits of `count` replies a set."""
    return {metric: {"0": {f"cs{number:03d}": [100.0 * hit, count] for number, hit in enumerate(hits)}}}


def test_no_statistics_have_no_intervals():
    assert intervals({}) == {}


@pytest.mark.parametrize("of_metric", [{}, {"0": {}}, {"0": {"cs000": [0.0, 0]}}])
def test_a_metric_without_a_value_says_so(of_metric):
    assert intervals({"pbleu": of_metric}) == {"pbleu": Interval(None, None, None, 0, "no concept set has a value")}


def test_one_set_has_a_value_and_neither_interval_nor_standard_error():
    assert intervals(statistics_of(6)) == {
        "pbleu": Interval(25.0, None, None, 1, "1 concept set; an interval needs 6 or more")
    }


def test_two_sets_have_a_standard_error_alone():
    assert intervals(statistics_of(6, 12)) == {
        "pbleu": Interval(37.5, None, 12.5, 2, "2 concept sets; an interval needs 6 or more")
    }


def test_sets_that_are_all_equal_leave_no_doubt():
    found = intervals(statistics_of(*[6] * 8))["pbleu"]
    assert found == Interval(25.0, Bounds(25.0, 25.0, 25.0, 25.0), 0.0, 8)


def test_the_ordered_rate_has_the_interval_of_a_ratio():
    of_coverages = {
        **statistics_of(*[12] * 4, *[24] * 4, metric="coverage_unordered"),
        **statistics_of(*[6] * 4, *[12] * 4, metric="coverage_ordered"),
    }
    found = intervals(of_coverages)
    assert found.keys() == {"coverage_unordered", "coverage_ordered", "ordered_rate"}
    assert found["ordered_rate"].value == 50.0
    assert found["ordered_rate"].bounds == Bounds(50.0, 50.0, 50.0, 50.0)
    assert found["ordered_rate"].standard_error == pytest.approx(0, abs=1e-12)
    assert found["coverage_ordered"].bounds.low < 37.5 < found["coverage_ordered"].bounds.high


def test_nothing_covered_has_no_ordered_rate():
    nothing = {name: statistics_of(*[0] * 8)["pbleu"] for name in ("coverage_unordered", "coverage_ordered")}
    assert intervals(nothing)["ordered_rate"] == Interval(None, None, None, 8, "the divisor is 0")


def test_a_rate_that_most_draws_lack_has_no_interval():
    rare = {name: statistics_of(24, *[0] * 7)["pbleu"] for name in ("coverage_unordered", "coverage_ordered")}
    found = intervals(rare)["ordered_rate"]
    assert (found.value, found.bounds) == (100.0, None)
    assert found.reason == "many draws of concept sets have no value"


@settings(deadline=None)
@given(SHARES)
def test_an_interval_of_what_is_symmetric_holds_the_value(hits):
    mirrored = [24 - hit for hit in hits]
    found = intervals(statistics_of(*hits, *mirrored), resamples=400)["pbleu"]
    assert found.value == pytest.approx(50)
    assert found.bounds.low - 1e-9 <= found.bounds.floor <= found.value <= found.bounds.ceiling + 1e-9
    assert found.bounds.ceiling <= found.bounds.high + 1e-9


@settings(deadline=None)
@given(SHARES, st.randoms(use_true_random=False))
def test_the_order_of_sets_and_templates_does_not_matter(hits, chance):
    of_metric = {str(template): dict(statistics_of(*hits, count=24 + template)["pbleu"]["0"]) for template in range(2)}
    shuffled = {}
    for template in chance.sample(sorted(of_metric), 2):
        names = chance.sample(sorted(of_metric[template]), len(hits))
        shuffled[template] = {name: of_metric[template][name] for name in names}
    assert intervals({"pbleu": of_metric}, resamples=50) == intervals({"pbleu": shuffled}, resamples=50)


@settings(deadline=None)
@given(SHARES, st.lists(st.integers(0, 24), min_size=1, max_size=30))
def test_a_metrics_interval_does_not_depend_on_what_else_was_measured(hits, others):
    alone = statistics_of(*hits)
    together = {**statistics_of(*others, metric="distinct2"), **alone}
    assert intervals(together, resamples=50)["pbleu"] == intervals(alone, resamples=50)["pbleu"]


def test_a_set_without_values_adds_nothing():
    chance = random.Random(0)
    statistics = statistics_of(*(chance.randint(0, 24) for _ in range(12)))
    before = intervals(statistics)
    statistics["pbleu"]["0"]["cs999"] = [0.0, 0]
    assert intervals(statistics) == before


def test_the_seed_decides_the_draws_and_confidence_the_width():
    chance = random.Random(0)
    statistics = statistics_of(*(chance.randint(0, 24) for _ in range(24)))
    usual = intervals(statistics)["pbleu"].bounds
    assert intervals(statistics)["pbleu"].bounds == usual
    assert intervals(statistics, seed=1)["pbleu"].bounds != usual
    narrow = intervals(statistics, confidence=0.8)["pbleu"].bounds
    assert usual.low < narrow.low < narrow.high < usual.high
