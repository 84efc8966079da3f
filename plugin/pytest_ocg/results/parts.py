"""Runs that are to be put together: each checked by itself, and known as a shard or as a whole."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ocg.errors import MergeError, shown
from pytest_ocg.gate.thresholds import is_number
from pytest_ocg.inputs.selection import Shard, Whole
from pytest_ocg.results.comparability import run_signature, unfinished_problems
from pytest_ocg.results.files import Run, row_statistics
from pytest_ocg.run.option_readers import shard

RowKey = tuple[str, str]
"""Model and condition."""

_TEXT, _OBJECT, _LIST, _COUNT = (str,), (dict,), (list,), (int,)
_TEXT_OR_NONE, _COUNT_OR_NONE, _NUMBER_OR_NONE = (str, type(None)), (int, type(None)), (int, float, type(None))
_OF_RESULTS = {
    "run": _OBJECT, "dataset": _OBJECT, "templates_sha256": _TEXT, "matcher": _TEXT, "seed": _COUNT,
    "selection": _OBJECT,
}  # fmt: skip
_OF_A_RUN = {"started": _TEXT, "seconds": (int, float), "python": _TEXT, "versions": _OBJECT}
_OF_A_SELECTION = {
    "sets": _TEXT_OR_NONE, "shard": _TEXT_OR_NONE, "templates": _LIST, "conditions": _LIST, "shots": _COUNT,
}  # fmt: skip
_OF_A_WHOLE = {"sets": _COUNT, "cases_per_row": _COUNT}
_OF_A_ROW = {
    "condition": _TEXT, "shots": _COUNT, "identity": _OBJECT, "counts": _OBJECT, "usage": _OBJECT, "metrics": _OBJECT,
    "made_by": _LIST,
}  # fmt: skip
_OF_USAGE = {"cost_dollars": _NUMBER_OR_NONE, "new_cost_dollars": _NUMBER_OR_NONE}
_OF_A_METRIC = {"signature": _TEXT_OR_NONE, "reason": _TEXT_OR_NONE}
_OF_A_SIGNED_METRIC = {"left_out": _COUNT, "cut": _COUNT}
_OF_A_SOURCE = {"replies": _COUNT}
_OF_A_RECORD = {"finish_reason": _TEXT_OR_NONE, "prompt_tokens": _COUNT_OR_NONE, "completion_tokens": _COUNT_OR_NONE}
_SETTINGS = ("dataset_sha256", "sets", "templates", "templates_sha256", "shots", "matcher")


@dataclass(frozen=True, slots=True)
class Portion:
    """Which shard, and of what."""

    shard: Shard
    whole: Whole


@dataclass(frozen=True, slots=True)
class Part:
    """A run that ended, its records by row, and which portion of a whole run it is, None where it is one itself."""

    run: Run
    records: Mapping[RowKey, Sequence[Mapping[str, Any]]]
    portion: Portion | None

    @property
    def name(self) -> str:
        """Its folder, as messages call it."""
        return repr(str(self.run.path.parent))

    @property
    def rows(self) -> Mapping[RowKey, Mapping[str, Any]]:
        """The rows of its results."""
        return {(row["model"], row["condition"]): row for row in self.run.results["rows"]}

    def settings(self) -> Mapping[str, Any]:
        """What it was asked, and the versions that ran it: all that must be the same in every part."""
        results, selection = self.run.results, self.run.results["selection"]
        signature = run_signature(results, {"shots": selection["shots"]})
        return {
            **{name: signature[name] for name in _SETTINGS},
            "conditions": selection["conditions"],
            "seed": results["seed"],
            **{f"version of {package}": version for package, version in results["run"]["versions"].items()},
        }

    def provenances(self, key: RowKey) -> Mapping[str, Mapping[str, Any]]:
        """How the replies of a row were made, by the id that their records have for it."""
        made_by = self.rows[key]["made_by"]
        return {
            source: {fact: value for fact, value in made.items() if fact != "replies"}
            for (source, _), made in zip(_sources(self.records[key]), made_by, strict=True)
        }


def read_part(run: Run) -> Part:
    """The part that a run is; raises MergeError for one that did not end, or whose files do not fit together."""
    place, results = f"results {str(run.path)!r}", run.results
    _check(results, _OF_RESULTS, place)
    selection, rows = results["selection"], results["rows"]
    _check(results["run"], _OF_A_RUN, place)
    _check(selection, _OF_A_SELECTION, place)
    records: defaultdict[RowKey, list[Mapping[str, Any]]] = defaultdict(list)
    for record in run.records:
        _check(record, _OF_A_RECORD, f"generations of {str(run.path)!r}, case {shown(record['id'])}")
        records[record["model"], record["condition"]].append(record)
    for row in rows:
        where = f"{place}, row of {shown(row['model'])} {shown(row.get('condition'))}"
        _check_row(row, where)
        problems = list(dict.fromkeys(unfinished_problems(results, row)))
        if problems:
            raise MergeError(
                f"{where}: {'; '.join(problems)}; run it again to its end, which asks for no reply that is in the cache"
            )
        _check_records(run, row, records[row["model"], row["condition"]], where)
    keys = [(row["model"], row["condition"]) for row in rows]
    wanted = [
        (model, condition) for model in dict.fromkeys(model for model, _ in keys) for condition in _conditions(run)
    ]
    if not rows or sorted(keys) != sorted(wanted) or records.keys() != set(keys):
        raise MergeError(
            f"{place} have rows of {shown(keys)} and cases of {shown(sorted(records))}, not one row for each model and "
            f"condition of {shown(selection['conditions'])}; run the benchmark again"
        )
    return Part(run, records, _portion(selection, place))


def _conditions(run: Run) -> Sequence[str]:
    return [str(condition) for condition in run.results["selection"]["conditions"]]


def _portion(selection: Mapping[str, Any], place: str) -> Portion | None:
    if selection["shard"] is None:
        return None
    _check(selection, {"whole": _OBJECT}, place)
    whole = selection["whole"]
    _check(whole, _OF_A_WHOLE, place)
    try:
        return Portion(shard(selection["shard"]), Whole(whole["sets"], whole["cases_per_row"]))
    except ValueError as error:
        raise MergeError(f"{place} have shard {shown(selection['shard'])} ({error}); run it again") from error


def _check_row(row: Mapping[str, Any], place: str) -> None:
    _check(row, _OF_A_ROW, place)
    _check(row["usage"], _OF_USAGE, place)
    for name, score in row["metrics"].items():
        of_metric = f"{place}, metric {shown(name)}"
        _check(score, _OF_A_METRIC, of_metric)
        if score["signature"] is not None:
            _check(score, _OF_A_SIGNED_METRIC, of_metric)
    for source in row["made_by"]:
        _check(source, _OF_A_SOURCE, place)


def _check_records(run: Run, row: Mapping[str, Any], records: Sequence[Mapping[str, Any]], place: str) -> None:
    ids = Counter(record["id"] for record in records)
    keys = {(str(record["template"]), record["set"]) for record in records}
    statistics = row_statistics(run, row)
    measured = {
        (template, name) for of_metric in statistics.values() for template in of_metric for name in of_metric[template]
    }
    if [source["replies"] for source in row["made_by"]] != [count for _, count in _sources(records)]:
        raise MergeError(f"{place}: made_by does not count the cases in its generations; run the benchmark again")
    for case, count in ids.most_common(1):
        if count > 1:
            raise MergeError(f"{place}: case {shown(case)} is there {count} times; run the benchmark again")
    if len(records) != row["counts"]["planned"] or not measured <= keys:
        raise MergeError(
            f"{place}: its counts and statistics are of {row['counts']['planned']} cases and "
            f"{len(measured)} sets under templates, its generations of {len(records)} and {len(keys)}; take both files "
            "from the same run"
        )


def _sources(records: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """The ids of how replies were made, sorted as rows list them, with how many replies each made."""
    return sorted(Counter(record["made_by"] for record in records).items())


def _check(found: object, fields: Mapping[str, tuple[type, ...]], place: str) -> None:
    """Raise MergeError for the first field that is not of its types."""
    for field, value in _wrong_fields(found, fields):
        raise MergeError(f"{place}: {field} is {shown(value)}, which no run writes; run the benchmark again")


def _wrong_fields(found: object, fields: Mapping[str, tuple[type, ...]]) -> Iterator[tuple[str, object]]:
    if not isinstance(found, Mapping):
        yield "what stands there", found
        return
    for field, types in fields.items():
        value = found.get(field)
        if field not in found or type(value) not in types or (type(value) is float and not is_number(value)):
            yield field, value
