"""The order a reply has: where its concepts first occur, whatever was asked."""

import itertools
from collections import Counter

import pytest

from pytest_ocg.analysis.order_bias import by_set, kendall_distance, modes, read_reply_order, realised_order

A, B = ("dog", "run"), ("run", "dog")


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
def test_concepts_stand_where_they_first_occur_and_one_word_for_two_leaves_it_open(positions, order):
    assert realised_order(["dog", "run"], positions) == order


def test_a_reply_may_keep_the_order_asked_for_and_yet_begin_with_another(make_record):
    found = read_reply_order(make_record(A, ["run", "dog", "run"]))
    assert (found.realised, found.in_order, found.deviates) == (B, True, False)


def test_a_reply_in_another_order_deviates_and_one_without_all_concepts_does_not(make_record):
    assert read_reply_order(make_record(A, ["run", "dog"])).deviates
    missing = read_reply_order(make_record(A, ["run"]))
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


def test_of_the_24_orders_of_four_1_3_5_6_5_3_1_lie_at_distance_0_to_6():
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
