"""Whether a row can be judged by thresholds at all: it has their cases, replies to them, and was made as they were."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_ocg.errors import quote
from pytest_ocg.gate.thresholds import Selection, Thresholds
from pytest_ocg.results.rows import RunRow
from pytest_ocg.results.schema import Counts
from pytest_ocg.results.signature import differing_keys

_RENEW = "run as the thresholds were taken, or renew them with --ocg-write-thresholds"


def signature_problems(judged: RunRow, thresholds: Thresholds) -> Iterator[str]:
    """One reason for each thing in which the row differs from what the thresholds were laid down for."""
    model, run, wanted = judged.row.model, judged.signature, thresholds.signature
    if thresholds.model is not None and model != thresholds.model:
        yield f"{thresholds.path} is for model {quote(thresholds.model)}, not {quote(model)}"
    for key in differing_keys(run, wanted):
        yield f"{key} is {quote(run[key])} but the thresholds are for {quote(wanted[key])}; {_RENEW}"


def selection_problems(judged: RunRow, selection: Selection) -> Iterator[str]:
    """One reason for each way in which the row has not all cases of the selection, or others besides."""
    if selection.pattern is None:
        yield from judged.problems
    else:
        yield from _pattern_problems(judged, selection.pattern)
    sets = judged.signature["sets"]
    if sets != selection.sets:
        yield f"sets is {quote(sets)} but the thresholds are for {quote(selection.sets)}; {_RENEW}"


def _pattern_problems(judged: RunRow, pattern: str) -> Iterator[str]:
    """Nothing where the run is whole, since that has the cases of every pattern."""
    if not judged.problems:
        return
    if not judged.shows_patterns:
        yield from judged.problems
        return
    counts, done = judged.row.patterns.get(pattern), judged.row.counts.done
    planned, run = (None, None) if counts is None else (counts.planned, counts.run)
    if not planned or run != planned or done != planned:
        yield f"partial run ({quote(run)} of {quote(planned)} cases of {pattern}, {done:,} cases in all)"


def error_problems(counts: Counts, max_error_share: float) -> Iterator[str]:
    """The reason why so many requests failed that the rest says nothing; half or more is too many for any budget."""
    error, tried = counts.error, counts.done
    if counts.scored == 0:
        yield f"no reply was scored ({error:,} errors in {tried:,} cases)"
    elif error * 2 >= tried:
        yield f"half or more of the requests failed ({error:,} errors in {tried:,} cases)"
    elif error > max_error_share * tried + 1e-9:
        yield (
            f"errors over budget ({error:,} errors in {tried:,} cases are a share of {error / tried:.4f}, "
            f"max_error_share is {max_error_share})"
        )
