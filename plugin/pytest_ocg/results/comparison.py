"""Two runs held against each other, row by row, where they asked the same of the same concept sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ocg.errors import CompareError, ResultsError, quote
from pytest_ocg.metrics import catalogue
from pytest_ocg.results.case_changes import CaseChanges, CaseKey, Cases, case_changes
from pytest_ocg.results.files import Run
from pytest_ocg.results.schema import Row
from pytest_ocg.results.signature import differing_keys, run_signature
from pytest_ocg.run.record import CaseRecord
from pytest_ocg.statistics.differences import Difference, differences
from pytest_ocg.statistics.resampling import RowStatistics

LARGEST_SUM = 1e100
"""Of what a concept set adds to a metric: the squares of larger sums would be infinite."""

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


@dataclass(frozen=True, slots=True)
class _Shared:
    """The concept sets, by their tagged words, and the templates that two rows were asked alike."""

    sets: tuple[str, ...]
    templates: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Side:
    """A row, its signature, what each concept set adds to its metrics, and its cases, all by the sets' words."""

    row: Row
    signature: Mapping[str, Any]
    statistics: RowStatistics
    cases: Cases

    def shared_with(self, other: _Side) -> _Shared:
        """What both were asked: templates of both, and sets whose cases under these are the same in both."""
        templates = {key[0] for key in self.cases} & {key[0] for key in other.cases}
        mine, theirs = (_by_set(cases, templates) for cases in (self.cases, other.cases))
        alike = (concepts for concepts, keys in mine.items() if theirs.get(concepts) == keys)
        return _Shared(tuple(sorted(alike)), tuple(sorted(templates)))

    def statistics_of(self, shared: _Shared) -> RowStatistics:
        """The statistics of what is shared, by the sets' words."""
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
        """The cases of what is shared, in the order they were run."""
        sets, templates = set(shared.sets), set(shared.templates)
        return {key: record for key, record in self.cases.items() if key[0] in templates and key[1] in sets}


def compare(old: Run, new: Run, *, intersection: bool = False) -> Comparison:
    """The comparison of the rows of the same model and condition, or condition alone where each run has one model.

    Concept sets are matched by their words, since ids are row numbers of a dataset. With `intersection`, what both have
    of sets, templates and metrics is compared. Raises CompareError, naming both values, where the runs are not alike in
    dataset, sets, templates, cases, matcher, shots or a metric's signature, and ResultsError for files that do not fit
    together.
    """
    pairs = _matched(old, new)
    if not pairs:
        raise CompareError(
            f"no model and condition is in both: {str(old.path)!r} has {_row_names(old)}, {str(new.path)!r} has "
            f"{_row_names(new)}; give two runs of the same models, or of one model each under the same condition"
        )
    alone = [
        f"{_row_name(row)} is only in {str(run.path)!r}"
        for side, run in enumerate((old, new))
        for row in run.results.rows
        if not any(pair[side] is row for pair in pairs)
    ]
    rows = (_compared_rows(old, before, new, after, intersection) for before, after in pairs)
    return Comparison(old.path, new.path, tuple(rows), tuple(alone))


def _matched(old: Run, new: Run) -> list[tuple[Row, Row]]:
    is_one_model = all(len(run.results.models()) == 1 for run in (old, new))
    before, after = (
        {(None if is_one_model else row.model, row.condition): row for row in run.results.rows} for run in (old, new)
    )
    return [(before[key], after[key]) for key in before if key in after]


def _row_names(run: Run) -> str:
    return ", ".join(map(_row_name, run.results.rows)) or "no rows"


def _row_name(row: Row) -> str:
    """Model and condition of a row, as messages call it."""
    return f"{quote(row.model)} {quote(row.condition)}"


def _compared_rows(old: Run, old_row: Row, new: Run, new_row: Row, intersection: bool) -> RowComparison:
    before, after = _side(old, old_row), _side(new, new_row)
    problems = list(_problems(before, after, intersection))
    shared = before.shared_with(after)
    if not problems and not shared.sets:
        problems.append("no concept set was asked in the same way in both")
    if problems:
        way_out = "" if intersection else ", or add --intersection for the sets, templates and metrics that both have"
        raise CompareError(
            f"{_row_name(new_row)} in {str(old.path)!r} and {str(new.path)!r}: {'; '.join(problems)}; run both "
            f"alike{way_out}"
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
    """One for each way in which the rows are not alike, with both values."""
    for key in differing_keys(after.signature, before.signature):
        if key not in _TOLD and not (intersection and key in _NARROWED):
            yield f"{key} is {quote(before.signature[key])} in the old and {quote(after.signature[key])} in the new"
    if intersection:
        return
    for metric, told in _unlike_metrics(before, after):
        yield f"{metric} {told}"
    if before.cases.keys() != after.cases.keys():
        both = len(before.cases.keys() & after.cases.keys())
        yield f"{len(before.cases):,} cases were run in the old and {len(after.cases):,} in the new, {both:,} in both"


def _unlike_metrics(before: _Side, after: _Side) -> Iterator[tuple[str, str]]:
    """Metrics that both have but not as the same measure, with what each was measured as."""
    for metric, score in after.row.metrics.items():
        twin = before.row.metrics.get(metric)
        if twin is not None and twin.signature != score.signature and None not in (twin.value, score.value):
            yield metric, f"was measured as {quote(twin.signature)} in the old and {quote(score.signature)} in the new"


def _without_statistics(before: _Side, after: _Side, known: Collection[str], sets: int) -> Iterator[Difference]:
    """The differences in metrics that are no mean over sets, which are known for the rows as a whole alone."""
    for metric, new in after.row.values().items():
        old = before.row.value(metric)
        if metric not in known and old is not None and new is not None:
            reason = catalogue.METRICS[metric].without_interval if metric in catalogue.METRICS else ""
            reason = reason or "the results do not say what each concept set adds to it"
            yield Difference(metric, old, new, new - old, None, None, None, None, None, sets, reason)


def _notes(before: _Side, after: _Side, shared: _Shared) -> Iterator[str]:
    for side, label in ((before, "old"), (after, "new")):
        sets, templates = ({key[place] for key in side.cases} for place in (1, 0))
        if len(sets) > len(shared.sets) or len(templates) > len(shared.templates):
            yield (
                f"of the {len(sets)} concept sets and {len(templates)} templates of the {label}, {len(shared.sets)} "
                f"and {len(shared.templates)} were asked alike in both"
            )
    for metric, told in _unlike_metrics(before, after):
        yield f"{metric} is left out: it {told}"
    for metric in dict.fromkeys((*before.row.metrics, *after.row.metrics)):
        for side, other, label in ((before, after, "old"), (after, before, "new")):
            if side.row.value(metric) is not None and other.row.value(metric) is None:
                yield f"{metric} is only in the {label}"
    for key in sorted({*before.row.identity, *after.row.identity}):
        old, new = (side.row.identity.get(key) for side in (before, after))
        if old != new:
            yield f"{key} is {quote(old)} in the old and {quote(new)} in the new"


def _side(run: Run, row: Row) -> _Side:
    """The row with the cases of its model and condition.

    Raises ResultsError where statistics and generations do not speak of the same sets, or a case is there twice.
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
                f"{quote(record.set)} with other words; run the benchmark again"
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
    place = f"results {str(run.path)!r}: {_row_name(row)}"
    if not row.statistics:
        raise ResultsError(
            f"{place} has no statistics, so no metric can be taken by concept set; run the benchmark again, which asks "
            "for no reply that is in the cache"
        )
    for of_metric in row.statistics.values():
        for sets in of_metric.values():
            for name, (total, _) in sets.items():
                if name not in words:
                    raise ResultsError(
                        f"{place} has statistics of set {quote(name)}, which its generations have no case of; take "
                        "both files from the same run"
                    )
                if abs(total) > LARGEST_SUM:
                    raise ResultsError(
                        f"{place} has statistics of set {quote(name)} that add up to {total!r}, too large to be "
                        "compared; run the benchmark again"
                    )
    return {
        metric: {template: {words[name]: value for name, value in sets.items()} for template, sets in of_metric.items()}
        for metric, of_metric in row.statistics.items()
    }
