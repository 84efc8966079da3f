"""The order of a reply, a model's preference for one order, and how often the order asked for is kept.

The tests use replies with a known order, and models with a known bias: none, always one order, or in between.
"""

import dataclasses
import itertools
import json
import math
import random
from collections import Counter

import msgspec
import pytest

from pytest_ocg.analysis.order_bias import (
    by_set,
    entropy_bits,
    kendall_distance,
    measure_preference,
    modes,
    order_biases,
    random_entropy_bits,
    read_reply_order,
    realised_order,
)
from pytest_ocg.run.record import Outcome

A, B, PART = ("ask", "cup"), ("cup", "ask"), ("ask",)
ORDERS = list(itertools.permutations(("ask", "bake", "cup", "dog")))


@pytest.mark.parametrize(
    ("positions", "order"),
    [
        ([[4], [9]], ("dog", "run")),
        ([[9], [4]], ("run", "dog")),
        ([[4, 20], [9]], ("dog", "run")),
        ([[20, 30], [9, 25]], ("run", "dog")),
        ([[4], []], None),
        ([[], []], None),
        ([[4, 20], [4]], None),
        ([[4], [0, 4]], ("run", "dog")),
    ],
)
def test_the_realised_order_is_by_first_position_and_none_if_two_are_at_one_word(positions, order):
    assert realised_order(["dog", "run"], positions) == order


def test_a_reply_can_be_in_order_and_realise_another_order(make_record):
    found = read_reply_order(make_record(A, ["cup", "ask", "cup"]))
    assert (found.realised, found.in_order, found.deviates) == (B, True, False)


def test_a_reply_in_another_order_deviates_and_one_without_all_concepts_does_not(make_record):
    assert read_reply_order(make_record(A, B)).deviates
    missing = read_reply_order(make_record(A, PART))
    assert (missing.realised, missing.covered, missing.is_undecided, missing.deviates) == (None, False, False, False)


def test_two_concepts_at_the_same_word_are_undecided(make_record):
    found = read_reply_order(make_record(A, A, positions=[[4], [4]], in_order=False))
    assert (found.realised, found.is_undecided, found.deviates) == (None, True, False)


def test_without_a_reply_there_is_no_order(make_record):
    assert read_reply_order(make_record(A, None)) is None


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("abcd", "abcd", 0), ("abcd", "bacd", 1), ("abcd", "dabc", 3), ("abcd", "cdab", 4), ("abcd", "dcba", 6)],
)
def test_the_distance_counts_pairs_the_other_way_round_and_is_the_same_both_ways(one, other, distance):
    assert kendall_distance(tuple(one), tuple(other)) == kendall_distance(tuple(other), tuple(one)) == distance


def test_of_the_24_orders_of_four_1_3_5_6_5_3_1_are_at_distance_0_to_6():
    found = Counter(kendall_distance(tuple("abcd"), order) for order in itertools.permutations("abcd"))
    assert [found[distance] for distance in range(7)] == [1, 3, 5, 6, 5, 3, 1]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [({}, ()), ({A: 2, B: 1}, (A,)), ({B: 2, A: 2}, (A, B)), ({A: 0, B: 0}, ()), ({A: 0, B: 1}, (B,))],
)
def test_the_most_frequent_orders_are_all_that_share_first_place(counts, expected):
    assert modes(Counter(counts)) == expected


def test_replies_are_grouped_by_template_and_set(make_record):
    replies = [
        read_reply_order(make_record(A, A, template=template, set_id=name))
        for template in (0, 1)
        for name in ("x", "y")
    ]
    assert list(by_set(replies)) == [(0, "x"), (0, "y"), (1, "x"), (1, "y")]
    assert by_set([]) == {}


@pytest.fixture
def preference(make_record):
    """Measures the replies to each set in turn; two concepts, asked for as `ask cup`."""

    def measure(*sets, concepts=2, template=0):
        records = [
            make_record(A, written, set_id=f"cs{number}", template=template)
            for number, of_set in enumerate(sets)
            for written in of_set
        ]
        return measure_preference([read_reply_order(record) for record in records], concepts)

    return measure


@pytest.mark.parametrize(
    ("written", "default", "held_out", "bits"),
    [
        ([A, A, A, A], 100, 100, 0),
        ([A, A, A, B], 75, 75, 2 - 0.75 * math.log2(3)),
        ([A, A, B, B], 50, 0, 1),
        ([A, B], 50, 0, 1),
        ([A, A, B], 100 * 2 / 3, 100 / 3, math.log2(3) - 2 / 3),
    ],
)
def test_shares_and_entropy_are_those_of_the_counts(preference, written, default, held_out, bits):
    found = preference(written)
    assert (found.default_share, found.held_out_share) == pytest.approx((default, held_out))
    assert found.entropy_bits == pytest.approx(bits)
    assert (found.replies, found.sets) == (len(written), 1)


def test_a_model_that_always_writes_one_order_has_a_share_of_100_and_no_entropy(make_model):
    replies = [read_reply_order(record) for record in make_model(sorted)]
    found = measure_preference(replies, 4)
    assert (found.default_share, found.held_out_share, found.entropy_bits) == (100, 100, 0)


def test_a_model_that_follows_the_prompt_has_a_share_of_1_in_24_and_maximum_entropy(make_model):
    found = measure_preference([read_reply_order(record) for record in make_model(list)], 4)
    assert (found.default_share, found.held_out_share) == pytest.approx((100 / 24, 0))
    assert found.entropy_bits == pytest.approx(math.log2(24)) == pytest.approx(found.most_bits)


def test_sets_weigh_by_their_replies_in_shares_and_equally_in_entropy(preference):
    found = preference([A, A, A, A], [A, B])
    assert found.default_share == pytest.approx(100 * 5 / 6)
    assert found.entropy_bits == pytest.approx(0.5)


def test_templates_weigh_equally(make_record):
    written = {0: [A, A, A, A], 1: [A, B]}
    replies = [
        read_reply_order(make_record(A, order, template=template))
        for template in written
        for order in written[template]
    ]
    assert measure_preference(replies, 2).default_share == pytest.approx(75)


def test_a_set_with_one_reply_is_left_out_and_the_value_is_none_not_zero(preference):
    for found in (preference(), preference([A]), preference([PART, PART])):
        assert (found.default_share, found.held_out_share, found.entropy_bits) == (None, None, None)
        assert (found.entropy_bits_at_random, found.sets) == (None, 0)
    assert preference([A]).replies == 1


def test_replies_without_all_concepts_do_not_count(preference):
    assert preference([A, A, PART, PART]) == preference([A, A])


def test_at_random_the_held_out_share_is_one_over_the_orders_however_few_replies_there_are(preference):
    for replies in (2, 3, 5):
        shares = [preference(written).held_out_share for written in itertools.product([A, B], repeat=replies)]
        assert math.fsum(shares) / len(shares) == pytest.approx(preference([A, A]).held_out_share_at_random) == 50


@pytest.mark.parametrize(("replies", "orders"), [(2, 2), (3, 2), (4, 3), (2, 24), (3, 24)])
def test_the_entropy_at_random_is_the_mean_over_all_possible_replies(replies, orders):
    every = [entropy_bits(Counter(chosen)) for chosen in itertools.product(range(orders), repeat=replies)]
    assert random_entropy_bits(replies, orders) == pytest.approx(math.fsum(every) / len(every))


def test_the_entropy_at_random_is_near_its_maximum_with_many_replies():
    assert random_entropy_bits(24, 24) < random_entropy_bits(5000, 24) < math.log2(24)
    assert random_entropy_bits(5000, 24) == pytest.approx(math.log2(24), abs=0.01)


@pytest.mark.parametrize(
    ("write", "heat_map"),
    [
        (list, [(24, 0, 0, 0), (0, 24, 0, 0), (0, 0, 24, 0), (0, 0, 0, 24)]),
        (lambda asked: asked[::-1], [(0, 0, 0, 24), (0, 0, 24, 0), (0, 24, 0, 0), (24, 0, 0, 0)]),
        (sorted, [(6, 6, 6, 6)] * 4),
        (lambda asked: asked[:3], [(0, 0, 0, 0)] * 4),
    ],
)
def test_the_heat_map_counts_the_place_in_the_reply_of_the_concept_asked_for_at_each_place(make_model, write, heat_map):
    replies = [read_reply_order(record) for record in make_model(write)]
    assert measure_preference(replies, 4).heat_map == tuple(heat_map)


def by_place(kept):
    return {one.at: one.coverage_ordered for one in kept}


def test_a_model_that_always_writes_one_order_keeps_it_when_asked_for_and_no_other(make_model):
    [bias] = order_biases(make_model(sorted, sets=3, templates=2))
    assert by_place(bias.by_distance) == {0: 100, **dict.fromkeys(range(1, 7), 0)}
    assert [one.replies for one in bias.by_distance] == [6, 18, 30, 36, 30, 18, 6]
    assert bias.without_default == 0


def test_a_model_that_follows_the_prompt_has_no_default_order(make_model):
    [bias] = order_biases(make_model(list))
    assert by_place(bias.by_distance) == dict.fromkeys(range(7))
    assert bias.without_default == bias.replies == 24


# Sets differ in their hit rate. This must not show as a slope: if the default order were estimated from all replies,
# sets that always deviate would be the only ones at distance 0.
@pytest.mark.parametrize("chances", [[0.5], [0.0], [0.0, 0.1, 0.5, 0.95, 1.0]])
def test_a_model_without_bias_shows_a_flat_line(make_model, chances):
    chance = random.Random(7)

    def write(asked):
        return asked if chance.random() < success else chance.choice(ORDERS)

    records = []
    for number in range(80):
        success = chances[number % len(chances)]
        records += [msgspec.structs.replace(one, set=f"cs{number}") for one in make_model(write, templates=3)]
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


def test_a_reply_does_not_influence_the_default_order_it_is_compared_with(make_record):
    one, other, third = ORDERS[0], ORDERS[1], ORDERS[2]
    [bias] = order_biases([make_record(one, other), make_record(other, third)])
    found = {one.at: one.replies for one in bias.by_distance if one.replies}
    # The first is compared with `third`, the second with `other`, the order that it is itself asked for.
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


def test_echoes_are_counted_and_the_preference_is_given_with_and_without_them(make_record):
    asked, other = ("cup", "bake"), ("bake", "cup")
    echoes = [make_record(asked, asked, echo=True) for _ in range(2)]
    [bias] = order_biases([*echoes, make_record(asked, other), make_record(asked, other)])
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


def test_models_conditions_shots_and_set_sizes_are_separate(make_record):
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


def test_condition_original_is_compared_with_the_order_of_the_prompt_too(make_model):
    original = make_model(sorted, condition="original")
    assert {record.outcome for record in original} == {Outcome.HIT}
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
