import math
import random

import pytest

from pytest_ocg.errors import MetricError
from pytest_ocg.metrics.base import (
    Measurement,
    Score,
    SetStatistic,
    average,
    average_over_templates,
    measurement,
    template_averages,
)


@pytest.mark.parametrize(
    ("statistics", "expected"),
    [
        ({}, None),
        ({(0, "cs001"): (0.0, 0)}, None),
        ({(0, "cs001"): (50.0, 1)}, 50.0),
        ({(0, "cs001"): (0.0, 24)}, 0.0),
        ({(0, "cs001"): (100.0, 1), (0, "cs002"): (100.0, 3)}, 50.0),
        ({(0, "cs001"): (100.0, 1), (1, "cs001"): (100.0, 4)}, 62.5),
        ({(0, "cs001"): (100.0, 1), (1, "cs001"): (0.0, 9), (5, "cs001"): (0.0, 0)}, 50.0),
    ],
    ids=[
        "none",
        "counts nothing",
        "one",
        "zero is a value",
        "within a template replies weigh",
        "templates weigh equal",
        "an empty template has no weight",
    ],
)
def test_sets_are_pooled_within_a_template_and_templates_are_averaged(statistics, expected):
    made = {key: SetStatistic(*values) for key, values in statistics.items()}
    assert average_over_templates(made) == expected


def test_template_averages_come_in_template_order_and_leave_out_templates_without_values():
    made = {(5, "a"): SetStatistic(10.0, 2), (0, "a"): SetStatistic(3.0, 1), (2, "a"): SetStatistic(0.0, 0)}
    assert list(template_averages(made).items()) == [(0, 3.0), (5, 5.0)]


def test_an_average_is_the_same_to_the_last_bit_in_any_order():
    rng = random.Random(0)
    rows = [
        ((template, f"cs{number:03d}"), SetStatistic(rng.random() * 100, 1))
        for template in range(6)
        for number in range(192)
    ]
    once = average_over_templates(dict(rows))
    rng.shuffle(rows)
    assert average_over_templates(dict(rows)) == once


def test_the_average_of_nothing_is_none():
    assert average([]) is None
    assert average([0.1] * 10) == 0.1


def test_a_measurement_has_score_template_scores_and_counts_from_the_same_statistics():
    made = {(0, "a"): SetStatistic(100.0, 2), (0, "b"): SetStatistic(50.0, 1), (1, "a"): SetStatistic(10.0, 1)}
    result = measurement(made, "n:2", reason="nothing")
    assert result.score == Score(30.0, 4, "n:2")
    assert result.by_template == {0: Score(50.0, 3, "n:2"), 1: Score(10.0, 1, "n:2")}
    assert average_over_templates(result.statistics) == result.score.value


def test_a_measurement_without_values_has_a_reason():
    result = measurement({}, "n:2", reason="no reply has 2 words")
    assert result.score == Score(None, 0, "n:2", "no reply has 2 words")
    assert result.by_template == {}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_score_and_no_statistic_holds_what_is_not_a_number(value):
    with pytest.raises(
        MetricError, match=f"the score with signature 'n:2' must be a number of at most .* not {value!r}"
    ):
        Score(value, 1, "n:2")
    with pytest.raises(MetricError, match=f"the sum of a set statistic must be a number of at most .* not {value!r}"):
        SetStatistic(value, 1)


@pytest.mark.parametrize("count", [-1, 10**8 + 1, 1.5, "1", None, math.nan, math.inf])
def test_a_count_that_is_not_a_whole_number_in_its_range_is_refused(count):
    with pytest.raises(MetricError, match=r"a count must be a whole number from 0 to 100,000,000, not "):
        SetStatistic(1.0, count)


def test_numbers_of_numpy_and_subclasses_of_str_become_plain():
    import numpy as np

    score = Score(np.float64(1.5), np.int64(3), np.str_("n:2"), np.str_(""))
    statistic, whole = SetStatistic(np.float32(1.5), 24.0), Measurement(score, {}, None, np.int32(2), np.int32(1))
    values = (score.value, score.count, score.signature, score.reason, statistic.total, statistic.count)
    assert [type(value) for value in (*values, whole.left_out, whole.cut)] == [
        float,
        int,
        str,
        str,
        float,
        int,
        int,
        int,
    ]
    assert values == (1.5, 3, "n:2", "", 1.5, 24)


def test_an_absent_score_needs_a_reason():
    with pytest.raises(MetricError, match="a score without a value must have a reason"):
        Score(None, 0, "n:2")


@pytest.mark.parametrize("value", ["1.5", [1.5], 1 + 2j])
def test_a_score_that_is_not_a_number_is_refused(value):
    with pytest.raises(MetricError, match="must be a number of at most"):
        Score(value, 1, "n:2")
