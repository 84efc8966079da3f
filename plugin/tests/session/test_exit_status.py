"""The exit status as a user of the gate sees it, each row of the documented table."""

import shutil

import pytest

from pytest_ocg.cli import main

NO_REPLY = """
from pytest_ocg.backends.base import ErrorKind, Generation
from pytest_ocg.backends.scripted import ScriptedBackend, quarter

def reply(prompt):
    if {condition}:
        return Generation(None, ErrorKind.TIMEOUT, "no answer in 60 s")
    return quarter(prompt)

def pytest_ocg_make_backend(spec, settings):
    return ScriptedBackend(reply)
"""


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """The folder that the first test leaves for the others."""
    return tmp_path_factory.mktemp("taken") / "run"


@pytest.fixture
def gated(bench, taken):
    """The bench with thresholds taken from a run of its own: 100 % covered, 25 % in order."""
    if taken.exists():
        shutil.copytree(taken, bench.path, dirs_exist_ok=True)
        return bench
    result = bench.run("--ocg-write-thresholds", "--ocg-thresholds", "t.toml")
    result.stdout.fnmatch_lines(["thresholds written: *t.toml", "gate: PASSED scripted_quarter (* limits hold)"])
    assert result.ret == 0
    shutil.copytree(bench.path, taken)
    return bench


def edit(bench, old, new):
    path = bench.path / "t.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_thresholds_that_hold_are_green_however_many_misses(gated):
    result = gated.run("--ocg-thresholds", "t.toml")
    assert result.ret == 0
    assert result.parseoutcomes() == {"passed": 18, "missed": 54}


def test_a_broken_threshold_is_red_and_names_metric_value_and_limit(gated):
    edit(gated, "min = 24.0", "min = 26.0")
    result = gated.run("--ocg-thresholds", "t.toml")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["gate: FAILED scripted_quarter *coverage_ordered 25.0 under 26.0*"])


def test_exactly_at_the_limit_passes(gated):
    edit(gated, "min = 24.0", "min = 25.0")
    assert gated.run("--ocg-thresholds", "t.toml").ret == 0


@pytest.mark.parametrize(
    ("arguments", "mode", "status", "reason"),
    [
        (("-k", "cs000"), "auto", 1, "partial run (24 of 72 cases)"),
        (("-k", "cs000"), "require", 10, "partial run (24 of 72 cases)"),
        (("-k", "cs000"), "off", 1, None),
        (("--ocg-sets", "2"), "auto", 1, "sets is '2:0' but the thresholds are for 'all'*"),
        (("--ocg-shots", "1"), "auto", 1, "shots is 1 but the thresholds are for 0*"),
        (("--ocg-condition", "original"), "auto", 0, "condition is 'original' but the thresholds are for 'ordered'*"),
    ],
)
def test_a_run_the_thresholds_are_not_for_is_not_evaluated(gated, arguments, mode, status, reason):
    result = gated.run("--ocg-thresholds", "t.toml", "--ocg-gate", mode, *arguments)
    assert result.ret == status
    if reason is None:
        assert "gate:" not in result.stdout.str()
    else:
        result.stdout.fnmatch_lines([f"gate: NOT EVALUATED scripted_quarter *{reason}*"])


@pytest.mark.parametrize(("mode", "status"), [("auto", 1), ("require", 10)])
def test_without_thresholds_the_status_is_pytests_own_unless_a_gate_is_required(bench, mode, status):
    assert bench.run("--ocg-gate", mode).ret == status


@pytest.mark.parametrize("condition", ["True", "prompt.concepts[0] == 'bake'"])
def test_requests_that_fail_are_never_green(gated, condition):
    gated.pytester.makeconftest(NO_REPLY.format(condition=condition))
    for mode, status in (("auto", 1), ("require", 10)):
        result = gated.run("--ocg-thresholds", "t.toml", "--ocg-gate", mode, "--ocg-cache", "other")
        assert result.ret == status
        result.stdout.fnmatch_lines(["gate: NOT EVALUATED *errors*"])


def test_errors_within_the_budget_are_pardoned(gated):
    gated.pytester.makeconftest(NO_REPLY.format(condition="prompt.concepts[:2] == ('hill', 'push')"))
    edit(gated, "max_error_share = 0.0", "max_error_share = 0.05")
    edit(gated, "min = 99.0", "min = 90.0")
    edit(gated, "min = 24.0", "min = 20.0")
    result = gated.run("--ocg-thresholds", "t.toml", "--ocg-cache", "other")
    assert result.parseoutcomes()["unanswered"] == 2
    assert result.ret == 0


def test_a_threshold_file_that_makes_no_sense_is_a_usage_error_before_anything_runs(gated):
    edit(gated, "min = 24.0", "min = 7500")
    result = gated.run("--ocg-thresholds", "t.toml", "--ocg-output", "never")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*t.toml*coverage_ordered*7500*"])
    assert not (gated.path / "never").exists()


def test_the_same_verdict_comes_from_the_results_file_alone(gated, capsys):
    words = ["gate", str(gated.path / "ocg-results" / "results.json"), str(gated.path / "t.toml")]
    assert main(words) == 0
    assert "gate: PASSED scripted_quarter (" in capsys.readouterr().out
    edit(gated, "min = 24.0", "min = 26.0")
    assert main(words) == 1


def test_both_conditions_make_two_rows_and_the_deltas_between_them(bench):
    result = bench.run("--ocg-condition", "both")
    result.stdout.fnmatch_lines(
        [
            "scripted_quarter  ordered*100.00*25.00*",
            "*- original*+0.00*+0.00*",
            "scripted_quarter  original*100.00*25.00*",
        ]
    )
    assert [row["counts"]["hit"] for row in bench.results()["rows"]] == [18, 72]


def test_shuffled_tests_make_the_same_batches_and_results(bench):
    bench.run("--ocg-output", "straight")
    bench.pytester.makeconftest(
        "import random\ndef pytest_collection_modifyitems(items):\n    random.Random(5).shuffle(items)\n"
    )
    bench.run("--ocg-cache", "other", "--ocg-output", "shuffled")
    assert bench.results("shuffled")["rows"][0]["metrics"] == bench.results("straight")["rows"][0]["metrics"]
    assert bench.generations("shuffled") == bench.generations("straight")


def test_a_refreshed_run_generates_again_and_keeps_the_new_replies(bench):
    bench.run()
    assert bench.run("--ocg-refresh").parseoutcomes() == {"passed": 18, "missed": 54}
    assert bench.results()["rows"][0]["counts"]["cached"] == 0
    bench.run()
    assert bench.results()["rows"][0]["counts"]["cached"] == 72
