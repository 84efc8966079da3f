"""Rows of results: their counts and usage, and the facts needed to judge them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ocg.errors import ResultsError, counted, quote
from pytest_ocg.inputs.models import Price, cost_of
from pytest_ocg.results.schema import Counts, Results, Row, Usage
from pytest_ocg.results.signature import run_signature
from pytest_ocg.run.record import CaseRecord, ErrorRecord, HitRecord, ReplyRecord
from pytest_ocg.statistics.limits import LARGEST_SUM


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row with facts of its run: its signature, and why it is not the complete benchmark.

    `signature` is by SIGNATURE_KEYS. `problems` has one reason for each way in which the run or the row is not the
    complete benchmark. `shows_patterns`: the run is neither cut nor a shard, so a row that is not complete may still
    have all cases of one part-of-speech pattern.
    """

    row: Row
    signature: Mapping[str, Any]
    problems: tuple[str, ...]
    shows_patterns: bool


def check_statistics(row: Row, place: str) -> None:
    """Raise ResultsError, which names the row by `place`, if the row cannot be compared or merged by concept set."""
    if not row.statistics:
        raise ResultsError(
            f"{place} has no statistics, so no metric is known by concept set; run the benchmark again, which reuses "
            "the replies in the cache"
        )
    for of_metric in row.statistics.values():
        for sets in of_metric.values():
            for name, (total, _) in sets.items():
                if abs(total) > LARGEST_SUM:
                    raise ResultsError(
                        f"{place} has statistics of set {quote(name)} that add up to {total!r}, too large to be "
                        "compared or merged; run the benchmark again"
                    )


def run_rows(results: Results) -> tuple[RunRow, ...]:
    """The rows of the results, in their order."""
    selection = results.selection
    return tuple(
        RunRow(
            row,
            run_signature(results, row),
            tuple(_problems(results, row)),
            selection.cut is None and selection.shard is None,
        )
        for row in results.rows
    )


def unfinished_problems(results: Results, row: Row) -> Iterator[str]:
    """One reason for each way in which the run or the row is less than planned, for a shard or a whole run."""
    selection, counts = results.selection, row.counts
    partial = False
    if selection.cut is not None:
        yield f"the run stopped early: {quote(selection.cut)}"
    if selection.run != selection.planned:
        partial = True
        yield f"partial run ({selection.run:,} of {counted(selection.planned, 'case')})"
    if counts.done != counts.planned and not partial:
        partial = True
        yield f"partial run ({counts.done:,} of {counted(counts.planned, 'case')})"
    if not selection.complete and selection.cut is None and not partial:
        yield f"the run is not marked as complete (complete is {quote(selection.complete)})"


def _problems(results: Results, row: Row) -> Iterator[str]:
    if results.selection.shard is not None:
        yield f"only shard {quote(results.selection.shard)} of the run; merge all shards with `ocg merge`"
    yield from unfinished_problems(results, row)


def counts_of(records: Sequence[CaseRecord], planned: int, selected: int) -> Counts:
    """The counts of a row's cases: planned, selected, and by outcome, errors also by kind."""
    errors = Counter(record.error for record in records if isinstance(record, ErrorRecord))
    hits = sum(isinstance(record, HitRecord) for record in records)
    return Counts(
        planned=planned,
        selected=selected,
        hit=hits,
        miss=len(records) - hits - errors.total(),
        error=errors.total(),
        not_run=selected - len(records),
        cached=sum(record.cached for record in records),
        echo=sum(record.echo for record in records if isinstance(record, ReplyRecord)),
        truncated=sum(record.finish_reason == "length" for record in records),
        errors=dict(sorted(errors.items())),
    )


def usage_of(records: Sequence[CaseRecord], price: Price | None) -> Usage:
    """Tokens as counted by the backend, for all cases and for those not in the cache, and their cost."""
    with_tokens = [
        (record, record.prompt_tokens or 0, record.completion_tokens or 0)
        for record in records
        if record.prompt_tokens is not None or record.completion_tokens is not None
    ]
    prompts = sum(prompt for _, prompt, _ in with_tokens)
    completions = sum(completion for _, _, completion in with_tokens)
    new_prompts = sum(prompt for record, prompt, _ in with_tokens if not record.cached)
    new_completions = sum(completion for record, _, completion in with_tokens if not record.cached)
    return Usage(
        prompt_tokens=prompts,
        completion_tokens=completions,
        new_prompt_tokens=new_prompts,
        new_completion_tokens=new_completions,
        uncounted=len(records) - len(with_tokens),
        cost_dollars=cost_of(price, prompts, completions),
        new_cost_dollars=cost_of(price, new_prompts, new_completions),
    )
