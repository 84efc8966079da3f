"""Shards: parts of a run by whole concept sets, each balanced like the whole."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ocg.inputs.concepts import Concept, ConceptSet
from pytest_ocg.inputs.selection import Shard, Whole, cut_shard, sample_sets, whole_run

MAKE_UPS = ("NNVV", "NNNV", "NVVV", "NNNN", "VVVV", "NV")


def make_sets(make_ups: list[str]) -> list[ConceptSet]:
    """One set of each make-up given, with words of their own."""
    return [
        ConceptSet(f"cs{number:03d}", tuple(Concept(f"w{number}x{k}", tag) for k, tag in enumerate(make_up)))
        for number, make_up in enumerate(make_ups)
    ]


def all_shards(sets: list[ConceptSet], count: int) -> list[tuple[ConceptSet, ...]]:
    return [cut_shard(sets, Shard(index, count)) for index in range(1, count + 1)]


def spread(numbers: list[int]) -> int:
    return max(numbers) - min(numbers)


@given(st.lists(st.sampled_from(MAKE_UPS), max_size=60), st.integers(1, 70), st.randoms(use_true_random=False))
def test_every_set_is_in_one_shard_and_shards_differ_by_one_set_at_most_in_each_make_up_and_in_all(
    make_ups, count, rng
):
    sets = make_sets(make_ups)
    rng.shuffle(sets)
    shards = all_shards(sets, count)
    assert sorted((entry for shard in shards for entry in shard), key=sets.index) == sets
    assert all(list(shard) == sorted(shard, key=sets.index) for shard in shards)
    assert spread([len(shard) for shard in shards]) <= 1
    for make_up in MAKE_UPS:
        assert spread([sum(entry.make_up == make_up for entry in shard) for shard in shards]) <= 1


@given(st.lists(st.sampled_from(MAKE_UPS), min_size=1, max_size=40), st.integers(1, 12), st.integers(0, 99))
def test_a_shard_depends_on_content_alone(make_ups, count, seed):
    sets = make_sets(make_ups)
    shuffled = sets.copy()
    random.Random(seed).shuffle(shuffled)
    assert [set(shard) for shard in all_shards(sets, count)] == [set(shard) for shard in all_shards(shuffled, count)]


def test_shards_are_the_same_in_every_version_of_this_package():
    sets = make_sets(["NV", "VV", "NN", "NV", "VV", "NN", "NV"])
    assert [[entry.id for entry in shard] for shard in all_shards(sets, 3)] == [
        ["cs002", "cs003", "cs004"],
        ["cs005", "cs006"],
        ["cs000", "cs001"],
    ]


def test_shards_of_a_sample_are_shards_of_that_sample():
    sample = sample_sets(make_sets(["NV"] * 30 + ["VV"] * 30), 12, 7)
    shards = all_shards(list(sample), 4)
    assert {entry for shard in shards for entry in shard} == set(sample)
    make_ups = [Counter(entry.make_up for entry in shard) for shard in shards]
    assert make_ups == [{"NV": 2, "VV": 1}, {"NV": 2, "VV": 1}, {"NV": 1, "VV": 2}, {"NV": 1, "VV": 2}]


@pytest.mark.parametrize(
    ("make_ups", "templates", "whole"),
    [([], (0,), Whole(0, 0)), (["NV"], (0,), Whole(1, 2)), (["NV", "NNVV"], (0, 3, 5), Whole(2, 78))],
)
def test_a_whole_knows_its_sets_and_the_cases_of_a_row(make_ups, templates, whole):
    assert whole_run(make_sets(make_ups), templates) == whole
