import re

import pytest

from pytest_ocg.errors import MetricError
from pytest_ocg.metrics.base import Score, average_over_templates
from pytest_ocg.metrics.order import SetVerdict, measure_order, ordered_rate


def values(verdicts):
    result = measure_order({key: SetVerdict(*counts) for key, counts in verdicts.items()}, matcher="m")
    return (result.coverage_unordered.score.value, result.coverage_ordered.score.value, result.ordered_rate.score.value)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ({(0, "a"): (24, 24, 1)}, (100.0, 100 / 24, 100 / 24)),
        ({(0, "a"): (24, 12, 6)}, (50.0, 25.0, 50.0)),
        ({(0, "a"): (24, 24, 24)}, (100.0, 100.0, 100.0)),
        ({(0, "a"): (1, 1, 0)}, (100.0, 0.0, 0.0)),
        ({(0, "a"): (24, 0, 0)}, (0.0, 0.0, None)),
        ({(0, "a"): (0, 0, 0)}, (None, None, None)),
        ({}, (None, None, None)),
        ({(0, "a"): (24, 24, 24), (0, "b"): (0, 0, 0)}, (100.0, 100.0, 100.0)),
        ({(0, "a"): (20, 20, 20), (0, "b"): (20, 0, 0)}, (50.0, 50.0, 100.0)),
        ({(0, "a"): (30, 30, 0), (0, "b"): (10, 0, 0)}, (75.0, 0.0, 0.0)),
        ({(0, "a"): (10, 10, 10), (1, "a"): (40, 0, 0)}, (50.0, 50.0, 100.0)),
    ],
    ids=[
        "one reply for all orders",
        "half",
        "all",
        "one reply",
        "nothing covered",
        "only errors",
        "nothing run",
        "a set of errors weighs nothing",
        "sets pool",
        "replies weigh in a template",
        "templates weigh equal",
    ],
)
def test_coverages_are_shares_of_replies_and_the_ordered_rate_is_their_ratio(verdicts, expected):
    assert values(verdicts) == pytest.approx(expected)


def test_the_ordered_rate_is_the_ratio_of_averages_and_within_a_template_the_ratio_there():
    verdicts = {(0, "a"): SetVerdict(100, 100, 50), (1, "a"): SetVerdict(100, 20, 20), (2, "a"): SetVerdict(9, 0, 0)}
    rate = measure_order(verdicts, matcher="m").ordered_rate
    assert rate.score.value == pytest.approx(100 * 70 / 120)
    assert {template: score.value for template, score in rate.by_template.items()} == {0: 50.0, 1: 100.0, 2: None}
    assert rate.by_template[2].reason == "no reply is covered"
    assert (rate.score.count, rate.by_template[0].count, rate.statistics) == (209, 100, None)


def test_an_ordered_rate_that_cannot_be_measured_has_a_reason():
    nothing = measure_order({(0, "a"): SetVerdict(24, 0, 0)}, matcher="m").ordered_rate.score
    assert (nothing.value, nothing.reason, nothing.count) == (None, "no reply is covered", 24)
    errors = measure_order({(0, "a"): SetVerdict(0, 0, 0)}, matcher="m")
    assert errors.ordered_rate.score.reason == "no reply was scored"
    assert errors.coverage_ordered.score.reason == "no reply was scored"


@pytest.mark.parametrize(
    ("ordered", "unordered", "expected"),
    [(25.0, 50.0, 50.0), (0.0, 50.0, 0.0), (0.0, 0.0, None), (None, None, None), (None, 50.0, None), (1.0, None, None)],
)
def test_the_ordered_rate_of_two_coverages(ordered, unordered, expected):
    assert ordered_rate(ordered, unordered) == expected


def test_the_statistics_give_the_coverages_again():
    verdicts = {
        (template, name): SetVerdict(24, 20 - template, 3 * template) for template in range(6) for name in "abc"
    }
    result = measure_order(verdicts, matcher="m")
    assert average_over_templates(result.coverage_unordered.statistics) == result.coverage_unordered.score.value
    assert average_over_templates(result.coverage_ordered.statistics) == result.coverage_ordered.score.value
    assert result.coverage_unordered.by_template[5] == Score(
        62.5, 72, "hit:covered|share:replies|mean:replies,templates|matcher:m"
    )


def test_the_matcher_is_part_of_every_signature():
    result = measure_order({(0, "a"): SetVerdict(1, 1, 1)}, matcher="lemma")
    for measured in (result.coverage_unordered, result.coverage_ordered, result.ordered_rate):
        assert measured.score.signature.endswith("|matcher:lemma")


@pytest.mark.parametrize("counts", [(1, 2, 0), (2, 1, 2), (-1, -1, -1), (1, 1, -1)])
def test_counts_that_cannot_be_are_refused(counts):
    scored, covered, in_order = counts
    message = f"not {in_order} in order, {covered} covered, {scored} scored"
    with pytest.raises(MetricError, match=re.escape(message)):
        SetVerdict(*counts)
