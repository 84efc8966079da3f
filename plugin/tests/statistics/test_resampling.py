from __future__ import annotations

import math
import random

import pytest

from pytest_ocg.metrics.base import SetStatistic, average_over_templates
from pytest_ocg.metrics.order import ordered_rate
from pytest_ocg.statistics.resampling import (
    MIN_SETS,
    SetTable,
    bounds,
    drawn_sets,
    metric_names,
    set_table,
    sets_of,
    smallest_change,
    standard_error,
    student_quantile,
    templates_of,
    unbounded_reason,
)

np = pytest.importorskip("numpy")

STATISTICS = {
    "coverage_unordered": {"0": {"a": [300.0, 4], "b": [400.0, 4]}, "1": {"a": [100.0, 2], "c": [0.0, 0]}},
    "coverage_ordered": {"0": {"a": [200.0, 4], "b": [0.0, 4]}, "1": {"a": [100.0, 2], "c": [0.0, 0]}},
}


def random_statistics(sets: int, seed: int = 0):
    """Three templates with other counts for every set, some sets missing under some templates."""
    chance = random.Random(seed)
    made = {"coverage_unordered": {}, "coverage_ordered": {}}
    for template in range(3):
        for number in range(sets):
            count = chance.randint(0, 24)
            covered = chance.randint(0, count)
            in_order = chance.randint(0, covered)
            if chance.random() < 0.8:
                made["coverage_unordered"].setdefault(str(template), {})[f"cs{number}"] = [100.0 * covered, count]
                made["coverage_ordered"].setdefault(str(template), {})[f"cs{number}"] = [100.0 * in_order, count]
    return made


def recomputed(of_metric, sets, times):
    """The metric from the beginning, every set listed as often as it was drawn."""
    listed = {
        (int(template), f"{name} {again}"): SetStatistic(*of_template[name])
        for template, of_template in of_metric.items()
        for name, drawn in zip(sets, times, strict=True)
        for again in range(int(drawn))
        if name in of_template
    }
    return average_over_templates(listed)


@pytest.mark.parametrize("seed", range(5))
def test_resampled_values_are_those_of_computing_every_draw_from_the_beginning(seed):
    statistics = random_statistics(7, seed)
    sets = sorted(sets_of(statistics, "ordered_rate"))
    draws = drawn_sets(len(sets), 50, seed)
    values = {metric: set_table(statistics, metric, sets).values(draws) for metric in metric_names(statistics)}
    for draw, times in enumerate(draws):
        unordered = recomputed(statistics["coverage_unordered"], sets, times)
        ordered = recomputed(statistics["coverage_ordered"], sets, times)
        assert values["coverage_unordered"][draw] == pytest.approx(unordered, abs=1e-12)
        assert values["coverage_ordered"][draw] == pytest.approx(ordered, abs=1e-12)
        assert values["ordered_rate"][draw] == pytest.approx(ordered_rate(ordered, unordered), abs=1e-12)


def test_the_whole_is_the_mean_of_the_templates_own_averages():
    table = set_table(STATISTICS, "coverage_unordered", ["a", "b"])
    assert table.whole() == pytest.approx((700 / 8 + 100 / 2) / 2)
    assert set_table(STATISTICS, "coverage_unordered", ["b"]).whole() == 100.0
    assert set_table(STATISTICS, "coverage_unordered", ["a", "b"], ["1"]).whole() == 50.0
    rate = set_table(STATISTICS, "ordered_rate", ["a", "b"])
    assert rate.whole() == pytest.approx(100 * (200 / 8 + 100 / 2) / (700 / 8 + 100 / 2))


def test_what_has_no_value_is_nan_and_not_zero():
    assert math.isnan(set_table(STATISTICS, "coverage_unordered", ["c"]).whole())
    nothing_covered = {name: {"0": {"a": [0.0, 4]}} for name in STATISTICS}
    assert set_table(nothing_covered, "coverage_ordered", ["a"]).whole() == 0.0
    assert math.isnan(set_table(nothing_covered, "ordered_rate", ["a"]).whole())


def test_a_ratio_is_there_where_both_of_its_parts_are():
    assert metric_names(STATISTICS) == ["coverage_unordered", "coverage_ordered", "ordered_rate"]
    assert metric_names({"coverage_ordered": {}}) == ["coverage_ordered"]
    assert metric_names({}) == []


def test_only_sets_with_a_value_count():
    assert sets_of(STATISTICS, "coverage_ordered") == {"a", "b"}
    assert sets_of(STATISTICS, "ordered_rate") == {"a", "b"}
    assert templates_of(STATISTICS, "ordered_rate") == {"0", "1"}


@pytest.mark.parametrize("metric", ["coverage_unordered", "ordered_rate"])
def test_influences_are_what_a_little_more_of_a_set_changes(metric):
    statistics = random_statistics(9, seed=3)
    sets = sorted(sets_of(statistics, metric))
    table = set_table(statistics, metric, sets)
    influences = table.influences()
    assert influences.sum() == pytest.approx(0, abs=1e-10)
    step = 1e-6
    nudged = table.values(np.ones((len(sets), len(sets))) + step * np.eye(len(sets)))
    assert (nudged - table.whole()) / step == pytest.approx(influences, rel=1e-3, abs=1e-3)


def test_tables_beside_each_other_hold_both_runs_sets():
    one, other = (set_table(random_statistics(5, seed), "ordered_rate", ["cs1", "cs2", "cs4"]) for seed in (1, 2))
    both = one.beside(other)
    sides = both.values(np.array([[1.0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]))
    assert sides == pytest.approx([one.whole(), other.whole()], abs=1e-12)


def test_draws_take_as_many_sets_as_there_are_and_are_the_same_for_the_same_seed():
    draws = drawn_sets(12, 100, 7)
    assert draws.shape == (100, 12)
    assert set(draws.sum(axis=1)) == {12.0}
    drawn_sets.cache_clear()
    assert (drawn_sets(12, 100, 7) == draws).all()
    assert (drawn_sets(12, 100, 8) != draws).any()


@pytest.mark.parametrize(
    ("share", "freedom", "known"),
    [
        (0.975, 5, 2.5706),
        (0.95, 5, 2.0150),
        (0.8, 5, 0.9195),
        (0.975, 11, 2.2010),
        (0.95, 191, 1.6529),
        (0.975, 191, 1.9725),
        (0.025, 11, -2.2010),
        (0.5, 5, 0.0),
    ],
)
def test_students_quantiles_are_those_of_the_tables(share, freedom, known):
    assert student_quantile(share, freedom) == pytest.approx(known, abs=0.01)


def test_bounds_are_percentiles_set_wider_for_fewer_sets():
    values = np.arange(10_001) / 100
    many, few = bounds(values, 100_000, 0.95), bounds(values, 6, 0.95)
    assert [many.low, many.high, many.floor, many.ceiling] == pytest.approx([2.5, 97.5, 5, 95], abs=0.01)
    assert few.low < few.floor < many.floor
    assert few.high > few.ceiling > many.ceiling


def test_there_are_no_bounds_for_few_sets_and_the_reason_says_how_many_it_takes():
    values = np.arange(100.0)
    assert bounds(values, MIN_SETS, 0.95) is not None
    assert bounds(values, MIN_SETS - 1, 0.95) is None
    assert unbounded_reason(1) == "1 concept set; an interval needs 6 or more"
    assert unbounded_reason(5) == "5 concept sets; an interval needs 6 or more"


def test_there_are_no_bounds_where_many_draws_have_no_value():
    values = np.arange(100.0)
    values[:5] = np.nan
    assert bounds(values, 12, 0.95).low >= 5
    values[5] = np.nan
    assert bounds(values, 12, 0.95) is None
    assert unbounded_reason(12) == "many draws of concept sets have no value"


def test_the_standard_error_is_that_of_a_mean_where_all_sets_count_alike():
    shares = np.array([[10.0, 20.0, 60.0, 30.0]])
    table = SetTable(shares, np.ones_like(shares))
    assert standard_error(table.influences()) == pytest.approx(shares.std(ddof=1) / 2)
    assert standard_error(np.zeros(1)) is None
    assert standard_error(np.zeros(2)) == 0.0


@pytest.mark.parametrize(
    ("error", "sets", "known"),
    [(1.0, 10**6, 2.4865), (2.0, 10**6, 4.973), (1.0, 12, 2.672), (None, 12, None), (1.0, 5, None), (0.0, 12, None)],
)
def test_the_smallest_change_is_seen_four_times_in_five(error, sets, known):
    found = smallest_change(error, sets)
    assert found == (known if known is None else pytest.approx(known, abs=0.01))
