from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_ocg.report.comparison import render_comparison, render_comparison_markdown
from pytest_ocg.results.case_changes import CaseChanges, ChangedCase, ChangedSet
from pytest_ocg.results.comparison import Comparison, RowComparison
from pytest_ocg.statistics.differences import Difference
from pytest_ocg.statistics.resampling import Bounds

EXAMPLE = ChangedCase(0, ("dog", "catch"), "hit", "A dog catches it.", "miss", "It is caught.")
CASES = CaseChanges(
    both_hit=1200,
    both_miss=3,
    hit_to_miss=4,
    miss_to_hit=5,
    without_reply=6,
    sets_rose=2,
    sets_fell=1,
    sets_same=9,
    p=0.00001,
    most_changed=(ChangedSet("catch_V dog_N", 24, 8, 4, 4, 0, EXAMPLE),),
)
ROW = RowComparison(
    old_model="tiny",
    new_model="tiny",
    condition="ordered",
    shots=0,
    sets=12,
    templates=(0, 3),
    differences=(
        Difference("distinct2_pooled", 21.0, 20.0, -1.0, None, None, None, None, None, 12, "no mean"),
        Difference("own", 1.0, 1.0, 0.0, None, 1.0, 1.0, 0.1, None, 12, "no mean"),
        Difference("coverage_ordered", 50.0, 48.5, -1.5, Bounds(-2.25, -0.75, -2.0, -1.0), 0.00001, 0.02, 0.4, 1.1, 12),
    ),
    cases=CASES,
    notes=("revision is 'a' in the old run and 'b' in the new run",),
)
COMPARISON = Comparison(Path("a/results.json"), Path("b/results.json"), (ROW,), ("'x' 'ordered' is only in 'b'",))


def test_metrics_are_in_the_order_of_the_summary_with_interval_and_p():
    lines = render_comparison(COMPARISON)
    assert lines[:4] == [
        "old: a/results.json",
        "new: b/results.json",
        "",
        "tiny ordered: 12 concept sets, templates 0,3, 0-shot; paired by concept set",
    ]
    assert [line.split("  ")[0] for line in lines[8:11]] == ["coverage w/ order", "distinct (pooled)", "own"]
    assert lines[8].split() == [
        *("coverage", "w/", "order", "50.00", "48.50", "-1.50", "-2.25", "to", "-0.75"),
        *("<0.0001", "0.0200", "1.10"),
    ]
    assert lines[9].split()[-7:] == ["21.00", "20.00", "-1.00", "-", "-", "-", "-"]


def test_a_metric_without_a_value_and_one_without_an_interval_are_told_apart():
    missing = Difference("diverse_rate", None, None, None, None, None, None, None, None, 0, "no set is in both runs")
    row = replace(ROW, differences=(*ROW.differences, missing))
    assert [line for line in render_comparison(replace(COMPARISON, rows=(row,))) if line.startswith("no ")] == [
        "no interval: distinct (pooled), own: no mean",
        "no value: diverse rate: no set is in both runs",
    ]


def test_changes_of_cases_and_sets_are_below():
    lines = render_comparison(COMPARISON)
    assert lines[11:] == [
        "",
        "no interval: distinct (pooled), own: no mean",
        "cases: 4 hit to miss, 5 miss to hit, 1,200 hit in both, 3 missed in both, 6 without a reply in one or both",
        "concept sets: 2 with more hits, 1 with fewer, 9 with as many; McNemar's exact p <0.0001",
        "note: revision is 'a' in the old run and 'b' in the new run",
        "",
        "concept sets that changed most:",
        "",
        "catch_V dog_N: 8 to 4 hits of 24 (4 lost, 0 gained)",
        "  asked by template 0: dog catch",
        "  old, hit: A dog catches it.",
        "  new, miss: It is caught.",
        "note: 'x' 'ordered' is only in 'b'",
    ]


def test_two_models_are_both_named():
    [title] = [line for line in render_comparison(with_row(new_model="big")) if "paired" in line]
    assert title.startswith("tiny -> big ordered: ")


def test_without_changes_there_is_no_list_of_sets():
    unchanged = with_row(cases=replace(CASES, most_changed=()))
    assert "concept sets that changed most:" not in render_comparison(unchanged)
    assert "<details>" not in render_comparison_markdown(unchanged)


def test_markdown_has_a_table_and_the_sets_collapsed():
    text = render_comparison_markdown(COMPARISON)
    assert "| metric | old | new | difference | 95 % interval | p | p (Holm) | detectable drop |\n" in text
    assert (
        "| <code>coverage w/ order</code> | 50.00 | 48.50 | -1.50 | -2.25 to -0.75 | <0.0001 | 0.0200 | 1.10 |" in text
    )
    assert "<summary>Concept sets that changed most</summary>\n\n- <code>catch&#95;V dog&#95;N&#58; 8 to 4" in text
    assert text.endswith("is only in &#39;b&#39;</code>\n")


@pytest.mark.parametrize("hostile", ["</details><script>", "a | b", "`x` **y** [z](http://w)", "\x1b[2J\nnew line"])
def test_replies_cannot_break_the_markdown_and_are_escaped_in_the_terminal(hostile):
    example = replace(EXAMPLE, new_reply=hostile)
    hostile_set = replace(CASES.most_changed[0], example=example)
    comparison = with_row(
        cases=replace(CASES, most_changed=(hostile_set,)), new_model=hostile, condition=hostile, notes=(hostile,)
    )
    plain, marked = "\n".join(render_comparison(comparison)), render_comparison_markdown(comparison)
    tame, tame_marked = "\n".join(render_comparison(COMPARISON)), render_comparison_markdown(COMPARISON)
    assert "\x1b" not in plain + marked
    assert plain.count("\n") == tame.count("\n")
    assert marked.count("\n") == tame_marked.count("\n")
    for mark in ("<", "|", "`", "**", "["):
        assert marked.count(mark) == tame_marked.count(mark)


def with_row(**changes):
    return replace(COMPARISON, rows=(replace(ROW, **changes),))
