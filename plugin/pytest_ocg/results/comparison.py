"""Two runs held against each other, row by row, where they asked the same of the same concept sets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ocg.errors import CompareError, shown
from pytest_ocg.results.case_changes import CaseChanges, case_changes
from pytest_ocg.results.comparability import differing_keys, dig
from pytest_ocg.results.compared_row import ComparedRow, Shared, read_row, row_name
from pytest_ocg.results.files import Run
from pytest_ocg.statistics.differences import Difference, differences
from pytest_ocg.statistics.intervals import WITHOUT_INTERVAL

_NARROWED = ("dataset", "dataset_sha256", "sets", "templates")
_TOLD = ("quantization",)


@dataclass(frozen=True, slots=True)
class RowComparison:
    """One model and condition in two runs: `sets` concept sets under `templates`.

    `notes` say what was left out, and in what the runs differ besides.
    """

    old_model: str
    new_model: str
    condition: str
    shots: int
    sets: int
    templates: tuple[int, ...]
    differences: tuple[Difference, ...]
    cases: CaseChanges
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs compared: the files, each row that both have, and notes on the rows that only one has."""

    old: Path
    new: Path
    rows: tuple[RowComparison, ...]
    notes: tuple[str, ...]


def compare(old: Run, new: Run, *, intersection: bool = False) -> Comparison:
    """The comparison of the rows of the same model and condition, or condition alone where each run has one model.

    Concept sets are matched by their words, since ids are row numbers of a dataset. With `intersection`, what both have
    of sets, templates and metrics is compared. Raises CompareError, naming both values, where the runs are not alike in
    dataset, sets, templates, cases, matcher, shots or a metric's signature.
    """
    pairs = _matched(old, new)
    if not pairs:
        raise CompareError(
            f"no model and condition is in both: {str(old.path)!r} has {_row_names(old)}, {str(new.path)!r} has "
            f"{_row_names(new)}; give two runs of the same models, or of one model each under the same condition"
        )
    alone = [
        f"{row_name(row)} is only in {str(run.path)!r}"
        for side, run in enumerate((old, new))
        for row in run.results["rows"]
        if not any(pair[side] is row for pair in pairs)
    ]
    rows = (_compared_rows(old, before, new, after, intersection) for before, after in pairs)
    return Comparison(old.path, new.path, tuple(rows), tuple(alone))


def _matched(old: Run, new: Run) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    runs = [run.results["rows"] for run in (old, new)]
    is_one_model = all(len({row["model"] for row in rows}) == 1 for rows in runs)
    before, after = (
        {(None if is_one_model else row["model"], str(row.get("condition"))): row for row in rows} for rows in runs
    )
    return [(before[key], after[key]) for key in before if key in after]


def _row_names(run: Run) -> str:
    return ", ".join(map(row_name, run.results["rows"])) or "no rows"


def _compared_rows(
    old: Run, old_row: Mapping[str, Any], new: Run, new_row: Mapping[str, Any], intersection: bool
) -> RowComparison:
    before, after = read_row(old, old_row), read_row(new, new_row)
    problems = list(_problems(before, after, intersection))
    shared = before.shared_with(after)
    if not problems and not shared.sets:
        problems.append("no concept set was asked in the same way in both")
    if problems:
        way_out = "" if intersection else ", or add --intersection for the sets, templates and metrics that both have"
        raise CompareError(
            f"{after.name} in {str(old.path)!r} and {str(new.path)!r}: {'; '.join(problems)}; run both alike{way_out}"
        )
    unlike = dict(_unlike_metrics(before, after))
    found = differences(before.statistics_of(shared), after.statistics_of(shared), without=unlike)
    if before.cases.keys() == after.cases.keys():
        found += tuple(_without_statistics(before, after, {*unlike, *(one.metric for one in found)}, len(shared.sets)))
    return RowComparison(
        old_model=old_row["model"],
        new_model=new_row["model"],
        condition=str(new_row.get("condition")),
        shots=after.signature["shots"],
        sets=len(shared.sets),
        templates=shared.templates,
        differences=found,
        cases=case_changes(before.cases_of(shared), after.cases_of(shared)),
        notes=tuple(_notes(before, after, shared)),
    )


def _problems(before: ComparedRow, after: ComparedRow, intersection: bool) -> Iterator[str]:
    """One for each way in which the rows are not alike, with both values."""
    for key in differing_keys(after.signature, before.signature):
        if key not in _TOLD and not (intersection and key in _NARROWED):
            yield f"{key} is {shown(before.signature[key])} in the old and {shown(after.signature[key])} in the new"
    if intersection:
        return
    for metric, told in _unlike_metrics(before, after):
        yield f"{metric} {told}"
    if before.cases.keys() != after.cases.keys():
        both = len(before.cases.keys() & after.cases.keys())
        yield f"{len(before.cases):,} cases were run in the old and {len(after.cases):,} in the new, {both:,} in both"


def _unlike_metrics(before: ComparedRow, after: ComparedRow) -> Iterator[tuple[str, str]]:
    """Metrics that both have but not as the same measure, with what each was measured as."""
    for metric in _keys(after, "metrics"):
        old, new = (dig(side.row, "metrics", metric, "signature") for side in (before, after))
        if old != new and None not in (before.value(metric), after.value(metric)):
            yield metric, f"was measured as {shown(old)} in the old and {shown(new)} in the new"


def _without_statistics(
    before: ComparedRow, after: ComparedRow, known: Collection[str], sets: int
) -> Iterator[Difference]:
    """The differences in metrics that are no mean over sets, which are known for the rows as a whole alone."""
    for metric in _keys(after, "metrics"):
        old, new = before.value(metric), after.value(metric)
        if metric not in known and old is not None and new is not None:
            reason = WITHOUT_INTERVAL.get(metric, "the results do not say what each concept set adds to it")
            yield Difference(metric, old, new, new - old, None, None, None, None, None, sets, reason)


def _notes(before: ComparedRow, after: ComparedRow, shared: Shared) -> Iterator[str]:
    for side, label in ((before, "old"), (after, "new")):
        sets, templates = ({key[place] for key in side.cases} for place in (1, 0))
        if len(sets) > len(shared.sets) or len(templates) > len(shared.templates):
            yield (
                f"of the {len(sets)} concept sets and {len(templates)} templates of the {label}, {len(shared.sets)} "
                f"and {len(shared.templates)} were asked alike in both"
            )
    for metric, told in _unlike_metrics(before, after):
        yield f"{metric} is left out: it {told}"
    for metric in dict.fromkeys((*_keys(before, "metrics"), *_keys(after, "metrics"))):
        for side, other, label in ((before, after, "old"), (after, before, "new")):
            if side.value(metric) is not None and other.value(metric) is None:
                yield f"{metric} is only in the {label}"
    for key in sorted({*_keys(before, "identity"), *_keys(after, "identity")}):
        old, new = (dig(side.row, "identity", key) for side in (before, after))
        if old != new:
            yield f"{key} is {shown(old)} in the old and {shown(new)} in the new"


def _keys(side: ComparedRow, field: str) -> list[str]:
    found = side.row.get(field)
    return list(found) if isinstance(found, Mapping) else []
