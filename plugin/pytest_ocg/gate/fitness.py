"""Whether thresholds can judge a row: same settings, all cases of a selection, and few enough errors."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_ocg.errors import counted, quote
from pytest_ocg.gate.thresholds import Selection, Thresholds
from pytest_ocg.results.rows import RunRow
from pytest_ocg.results.schema import Counts
from pytest_ocg.results.signature import differing_keys

_RENEW = "run with the settings of the thresholds, or renew them with --ocg-write-thresholds"


def signature_problems(judged: RunRow, thresholds: Thresholds) -> Iterator[str]:
    """One reason for each difference between the row and the kind of run that the thresholds are for."""
    model, run, wanted = judged.row.model, judged.signature, thresholds.signature
    if thresholds.model is not None and model != thresholds.model:
        yield f"{thresholds.path} is for model {quote(thresholds.model)}, not {quote(model)}"
    for key in differing_keys(run, wanted):
        yield f"{key} is {quote(run[key])} but the thresholds are for {quote(wanted[key])}; {_RENEW}"


def selection_problems(judged: RunRow, selection: Selection) -> Iterator[str]:
    """One reason for each way in which the cases of the row are not exactly those of the selection."""
    if selection.pattern is None:
        yield from judged.problems
    else:
        yield from _pattern_problems(judged, selection.pattern)
    sets = judged.signature["sets"]
    if sets != selection.sets:
        yield f"sets is {quote(sets)} but the thresholds are for {quote(selection.sets)}; {_RENEW}"


def _pattern_problems(judged: RunRow, pattern: str) -> Iterator[str]:
    """Nothing if the run is complete, because it then has the cases of every pattern."""
    if not judged.problems:
        return
    if not judged.shows_patterns:
        yield from judged.problems
        return
    counts, done = judged.row.patterns.get(pattern), judged.row.counts.done
    if counts is None:
        yield f"partial run (the results have no count of the cases of {pattern}; {counted(done, 'case')} run in all)"
    elif not counts.planned or counts.run != counts.planned or done != counts.planned:
        cases = f"{counts.run:,} of {counted(counts.planned, 'case')} of {pattern}"
        yield f"partial run ({cases}, {counted(done, 'case')} in all)"


def error_problems(counts: Counts, max_error_share: float) -> Iterator[str]:
    """The reason why a row has too many failed requests to be judged; half or more is always too many."""
    error, tried = counts.error, counts.done
    if counts.scored == 0:
        yield f"no reply was scored ({counted(error, 'error')} in {counted(tried, 'case')})"
    elif error * 2 >= tried:
        yield f"half or more of the cases have no reply ({counted(error, 'error')} in {counted(tried, 'case')})"
    elif error > max_error_share * tried + 1e-9:
        yield (
            f"too many errors ({counted(error, 'error')} in {counted(tried, 'case')}, a share of {error / tried:.4f}; "
            f"max_error_share is {max_error_share})"
        )
