"""Sums: what is counted, what enters a metric, what is absent and why."""

from functools import partial

import pytest

from pytest_ocg.metrics import CHEAP_METRICS, MODEL_METRICS
from pytest_ocg.results.rows import Entry
from pytest_ocg.results.summary import add_deltas, measure_metric, summarise_row


def entry(template=0, set_id="cs000", pattern="NV", reply="a dog runs", covered=True, in_order=True, **more):
    facts = {"is_hit": in_order, "is_cached": False, "is_echo": False, "error": None, "made_by": "m1"}
    facts |= {"is_truncated": False, "prompt_tokens": None, "completion_tokens": None}
    return Entry(template, set_id, pattern, reply, covered, in_order, **{**facts, **more})


def error(kind="timeout", **more):
    return entry(reply=None, covered=False, in_order=False, error=kind, **more)


def summed(*entries, planned=None, selected=None, metrics=CHEAP_METRICS):
    count = len(entries)
    return summarise_row(
        entries,
        planned=count if planned is None else planned,
        selected=count if selected is None else selected,
        matcher="inflection|x",
        metrics=metrics,
        measure=partial(measure_metric, scoring=None),
        provenances={"m1": {"source": "here"}},
    )


def value(row, name):
    return row["metrics"][name]["value"]


def test_hits_misses_and_errors_are_counted_apart_and_errors_by_kind():
    row = summed(entry(), entry(in_order=False), error(), error("refused"), error("refused"), planned=10, selected=8)
    assert row["counts"] == {
        "planned": 10, "selected": 8, "hit": 1, "miss": 1, "error": 3, "not_run": 3, "cached": 0, "echo": 0,
        "truncated": 0, "errors": {"refused": 2, "timeout": 1},
    }  # fmt: skip


def test_an_error_enters_no_metric():
    with_error, without = summed(entry(), entry(in_order=False), error()), summed(entry(), entry(in_order=False))
    assert with_error["metrics"] == without["metrics"]
    assert value(with_error, "coverage_ordered") == 50
    assert with_error["metrics"]["coverage_ordered"]["n"] == 2


def test_the_ordered_rate_is_the_ratio_of_the_averages_over_templates_and_not_the_average_of_ratios():
    row = summed(
        entry(template=0), entry(template=0, covered=False, in_order=False),
        entry(template=1, in_order=False), entry(template=1),
    )  # fmt: skip
    assert value(row, "coverage_unordered") == 75
    assert value(row, "coverage_ordered") == 50
    assert value(row, "ordered_rate") == pytest.approx(100 * 50 / 75)
    assert [row["by_template"][name]["ordered_rate"] for name in ("0", "1")] == [100, 50]


def test_templates_count_alike_however_many_replies_they_have():
    row = summed(*[entry(template=0, in_order=False)] * 9, entry(template=1))
    assert value(row, "coverage_ordered") == 50


def test_without_a_scored_reply_every_metric_is_absent_with_a_reason():
    row = summed(error(), error())
    for name, score in row["metrics"].items():
        assert score["value"] is None, name
        assert score["reason"], name


def test_what_needs_a_scoring_model_or_was_not_asked_for_is_absent_and_says_so():
    row = summed(entry(), metrics=("pbleu",))
    assert row["metrics"]["diverse_rate"]["reason"] == "not asked for; --ocg-metrics all computes it"
    assert value(row, "coverage_ordered") == 100
    cut = summed(entry(), metrics=MODEL_METRICS)
    assert cut["metrics"]["perplexity"]["reason"] == "the run was cut, so no scoring model was loaded"


def test_patterns_have_their_own_coverage_but_the_diverse_rate_of_their_whole_sets():
    row = summed(
        entry(pattern="NV", reply="one"), entry(pattern="VN", reply="one", in_order=False),
        entry(pattern="NV", set_id="cs001", reply="two", covered=False, in_order=False),
    )  # fmt: skip
    assert row["by_pattern"]["NV"] == {
        "scored": 2, "coverage_unordered": 50, "coverage_ordered": 50, "ordered_rate": 100, "diverse_rate": 75,
    }  # fmt: skip
    assert row["by_pattern"]["VN"]["diverse_rate"] == 50


def test_the_same_reply_to_all_24_orders_is_one_in_order_and_no_crash():
    entries = [entry(reply="the same", in_order=number == 0) for number in range(24)]
    row = summed(*entries)
    assert value(row, "coverage_unordered") == 100
    assert value(row, "coverage_ordered") == pytest.approx(100 / 24)
    assert value(row, "diverse_rate") == pytest.approx(100 / 24)
    assert value(row, "pbleu") == 100


def test_replies_are_told_by_what_made_them():
    row = summed(entry(), entry(made_by="m2"), entry())
    assert row["made_by"] == [{"replies": 2, "source": "here"}, {"replies": 1}]


def test_deltas_are_ordered_minus_original_of_the_same_model():
    ordered, original = summed(entry(), entry(in_order=False)), summed(entry(in_order=False), entry(in_order=False))
    rows = [
        {"model": "a", "condition": "ordered", "shots": 0, **ordered},
        {"model": "a", "condition": "original", "shots": 0, **original},
        {"model": "b", "condition": "ordered", "shots": 0, **ordered},
    ]
    add_deltas(rows)
    assert rows[0]["delta_vs_original"]["coverage_ordered"] == 50
    assert rows[0]["delta_vs_original"]["perplexity"] is None
    assert "delta_vs_original" not in rows[1]
    assert "delta_vs_original" not in rows[2]


def test_replies_cut_at_the_cap_and_tokens_are_counted_of_all_cases_and_of_new_ones():
    row = summed(
        entry(is_truncated=True, prompt_tokens=10, completion_tokens=5),
        entry(is_cached=True, prompt_tokens=20, completion_tokens=7),
        error("truncated", is_truncated=True, prompt_tokens=30),
        entry(),
    )
    assert row["counts"]["truncated"] == 2
    assert row["usage"] == {
        "prompt_tokens": 60, "completion_tokens": 12, "new_prompt_tokens": 40, "new_completion_tokens": 5,
        "uncounted": 1,
    }  # fmt: skip


def test_the_statistics_of_the_sets_give_the_scores_back():
    row = summed(
        entry(template=0), entry(template=0, covered=False, in_order=False), entry(template=0, set_id="cs001"),
        entry(template=3, reply="rain"), entry(template=3, in_order=False), error(template=3, set_id="cs002"),
    )  # fmt: skip
    assert set(row["statistics"]) == {"coverage_unordered", "coverage_ordered", "pbleu", "distinct2", "diverse_rate"}
    assert row["statistics"]["coverage_ordered"] == {
        "0": {"cs000": [100, 2], "cs001": [100, 1]},
        "3": {"cs000": [100, 2]},
    }
    for name, by_template in row["statistics"].items():
        means = [
            sum(total for total, _ in sets.values()) / sum(count for _, count in sets.values())
            for sets in by_template.values()
        ]
        assert sum(means) / len(means) == pytest.approx(value(row, name), abs=1e-12)
