"""Tables of means over models on made-up rows: how many models, how far apart, and the published numbers beside."""

import dataclasses
import json
from statistics import stdev

import pytest

from pytest_ocg.analysis import paper_tables as spread_tables
from pytest_ocg.analysis.paper_tables import Spread
from pytest_ocg.inputs.published import load_published

PAPER = load_published()


def test_table_2_is_mean_and_sample_deviation_over_models_by_pattern(make_row):
    found = spread_tables.table2(
        [make_row("a", 20.0), make_row("b", 30.0), make_row("a", 1.0, condition="original")], PAPER
    )
    line, verbs = found
    assert (line.pattern, verbs.pattern) == ("NNVV", "VVVV")
    assert line.spreads["coverage_ordered"] == Spread(25, stdev([20, 30]), 2)
    assert verbs.spreads["diverse_rate"] == Spread(None, None, 0)
    assert line.published["coverage_ordered"] == Spread(27.45, 14.55, 36)


def test_over_one_model_there_is_no_deviation_and_n_says_1(make_row):
    [line, _] = spread_tables.table2([make_row("a", 20.0)], PAPER)
    assert line.spreads["coverage_ordered"] == Spread(20, None, 1)


def test_table_3_is_by_template_and_condition_with_original_first_as_in_the_paper(make_row):
    rows = [make_row("a", 20.0), make_row("b", 30.0), make_row("a", 10.0, condition="original")]
    found = spread_tables.table3(rows, PAPER)
    assert [(line.template, line.condition) for line in found] == [
        (0, "original"), (0, "ordered"), (3, "original"), (3, "ordered"),
    ]  # fmt: skip
    assert found[3].spreads["coverage_ordered"] == Spread(26, stdev([21, 31]), 2)
    assert found[0].spreads["coverage_ordered"] == Spread(10, None, 1)
    assert found[0].published["coverage_ordered"] == Spread(26.76, 9.30, 36)


def test_one_shot_tables_by_pattern_and_template_have_nothing_published(make_row):
    rows = [make_row("a", 20.0), make_row("a", 25.0, shots=1)]
    for line in (*spread_tables.table2(rows, PAPER, shots=1), *spread_tables.table3(rows, PAPER, shots=1)):
        assert line.published == {}
        assert line.spreads["coverage_unordered"].mean == 50


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], Spread(None, None, 0)),
        ([None, None], Spread(None, None, 0)),
        ([3.0], Spread(3, None, 1)),
        ([3.0, None], Spread(3, None, 1)),
        ([2.0, 2.0, 2.0], Spread(2, 0, 3)),
        ([1.0, 3.0], Spread(2, pytest.approx(2**0.5), 2)),
    ],
)
def test_a_spread_is_of_the_values_that_are_there(values, expected):
    assert spread_tables.spread(values) == expected


@pytest.mark.parametrize("table", [spread_tables.table2, spread_tables.table3])
def test_no_rows_make_no_lines(table):
    assert table([], PAPER) == ()


def test_lines_are_plain_data_for_a_report(make_row):
    rows = [make_row("a", published_as="GPT-4o"), make_row("a", condition="original")]
    for table in (spread_tables.table2, spread_tables.table3):
        assert json.dumps([dataclasses.asdict(line) for line in table(rows, PAPER)])
