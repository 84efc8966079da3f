"""Samples of a dataset."""

from __future__ import annotations

import collections
import random

import pytest

from pytest_ocg.errors import OptionError
from pytest_ocg.inputs.concepts import Concept, ConceptSet
from pytest_ocg.inputs.selection import sample_sets


def make_sets(**counts: int) -> tuple[ConceptSet, ...]:
    """So many sets of each make-up, with words of their own."""
    return tuple(
        ConceptSet(f"cs{number:03d}", tuple(Concept(f"w{number}x{k}", tag) for k, tag in enumerate(make_up)))
        for number, make_up in enumerate(make_up for make_up, count in counts.items() for _ in range(count))
    )


COMMONGEN_COUNTS = {"NNVV": 109, "NNNV": 74, "NVVV": 6, "NNNN": 2, "VVVV": 1}


@pytest.mark.parametrize(
    ("counts", "number", "expected"),
    [
        (COMMONGEN_COUNTS, 1, {"NNVV": 1}),
        (COMMONGEN_COUNTS, 2, {"NNVV": 1, "NNNV": 1}),
        (COMMONGEN_COUNTS, 20, {"NNVV": 11, "NNNV": 8, "NVVV": 1}),
        (COMMONGEN_COUNTS, 96, {"NNVV": 54, "NNNV": 37, "NVVV": 3, "NNNN": 1, "VVVV": 1}),
        (COMMONGEN_COUNTS, 191, {"NNVV": 108, "NNNV": 74, "NVVV": 6, "NNNN": 2, "VVVV": 1}),
        (COMMONGEN_COUNTS, 192, COMMONGEN_COUNTS),
        ({"NN": 3, "VV": 3}, 3, {"NN": 2, "VV": 1}),
        ({"VV": 3, "NN": 3}, 3, {"NN": 2, "VV": 1}),
        ({"NN": 5}, 2, {"NN": 2}),
    ],
)
def test_every_make_up_has_its_share_of_a_sample(counts, number, expected):
    for seed in range(5):
        sample = sample_sets(make_sets(**counts), number, seed)
        assert len(sample) == number
        assert collections.Counter(entry.make_up for entry in sample) == expected


def test_a_sample_depends_on_content_and_seed_and_comes_in_dataset_order():
    sets = make_sets(**COMMONGEN_COUNTS)
    sample = sample_sets(sets, 24, 7)
    shuffled = list(sets)
    random.Random(1).shuffle(shuffled)
    again = sample_sets(shuffled, 24, 7)
    assert list(sample) == sorted(sample, key=lambda entry: entry.id)
    assert list(again) == sorted(again, key=shuffled.index)
    assert set(again) == set(sample)
    assert sample_sets(sets, 24, 7) == sample
    assert sample_sets(sets, 24, 8) != sample


def test_a_sample_is_the_same_in_every_version_of_this_package():
    sample = sample_sets(make_sets(NN=10, VV=10), 6, 0)
    assert [entry.id for entry in sample] == ["cs001", "cs003", "cs008", "cs010", "cs014", "cs018"]


def test_a_larger_sample_keeps_what_a_smaller_one_took():
    sets = make_sets(NN=40, VV=40)
    assert set(sample_sets(sets, 10, 3)) < set(sample_sets(sets, 20, 3))


@pytest.mark.parametrize("number", [0, -1, 6])
def test_a_sample_larger_than_the_dataset_or_empty_is_refused_with_both_numbers(number):
    with pytest.raises(OptionError) as caught:
        sample_sets(make_sets(NN=5), number, 0)
    assert str(caught.value) == f"--ocg-sets {number}: must be from 1 to 5, the number of concept sets"
