"""Two runs compared row by row, over the cases that both asked in the same way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ocg.errors import CompareError, ResultsError, counted, quote
from pytest_ocg.metrics import catalogue
from pytest_ocg.results.case_changes import CaseChanges, CaseKey, Cases, case_changes
from pytest_ocg.results.files import Run
from pytest_ocg.results.rows import check_statistics
from pytest_ocg.results.schema import Row
from pytest_ocg.results.signature import differing_keys, run_signature
from pytest_ocg.run.record import CaseRecord
from pytest_ocg.statistics.differences import Difference, differences
from pytest_ocg.statistics.resampling import RowStatistics

_NARROWED = ("dataset", "dataset_sha256", "sets", "templates")
_NOTED = ("quantization",)


@dataclass(frozen=True, slots=True)
class RowComparison:
    """One model and condition in two runs: `sets` concept sets under `templates`.

    `notes` name what was left out, and other differences between the runs.
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
    """Two runs compared: the files, each row that is in both runs, and notes on rows that are in only one."""

    old: Path
    new: Path
    rows: tuple[RowComparison, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Shared:
    """The concept sets (as tagged words) and the templates that were asked in the same way in two rows."""

    sets: tuple[str, ...]
    templates: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Side:
    """A row, its signature, what each concept set adds to its metrics, and its cases, by the words of the sets."""

    row: Row
    signature: Mapping[str, Any]
    statistics: RowStatistics
    cases: Cases

    def shared_with(self, other: _Side) -> _Shared:
        """The templates that both have, and the sets with the same cases under these templates in both."""
        templates = {key[0] for key in self.cases} & {key[0] for key in other.cases}
        mine, theirs = (_by_set(cases, templates) for cases in (self.cases, other.cases))
        alike = (concepts for concepts, keys in mine.items() if theirs.get(concepts) == keys)
        return _Shared(tuple(sorted(alike)), tuple(sorted(templates)))

    def statistics_of(self, shared: _Shared) -> RowStatistics:
        """The statistics of the shared sets and templates, by the words of the sets."""
        sets, templates = set(shared.sets), set(map(str, shared.templates))
        return {
            metric: {
                template: {concepts: value for concepts, value in of_template.items() if concepts in sets}
                for template, of_template in of_metric.items()
                if template in templates
            }
            for metric, of_metric in self.statistics.items()
        }

    def cases_of(self, shared: _Shared) -> Cases:
        """The cases of the shared sets and templates, in the order they were run."""
        sets, templates = set(shared.sets), set(shared.templates)
        return {key: record for key, record in self.cases.items() if key[0] in templates and key[1] in sets}


def compare(old: Run, new: Run, *, intersection: bool = False) -> Comparison:
    """The comparison of rows with the same model and condition, or only the same condition if each run has one model.

    Concept sets are matched by their words, because ids are row numbers of a dataset. With `intersection`, only the
    sets, templates and metrics that both runs have are compared. Raises CompareError, naming both values, if the runs
    differ in dataset, sets, templates, cases, matcher, shots or a metric's signature, and ResultsError if the files of
    a run do not belong together.
    """
    pairs = _matched(old, new)
    if not pairs:
        raise CompareError(
            f"the runs have no model and condition in common: {str(old.path)!r} has {_row_names(old)}, "
            f"{str(new.path)!r} has {_row_names(new)}; give two runs of the same models, or of "
            "one model each under the same condition"
        )
    unmatched = [
        f"{_row_name(row)} is only in {str(run.path)!r}"
        for side, run in enumerate((old, new))
        for row in run.results.rows
        if not any(pair[side] is row for pair in pairs)
    ]
    rows = (_compared_rows(old, before, new, after, intersection) for before, after in pairs)
    return Comparison(old.path, new.path, tuple(rows), tuple(unmatched))


def _matched(old: Run, new: Run) -> list[tuple[Row, Row]]:
    is_one_model = all(len(run.results.models()) == 1 for run in (old, new))
    before, after = (
        {(None if is_one_model else row.model, row.condition): row for row in run.results.rows} for run in (old, new)
    )
    return [(before[key], after[key]) for key in before if key in after]


def _row_names(run: Run) -> str:
    return ", ".join(map(_row_name, run.results.rows)) or "no rows"


def _row_name(row: Row) -> str:
    """Model and condition of a row, for messages."""
    return f"{quote(row.model)} {quote(row.condition)}"


def _compared_rows(old: Run, old_row: Row, new: Run, new_row: Row, intersection: bool) -> RowComparison:
    before, after = _side(old, old_row), _side(new, new_row)
    problems = list(_problems(before, after, intersection))
    shared = before.shared_with(after)
    if not problems and not shared.sets:
        problems.append("no concept set was asked in the same way in both runs")
    if problems:
        way_out = "" if intersection else ", or add --intersection to compare only what both runs have"
        raise CompareError(
            f"{_row_name(new_row)} in {str(old.path)!r} and {str(new.path)!r} cannot be compared: "
            f"{'; '.join(problems)}; run both with the same options{way_out}"
        )
    unlike = dict(_unlike_metrics(before, after))
    found = differences(before.statistics_of(shared), after.statistics_of(shared), without=unlike)
    if before.cases.keys() == after.cases.keys():
        found += tuple(_without_statistics(before, after, {*unlike, *(one.metric for one in found)}, len(shared.sets)))
    return RowComparison(
        old_model=old_row.model,
        new_model=new_row.model,
        condition=new_row.condition,
        shots=new_row.shots,
        sets=len(shared.sets),
        templates=shared.templates,
        differences=found,
        cases=case_changes(before.cases_of(shared), after.cases_of(shared)),
        notes=tuple(_notes(before, after, shared)),
    )


def _problems(before: _Side, after: _Side, intersection: bool) -> Iterator[str]:
    """One message for each difference that makes the rows not comparable, with both values."""
    for key in differing_keys(after.signature, before.signature):
        if key not in _NOTED and not (intersection and key in _NARROWED):
            was, now = quote(before.signature[key]), quote(after.signature[key])
            yield f"{key} is {was} in the old run and {now} in the new run"
    if intersection:
        return
    for metric, difference in _unlike_metrics(before, after):
        yield f"{metric} {difference}"
    if before.cases.keys() != after.cases.keys():
        in_old, in_new, in_both = len(before.cases), len(after.cases), len(before.cases.keys() & after.cases.keys())
        yield f"the old run has {counted(in_old, 'case')} and the new run {in_new:,}, and {in_both:,} are in both"


def _unlike_metrics(before: _Side, after: _Side) -> Iterator[tuple[str, str]]:
    """The metrics that both have with different signatures, with both signatures in words."""
    for metric, score in after.row.metrics.items():
        twin = before.row.metrics.get(metric)
        if twin is not None and twin.signature != score.signature and None not in (twin.value, score.value):
            yield (
                metric,
                f"was measured as {quote(twin.signature)} in the old run and {quote(score.signature)} in the new run",
            )


def _without_statistics(before: _Side, after: _Side, known: Collection[str], sets: int) -> Iterator[Difference]:
    """The differences in metrics that are not a mean over sets, known only for the whole rows."""
    for metric, new in after.row.values().items():
        old = before.row.value(metric)
        if metric not in known and old is not None and new is not None:
            reason = catalogue.METRICS[metric].without_interval if metric in catalogue.METRICS else ""
            reason = reason or "the results do not show what each concept set adds to it"
            yield Difference(metric, old, new, new - old, None, None, None, None, None, sets, reason)


def _notes(before: _Side, after: _Side, shared: _Shared) -> Iterator[str]:
    for side, label in ((before, "old"), (after, "new")):
        sets, templates = ({key[place] for key in side.cases} for place in (1, 0))
        if len(sets) > len(shared.sets) or len(templates) > len(shared.templates):
            yield (
                f"the {label} run has {counted(len(sets), 'concept set')} and {counted(len(templates), 'template')}; "
                f"{len(shared.sets)} and {len(shared.templates)} of them were asked in the same way in both runs"
            )
    for metric, difference in _unlike_metrics(before, after):
        yield f"{metric} is left out: it {difference}"
    for metric in dict.fromkeys((*before.row.metrics, *after.row.metrics)):
        for side, other, label in ((before, after, "old"), (after, before, "new")):
            if side.row.value(metric) is not None and other.row.value(metric) is None:
                yield f"{metric} is only in the {label} run"
    for key in sorted({*before.row.identity, *after.row.identity}):
        old, new = (side.row.identity.get(key) for side in (before, after))
        if old != new:
            yield f"{key} is {quote(old)} in the old run and {quote(new)} in the new run"


def _side(run: Run, row: Row) -> _Side:
    """The row with the cases of its model and condition.

    Raises ResultsError if statistics and generations are not of the same sets, or a case occurs twice.
    """
    words: dict[str, str] = {}
    cases: dict[CaseKey, CaseRecord] = {}
    for record in run.records:
        if record.model != row.model or record.condition != row.condition:
            continue
        tagged = (f"{lemma}_{tag}" for lemma, tag in zip(record.concepts, record.pattern, strict=True))
        concepts = " ".join(sorted(tagged))
        key = (record.template, concepts, record.concepts)
        if key in cases or words.setdefault(record.set, concepts) != concepts:
            raise ResultsError(
                f"generations of {str(run.path)!r} have case {quote(record.id)} twice, or set "
                f"{quote(record.set)} with different words; run the benchmark again"
            )
        cases[key] = record
    return _Side(row, run_signature(run.results, row), _by_words(run, row, words), cases)


def _by_set(cases: Cases, templates: Collection[int]) -> dict[str, set[CaseKey]]:
    found: defaultdict[str, set[CaseKey]] = defaultdict(set)
    for key in cases:
        if key[0] in templates:
            found[key[1]].add(key)
    return dict(found)


def _by_words(run: Run, row: Row, words: Mapping[str, str]) -> RowStatistics:
    place = f"results file {str(run.path)!r}: {_row_name(row)}"
    check_statistics(row, place)
    for of_metric in row.statistics.values():
        for sets in of_metric.values():
            for name in sets:
                if name not in words:
                    raise ResultsError(
                        f"{place} has statistics of set {quote(name)}, but its generations have no case of this set; "
                        "take both files from the same run"
                    )
    return {
        metric: {template: {words[name]: value for name, value in sets.items()} for template, sets in of_metric.items()}
        for metric, of_metric in row.statistics.items()
    }
