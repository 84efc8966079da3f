"""What a user sees of hits, misses and errors, with xdist and without."""

import xml.etree.ElementTree as ElementTree

import pytest

WAYS = pytest.mark.parametrize("way", [(), ("-n", "0"), ("-n", "2")], ids=["no xdist", "-n0", "-n2"])
REFUSING = """
import pytest
from pytest_ocg.backends.base import ErrorKind, Generation
from pytest_ocg.backends.scripted import ScriptedBackend

def reply(prompt):
    if prompt.concepts[0] == "cake":
        return Generation(None, ErrorKind.REFUSED, "I would rather not")
    return " ".join(prompt.concepts)

def pytest_ocg_make_backend(spec, settings):
    return ScriptedBackend(reply)
"""
SPREAD = """
import random
from pytest_ocg.metrics.base import SetStatistic, measurement

class Words:
    def signature(self):
        return "words|split:space"

    def measure(self, replies):
        counts = {key: [len(text.split()) for text in texts] for key, texts in replies.items()}
        statistics = {key: SetStatistic(float(sum(numbers)), len(numbers)) for key, numbers in counts.items()}
        return measurement(statistics, self.signature(), reason="no reply")

def pytest_ocg_metrics():
    return {"words": Words}

def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        random.Random(5).shuffle(items)
"""


def test_no_more_misses_are_offered_if_all_are_shown(bench):
    result = bench.run("--ocg-show-misses", "54", "-n", "0")
    result.stdout.fnmatch_lines(["*= 54 of 54 misses =*"])


@WAYS
def test_a_miss_is_a_failed_test_with_a_status_of_its_own_and_one_line(bench, way):
    result = bench.run("--ocg-show-misses", "2", *way)
    assert result.ret == 1
    assert result.parseoutcomes() == {"passed": 18, "missed": 54}
    result.stdout.fnmatch_lines(
        [
            "*2 of 54 misses*",
            "scripted_quarter t0 *: order breaks at * | asked: * | reply: *",
            "*= ordered commongen =*",
            "*scripted_quarter*ordered*100.00*25.00*25.00*",
            "scripted_quarter ordered: 72 cases: 18 hit, 54 missed, 0 without a reply; 0 from the cache*",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*= 2 of 54 misses (--ocg-show-misses N shows more) =*"])
    assert "test_ordered_commongen.py:" not in result.stdout.str()


@WAYS
def test_an_error_is_a_test_error_and_enters_no_metric(bench, way):
    bench.pytester.makeconftest(REFUSING)
    result = bench.run(*way)
    assert result.ret == 1
    assert result.parseoutcomes() == {"passed": 66, "unanswered": 6}
    result.stdout.fnmatch_lines(
        [
            "*: refused: I would rather not | asked: *",
            "*66 hit, 0 missed, 6 without*6 refused*",
        ]
    )
    row = bench.results()["rows"][0]
    assert row["counts"]["error"] == 6
    assert row["metrics"]["coverage_ordered"]["value"] == 100
    assert row["metrics"]["coverage_ordered"]["n"] == 66


def test_all_hits_are_a_green_run(bench):
    result = bench.run(model="scripted:in-order")
    assert result.ret == 0
    assert result.parseoutcomes() == {"passed": 72}


def test_results_and_reports_are_the_same_however_tests_are_spread(bench):
    bench.pytester.makeconftest(SPREAD)
    seen = []
    for number, way in enumerate([(), ("-n", "3"), ("-n", "2", "--dist", "worksteal")]):
        report = bench.path / f"out{number}.csv"
        files = ("--ocg-output", f"out{number}", "--ocg-report", report.name)
        bench.run(*way, *files, "--ocg-batch-size", "10", "--ocg-refresh")
        results = bench.results(f"out{number}")
        row = results["rows"][0]
        assert row["metrics"]["words"]["n"] == 72
        rows = [(row["id"], row["reply"]) for row in bench.generations(f"out{number}")]
        seen.append((row["metrics"], row["by_template"], row["by_pattern"], results["selection"], rows))
        seen[-1] += (report.read_text(encoding="utf-8"),)
    assert seen[1:] == [seen[0]] * 2


STARTING = """
import pytest

def pytest_xdist_setupnodes(specs):
    pytest.exit(f"{len(specs)} would start")
"""


@pytest.mark.parametrize(
    ("more", "starts"),
    [
        (("--ocg-sets", "2"), False),
        ((), True),
        (("--ocg-sets", "2", "--ocg-refresh"), True),
        (("--ocg-sets", "2", "--dist", "loadscope"), True),
    ],
)
def test_workers_are_not_started_where_the_cache_has_every_reply(bench, more, starts):
    bench.pytester.makeconftest(STARTING)
    assert bench.run("--ocg-sets", "2").parseoutcomes() == {"passed": 12, "missed": 36}
    again = bench.run_here("-n", "2", *more)
    note = "ocg: every reply is in the cache; tests run in this process*"
    if starts:
        again.stdout.fnmatch_lines(["*2 would start*"])
        again.stdout.no_fnmatch_line(note)
    else:
        again.stdout.fnmatch_lines([note])
        assert again.parseoutcomes() == {"passed": 12, "missed": 36}


def test_without_a_model_one_skip_says_how_to_start(bench):
    result = bench.run("-rs", model=None)
    assert result.ret == 0
    assert result.parseoutcomes() == {"skipped": 1}
    result.stdout.fnmatch_lines(["*no model given; run pytest --model NAME*"])
    assert "ordered commongen" not in result.stdout.str()


@pytest.mark.parametrize("ini", ["", "[pytest]\nocg_gate = require\n"], ids=["option", "ini"])
def test_a_gate_that_is_required_is_never_green_without_a_model(bench, ini):
    message = "the gate is 'require', but no model is given, so there is nothing to judge; add --model NAME"
    if ini:
        bench.pytester.makefile(".ini", pytest=ini)
        result = bench.run(model=None)
        assert result.ret == pytest.ExitCode.INTERRUPTED
        result.stdout.fnmatch_lines([message])
    else:
        result = bench.run("--ocg-gate", "require", model=None)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_other_tests_are_not_held_by_the_gate_of_the_ini_file(bench):
    bench.pytester.makefile(".ini", pytest="[pytest]\nocg_gate = require\n")
    bench.pytester.makepyfile(test_bench="def test_other():\n    pass\n")
    assert bench.run(model=None).ret == 0


def test_cases_without_a_reply_are_shown_by_a_few_and_not_listed_once_more(bench):
    result = bench.run(model="scripted:empty")
    result.stdout.fnmatch_lines(
        ["*= 5 of 72 cases without a reply *", "scripted_empty t0 VNNV: empty: the reply is empty | asked: bake cake *"]
    )
    result.stdout.no_fnmatch_line("ERROR *")
    assert result.ret == 1
    assert result.parseoutcomes() == {"unanswered": 72}


def test_collecting_alone_loads_no_model_and_leaves_nothing_behind(bench):
    result = bench.run("--co", "-q")
    result.stdout.fnmatch_lines(
        ["test_bench.py::test_generation[[]scripted_quarter-ordered-t0-VNNV-cs000-bake_cake_kitchen_smile[]]"]
    )
    assert len([line for line in result.outlines if "::test_generation[" in line]) == 72
    assert not (bench.path / "cache").exists()
    assert not (bench.path / "ocg-results").exists()


def test_a_pattern_picks_only_its_cases_and_generates_no_others(bench):
    result = bench.run("-k", "VVVV")
    assert result.parseoutcomes()["deselected"] == 48
    results = bench.results("ocg-results/partial")
    assert results["selection"]["run"] == 24
    assert results["rows"][0]["made_by"][0]["replies"] == 24
    assert list(results["rows"][0]["by_pattern"]) == ["VVVV"]
    assert not (bench.path / "ocg-results" / "results.json").exists()


def test_lf_runs_the_misses_again_from_the_cache_and_leaves_the_full_results_alone(bench):
    bench.run()
    full = (bench.path / "ocg-results" / "results.json").read_bytes()
    result = bench.run("--lf")
    assert result.parseoutcomes() == {"missed": 54}
    assert bench.results("ocg-results/partial")["rows"][0]["counts"]["cached"] == 54
    assert (bench.path / "ocg-results" / "results.json").read_bytes() == full


def test_x_stops_at_the_first_miss_and_keeps_what_was_generated(bench):
    result = bench.run("-x", "--ocg-batch-size", "24")
    assert result.ret == 1
    assert result.parseoutcomes()["missed"] == 1
    assert bench.results("ocg-results/partial")["selection"]["cut"].startswith("stopping after 1 failures")
    again = bench.run()
    assert again.parseoutcomes() == {"passed": 18, "missed": 54}
    assert bench.results()["rows"][0]["counts"]["cached"] == 24


@pytest.mark.parametrize(
    "flags", [("-p", "no:cacheprovider"), ("-p", "no:xdist"), ("--no-summary",), ("-p", "no:terminal")]
)
def test_the_verdicts_do_not_depend_on_pytests_own_plugins(bench, flags):
    result = bench.run(*flags)
    assert result.ret == 1
    assert bench.results()["rows"][0]["counts"]["hit"] == 18


def test_quiet_prints_one_line_a_row_and_the_verdict(bench):
    result = bench.run("-q", "--ocg-condition", "both")
    result.stdout.no_fnmatch_line("*misses*")
    result.stdout.no_fnmatch_line("*a second*")
    result.stdout.no_fnmatch_line("*w/o order  *")
    numbers = "coverage w/o order 100.00; coverage w/ order 25.00; ordered rate 25.00; pBLEU *; diverse rate 100.00"
    result.stdout.fnmatch_lines(
        [
            f"scripted_quarter ordered: 18 hit, 54 missed, 0 without a reply; {numbers}",
            "scripted_quarter original: 72 hit, 0 missed, 0 without a reply; *",
            "gate: NOT EVALUATED scripted_quarter *",
        ]
    )


def test_nothing_selected_leaves_the_results_of_an_earlier_probe(bench):
    bench.run("-k", "VVVV")
    before = bench.results("ocg-results/partial")
    assert bench.run("-k", "nosuch").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert bench.results("ocg-results/partial") == before


def test_nothing_selected_is_pytests_own_exit_status_and_no_table(bench):
    result = bench.run("-k", "nosuch")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "coverage" not in result.stdout.str()


def test_verbose_names_each_miss_intervals_templates_patterns_and_the_recipe_of_each_metric(bench):
    result = bench.run("-v")
    result.stdout.fnmatch_lines(
        [
            "                  95 % interval  *",
            "no interval: *",
            "scripted_quarter ordered, by template",
            "t0           100.00     25.00    25.00 *",
            "scripted_quarter ordered, by pattern asked for",
            "pattern  replies *",
            "VVVV          24     100.00     25.00    25.00   100.00",
        ]
    )
    result.stdout.fnmatch_lines(["*test_generation[[]*[]] MISSED*", "*pbleu: nrefs:1|*pairs:ordered*"])


def test_junit_holds_misses_as_failures_and_any_reply_as_valid_xml(bench):
    bench.pytester.makeconftest(
        "from pytest_ocg.backends.scripted import ScriptedBackend\n"
        "def pytest_ocg_make_backend(spec, settings):\n"
        "    return ScriptedBackend(lambda prompt: 'nothing \\x00 \\x1b[31m \\ufffe \\ud800 <b>&')\n"
    )
    result = bench.run("--junit-xml", "junit.xml")
    assert result.parseoutcomes() == {"missed": 72}
    assert "\x1b[31m" not in result.stdout.str()
    suite = ElementTree.parse(bench.path / "junit.xml").getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("72", "72", "0")
    assert suite.find("testcase/properties") is None
    assert "missing | asked: " in suite.find("testcase/failure").get("message")
    assert bench.generations()[0]["reply"] == "nothing \x00 \x1b[31m \ufffe \ud800 <b>&"


def test_tests_of_the_users_own_get_the_same_replies(bench):
    bench.pytester.makepyfile(
        test_own="def test_short(ocg_case, ocg_generation):\n"
        "    assert len(ocg_generation.reply.split()) < 50\n"
        "    assert ocg_generation.case is ocg_case\n"
    )
    result = bench.run()
    assert result.parseoutcomes() == {"passed": 18 + 72, "missed": 54}
    assert bench.results()["rows"][0]["made_by"][0]["replies"] == 72


def test_a_failure_that_is_no_miss_is_not_pardoned_by_thresholds(bench):
    bench.run("--ocg-write-thresholds", "--ocg-thresholds", "t.toml")
    assert bench.run("--ocg-thresholds", "t.toml").ret == 0
    bench.pytester.makepyfile(test_own="def test_broken(): assert False")
    assert bench.run("--ocg-thresholds", "t.toml").ret == 1
