"""Figures 3 and 4: which ordered lists the models compose, and how many orders of each set."""

import dataclasses
import json

import pytest

from pytest_ocg.analysis.paper_figures import composed_lists, figure3, figure4

ONE, TWO = ("dog", "run"), ("run", "dog")


@pytest.fixture
def records(make_record):
    """Two models, two sets, two templates: `a` composes all but one list, `b` one list, with one template each."""
    good = {"a": {("x", ONE), ("x", TWO), ("y", ONE)}, "b": {("x", ONE)}}
    return [
        make_record(
            asked, asked if (name, asked) in composed and template == 1 else asked[::-1],
            model=model, set_id=name, template=template,
        )
        for model, composed in good.items() for template in (0, 1) for name in "xy" for asked in (ONE, TWO)
    ]  # fmt: skip


def test_a_list_is_composed_if_the_model_has_a_hit_with_any_template(records):
    found = composed_lists(records)
    assert found.models == ("a", "b")
    assert found.by_list == {("x", ONE): 2, ("x", TWO): 1, ("y", ONE): 1, ("y", TWO): 0}
    assert found.unjudged == 0


def test_figure_3_counts_lists_by_number_of_models_and_adds_up_to_all(records):
    bars = figure3(composed_lists(records))
    assert [(bar.models, bar.lists, bar.share, bar.cumulative_share) for bar in bars] == [
        (0, 1, 25, 25), (1, 2, 50, 75), (2, 1, 25, 100),
    ]  # fmt: skip


def test_figure_4_counts_sets_by_how_many_of_their_orders_at_least_that_many_models_compose(records):
    columns = figure4(composed_lists(records))
    assert [(column.models, column.mean, column.sets) for column in columns] == [
        (1, 1.5, (0, 1, 1)),
        (2, 0.5, (1, 1, 0)),
    ]


def test_a_model_that_follows_the_prompt_composes_all_24_orders_of_every_set(make_model):
    composed = composed_lists(make_model(list, sets=3))
    assert figure3(composed)[-1].lists == 72
    assert figure4(composed)[0].sets == (*[0] * 24, 3)


def test_a_model_that_always_writes_one_order_composes_one_of_24(make_model):
    composed = composed_lists(make_model(sorted, sets=3, templates=2))
    assert [bar.lists for bar in figure3(composed)] == [69, 3]
    assert figure4(composed)[0].mean == 1


def test_a_list_without_any_reply_is_not_composed_and_counted(make_record):
    found = composed_lists([make_record(ONE, None), make_record(ONE, None, template=1), make_record(TWO, TWO)])
    assert (found.by_list[("cs000", ONE)], found.unjudged) == (0, 1)
    found = composed_lists([make_record(ONE, None), make_record(ONE, ONE, template=1)])
    assert (found.by_list[("cs000", ONE)], found.unjudged) == (1, 0)


def test_only_zero_shot_replies_to_the_ordered_prompt_count_by_default(make_record):
    records = [make_record(ONE, ONE, condition="original"), make_record(TWO, TWO, shots=1)]
    assert composed_lists(records).by_list == {}
    assert composed_lists(records, shots=1).by_list == {("cs000", TWO): 1}


def test_without_lists_there_is_no_figure():
    assert (figure3(composed_lists([])), figure4(composed_lists([]))) == ((), ())


def test_bars_and_columns_are_plain_data_for_a_report(records):
    composed = composed_lists(records)
    parts = [dataclasses.asdict(part) for part in (*figure3(composed), *figure4(composed))]
    assert len(json.loads(json.dumps(parts))) == 3 + 2
