"""How much a model keeps to one order: on replies whose answer is known."""

import itertools
import math
from collections import Counter

import pytest

from pytest_ocg.analysis.order_bias import entropy_bits, measure_preference, random_entropy_bits, read_reply_order

A, B, PART = ("ask", "cup"), ("cup", "ask"), ("ask",)


@pytest.fixture
def preference(make_record):
    """Measures what is written for each set in turn; two concepts, asked for as `ask cup`."""

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


def test_a_model_that_always_writes_one_order_has_all_of_the_share_and_no_entropy(make_model):
    replies = [read_reply_order(record) for record in make_model(sorted)]
    found = measure_preference(replies, 4)
    assert (found.default_share, found.held_out_share, found.entropy_bits) == (100, 100, 0)


def test_a_model_that_does_as_asked_has_a_24th_of_the_share_and_all_of_the_entropy(make_model):
    found = measure_preference([read_reply_order(record) for record in make_model(list)], 4)
    assert (found.default_share, found.held_out_share) == pytest.approx((100 / 24, 0))
    assert found.entropy_bits == pytest.approx(math.log2(24)) == pytest.approx(found.most_bits)


def test_sets_weigh_by_their_replies_in_shares_and_alike_in_entropy(preference):
    found = preference([A, A, A, A], [A, B])
    assert found.default_share == pytest.approx(100 * 5 / 6)
    assert found.entropy_bits == pytest.approx(0.5)


def test_templates_weigh_alike(make_record):
    written = {0: [A, A, A, A], 1: [A, B]}
    replies = [
        read_reply_order(make_record(A, order, template=template))
        for template in written
        for order in written[template]
    ]
    assert measure_preference(replies, 2).default_share == pytest.approx(75)


def test_one_reply_of_a_set_says_nothing_and_none_is_not_zero(preference):
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
def test_the_entropy_at_random_is_the_mean_over_all_that_can_be_written(replies, orders):
    every = [entropy_bits(Counter(chosen)) for chosen in itertools.product(range(orders), repeat=replies)]
    assert random_entropy_bits(replies, orders) == pytest.approx(math.fsum(every) / len(every))


def test_the_entropy_at_random_comes_near_its_most_with_many_replies():
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
def test_the_heat_map_counts_where_the_concept_asked_for_at_each_place_stands(make_model, write, heat_map):
    replies = [read_reply_order(record) for record in make_model(write)]
    assert measure_preference(replies, 4).heat_map == tuple(heat_map)
