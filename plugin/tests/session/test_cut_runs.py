"""Runs that end early: nothing generated is lost, and nothing partial is taken for a whole."""

import os
import signal
import subprocess
import sys
import time

import pytest

COUNTING = """
import os, pathlib
from pytest_ocg.backends.scripted import ScriptedBackend, quarter

class Counting(ScriptedBackend):
    def generate(self, prompts):
        made = super().generate(prompts)
        with open("batches.log", "a") as log:
            log.write(f"{os.getpid()} {len(prompts)}\\n")
        return made

def pytest_ocg_make_backend(spec, settings):
    return Counting(quarter, batch_size=settings.batch_size, delay_seconds=float(os.environ.get("DELAY", "0")))
"""
DYING = """
import os, pathlib
from pytest_ocg.backends.scripted import ScriptedBackend, quarter

def reply(prompt):
    if prompt.concepts[0] == "hill" and not pathlib.Path("died").exists():
        pathlib.Path("died").touch()
        os._exit(1)
    return quarter(prompt)

def pytest_ocg_make_backend(spec, settings):
    return ScriptedBackend(reply, batch_size=settings.batch_size)
"""


def generated(bench):
    log = bench.path / "batches.log"
    return [int(line.split()[1]) for line in log.read_text().splitlines()] if log.exists() else []


def test_a_run_killed_in_mid_generation_loses_one_batch_at_most_and_ends_as_if_undisturbed(bench):
    bench.pytester.makeconftest(COUNTING)
    command = [sys.executable, "-m", "pytest", *bench.arguments("--ocg-batch-size", "6")]
    killed = subprocess.Popen(command, cwd=bench.path, env={**os.environ, "DELAY": "0.3"}, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(generated(bench)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    before = sum(generated(bench))
    assert 18 <= before < 72

    again = bench.run("--ocg-batch-size", "6", "--ocg-output", "again")
    assert again.parseoutcomes() == {"passed": 18, "missed": 54}
    assert 72 <= sum(generated(bench)) <= 72 + 6
    bench.run("--ocg-batch-size", "6", "--ocg-cache", "fresh", "--ocg-output", "undisturbed")
    lines = [{**line, "cached": None} for line in bench.generations("again")]
    assert lines == [{**line, "cached": None} for line in bench.generations("undisturbed")]
    assert bench.results("again")["rows"][0]["metrics"] == bench.results("undisturbed")["rows"][0]["metrics"]


@pytest.mark.parametrize("dist", ["load", "worksteal"])
def test_a_worker_that_dies_costs_its_test_and_the_run_is_not_gated_as_a_whole(bench, dist):
    bench.run("--ocg-write-thresholds", "--ocg-thresholds", "t.toml", "--ocg-batch-size", "6")
    bench.pytester.makeconftest(DYING)
    result = bench.run(
        "-n",
        "2",
        "--dist",
        dist,
        "--ocg-batch-size",
        "6",
        "--ocg-cache",
        "other",
        "--ocg-thresholds",
        "t.toml",
        "--ocg-gate",
        "require",
    )
    assert result.ret in (1, 10)
    result.stdout.fnmatch_lines(["*crashed while running*"])
    results = bench.results("ocg-results/partial")
    assert results["selection"]["complete"] is False
    assert results["rows"][0]["counts"]["not_run"] == 72 - results["selection"]["run"] >= 1
    assert result.stdout.str().count("= ordered commongen =") == 1
    result.stdout.fnmatch_lines(["gate: NOT EVALUATED scripted_quarter partial run (* of 72 cases)*"])


def test_an_interrupted_run_keeps_its_replies_its_status_and_no_verdict(bench):
    bench.run("--ocg-write-thresholds", "--ocg-thresholds", "t.toml", "--ocg-cache", "other")
    bench.pytester.makeconftest(
        "import pytest\n"
        "def pytest_runtest_teardown(item):\n"
        "    if 'cs001' in item.name:\n"
        "        raise KeyboardInterrupt\n"
    )
    arguments = bench.arguments("--ocg-batch-size", "24", "--ocg-thresholds", "t.toml")
    result = bench.pytester.runpytest_inprocess(*arguments, plugins=[bench.kept], no_reraise_ctrlc=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["gate: NOT EVALUATED * run stopped early: *interrupted*"])
    (bench.path / "conftest.py").unlink()
    bench.run("--ocg-batch-size", "24", "--ocg-output", "again")
    assert bench.results("again")["rows"][0]["counts"]["cached"] == 48


def test_a_backend_that_gives_up_ends_the_run_with_its_message_and_keeps_the_batches_before(bench):
    bench.pytester.makeconftest(
        "from pytest_ocg.backends.scripted import ScriptedBackend, quarter\n"
        "from pytest_ocg.errors import BackendError\n"
        "def reply(prompt):\n"
        "    if prompt.concepts[0] == 'hill':\n"
        "        raise BackendError('the account of scripted has no credit left')\n"
        "    return quarter(prompt)\n"
        "def pytest_ocg_make_backend(spec, settings):\n"
        "    return ScriptedBackend(reply, batch_size=settings.batch_size)\n"
    )
    result = bench.run("--ocg-batch-size", "6")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "the account of scripted has no credit left" in result.stdout.str() + result.stderr.str()
    assert bench.results("ocg-results/partial")["selection"]["run"] >= 24


def test_two_runs_at_once_in_one_folder_both_end_well(bench):
    command = [sys.executable, "-m", "pytest", *bench.arguments("--ocg-batch-size", "6")]
    runs = [subprocess.Popen(command, cwd=bench.path, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [1, 1]
    assert all("18 hit, 54 missed" in output for output in outputs)
    assert bench.results()["selection"]["complete"] is True
    assert len(bench.generations()) == 72
