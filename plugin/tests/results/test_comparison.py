from __future__ import annotations

import json

import msgspec
import pytest

from plugin.tests.nouns import score_of
from pytest_ocg.errors import CompareError, ResultsError
from pytest_ocg.results.comparison import compare
from pytest_ocg.results.files import load_run

HITS = {f"bake_V {name}cake_N kitchen_N": number % 7 for number, name in enumerate("abcdefgh")}
BETTER = {concepts: min(6, hits + 1) for concepts, hits in HITS.items()}


@pytest.fixture
def compared(make_run):
    """Compares two runs by what `make_run` makes of each."""

    def run(old, new, *, intersection=False, old_how=None, new_how=None):
        before = load_run(make_run("old", old, **(old_how or {})))
        after = load_run(make_run("new", new, **(new_how or {})))
        return compare(before, after, intersection=intersection)

    return run


@pytest.fixture
def edited(make_run):
    """The folder of a run whose `results.json` was changed by a function after it was written."""

    def run(name, change, hits=HITS, **how):
        folder = make_run(name, hits, **how)
        results = json.loads((folder / "results.json").read_bytes())
        change(results)
        (folder / "results.json").write_text(json.dumps(results), encoding="ascii")
        return load_run(folder)

    return run


def by_metric(row):
    return {one.metric: one for one in row.differences}


def test_two_runs_over_the_same_sets_are_compared_metric_by_metric(compared):
    [row] = compared(HITS, BETTER).rows
    found = by_metric(row)
    assert (row.old_model, row.new_model, row.condition, row.shots, row.sets) == (
        *("smollm2-135m", "smollm2-135m"),
        *("ordered", 0, 8),
    )
    assert found["coverage_ordered"].old == pytest.approx(100 * sum(HITS.values()) / 48)
    assert found["coverage_ordered"].difference == pytest.approx(100 * 7 / 48)
    assert found["coverage_ordered"].bounds.low > 0
    assert found["coverage_unordered"].difference == 0
    assert found["ordered_rate"].difference == pytest.approx(found["coverage_ordered"].difference)
    assert (row.cases.miss_to_hit, row.cases.hit_to_miss, row.cases.sets_rose, row.cases.sets_same) == (7, 0, 7, 1)
    assert row.notes == ()


def test_a_metric_without_statistics_has_a_difference_and_the_reason_for_no_interval(edited):
    def measured(value):
        pooled = msgspec.to_builtins(score_of(value, n=48, signature="n:2"))
        return lambda results: results["rows"][0]["metrics"].update(distinct2_pooled=pooled)

    [row] = compare(edited("old", measured(21.5)), edited("new", measured(20.0))).rows
    found = by_metric(row)["distinct2_pooled"]
    assert (found.difference, found.bounds, found.p, found.p_holm) == (-1.5, None, None, None)
    assert found.reason == "its bigrams are counted over all sets together, so it is not a mean over sets"


def test_sets_are_matched_by_their_words_and_not_by_their_ids(compared):
    [row] = compared(HITS, dict(reversed(BETTER.items()))).rows
    assert (row.sets, row.cases.miss_to_hit, row.cases.hit_to_miss) == (8, 7, 0)
    assert by_metric(row)["coverage_ordered"].p < 0.05


def test_runs_of_one_model_each_are_matched_by_condition(compared):
    [row] = compared(HITS, BETTER, new_how={"model": "checkpoint-9"}).rows
    assert (row.old_model, row.new_model) == ("smollm2-135m", "checkpoint-9")


def test_rows_that_only_one_run_has_are_noted(edited):
    def add_row(results):
        results["rows"].append(results["rows"][0] | {"model": "another"})

    comparison = compare(edited("old", lambda results: None), edited("new", add_row))
    assert len(comparison.rows) == 1
    assert comparison.notes == (f"'another' 'ordered' is only in {str(comparison.new)!r}",)


def test_runs_without_a_row_in_common_are_refused_naming_what_they_have(edited):
    def change(results):
        results["rows"][0]["condition"] = "original"

    with pytest.raises(CompareError) as caught:
        compare(edited("old", lambda results: None), edited("new", change))
    assert "the runs have no model and condition in common: " in str(caught.value)
    assert "has 'smollm2-135m' 'ordered'," in str(caught.value)
    assert "has 'smollm2-135m' 'original'; give two runs of the same models, or of one model each" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said", "is_narrowed"),
    [
        (
            {"dataset": {"sha256": "ef" * 32}},
            f"dataset_sha256 is {'ab' * 32!r} in the old run and {'ef' * 32!r} in",
            True,
        ),
        ({"selection": {"sets": "8:1"}}, "sets is '4:0' in the old run and '8:1' in the new", True),
        ({"selection": {"templates": [0, 1]}}, "templates is [0] in the old run and [0, 1] in the new", True),
        (
            {"templates_sha256": "ef" * 32},
            f"templates_sha256 is {'cd' * 32!r} in the old run and {'ef' * 32!r} in",
            False,
        ),
        ({"matcher": "lemma"}, "in the old run and 'lemma' in the new", False),
        ({"row": {"shots": 1}}, "shots is 0 in the old run and 1 in the new", False),
        (
            {"metrics": {"pbleu": msgspec.to_builtins(score_of(41.0, signature="pbleu|v:2"))}},
            "pbleu was measured as 'pbleu|v:1' in the old run and 'pbleu|v:2' in the new",
            True,
        ),
    ],
)
def test_runs_that_are_not_alike_are_refused_naming_both(edited, change, said, is_narrowed):
    def apply(results):
        [row] = results["rows"]
        places = {"dataset": results["dataset"], "selection": results["selection"], "row": row} | row
        for key, value in change.items():
            if isinstance(value, dict):
                places[key].update(value)
            else:
                results[key] = value

    old, new = edited("old", lambda results: None), edited("new", apply)
    with pytest.raises(CompareError) as caught:
        compare(old, new)
    head = f"'smollm2-135m' 'ordered' in {str(old.path)!r} and {str(new.path)!r} cannot be compared: "
    assert str(caught.value).startswith(head)
    assert said in str(caught.value)
    assert str(caught.value).endswith(
        "; run both with the same options, or add --intersection to compare only what both runs have"
    )
    if is_narrowed:
        assert compare(old, new, intersection=True).rows[0].sets == 8
    else:
        with pytest.raises(CompareError, match=r"; run both with the same options$"):
            compare(old, new, intersection=True)


def test_a_metric_measured_otherwise_is_left_out_of_an_intersection_and_noted(edited):
    def change(results):
        results["rows"][0]["metrics"]["coverage_ordered"]["signature"] = "another"

    old, new = edited("old", lambda results: None), edited("new", change)
    [row] = compare(old, new, intersection=True).rows
    assert "coverage_ordered" not in by_metric(row)
    assert row.notes == (
        "coverage_ordered is left out: it was measured as 'coverage_ordered|v:1' in the old run and 'another' in the "
        "new run",
    )


def test_other_cases_are_refused_and_an_intersection_takes_the_sets_and_templates_of_both(compared, make_run):
    fewer = {concepts: hits for concepts, hits in BETTER.items() if concepts != "bake_V acake_N kitchen_N"}
    with pytest.raises(CompareError, match=r"the old run has 48 cases and the new run 84, and 42 are in both"):
        compared(HITS, fewer, new_how={"templates": (0, 1)})
    [row] = compared(HITS, fewer, new_how={"templates": (0, 1)}, intersection=True).rows
    assert (row.sets, row.templates, row.cases.miss_to_hit) == (7, (0,), 6)
    assert by_metric(row)["coverage_ordered"].old == pytest.approx(100 * sum(HITS.values()) / 42)
    assert "distinct2" not in by_metric(row)
    assert row.notes == (
        "the old run has 8 concept sets and 1 template; 7 and 1 of them were asked in the same way in both runs",
        "the new run has 7 concept sets and 2 templates; 7 and 1 of them were asked in the same way in both runs",
    )


def test_runs_without_a_set_in_common_are_refused_even_for_an_intersection(compared):
    with pytest.raises(CompareError, match=r"no concept set was asked in the same way in both runs; run both with"):
        compared(HITS, {"push_V hill_N": 1}, intersection=True)


def test_cases_without_a_reply_are_counted_and_never_misses(compared):
    [row] = compared(HITS, {concepts: (hits, 1) for concepts, hits in HITS.items()}).rows
    assert (row.cases.without_reply, row.cases.hit_to_miss) == (8, 0)
    assert by_metric(row)["coverage_unordered"].difference == 0


def test_what_the_runs_were_made_with_is_noted(edited):
    def change(results):
        results["rows"][0]["identity"] |= {"quantization": "4bit", "revision": "def"}
        results["rows"][0]["metrics"]["pbleurt"] |= {"value": 40.0, "n": 8, "signature": "b"}

    [row] = compare(edited("old", lambda results: None), edited("new", change)).rows
    assert row.notes == (
        "pbleurt is only in the new run",
        "quantization is 'none' in the old run and '4bit' in the new run",
        "revision is 'abc' in the old run and 'def' in the new run",
    )


@pytest.mark.parametrize(
    ("statistics", "said"),
    [
        ({}, "has no statistics, so no metric is known by concept set; run the benchmark again"),
        (
            {"pbleu": {"0": {"cs099": [1.0, 1]}}},
            "has statistics of set 'cs099', but its generations have no case of this set",
        ),
        ({"pbleu": {"0": {"cs000": [1e200, 1]}}}, "has statistics of set 'cs000' that add up to 1e+200, too large"),
        ({"pbleu": {"0": {"cs000": [-1e200, 1]}}}, "has statistics of set 'cs000' that add up to -1e+200, too large"),
    ],
)
def test_statistics_that_are_not_known_by_set_are_refused(compared, statistics, said):
    with pytest.raises(ResultsError) as caught:
        compared(HITS, HITS, new_how={"statistics": statistics})
    assert f"new/results.json': 'smollm2-135m' 'ordered' {said}" in str(caught.value)


def test_a_case_that_occurs_twice_is_refused(make_run):
    run = load_run(make_run("run", HITS))
    with pytest.raises(ResultsError, match=r"have case 'smollm2-135m-.*' twice, or set 'cs000' with different words"):
        compare(run, type(run)(run.path, run.results, (*run.records, run.records[0])))
