"""The paper's tables on made-up rows: lines of one model and means over models, with the published numbers."""

import dataclasses
import json
from statistics import stdev

import pytest

from pytest_ocg.analysis.paper_tables import Spread, reasoning_gains, spread, table1, table2, table3, table4, table7
from pytest_ocg.inputs.published import load_published

PAPER = load_published()
TABLES = (table1, table2, table3, table4, table7)


def test_table_1_has_each_models_metrics_its_deltas_to_original_and_the_papers_row(make_row):
    rows = [make_row("g", 50.0, published_as="GPT-4o"), make_row("g", 30.0, condition="original"), make_row("mine")]
    line, mine = table1(rows, PAPER)
    assert (line.model, line.values["coverage_ordered"], line.values["pbleu"]) == ("g", 50, 60)
    assert (line.deltas["coverage_ordered"], line.deltas["perplexity"]) == (20, None)
    assert (line.published["coverage_ordered"], line.published_deltas["coverage_ordered"]) == (53.34, 30.25)
    assert (mine.values["coverage_ordered"], mine.deltas, mine.published) == (20, {}, {})


def test_a_model_the_paper_does_not_have_has_nothing_published(make_row):
    [line] = table1([make_row("x", published_as="GPT-7")], PAPER)
    assert (line.published, line.published_deltas) == ({}, {})


def test_table_4_is_one_shot_minus_zero_shot(make_row):
    rows = [make_row("g", 50.0), make_row("g", 45.0, shots=1, published_as="GPT-4o"), make_row("only", shots=1)]
    line, only = table4(rows, PAPER)
    assert (line.values["coverage_ordered"], line.deltas["coverage_ordered"]) == (45, -5)
    assert line.published == dict(PAPER.table4["GPT-4o"].values)
    assert only.deltas == {}
    assert [line.model for line in table1(rows, PAPER)] == ["g"]


def test_table_7_is_template_0_alone_and_a_row_without_it_is_left_out(make_row):
    rows = [
        make_row("q", 30.0, published_as="Qwen2-7B"),
        make_row("q", 22.0, condition="original"),
        make_row("other", by_template={"3": {"coverage_ordered": 1.0}}),
    ]
    [line] = table7(rows, PAPER)
    assert line.values == {"coverage_unordered": 60.0, "coverage_ordered": 30.0, "ordered_rate": 50.0}
    assert line.deltas["coverage_ordered"] == 8
    assert line.published["coverage_ordered"] == 34.22


def test_a_reasoning_model_is_compared_with_its_base_if_both_were_run(make_row):
    rows = [
        make_row("qwen2-7b", 30.0, published_as="Qwen2-7B"),
        make_row("marco-o1", 33.0, published_as="Macro-o1"),
        make_row("o1-mini", 80.0, published_as="o1-mini"),
    ]
    [gain] = reasoning_gains(table7(rows, PAPER), PAPER)
    assert (gain.model, gain.base, gain.gains["coverage_ordered"]) == ("marco-o1", "qwen2-7b", 3)
    assert gain.published["coverage_ordered"] == pytest.approx(33.27 - 34.22)


def test_table_2_is_mean_and_sample_deviation_over_models_by_pattern(make_row):
    found = table2([make_row("a", 20.0), make_row("b", 30.0), make_row("a", 1.0, condition="original")], PAPER)
    line, verbs = found
    assert (line.pattern, verbs.pattern) == ("NNVV", "VVVV")
    assert line.spreads["coverage_ordered"] == Spread(25, stdev([20, 30]), 2)
    assert verbs.spreads["diverse_rate"] == Spread(None, None, 0)
    assert line.published["coverage_ordered"] == Spread(27.45, 14.55, 36)


def test_over_one_model_there_is_no_deviation_and_n_says_1(make_row):
    [line, _] = table2([make_row("a", 20.0)], PAPER)
    assert line.spreads["coverage_ordered"] == Spread(20, None, 1)


def test_table_3_is_by_template_and_condition_with_original_first_as_in_the_paper(make_row):
    rows = [make_row("a", 20.0), make_row("b", 30.0), make_row("a", 10.0, condition="original")]
    found = table3(rows, PAPER)
    assert [(line.template, line.condition) for line in found] == [
        (0, "original"), (0, "ordered"), (3, "original"), (3, "ordered"),
    ]  # fmt: skip
    assert found[3].spreads["coverage_ordered"] == Spread(26, stdev([21, 31]), 2)
    assert found[0].spreads["coverage_ordered"] == Spread(10, None, 1)
    assert found[0].published["coverage_ordered"] == Spread(26.76, 9.30, 36)


def test_one_shot_tables_by_pattern_and_template_have_nothing_published(make_row):
    rows = [make_row("a", 20.0), make_row("a", 25.0, shots=1)]
    for line in (*table2(rows, PAPER, shots=1), *table3(rows, PAPER, shots=1)):
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
def test_a_spread_is_of_the_values_that_are_not_none(values, expected):
    assert spread(values) == expected


@pytest.mark.parametrize("table", TABLES)
def test_no_rows_make_no_lines(table):
    assert table([], PAPER) == ()


@pytest.mark.parametrize("table", TABLES)
def test_lines_are_plain_data_for_a_report(make_row, table):
    rows = [
        make_row("a", published_as="GPT-4o"), make_row("a", condition="original"),
        make_row("a", shots=1, published_as="GPT-4o"),
    ]  # fmt: skip
    lines = [dataclasses.asdict(line) for line in table(rows, PAPER)]
    assert lines
    assert len(json.loads(json.dumps(lines))) == len(lines)
