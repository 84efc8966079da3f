"""Whether parts can be put together: they were made alike, none overlaps another, and what is missing is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ocg.errors import MergeError, shown
from pytest_ocg.inputs.selection import Shard
from pytest_ocg.results.comparability import dig
from pytest_ocg.results.parts import Part, Portion, RowKey

_ALIKE = "merge what was run with the same options by the same versions"


@dataclass(frozen=True, slots=True)
class MissingShard:
    """A shard of a model that none of the parts is."""

    model: str
    shard: Shard

    def __str__(self) -> str:
        return f"shard {self.shard} of {shown(self.model)}"


def check_alike(parts: Sequence[Part]) -> None:
    """Raise MergeError for the first difference in settings, in a model's identity, or in how a metric is measured."""
    first = parts[0]
    twins: dict[RowKey, Part] = {}
    for part in parts:
        _check_same("", first, first.settings(), part, part.settings())
        for key, row in part.rows.items():
            twin = twins.setdefault(key, part)
            of_row = f" of {shown(key[0])} {shown(key[1])}"
            _check_same(of_row, twin, twin.rows[key]["identity"], part, row["identity"])
            # Where no other part has the row, any row of the first tells what was to be measured, and how.
            like = first if twin is part else twin
            other = like.rows.get(key) or next(iter(like.rows.values()))
            _check_same(of_row, like, _measures(other), part, _measures(row))


def missing_shards(model: str, parts: Sequence[Part]) -> list[MissingShard]:
    """The shards of the model that none of its parts is.

    Raises MergeError for a shard or a concept set that is in two parts, a model that is whole in one of several, and
    shards that are not of the same whole.
    """
    portions = [(part, part.portion) for part in parts if part.portion is not None]
    if len(portions) < len(parts):
        if len(parts) > 1:
            entire = next(part for part in parts if part.portion is None)
            other = next(part for part in parts if part is not entire)
            raise MergeError(
                f"{shown(model)} is whole in {entire.name} and again in {other.name}; leave one of them out"
            )
        return []
    _check_apart(model, portions)
    first, of_first = portions[0]
    count, whole = of_first.shard.count, of_first.whole
    found = {portion.shard.index for _, portion in portions}
    # Of a whole of two sets, cut into three, the third shard is empty: there is no such run.
    missing = [index for index in range(1, min(count, whole.sets) + 1) if index not in found]
    if not missing:
        for condition in dict.fromkeys(condition for _, condition in first.rows):
            cases = sum(len(part.records[model, condition]) for part, _ in portions)
            if cases != whole.cases_per_row:
                raise MergeError(
                    f"all shards of {shown(model)} {shown(condition)} have {cases:,} cases together, but the whole in "
                    f"{first.name} has {whole.cases_per_row:,}; run them again from the same concept file"
                )
    return [MissingShard(model, Shard(index, count)) for index in missing]


def _check_apart(model: str, portions: Sequence[tuple[Part, Portion]]) -> None:
    first, of_first = portions[0]
    shards: dict[int, Part] = {}
    sets: dict[str, Part] = {}
    for part, portion in portions:
        _check_same(f" of {shown(model)}", first, _cut(of_first), part, _cut(portion))
        twin = shards.setdefault(portion.shard.index, part)
        if twin is not part:
            raise MergeError(
                f"shard {portion.shard} of {shown(model)} is in {twin.name} and in {part.name}; leave one of them out"
            )
        own = {record["set"] for key, records in part.records.items() if key[0] == model for record in records}
        for name in sorted(own):
            twin = sets.setdefault(name, part)
            if twin is not part:
                raise MergeError(
                    f"concept set {shown(name)} of {shown(model)} is in {twin.name} and in {part.name}; run the shards "
                    "again from the same concept file"
                )


def _cut(portion: Portion) -> Mapping[str, int]:
    """What the shards of one run agree in."""
    return {
        "the number of shards": portion.shard.count,
        "the number of concept sets of the whole": portion.whole.sets,
        "the number of cases of the whole": portion.whole.cases_per_row,
    }


def _measures(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """By metric, the signature it was measured with, or why it was not."""
    return {
        name: dig(score, "signature") or f"not measured ({dig(score, 'reason')})"
        for name, score in row["metrics"].items()
    }


def _check_same(of_what: str, one: Part, its: Mapping[str, Any], other: Part, others: Mapping[str, Any]) -> None:
    for name in dict.fromkeys((*its, *others)):
        if its.get(name) != others.get(name):
            raise MergeError(
                f"{_label(name)}{of_what} is {shown(its.get(name))} in {one.name} but {shown(others.get(name))} in "
                f"{other.name}; {_ALIKE}"
            )


def _label(name: str) -> str:
    return name if name.isprintable() else shown(name)
