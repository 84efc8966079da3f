"""Shards and samples of a run: both take whole concept sets and keep the balance of the make-ups."""

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
    """The size of the unsharded run: its concept sets, and its cases for each model and condition."""

    sets: int
    cases_per_row: int


def whole_run(sets: Sequence[ConceptSet], templates: Sequence[int]) -> Whole:
    """The size of a run with all orders of these sets under these templates."""
    return Whole(len(sets), sum(math.factorial(len(entry.concepts)) for entry in sets) * len(templates))


def cut_shard(sets: Sequence[ConceptSet], shard: Shard) -> tuple[ConceptSet, ...]:
    """The sets of one shard, in the order given; empty if there are fewer sets than shards and this one gets none.

    Every set is in exactly one shard. The sizes of shards differ by at most one set, in total and for each
    part-of-speech make-up. The choice depends on the content of the sets, not on their order.
    """
    balanced = sorted(sets, key=lambda entry: (entry.make_up, entry.key))
    chosen = {entry.key for entry in balanced[shard.index - 1 :: shard.count]}
    return tuple(entry for entry in sets if entry.key in chosen)


@dataclass(frozen=True, slots=True)
class SetSample:
    """The number of concept sets in a sample, and the seed that chooses them."""

    number: int
    seed: int

    def __str__(self) -> str:
        return f"{self.number}:{self.seed}"


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a run: its number, counted from 1, and the number of parts."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def sample_sets(sets: Sequence[ConceptSet], number: int, seed: int) -> tuple[ConceptSet, ...]:
    """A sample of `number` sets, in dataset order; each make-up has its share (largest remainder, rarer make-up first).

    The choice depends on the content of the sets and the seed, not on their order. Raises OptionError for a number
    below 1 or above the number of sets.
    """
    if not 1 <= number <= len(sets):
        raise OptionError(f"--ocg-sets {number}: must be from 1 to {len(sets)}, the number of concept sets")
    strata: defaultdict[str, list[ConceptSet]] = defaultdict(list)
    for entry in sorted(sets, key=lambda entry: entry.key):
        strata[entry.make_up].append(entry)
    shares = {make_up: divmod(number * len(members), len(sets)) for make_up, members in strata.items()}
    missing = number - sum(share for share, _ in shares.values())
    by_remainder = sorted(strata, key=lambda make_up: (-shares[make_up][1], len(strata[make_up]), make_up))
    chosen: set[str] = set()
    for make_up, members in strata.items():
        count = shares[make_up][0] + (make_up in by_remainder[:missing])
        # One generator for each stratum, so that a larger sample contains the sets of a smaller one.
        random.Random(f"{seed} {make_up}").shuffle(members)
        chosen.update(entry.key for entry in members[:count])
    return tuple(entry for entry in sets if entry.key in chosen)
