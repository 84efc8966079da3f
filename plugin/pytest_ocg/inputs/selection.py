"""Shards: the parts a run is cut into by whole concept sets, each balanced like the whole."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ocg.errors import OptionError
from pytest_ocg.inputs.concepts import ConceptSet


@dataclass(frozen=True, slots=True)
class Whole:
    """What a run is a shard of: how many concept sets, and how many cases for each model and condition."""

    sets: int
    cases_per_row: int


def whole_run(sets: Sequence[ConceptSet], templates: Sequence[int]) -> Whole:
    """The whole of all orders of these sets under these templates."""
    return Whole(len(sets), sum(math.factorial(len(entry.concepts)) for entry in sets) * len(templates))


def cut_shard(sets: Sequence[ConceptSet], shard: Shard) -> tuple[ConceptSet, ...]:
    """The sets of one shard, in the order given; none where there are fewer sets than shards and none is left for it.

    Every set is in exactly one shard, and shards differ by one set at most, in each part-of-speech make-up and in all.
    Which sets a shard has depends on their content, not on their order.
    """
    dealt = sorted(sets, key=lambda entry: (entry.make_up, entry.key))
    own = {entry.key for entry in dealt[shard.index - 1 :: shard.count]}
    return tuple(entry for entry in sets if entry.key in own)


@dataclass(frozen=True, slots=True)
class SetSample:
    """How many concept sets to take, and the seed that picks them."""

    number: int
    seed: int

    def __str__(self) -> str:
        return f"{self.number}:{self.seed}"


@dataclass(frozen=True, slots=True)
class Shard:
    """Which part of a run is meant, counted from 1, and how many parts there are."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def sample_sets(sets: Sequence[ConceptSet], number: int, seed: int) -> tuple[ConceptSet, ...]:
    """That many of the sets, in dataset order, each make-up with its share (largest remainder, the rarer first).

    Which ones depends on their content and the seed, not on their order. Raises OptionError where there are too few.
    """
    if not 1 <= number <= len(sets):
        raise OptionError(f"--ocg-sets {number}: there are {len(sets)} concept sets, so a sample has 1 to {len(sets)}")
    strata: defaultdict[str, list[ConceptSet]] = defaultdict(list)
    for entry in sorted(sets, key=lambda entry: entry.key):
        strata[entry.make_up].append(entry)
    shares = {make_up: divmod(number * len(members), len(sets)) for make_up, members in strata.items()}
    missing = number - sum(share for share, _ in shares.values())
    by_claim = sorted(strata, key=lambda make_up: (-shares[make_up][1], len(strata[make_up]), make_up))
    chosen: set[str] = set()
    for make_up, members in strata.items():
        count = shares[make_up][0] + (make_up in by_claim[:missing])
        # One generator a stratum, so that a larger sample keeps what a smaller one took of it.
        random.Random(f"{seed} {make_up}").shuffle(members)
        chosen.update(entry.key for entry in members[:count])
    return tuple(entry for entry in sets if entry.key in chosen)
