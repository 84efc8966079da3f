"""Shards: the parts a run is cut into by whole concept sets, each balanced like the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ocg.inputs.concepts import ConceptSet
from pytest_ocg.run.option_readers import Shard


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
