from __future__ import annotations

import random

import pytest

from pytest_ocg.statistics.differences import (
    Difference,
    Drop,
    differences,
    drop_from_number,
    holm,
    mcnemar,
    paired_drop,
)
from pytest_ocg.statistics.intervals import Interval
from pytest_ocg.statistics.resampling import Bounds


def statistics_of(*hits: int, metric: str = "pbleu", count: int = 24):
    """A metric under one template, from hits of `count` replies a set."""
    return {metric: {"0": {f"cs{number:03d}": [100.0 * hit, count] for number, hit in enumerate(hits)}}}


def difference(old, new, **how):
    [found] = differences(old, new, **how)
    return found


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ({}, {}),
        ({"a": 0.03}, {"a": 0.03}),
        ({"a": 0.01, "b": 0.04, "c": 0.03}, {"a": 0.03, "c": 0.06, "b": 0.06}),
        ({"a": 0.5, "b": 0.9}, {"a": 1.0, "b": 1.0}),
    ],
)
def test_holms_adjustment_is_that_of_the_textbook(p_values, adjusted):
    assert holm(p_values) == pytest.approx(adjusted)


@pytest.mark.parametrize(
    ("rose", "fell", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (0, 5, 0.0625), (6, 2, 0.2890625), (4, 4, 1.0), (1000, 1000, 1.0)],
)
def test_mcnemars_p_is_the_exact_binomial(rose, fell, p):
    assert mcnemar(rose, fell) == pytest.approx(p)


def test_the_same_run_twice_differs_in_nothing():
    chance = random.Random(0)
    statistics = statistics_of(*(chance.randint(0, 24) for _ in range(30)))
    found = difference(statistics, statistics)
    assert (found.difference, found.p, found.standard_error) == (0.0, 1.0, 0.0)
    assert (found.bounds.low, found.bounds.high) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("old", "new", "p"),
    [
        ([6], [12], 1.0),
        ([6, 6], [12, 12], 0.5),
        ([6, 6, 6], [12, 12, 12], 0.25),
        ([6, 6, 6], [12, 12, 6], 0.5),
        ([6] * 8, [12] * 8, 2 / 256),
        ([6, 6, 6, 6], [7, 8, 9, 3], 12 / 16),
    ],
)
def test_few_sets_are_swapped_in_every_way(old, new, p):
    assert difference(statistics_of(*old), statistics_of(*new)).p == pytest.approx(p)


def test_a_random_sample_of_swaps_agrees_with_all_of_them():
    chance = random.Random(1)
    old = statistics_of(*(chance.randint(0, 24) for _ in range(12)))
    new = statistics_of(*(chance.randint(0, 24) for _ in range(12)))
    exact = difference(old, new).p
    assert difference(old, new, swaps=4000).p == pytest.approx(exact, abs=0.03)
    assert difference(old, new, swaps=4000).p == difference(old, new, swaps=4000).p


def test_no_p_is_zero():
    found = difference(statistics_of(*[0] * 40), statistics_of(*[24] * 40), swaps=100)
    assert found.p >= 0.01


def test_pairing_sees_what_two_intervals_would_not():
    hits = [1, 3, 6, 9, 12, 15, 18, 20, 22] * 4
    found = difference(statistics_of(*hits), statistics_of(*(hit + 1 for hit in hits)))
    assert found.difference == pytest.approx(100 / 24)
    assert found.bounds.low == pytest.approx(100 / 24)
    assert found.p < 0.001


def test_new_minus_old_has_its_sign_and_the_interval_turns_with_it():
    chance = random.Random(2)
    old, new = (statistics_of(*(chance.randint(0, 24) for _ in range(20))) for _ in range(2))
    there, back = difference(old, new), difference(new, old)
    assert there.difference == pytest.approx(-back.difference)
    assert there.bounds.low == pytest.approx(-back.bounds.high)
    assert there.bounds.floor == pytest.approx(-back.bounds.ceiling)
    assert there.p == pytest.approx(back.p)
    assert there.standard_error == pytest.approx(back.standard_error)


def test_unequal_counts_are_swapped_with_their_sets():
    old, new = statistics_of(5, 6, count=10), statistics_of(2, 3, count=4)
    found = difference(old, new)
    assert found.difference == pytest.approx(100 * (5 / 8 - 11 / 20))
    swapped = 100 * abs((5 + 3) / 14 - (2 + 6) / 14)
    assert swapped < found.difference
    assert found.p == 0.5


def test_only_sets_and_templates_of_both_are_compared():
    old, new = statistics_of(6, 12, 18), statistics_of(9, 12)
    old["pbleu"]["1"] = {"cs000": [0.0, 24]}
    found = difference(old, new)
    assert (found.sets, found.old, found.new) == (2, 37.5, 43.75)


def test_few_sets_have_a_difference_and_p_but_no_interval():
    found = difference(statistics_of(6, 12), statistics_of(12, 6))
    assert (found.difference, found.bounds, found.smallest) == (0.0, None, None)
    assert found.reason == "2 concept sets; an interval needs 6 or more"


def test_metrics_without_a_common_set_or_value_say_so():
    assert difference(statistics_of(6), {"pbleu": {}}).reason == "no concept set has a value in both"
    assert difference(statistics_of(6), {"pbleu": {"0": {"other": [1.0, 1]}}}).sets == 0
    nothing = {name: statistics_of(0, 0)["pbleu"] for name in ("coverage_unordered", "coverage_ordered")}
    [_, _, rate] = differences(nothing, nothing)
    assert (rate.metric, rate.p, rate.reason) == (
        "ordered_rate",
        None,
        "in one of the runs there is nothing to divide by",
    )


def test_p_values_are_adjusted_for_the_metrics_compared():
    old = {**statistics_of(*[6] * 8), **statistics_of(*[6] * 8, metric="distinct2")}
    new = {**statistics_of(*[12] * 8), **statistics_of(*[6] * 8, metric="distinct2")}
    by_metric = {found.metric: found for found in differences(old, new)}
    assert by_metric["pbleu"].p_holm == pytest.approx(2 * by_metric["pbleu"].p)
    assert by_metric["distinct2"].p_holm == 1.0
    alone = difference(old, new, without=("distinct2",))
    assert alone.p_holm == alone.p == by_metric["pbleu"].p


def test_metrics_of_one_run_alone_are_not_compared():
    assert differences(statistics_of(6), statistics_of(6, metric="distinct2")) == ()


BOUNDS = Bounds(low=49.0, high=51.0, floor=49.2, ceiling=50.8)
DIFFERENCE = Difference("pbleu", 52.0, 50.0, -2.0, Bounds(-3.2, -0.8, -3.0, -1.0), 0.01, 0.08, 0.6, 1.5, 192)


@pytest.mark.parametrize(
    ("baseline", "lower", "points", "at_least"),
    [
        (53.0, False, 3.0, 3 - 0.8 * 2**0.5),
        (50.0, False, 0.0, -0.8 * 2**0.5),
        (47.0, True, 3.0, 3 - 0.8 * 2**0.5),
        (53.0, True, -3.0, -3 - 0.8 * 2**0.5),
    ],
)
def test_a_drop_from_a_number_allows_for_the_numbers_own_error(baseline, lower, points, at_least):
    found = drop_from_number(Interval(50.0, BOUNDS, 0.5, 192), baseline, is_lower_better=lower)
    assert (found.points, found.at_least, found.sets) == (points, pytest.approx(at_least), 192)
    assert found.error == pytest.approx(0.5 * 2**0.5)
    assert found.smallest == pytest.approx(2.5 * 0.5 * 2**0.5, abs=0.02)


@pytest.mark.parametrize(("lower", "points", "at_least"), [(False, 2.0, 1.0), (True, -2.0, -3.0)])
def test_a_paired_drop_is_read_from_the_difference(lower, points, at_least):
    assert paired_drop(DIFFERENCE, is_lower_better=lower) == Drop(points, at_least, 1.5, 0.6, 192)


def test_a_metric_without_a_value_has_no_drop():
    assert drop_from_number(Interval(None, None, None, 0, "no concept set has a value"), 50.0) is None
    assert paired_drop(Difference("pbleu", *[None] * 8, 0, "no concept set has a value in both")) is None


@pytest.mark.parametrize(
    ("points", "at_least", "limit", "is_beyond", "is_shown"),
    [
        (2.0, 1.0, 0.5, True, True),
        (2.0, 1.0, 1.0, True, False),
        (2.0, 1.0, 1.5, True, False),
        (2.0, 1.0, 2.0, False, False),
        (-1.0, -2.0, 0.0, False, False),
        (0.0, 0.0, 0.0, False, False),
        (2.0, None, 0.5, True, None),
    ],
)
def test_a_limit_is_broken_beyond_it_and_shown_to_be_where_the_interval_is_too(
    points, at_least, limit, is_beyond, is_shown
):
    drop = Drop(points, at_least, 1.5, 0.6, 192)
    assert (drop.is_beyond(limit), drop.is_shown(limit)) == (is_beyond, is_shown)


@pytest.mark.parametrize(
    ("drop", "limit", "needed"),
    [
        (Drop(2.0, 1.0, 1.5, 0.6, 192), 1.0, 428),
        (Drop(2.0, 1.0, 1.5, 0.6, 192), 0.0, 107),
        (Drop(2.0, 1.0, 1.5, 0.0, 192), 0.0, 6),
        (Drop(2.0, 1.0, 1.5, 0.6, 192), 2.0, None),
        (Drop(2.0, None, None, None, 1), 0.0, None),
    ],
)
def test_sets_needed_show_what_goes_beyond_the_limit_four_times_in_five(drop, limit, needed):
    assert drop.sets_needed(limit) == needed
