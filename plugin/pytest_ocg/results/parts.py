"""Runs to merge: each is checked by itself, then whether they fit together and which shards are missing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ocg.errors import MergeError, quote
from pytest_ocg.inputs.selection import Shard, Whole
from pytest_ocg.results.files import Run
from pytest_ocg.results.rows import check_statistics, unfinished_problems
from pytest_ocg.results.schema import Row, RunSelection
from pytest_ocg.results.signature import run_signature
from pytest_ocg.run.option_readers import shard
from pytest_ocg.run.record import CaseRecord

RowKey = tuple[str, str]
"""Model and condition."""

_SETTINGS = ("dataset_sha256", "sets", "templates", "templates_sha256", "shots", "matcher")
_SAME_SETTINGS = "merge only runs with the same options and the same versions"


@dataclass(frozen=True, slots=True)
class Portion:
    """A shard, and the whole run that it is a part of."""

    shard: Shard
    whole: Whole


@dataclass(frozen=True, slots=True)
class Part:
    """A run that ended, its records by row, and its portion of a whole run, None if it is a whole run."""

    run: Run
    records: Mapping[RowKey, Sequence[CaseRecord]]
    portion: Portion | None

    @property
    def name(self) -> str:
        """Its folder, for messages."""
        return repr(str(self.run.path.parent))

    @property
    def rows(self) -> Mapping[RowKey, Row]:
        """The rows of its results."""
        return {(row.model, row.condition): row for row in self.run.results.rows}

    def settings(self) -> Mapping[str, Any]:
        """The settings and versions of the run that must be the same in every part."""
        results = self.run.results
        signature = run_signature(results, results.rows[0])
        return {
            **{name: signature[name] for name in _SETTINGS},
            "conditions": results.selection.conditions,
            "seed": results.seed,
            **{f"version of {package}": version for package, version in results.run.versions.items()},
        }

    def provenances(self, key: RowKey) -> Mapping[str, Mapping[str, Any]]:
        """How the replies of a row were made, by the id in their records."""
        made_by = self.rows[key].made_by
        return {
            source: {fact: value for fact, value in made.items() if fact != "replies"}
            for (source, _), made in zip(_sources(self.records[key]), made_by, strict=True)
        }


@dataclass(frozen=True, slots=True)
class MissingShard:
    """A shard of a model that is missing among the parts."""

    model: str
    shard: Shard

    def __str__(self) -> str:
        return f"shard {self.shard} of {quote(self.model)}"


def read_part(run: Run) -> Part:
    """The run as a part; raises an OcgError if it did not end, or if its files do not belong together."""
    place, results = f"results file {str(run.path)!r}", run.results
    records: defaultdict[RowKey, list[CaseRecord]] = defaultdict(list)
    for record in run.records:
        records[record.model, record.condition].append(record)
    for row in results.rows:
        where = f"{place}, row of {quote(row.model)} {quote(row.condition)}"
        problems = list(dict.fromkeys(unfinished_problems(results, row)))
        if problems:
            raise MergeError(
                f"{where}: {'; '.join(problems)}; run it again until it ends, which reuses the replies in the cache"
            )
        check_statistics(row, where)
        _check_records(row, records[row.model, row.condition], where)
    keys = [(row.model, row.condition) for row in results.rows]
    wanted = [(model, condition) for model in results.models() for condition in results.selection.conditions]
    if not keys or sorted(keys) != sorted(wanted) or records.keys() != set(keys):
        raise MergeError(
            f"{place} has rows of {quote(keys)} and cases of {quote(sorted(records))}, but needs one row for each "
            f"model and condition of {quote(results.selection.conditions)}; run the benchmark again"
        )
    return Part(run, records, _portion(results.selection, place))


def _portion(selection: RunSelection, place: str) -> Portion | None:
    if selection.shard is None:
        return None
    if selection.whole is None:
        raise MergeError(f"{place} has shard {quote(selection.shard)}, but not its whole run; run it again")
    try:
        return Portion(shard(selection.shard), selection.whole)
    except ValueError as error:
        raise MergeError(f"{place} has shard {quote(selection.shard)} ({error}); run it again") from error


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
        raise MergeError(
            f"{place}: made_by does not match the number of cases in its generations; run the benchmark again"
        )
    for case, count in ids.most_common(1):
        if count > 1:
            raise MergeError(f"{place}: case {quote(case)} occurs {count} times; run the benchmark again")
    if len(records) != row.counts.planned or not measured <= keys:
        raise MergeError(
            f"{place}: its counts and statistics have {row.counts.planned} cases and {len(measured)} pairs of template "
            f"and set, but its generations have {len(records)} and {len(keys)}; take both files from the same run"
        )


def _sources(records: Sequence[CaseRecord]) -> list[tuple[str, int]]:
    """The ids of the ways in which replies were made, in the order of `made_by`, with the number of replies of each."""
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
            # If no other part has the row, any row of the first part shows what was measured, and how.
            like = first if twin is part else twin
            other = like.rows.get(key) or next(iter(like.rows.values()))
            _check_same(of_row, like, _measures(other), part, _measures(row))


def missing_shards(model: str, parts: Sequence[Part]) -> list[MissingShard]:
    """The shards of the model that are missing among its parts.

    Raises MergeError for a shard or a concept set that is in two parts, for a model of which one part has all cases and
    another has cases again, and for shards of different whole runs.
    """
    portions = [(part, part.portion) for part in parts if part.portion is not None]
    if len(portions) < len(parts):
        if len(parts) > 1:
            entire = next(part for part in parts if part.portion is None)
            other = next(part for part in parts if part is not entire)
            raise MergeError(
                f"all cases of {quote(model)} are in {entire.name}, and some are also in {other.name}; leave one of "
                "them out"
            )
        return []
    _check_disjoint(model, portions)
    first, of_first = portions[0]
    count, whole = of_first.shard.count, of_first.whole
    found = {portion.shard.index for _, portion in portions}
    # Of two sets cut into three shards, the third shard is empty: there is no such run.
    missing = [index for index in range(1, min(count, whole.sets) + 1) if index not in found]
    if not missing:
        for condition in dict.fromkeys(condition for _, condition in first.rows):
            cases = sum(len(part.records[model, condition]) for part, _ in portions)
            if cases != whole.cases_per_row:
                raise MergeError(
                    f"all shards of {quote(model)} {quote(condition)} have {cases:,} cases together, but the whole run "
                    f"of {first.name} has {whole.cases_per_row:,}; run them again from the same concept file"
                )
    return [MissingShard(model, Shard(index, count)) for index in missing]


def _check_disjoint(model: str, portions: Sequence[tuple[Part, Portion]]) -> None:
    first, of_first = portions[0]
    shards: dict[int, Part] = {}
    sets: dict[str, Part] = {}
    for part, portion in portions:
        _check_same(f" of {quote(model)}", first, _whole_facts(of_first), part, _whole_facts(portion))
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


def _whole_facts(portion: Portion) -> Mapping[str, int]:
    """The facts about the whole run that all its shards share."""
    return {
        "the number of shards": portion.shard.count,
        "the number of concept sets of the whole run": portion.whole.sets,
        "the number of cases of the whole run": portion.whole.cases_per_row,
    }


def _measures(row: Row) -> Mapping[str, Any]:
    """By metric, the signature it was measured with, or why it was not measured."""
    return {name: score.signature or f"not measured ({score.reason})" for name, score in row.metrics.items()}


def _check_same(of_what: str, one: Part, its: Mapping[str, Any], other: Part, others: Mapping[str, Any]) -> None:
    for name in dict.fromkeys((*its, *others)):
        if its.get(name) != others.get(name):
            raise MergeError(
                f"{_label(name)}{of_what} is {quote(its.get(name))} in {one.name} but {quote(others.get(name))} in "
                f"{other.name}; {_SAME_SETTINGS}"
            )


def _label(name: str) -> str:
    return name if name.isprintable() else quote(name)
