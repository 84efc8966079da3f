from __future__ import annotations

import pytest

from pytest_ocg.statistics.intervals import add_intervals

SETS = {f"cs{number:03d}": [100.0 * (number % 3), 4] for number in range(12)}


def interval(name, value, statistics):
    metrics = {name: {"value": value}}
    add_intervals(metrics, statistics)
    return metrics[name]


def test_a_metric_gets_its_interval_over_the_sets():
    found = interval("pbleu", 25.0, {"pbleu": {"0": SETS}})
    assert found["interval"].keys() == {"low", "high", "floor", "ceiling"}
    assert found["interval"]["low"] < found["interval"]["floor"] < 25 < found["interval"]["ceiling"]
    assert (found["sets"], found["interval_reason"]) == (12, None)
    assert found["standard_error"] == pytest.approx(6.155, abs=0.001)


def test_the_ordered_rate_has_one_from_its_two_coverages():
    statistics = {"coverage_ordered": {"0": SETS}, "coverage_unordered": {"0": {key: [400.0, 4] for key in SETS}}}
    assert interval("ordered_rate", 25.0, statistics)["interval"] is not None


def test_few_sets_have_an_error_but_no_interval():
    few = {name: SETS[name] for name in list(SETS)[:4]}
    found = interval("pbleu", 18.75, {"pbleu": {"0": few}})
    assert (found["interval"], found["sets"]) == (None, 4)
    assert found["interval_reason"] == "4 concept sets; an interval needs 6 or more"
    assert found["standard_error"] > 0


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("distinct2_pooled", 70.0, "its bigrams are counted over all sets together, so it is no mean over sets"),
        ("of_mine", 3.0, "what each concept set adds to it is not known"),
        ("perplexity", None, "the metric has no value"),
        ("pbleu", None, "the metric has no value"),
    ],
)
def test_a_metric_without_an_interval_says_why(name, value, reason):
    found = interval(name, value, {"pbleu": {"0": SETS}})
    assert found == {
        "value": value, "interval": None, "standard_error": None, "sets": 0, "interval_reason": reason,
    }  # fmt: skip
