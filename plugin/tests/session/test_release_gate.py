"""A release gated from thresholds written by a run: the same model passes, a worse one does not."""

from __future__ import annotations

import json
import random
import shutil

import pytest

from pytest_ocg.cli import main

MODEL = "scripted_quarter"
TWELVE = ("--ocg-concepts", "everyday", "--ocg-sets", "12")


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """The folder that the first test leaves for the others."""
    return tmp_path_factory.mktemp("taken") / "run"


@pytest.fixture
def release(bench, taken):
    """The bench after a run of twelve sets whose results lie in `first`, with its thresholds in `t.toml`."""
    if taken.exists():
        shutil.copytree(taken, bench.path, dirs_exist_ok=True)
        return bench
    result = bench.run(*TWELVE, "--ocg-write-thresholds", "--ocg-thresholds", "t.toml", "--ocg-output", "first")
    result.stdout.fnmatch_lines([f"gate: PASSED {MODEL} (5 limits hold)"])
    assert result.ret == 0
    shutil.copytree(bench.path, taken)
    return bench


def judged(bench, *more, model="scripted:quarter"):
    arguments = (*TWELVE, "--ocg-thresholds", "t.toml", "--ocg-gate", "require", *more)
    return bench.run(*arguments, model=model)


def shuffled(bench, sets: int) -> str:
    """A file of the first run's replies, those of so many sets shuffled among all cases of these."""
    rows = [json.loads(line) for line in (bench.path / "first" / "generations.jsonl").read_text().splitlines()]
    chosen = sorted({row["set"] for row in rows})[:sets]
    places = [place for place, row in enumerate(rows) if row["set"] in chosen]
    replies = [rows[place]["reply"] for place in places]
    random.Random(0).shuffle(replies)
    for place, reply in zip(places, replies, strict=True):
        rows[place]["reply"] = reply
    (bench.path / "worse.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return "worse.jsonl"


def rewrite(bench, old, new):
    text = (bench.path / "t.toml").read_text()
    assert old in text
    (bench.path / "t.toml").write_text(text.replace(old, new))


@pytest.mark.parametrize("way", [(), ("-n", "2", "--ocg-cache", "other")])
def test_the_same_model_passes_again_however_tests_are_spread(release, way):
    result = judged(release, *way)
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"gate: PASSED {MODEL} (5 limits hold)"])


def test_another_matcher_is_refused_naming_both(release):
    result = judged(release, "--ocg-matcher", "lemma")
    assert result.ret == 10
    result.stdout.fnmatch_lines(
        [f"gate: NOT EVALUATED {MODEL} matcher is 'lemma|*' but the thresholds are for 'inflection|*"]
    )


def test_shuffled_replies_of_a_tenth_of_the_sets_fail(release):
    result = judged(release, "--ocg-outputs", shuffled(release, 2), model=MODEL)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [f"gate: FAILED {MODEL} coverage_ordered 2?.? [[]*, *] under 24.0; coverage_unordered 9?.? [[]*, *] under 99.0"]
    )
    assert main(["gate", str(release.path / "ocg-results"), str(release.path / "t.toml")]) == 1


def test_a_drop_within_the_noise_of_twelve_sets_passes_and_is_told(release):
    rewrite(release, "min = 99.0\nbaseline = 100.0", "max_drop = 1.0\nbaseline = 100.0")
    rewrite(release, "min = 24.0", "min = 1.0")
    worse = ("--ocg-outputs", shuffled(release, 2))
    for baseline, source in ((), "its baseline of"), (("--ocg-baseline", "first"), "the baseline run's"):
        result = judged(release, *worse, *baseline, model=MODEL)
        assert result.ret == 0
        result.stdout.fnmatch_lines(
            [
                f"gate: coverage_unordered 9?.? [[]*, *] is ?.? under {source} 100.0, beyond max_drop 1.0, but within "
                "noise (12 concept sets can detect a drop of *; about * sets are needed to detect this one)",
                f"gate: PASSED {MODEL} (5 limits hold)",
            ]
        )
    rewrite(release, "max_drop = 1.0", "max_drop = 1.0\nstrict = true")
    assert judged(release, *worse, model=MODEL).ret == 1


def test_a_drop_in_most_sets_is_shown_by_the_pairs(release):
    rewrite(release, "min = 99.0\nbaseline = 100.0", "max_drop = 1.0\nbaseline = 100.0")
    rewrite(release, "min = 24.0", "min = 1.0")
    result = judged(release, "--ocg-outputs", shuffled(release, 10), "--ocg-baseline", "first", model=MODEL)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["gate: FAILED *the baseline run's 100.0, beyond max_drop 1.0; 12 concept sets detect *"]
    )


SPOILED = """
from pathlib import Path

def pytest_runtest_setup():
    for path in ("t.toml", "first/results.json", "first/generations.jsonl"):
        Path(path).write_text("edited during the run")
"""


def test_files_edited_during_the_run_cannot_change_the_verdict(release):
    rewrite(release, "min = 99.0\nbaseline = 100.0", "max_drop = 1.0\nbaseline = 100.0")
    rewrite(release, "min = 24.0", "min = 1.0")
    worse = shuffled(release, 10)
    release.pytester.makeconftest(SPOILED)
    result = judged(release, "--ocg-outputs", worse, "--ocg-baseline", "first", model=MODEL)
    assert (release.path / "t.toml").read_text() == "edited during the run"
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["gate: FAILED *the baseline run's 100.0, beyond max_drop 1.0; 12 concept sets detect *"]
    )


def test_a_baseline_of_other_sets_is_not_counted_from(release):
    rewrite(release, "min = 99.0\nbaseline = 100.0", "max_drop = 1.0\nbaseline = 100.0")
    release.run("--ocg-output", "other")
    result = judged(release, "--ocg-baseline", "other/results.json")
    assert result.ret == 10
    result.stdout.fnmatch_lines(
        [
            f"gate: NOT EVALUATED {MODEL} the baseline run cannot be used, because `ocg compare` refuses it: *"
            "dataset_sha256 is '*' in the old run and '*' in the new run; *"
        ]
    )


def test_a_baseline_that_no_limit_counts_from_is_told(release):
    result = judged(release, "--ocg-baseline", "first")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: no limit uses the baseline run; add max_drop or max_rise*"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--ocg-baseline", "nowhere"),
            "ERROR: results file 'nowhere' does not exist; pass the results.json of a run*",
        ),
        (("--ocg-baseline", "sets.jsonl"), "ERROR: results file 'sets.jsonl' is not JSON*"),
        (
            ("--ocg-thresholds", "published", "--ocg-write-thresholds"),
            "ERROR: thresholds 'published' come with the package*",
        ),
    ],
)
def test_what_cannot_be_used_is_a_usage_error_before_anything_runs(bench, arguments, said):
    result = bench.run(*arguments, "--ocg-output", "never")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([said])
    assert not (bench.path / "never").exists()


def test_a_pattern_is_judged_when_all_its_cases_and_no_others_ran(bench):
    limits = "[selection.verbs.metrics.coverage_ordered]\nmin = 20\n"
    text = f'schema = 1\n[selection.verbs]\npattern = "VVVV"\n{limits}'
    (bench.path / "t.toml").write_text(text)
    for arguments, status, said in (
        (("-k", "VVVV"), 0, f"gate: PASSED {MODEL} (1 limit holds)"),
        (("-k", "VVVV and eat_cook"), 10, "gate: NOT EVALUATED * partial run (6 of 24 cases of VVVV, 6 cases in all)*"),
        (("-k", "VVVV or NNVV"), 10, "gate: NOT EVALUATED * partial run (24 of 24 cases of VVVV, *"),
        ((), 0, f"gate: PASSED {MODEL} (1 limit holds)"),
    ):
        result = bench.run("--ocg-thresholds", "t.toml", "--ocg-gate", "require", *arguments)
        result.stdout.fnmatch_lines([said])
        assert result.ret == status


def test_published_thresholds_apply_only_when_they_are_named(bench):
    bench.pytester.makeconftest(
        "from pytest_ocg.backends.scripted import ScriptedBackend, quarter\n"
        "def pytest_ocg_make_backend(spec, settings):\n"
        "    return ScriptedBackend(quarter)\n"
    )
    unnamed = bench.run(model="gemma2-9b")
    unnamed.stdout.fnmatch_lines(["gate: NOT EVALUATED gemma2-9b no thresholds for this model; write them with *"])
    named = bench.run("--ocg-thresholds", "published", model="gemma2-9b")
    named.stdout.fnmatch_lines(["gate: NOT EVALUATED gemma2-9b *dataset_sha256 is * but the thresholds are for '30a0*"])
    assert (unnamed.ret, named.ret) == (1, 1)


def test_intervals_are_in_the_results_and_in_the_table_with_v(release):
    [row] = release.results("first")["rows"]
    found = row["metrics"]["coverage_ordered"]
    assert (found["interval"].keys(), found["sets"]) == ({"low", "high", "floor", "ceiling"}, 12)
    assert row["metrics"]["distinct2_pooled"]["interval_reason"].startswith("its bigrams are counted over all sets")
    assert "95 % interval" not in judged(release).stdout.str()
    verbose = judged(release, "-v")
    verbose.stdout.fnmatch_lines(
        ["*95 % interval*[[]25.0, 25.0]*", "no interval: distinct (pooled): its bigrams are *"]
    )
    assert release.results()["gate"]["verdicts"][0]["checks"][0]["interval"] == pytest.approx([25.0, 25.0])


def test_github_gets_the_report_and_an_error_for_a_broken_limit(release, monkeypatch):
    rewrite(release, "min = 24.0", "min = 26.0")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(release.path / "summary.md"))
    judged(release).stdout.fnmatch_lines(
        [f"::error title=Ordered CommonGen {MODEL}%3A failed::coverage_ordered 25.0 [[]25.0, 25.0] under 26.0"]
    )
    summary = (release.path / "summary.md").read_text()
    assert summary.startswith("## Ordered CommonGen\n")
    assert "coverage&#95;ordered 25.0 &#91;25.0, 25.0&#93; under 26.0" in summary
