"""Runs that are to be put together: each checked by itself, then whether they go together and what is missing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ocg.errors import MergeError, quote
from pytest_ocg.inputs.selection import Shard, Whole
from pytest_ocg.results.files import Run
from pytest_ocg.results.rows import unfinished_problems
from pytest_ocg.results.schema import Row, RunSelection
from pytest_ocg.results.signature import run_signature
from pytest_ocg.run.option_readers import shard
from pytest_ocg.run.record import CaseRecord

RowKey = tuple[str, str]
"""Model and condition."""

_SETTINGS = ("dataset_sha256", "sets", "templates", "templates_sha256", "shots", "matcher")
_ALIKE = "merge what was run with the same options by the same versions"


@dataclass(frozen=True, slots=True)
class Portion:
    """Which shard, and of what."""

    shard: Shard
    whole: Whole


@dataclass(frozen=True, slots=True)
class Part:
    """A run that ended, its records by row, and which portion of a whole run it is, None where it is one itself."""

    run: Run
    records: Mapping[RowKey, Sequence[CaseRecord]]
    portion: Portion | None

    @property
    def name(self) -> str:
        """Its folder, as messages call it."""
        return repr(str(self.run.path.parent))

    @property
    def rows(self) -> Mapping[RowKey, Row]:
        """The rows of its results."""
        return {(row.model, row.condition): row for row in self.run.results.rows}

    def settings(self) -> Mapping[str, Any]:
        """What it was asked, and the versions that ran it: all that must be the same in every part."""
        results = self.run.results
        signature = run_signature(results, results.rows[0])
        return {
            **{name: signature[name] for name in _SETTINGS},
            "conditions": results.selection.conditions,
            "seed": results.seed,
            **{f"version of {package}": version for package, version in results.run.versions.items()},
        }

    def provenances(self, key: RowKey) -> Mapping[str, Mapping[str, Any]]:
        """How the replies of a row were made, by the id that their records have for it."""
        made_by = self.rows[key].made_by
        return {
            source: {fact: value for fact, value in made.items() if fact != "replies"}
            for (source, _), made in zip(_sources(self.records[key]), made_by, strict=True)
        }


@dataclass(frozen=True, slots=True)
class MissingShard:
    """A shard of a model that none of the parts is."""

    model: str
    shard: Shard

    def __str__(self) -> str:
        return f"shard {self.shard} of {quote(self.model)}"


def read_part(run: Run) -> Part:
    """The part that a run is; raises MergeError for one that did not end, or whose files do not fit together."""
    place, results = f"results {str(run.path)!r}", run.results
    records: defaultdict[RowKey, list[CaseRecord]] = defaultdict(list)
    for record in run.records:
        records[record.model, record.condition].append(record)
    for row in results.rows:
        where = f"{place}, row of {quote(row.model)} {quote(row.condition)}"
        problems = list(dict.fromkeys(unfinished_problems(results, row)))
        if problems:
            raise MergeError(
                f"{where}: {'; '.join(problems)}; run it again to its end, which asks for no reply that is in the cache"
            )
        _check_records(row, records[row.model, row.condition], where)
    keys = [(row.model, row.condition) for row in results.rows]
    wanted = [(model, condition) for model in results.models() for condition in results.selection.conditions]
    if not keys or sorted(keys) != sorted(wanted) or records.keys() != set(keys):
        raise MergeError(
            f"{place} have rows of {quote(keys)} and cases of {quote(sorted(records))}, not one row for each model and "
            f"condition of {quote(results.selection.conditions)}; run the benchmark again"
        )
    return Part(run, records, _portion(results.selection, place))


def _portion(selection: RunSelection, place: str) -> Portion | None:
    if selection.shard is None:
        return None
    if selection.whole is None:
        raise MergeError(f"{place} have shard {quote(selection.shard)} and do not say of what whole; run it again")
    try:
        return Portion(shard(selection.shard), selection.whole)
    except ValueError as error:
        raise MergeError(f"{place} have shard {quote(selection.shard)} ({error}); run it again") from error


def _check_records(row: Row, records: Sequence[CaseRecord], place: str) -> None:
    ids = Counter(record.id for record in records)
    keys = {(str(record.template), record.set) for record in records}
    measured = {
        (template, name)
        for of_metric in row.statistics.values()
        for template in of_metric
        for name in of_metric[template]
    }
    if [source["replies"] for source in row.made_by] != [count for _, count in _sources(records)]:
        raise MergeError(f"{place}: made_by does not count the cases in its generations; run the benchmark again")
    for case, count in ids.most_common(1):
        if count > 1:
            raise MergeError(f"{place}: case {quote(case)} is there {count} times; run the benchmark again")
    if len(records) != row.counts.planned or not measured <= keys:
        raise MergeError(
            f"{place}: its counts and statistics are of {row.counts.planned} cases and "
            f"{len(measured)} sets under templates, its generations of {len(records)} and {len(keys)}; take both files "
            "from the same run"
        )


def _sources(records: Sequence[CaseRecord]) -> list[tuple[str, int]]:
    """The ids of how replies were made, sorted as rows list them, with how many replies each made."""
    return sorted(Counter(record.made_by for record in records).items())


def check_alike(parts: Sequence[Part]) -> None:
    """Raise MergeError for the first difference in settings, in a model's identity, or in how a metric is measured."""
    first = parts[0]
    twins: dict[RowKey, Part] = {}
    for part in parts:
        _check_same("", first, first.settings(), part, part.settings())
        for key, row in part.rows.items():
            twin = twins.setdefault(key, part)
            of_row = f" of {quote(key[0])} {quote(key[1])}"
            _check_same(of_row, twin, twin.rows[key].identity, part, row.identity)
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
                f"{quote(model)} is whole in {entire.name} and again in {other.name}; leave one of them out"
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
                    f"all shards of {quote(model)} {quote(condition)} have {cases:,} cases together, but the whole in "
                    f"{first.name} has {whole.cases_per_row:,}; run them again from the same concept file"
                )
    return [MissingShard(model, Shard(index, count)) for index in missing]


def _check_apart(model: str, portions: Sequence[tuple[Part, Portion]]) -> None:
    first, of_first = portions[0]
    shards: dict[int, Part] = {}
    sets: dict[str, Part] = {}
    for part, portion in portions:
        _check_same(f" of {quote(model)}", first, _cut(of_first), part, _cut(portion))
        twin = shards.setdefault(portion.shard.index, part)
        if twin is not part:
            raise MergeError(
                f"shard {portion.shard} of {quote(model)} is in {twin.name} and in {part.name}; leave one of them out"
            )
        own = {record.set for key, records in part.records.items() if key[0] == model for record in records}
        for name in sorted(own):
            twin = sets.setdefault(name, part)
            if twin is not part:
                raise MergeError(
                    f"concept set {quote(name)} of {quote(model)} is in {twin.name} and in {part.name}; run the shards "
                    "again from the same concept file"
                )


def _cut(portion: Portion) -> Mapping[str, int]:
    """What the shards of one run agree in."""
    return {
        "the number of shards": portion.shard.count,
        "the number of concept sets of the whole": portion.whole.sets,
        "the number of cases of the whole": portion.whole.cases_per_row,
    }


def _measures(row: Row) -> Mapping[str, Any]:
    """By metric, the signature it was measured with, or why it was not."""
    return {name: score.signature or f"not measured ({score.reason})" for name, score in row.metrics.items()}


def _check_same(of_what: str, one: Part, its: Mapping[str, Any], other: Part, others: Mapping[str, Any]) -> None:
    for name in dict.fromkeys((*its, *others)):
        if its.get(name) != others.get(name):
            raise MergeError(
                f"{_label(name)}{of_what} is {quote(its.get(name))} in {one.name} but {quote(others.get(name))} in "
                f"{other.name}; {_ALIKE}"
            )


def _label(name: str) -> str:
    return name if name.isprintable() else quote(name)
