"""Tables with a line per model on made-up rows: what stands in them, and the published numbers beside."""

import copy
import dataclasses
import json

import pytest

from pytest_ocg.analysis import paper_tables as model_tables
from pytest_ocg.errors import ResultsError
from pytest_ocg.inputs.published import load_published

PAPER = load_published()


def test_table_1_has_each_models_metrics_its_deltas_to_original_and_the_papers_row(make_row):
    rows = [make_row("g", 50.0, published_as="GPT-4o"), make_row("g", 30.0, condition="original"), make_row("mine")]
    line, mine = model_tables.table1(rows, PAPER)
    assert (line.model, line.values["coverage_ordered"], line.values["pbleu"]) == ("g", 50, 60)
    assert (line.deltas["coverage_ordered"], line.deltas["perplexity"]) == (20, None)
    assert (line.published["coverage_ordered"], line.published_deltas["coverage_ordered"]) == (53.34, 30.25)
    assert (mine.values["coverage_ordered"], mine.deltas, mine.published) == (20, {}, {})


def test_a_model_the_paper_does_not_have_has_nothing_published(make_row):
    [line] = model_tables.table1([make_row("x", published_as="GPT-7")], PAPER)
    assert (line.published, line.published_deltas) == ({}, {})


def test_table_4_is_one_shot_minus_zero_shot(make_row):
    rows = [make_row("g", 50.0), make_row("g", 45.0, shots=1, published_as="GPT-4o"), make_row("only", shots=1)]
    line, only = model_tables.table4(rows, PAPER)
    assert (line.values["coverage_ordered"], line.deltas["coverage_ordered"]) == (45, -5)
    assert line.published == dict(PAPER.table4["GPT-4o"].values)
    assert only.deltas == {}
    assert [line.model for line in model_tables.table1(rows, PAPER)] == ["g"]


def test_table_7_is_template_0_alone_and_a_row_without_it_is_left_out(make_row):
    rows = [
        make_row("q", 30.0, published_as="Qwen2-7B"),
        make_row("q", 22.0, condition="original"),
        {**make_row("other"), "by_template": {"3": {"coverage_ordered": 1.0}}},
    ]
    [line] = model_tables.table7(rows, PAPER)
    assert line.values == {"coverage_unordered": 60.0, "coverage_ordered": 30.0, "ordered_rate": 50.0}
    assert line.deltas["coverage_ordered"] == 8
    assert line.published["coverage_ordered"] == 34.22


def test_a_reasoning_model_is_held_against_its_base_where_both_were_run(make_row):
    rows = [
        make_row("qwen2-7b", 30.0, published_as="Qwen2-7B"),
        make_row("marco-o1", 33.0, published_as="Macro-o1"),
        make_row("o1-mini", 80.0, published_as="o1-mini"),
    ]
    [gain] = model_tables.reasoning_gains(model_tables.table7(rows, PAPER), PAPER)
    assert (gain.model, gain.base, gain.gains["coverage_ordered"]) == ("marco-o1", "qwen2-7b", 3)
    assert gain.published["coverage_ordered"] == pytest.approx(33.27 - 34.22)


@pytest.mark.parametrize("table", [model_tables.table1, model_tables.table4, model_tables.table7])
def test_no_rows_make_no_lines(table):
    assert table([], PAPER) == ()


def test_lines_are_plain_data_for_a_report(make_row):
    rows = [make_row("a", published_as="GPT-4o"), make_row("a", condition="original")]
    for table in (model_tables.table1, model_tables.table4, model_tables.table7):
        assert json.dumps([dataclasses.asdict(line) for line in table(rows, PAPER)])


def results(*rows, **more):
    return {
        "rows": list(rows), "dataset": {"name": "everyday", "sha256": "ab"}, "templates_sha256": "cd",
        "matcher": "inflection", "selection": {"templates": [0, 3], "sets": None}, **more,
    }  # fmt: skip


def test_rows_of_several_runs_go_into_one_table(make_row):
    zero, one = results(make_row("a")), results(make_row("a", shots=1), make_row("b", shots=1))
    assert [(found["model"], found["shots"]) for found in model_tables.collect_rows([zero, one])] == [
        ("a", 0), ("a", 1), ("b", 1),
    ]  # fmt: skip
    assert model_tables.collect_rows([]) == ()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            {"matcher": "lemma"},
            "'b' was run with matcher 'lemma' and the first model with 'inflection', so they do not",
        ),
        ({"dataset": {"sha256": "ef"}}, "'b' was run with dataset_sha256 'ef' and the first model with 'ab'"),
        (
            {"selection": {"templates": [0], "sets": None}},
            r"'b' was run with templates \[0\] and the first .* \[0, 3\]",
        ),
        ({"selection": {"templates": [0, 3], "sets": "4:0"}}, "'b' was run with sets '4:0' and the first .* 'all'"),
    ],
)
def test_runs_that_differ_do_not_go_into_one_table(make_row, other, message):
    with pytest.raises(ResultsError, match=message):
        model_tables.collect_rows([results(make_row("a")), copy.deepcopy(results(make_row("b"), **other))])


def test_the_same_row_twice_is_refused(make_row):
    with pytest.raises(
        ResultsError, match="'a' comes twice with condition 'ordered' and 0 shots; leave one of the runs"
    ):
        model_tables.collect_rows([results(make_row("a")), results(make_row("a"))])
