"""A row of results with its cases, concept sets known by their words, ready to be laid beside another run's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ocg.errors import ResultsError, shown
from pytest_ocg.gate.thresholds import is_number
from pytest_ocg.results.case_changes import CaseKey, Cases
from pytest_ocg.results.comparability import dig, run_signature
from pytest_ocg.results.files import Run, row_statistics
from pytest_ocg.statistics.resampling import RowStatistics


@dataclass(frozen=True, slots=True)
class Shared:
    """The concept sets, by their tagged words, and the templates that two rows were asked alike."""

    sets: tuple[str, ...]
    templates: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One row, what it was made with, what each concept set adds to its metrics, and its cases."""

    row: Mapping[str, Any]
    signature: Mapping[str, Any]
    statistics: RowStatistics
    cases: Cases

    @property
    def name(self) -> str:
        """Model and condition, as messages call the row."""
        return row_name(self.row)

    def value(self, metric: str) -> float | None:
        """The metric over all that was run, None where it was not computed."""
        value = dig(self.row, "metrics", metric, "value")
        return float(value) if is_number(value) else None

    def shared_with(self, other: ComparedRow) -> Shared:
        """What both were asked: templates of both, and sets whose cases under these are the same in both."""
        templates = {key[0] for key in self.cases} & {key[0] for key in other.cases}
        mine, theirs = (_by_set(cases, templates) for cases in (self.cases, other.cases))
        alike = (concepts for concepts, keys in mine.items() if theirs.get(concepts) == keys)
        return Shared(tuple(sorted(alike)), tuple(sorted(templates)))

    def statistics_of(self, shared: Shared) -> RowStatistics:
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

    def cases_of(self, shared: Shared) -> Cases:
        """The cases of what is shared, in the order they were run."""
        sets, templates = set(shared.sets), set(shared.templates)
        return {key: record for key, record in self.cases.items() if key[0] in templates and key[1] in sets}


def read_row(run: Run, row: Mapping[str, Any]) -> ComparedRow:
    """The row with the cases of its model and condition.

    Raises ResultsError where statistics and generations do not speak of the same sets, or a case is there twice.
    """
    words: dict[str, str] = {}
    cases: dict[CaseKey, Mapping[str, Any]] = {}
    for record in run.records:
        if record["model"] != row["model"] or record["condition"] != row.get("condition"):
            continue
        lemmas = record["concepts"]
        concepts = " ".join(sorted(f"{lemma}_{tag}" for lemma, tag in zip(lemmas, record["pattern"], strict=True)))
        key = (record["template"], concepts, tuple(lemmas))
        if key in cases or words.setdefault(record["set"], concepts) != concepts:
            raise ResultsError(
                f"generations of {str(run.path)!r} have case {shown(record['id'])} twice, or set "
                f"{shown(record['set'])} with other words; run the benchmark again"
            )
        cases[key] = record
    statistics = row_statistics(run, row)
    return ComparedRow(row, run_signature(run.results, row), _by_words(run, row, statistics, words), cases)


def row_name(row: Mapping[str, Any]) -> str:
    """Model and condition of a row, as messages call it."""
    return f"{shown(row['model'])} {shown(row.get('condition'))}"


def _by_set(cases: Cases, templates: Collection[int]) -> dict[str, set[CaseKey]]:
    found: defaultdict[str, set[CaseKey]] = defaultdict(set)
    for key in cases:
        if key[0] in templates:
            found[key[1]].add(key)
    return dict(found)


def _by_words(run: Run, row: Mapping[str, Any], statistics: RowStatistics, words: Mapping[str, str]) -> RowStatistics:
    unknown = {name for of_metric in statistics.values() for sets in of_metric.values() for name in sets} - words.keys()
    if unknown:
        raise ResultsError(
            f"results {str(run.path)!r}: {row_name(row)} has statistics of set {shown(min(unknown))}, which its "
            "generations have no case of; take both files from the same run"
        )
    return {
        metric: {template: {words[name]: value for name, value in sets.items()} for template, sets in of_metric.items()}
        for metric, of_metric in statistics.items()
    }
