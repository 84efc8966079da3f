from __future__ import annotations

import pytest

from pytest_ocg.statistics.differences import Difference, Drop, drop_from_number, paired_drop
from pytest_ocg.statistics.intervals import Interval
from pytest_ocg.statistics.resampling import Bounds

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
