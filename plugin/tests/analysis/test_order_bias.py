"""Order bias on models whose bias is known: none, one order whatever is asked, and in between."""

import dataclasses
import itertools
import json
import math
import random

import pytest

from pytest_ocg.analysis.order_bias import order_biases

ORDERS = list(itertools.permutations(("ask", "bake", "cup", "dog")))


def by_place(kept):
    return {one.at: one.coverage_ordered for one in kept}


def test_a_model_that_always_writes_one_order_keeps_it_when_asked_for_and_no_other(make_model):
    [bias] = order_biases(make_model(sorted, sets=3, templates=2))
    assert by_place(bias.by_distance) == {0: 100, **dict.fromkeys(range(1, 7), 0)}
    assert [one.replies for one in bias.by_distance] == [6, 18, 30, 36, 30, 18, 6]
    assert bias.without_default == 0


def test_a_model_that_does_as_asked_has_no_default_order_to_be_far_from(make_model):
    [bias] = order_biases(make_model(list))
    assert by_place(bias.by_distance) == dict.fromkeys(range(7))
    assert bias.without_default == bias.replies == 24


# Sets differ in how often they succeed, which must not show as a slope: sets that always deviate would, if the
# default order were looked for in all replies, be the only ones at distance 0.
@pytest.mark.parametrize("chances", [[0.5], [0.0], [0.0, 0.1, 0.5, 0.95, 1.0]])
def test_a_model_without_bias_shows_a_flat_line(make_model, chances):
    chance = random.Random(7)

    def write(asked):
        return asked if chance.random() < success else chance.choice(ORDERS)

    records = []
    for number in range(80):
        success = chances[number % len(chances)]
        records += [{**record, "set": f"cs{number}"} for record in make_model(write, templates=3)]
    [bias] = order_biases(records)
    total = sum(one.replies for one in bias.by_distance)
    level = sum(one.in_order for one in bias.by_distance) / total
    for one in bias.by_distance:
        error = 100 * math.sqrt(level * (1 - level) / one.replies)
        assert one.coverage_ordered == pytest.approx(100 * level, abs=4 * error)


def test_a_model_that_falls_back_to_one_order_shows_a_step_at_distance_0(make_model):
    chance = random.Random(7)
    records = make_model(lambda asked: asked if chance.random() < 0.5 else sorted(asked), sets=40, templates=6)
    [bias] = order_biases(records)
    shares = by_place(bias.by_distance)
    assert shares[0] == 100
    assert all(40 < shares[distance] < 60 for distance in range(1, 7))


def test_a_reply_has_no_say_in_the_default_order_it_is_held_against(make_record):
    one, other, third = ORDERS[0], ORDERS[1], ORDERS[2]
    [bias] = order_biases([make_record(one, other), make_record(other, third)])
    found = {one.at: one.replies for one in bias.by_distance if one.replies}
    # The first is held against `third`, the second against `other`, the order it is itself asked for.
    assert found == {0: 1, 1: 1}


def test_tied_default_orders_share_a_reply_between_their_distances(make_record):
    asked, near, far = ORDERS[0], ORDERS[1], ORDERS[0][::-1]
    [bias] = order_biases([make_record(asked, asked), make_record(ORDERS[5], near), make_record(ORDERS[6], far)])
    assert {one.at: (one.in_order, one.coverage_ordered) for one in bias.by_distance if one.in_order} == {
        1: (0.5, pytest.approx(100 * 0.5 / bias.by_distance[1].replies)),
        6: (0.5, pytest.approx(100 * 0.5 / bias.by_distance[6].replies)),
    }


def test_the_first_verb_is_looked_for_in_the_order_asked_for(make_record):
    asked = [("cup", "bake"), ("bake", "cup"), ("bake", "knead"), ("cup", "dog")]
    written = [("cup", "bake"), ("cup", "bake"), ("bake",), ("cup", "dog")]
    [bias] = order_biases(make_record(*pair, set_id=str(pair)) for pair in zip(asked, written, strict=True))
    found = {one.at: (one.replies, one.covered, one.in_order) for one in bias.by_first_verb}
    assert found == {None: (1, 1, 1), 1: (2, 1, 0), 2: (1, 1, 1)}
    assert {name: by_place(kept) for name, kept in bias.by_make_up.items()} == {
        "NN": {None: 100}, "NV": {1: 0, 2: 100}, "VV": {1: 0},
    }  # fmt: skip


def test_the_ordered_rate_is_of_the_replies_with_every_concept(make_record):
    asked = ("cup", "bake")
    [bias] = order_biases(make_record(asked, written) for written in (asked, asked[::-1], ["cup"], ["bake"]))
    [kept] = bias.by_first_verb
    assert (kept.coverage_ordered, kept.ordered_rate) == (25, 50)
    [bias] = order_biases([make_record(asked, ["cup"])])
    assert (bias.by_first_verb[0].coverage_ordered, bias.by_first_verb[0].ordered_rate) == (0, None)


def test_bare_lists_are_counted_and_the_preference_is_told_with_and_without_them(make_record):
    asked, other = ("cup", "bake"), ("bake", "cup")
    lists = [make_record(asked, asked, echo=True) for _ in range(2)]
    [bias] = order_biases([*lists, make_record(asked, other), make_record(asked, other)])
    assert (bias.replies, bias.covered, bias.echoes) == (4, 4, 2)
    assert (bias.as_scored.default_share, bias.without_echo.default_share) == (50, 100)
    assert (bias.as_scored.entropy_bits, bias.without_echo.entropy_bits) == (1, 0)


def test_two_concepts_at_one_word_are_counted_and_have_no_order(make_record):
    asked = ("cup", "bake")
    [bias] = order_biases([make_record(asked, asked, positions=[[3], [3]], in_order=False, outcome="miss")])
    assert (bias.covered, bias.undecided, bias.as_scored.replies) == (1, 1, 0)


def test_errors_are_in_no_number(make_record):
    asked = ("cup", "bake")
    assert order_biases([make_record(asked, None)]) == ()
    assert order_biases([]) == ()
    [bias] = order_biases([make_record(asked, asked), make_record(asked, None)])
    assert bias.replies == 1


def test_models_conditions_shots_and_sizes_of_sets_are_kept_apart(make_record):
    asked, written = ("cup", "bake"), ("bake", "cup")
    found = order_biases(
        [
            make_record(asked, written),
            make_record(asked, written, model="n"),
            make_record(asked, written, condition="original"),
            make_record(asked, written, shots=1),
            make_record((*asked, "dog"), ("dog", *written)),
        ]
    )
    assert [(bias.model, bias.condition, bias.shots, bias.concepts) for bias in found] == [
        ("m", "ordered", 0, 2), ("n", "ordered", 0, 2), ("m", "original", 0, 2), ("m", "ordered", 1, 2),
        ("m", "ordered", 0, 3),
    ]  # fmt: skip
    assert [len(bias.by_distance) for bias in found] == [2, 2, 2, 2, 4]


def test_in_condition_original_too_it_is_the_order_of_the_prompt_that_is_kept_or_not(make_model):
    original = [{**record, "condition": "original", "outcome": "hit"} for record in make_model(sorted)]
    [bias], [ordered] = order_biases(original), order_biases(make_model(sorted))
    assert bias.by_distance == ordered.by_distance


def test_the_order_of_the_records_changes_nothing(make_model):
    chance = random.Random(3)
    records = make_model(lambda asked: chance.choice(ORDERS), sets=2, templates=2)
    [before] = order_biases(records)
    chance.shuffle(records)
    [after] = order_biases(records)
    for one, other in zip(before.by_distance, after.by_distance, strict=True):
        assert dataclasses.astuple(one) == pytest.approx(dataclasses.astuple(other))
    assert (before.as_scored, before.by_first_verb) == (after.as_scored, after.by_first_verb)


def test_it_is_plain_data_for_a_report(make_model):
    [bias] = order_biases(make_model(sorted))
    assert json.loads(json.dumps(dataclasses.asdict(bias)))["as_scored"]["default_share"] == 100
