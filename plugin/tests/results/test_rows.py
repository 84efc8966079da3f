"""Rows of results: what is counted for them, and why one is less than the benchmark as asked for."""

from __future__ import annotations

import msgspec
import pytest

from plugin.tests.nouns import record_of, rows_of
from pytest_ocg.inputs.models import Price
from pytest_ocg.results.rows import counts_of, usage_of
from pytest_ocg.results.schema import Counts, Usage


@pytest.fixture
def results(make_results):
    return make_results()


def problems(results) -> tuple[str, ...]:
    [row] = rows_of(results)
    return row.problems


def error(kind="timeout", **facts):
    return record_of(outcome="error", error=kind, **facts)


def test_a_whole_run_has_no_problems_and_shows_its_patterns(results):
    [row] = rows_of(results)
    assert (row.problems, row.shows_patterns) == ((), True)
    assert (row.row.name, row.signature["shots"]) == (("smollm2-135m", "ordered", 0), 0)


def test_every_row_is_returned_in_its_order(make_results):
    assert [row.row.condition for row in rows_of(make_results("original", "ordered"))] == ["original", "ordered"]
    assert rows_of({}) == ()


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        ({"run": 192, "complete": False}, ("partial run (192 of 576 cases)",)),
        ({"run": 192, "complete": True}, ("partial run (192 of 576 cases)",)),
        (
            {"cut": "stopping after 1 failures", "run": 3, "complete": False},
            ("the run stopped early: 'stopping after 1 failures'", "partial run (3 of 576 cases)"),
        ),
        ({"cut": "interrupted", "complete": False}, ("the run stopped early: 'interrupted'",)),
        ({"shard": "1/4"}, ("only shard '1/4' of the run; merge all shards with `ocg merge`",)),
        ({"complete": False}, ("the run is not marked as complete (complete is False)",)),
    ],
)
def test_a_run_that_is_not_complete_has_the_reason(results, selection, said):
    results["selection"].update(selection)
    assert problems(results) == said


@pytest.mark.parametrize(("key", "value"), [("cut", "interrupted"), ("shard", "1/4")])
def test_a_cut_run_and_a_shard_do_not_show_their_patterns(results, key, value):
    results["selection"][key] = value
    [row] = rows_of(results)
    assert not row.shows_patterns


@pytest.mark.parametrize(
    ("counts", "said"),
    [({"hit": 3, "miss": 0}, "partial run (3 of 576 cases)"), ({"miss": 454}, "partial run (577 of 576 cases)")],
)
def test_a_row_whose_counts_do_not_add_up_has_the_reason(results, counts, said):
    results["rows"][0]["counts"].update(counts)
    assert problems(results) == (said,)


def test_a_partial_run_has_one_reason_even_if_several_counts_show_it(results):
    results["selection"].update(run=3, complete=False)
    results["rows"][0]["counts"].update(hit=3, miss=0)
    assert problems(results) == ("partial run (3 of 576 cases)",)


def test_hits_misses_and_errors_are_counted_apart_and_errors_by_kind():
    records = [record_of(), record_of(outcome="miss"), error(), error("refused"), error("refused")]
    assert counts_of(records, planned=10, selected=8) == Counts(
        planned=10, selected=8, hit=1, miss=1, error=3, not_run=3, cached=0, echo=0, truncated=0,
        errors={"refused": 2, "timeout": 1},
    )  # fmt: skip


def test_no_records_are_counted_as_not_run():
    counts = counts_of([], planned=4, selected=3)
    assert (counts.done, counts.scored, counts.not_run, counts.errors) == (0, 0, 3, {})


def test_cached_echoed_and_cut_replies_are_counted_whatever_their_outcome():
    records = [
        record_of(cached=True, echo=True),
        record_of(outcome="miss", echo=True, finish_reason="length"),
        error("truncated", cached=True, finish_reason="length"),
    ]
    counts = counts_of(records, planned=3, selected=3)
    assert (counts.cached, counts.echo, counts.truncated, counts.done, counts.scored) == (2, 2, 2, 3, 2)


TOKENS = [
    record_of(prompt_tokens=10, completion_tokens=5),
    record_of(cached=True, prompt_tokens=20, completion_tokens=7),
    error("truncated", finish_reason="length", prompt_tokens=30),
    record_of(),
]
USAGE = Usage(
    prompt_tokens=60, completion_tokens=12, new_prompt_tokens=40, new_completion_tokens=5, uncounted=1,
    cost_dollars=None, new_cost_dollars=None,
)  # fmt: skip


def test_tokens_are_counted_of_all_cases_and_of_those_that_were_not_in_the_cache():
    assert usage_of(TOKENS, None) == USAGE


def test_with_a_price_the_cost_of_tokens_is_known():
    costs = {"cost_dollars": 60e-6 * 2 + 12e-6 * 8, "new_cost_dollars": 40e-6 * 2 + 5e-6 * 8}
    found = usage_of(TOKENS, Price(input=2.0, output=8.0, date="2026-11-30"))
    assert msgspec.structs.asdict(found) == pytest.approx(msgspec.structs.asdict(USAGE) | costs)
