"""CaseItem behaves like pytest's own item: same reports, same arguments; it is not used where it cannot be."""

import ast

import pytest

LOOK = """
import pathlib
import pytest

REPORTS = []

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    path, line, name = report.location
    REPORTS.append((type(item).__name__, report.when, report.outcome, report.nodeid, path, line, name,
                    sorted(report.keywords), report.sections))
    return report

def pytest_sessionfinish(session):
    pathlib.Path("reports.txt").write_text("\\n".join(map(repr, REPORTS)))
"""
PRINTING = """
import pytest

def pytest_runtest_call(item):
    print("said in the call of", item.name[-4:])
"""
AUTOUSE = """
@pytest.fixture(autouse=True)
def other():
    yield
"""
OVERRIDDEN = """
@pytest.fixture
def ocg_generation(ocg_generation):
    return ocg_generation
"""


def reports(bench, *arguments, conftest):
    bench.pytester.makeconftest(conftest)
    result = bench.run(*arguments)
    assert result.parseoutcomes() == {"passed": 18, "missed": 54}
    lines = (bench.path / "reports.txt").read_text().splitlines()
    return [ast.literal_eval(line) for line in lines]


@pytest.mark.parametrize("conftest", [LOOK, LOOK + PRINTING], ids=["plain", "with output"])
def test_its_reports_are_those_that_pytests_own_item_gets(bench, conftest):
    slim = reports(bench, conftest=conftest)
    own = reports(bench, conftest=conftest + AUTOUSE)
    assert {report[0] for report in slim} == {"CaseItem"}
    assert {report[0] for report in own} == {"Function"}
    assert [report[1:] for report in slim] == [report[1:] for report in own]
    if "said in the call" in conftest:
        assert any(report[-1] for report in slim)


@pytest.mark.parametrize(
    ("conftest", "arguments"),
    [(LOOK + AUTOUSE, ()), (LOOK + OVERRIDDEN, ()), (LOOK, ("--setup-show",))],
    ids=["another fixture", "the fixture overridden", "setup shown"],
)
def test_it_steps_aside_where_fixtures_are_more_than_ours(bench, conftest, arguments):
    assert {report[0] for report in reports(bench, *arguments, conftest=conftest)} == {"Function"}


def test_a_class_of_tests_keeps_pytests_items(bench):
    bench.pytester.makepyfile(
        test_bench="class TestOwn:\n    def test_own(self, ocg_generation):\n        ocg_generation.check()\n"
    )
    assert {report[0] for report in reports(bench, conftest=LOOK)} == {"Function"}


def test_a_mark_that_expects_the_miss_is_kept_to(bench):
    bench.pytester.makepyfile(
        test_bench="import pytest\n\n@pytest.mark.xfail(strict=False)\n"
        "def test_own(ocg_generation):\n    ocg_generation.check()\n"
    )
    assert bench.run().parseoutcomes() == {"xfailed": 54, "xpassed": 18}


def test_a_debugger_gets_the_exception_of_a_miss(bench):
    bench.pytester.makepyfile(
        debugger="import pdb\n\nclass Noted(pdb.Pdb):\n    def interaction(self, frame, trace):\n"
        "        print('looking at', type(self.curframe))\n"
    )
    bench.pytester.syspathinsert()
    result = bench.run("--pdb", "--pdbcls=debugger:Noted", "-s", "-x")
    result.stdout.fnmatch_lines(["*looking at*"])
    assert result.parseoutcomes()["missed"] == 1


def test_a_test_run_again_is_judged_again(bench):
    bench.pytester.makeconftest(
        "from _pytest.runner import runtestprotocol\n\n"
        "def pytest_runtest_protocol(item, nextitem):\n"
        "    item.function.__globals__['again'] = False\n"
        "    runtestprotocol(item, log=False, nextitem=nextitem)\n"
        "    item.function.__globals__['again'] = True\n"
        "    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)\n"
        "    runtestprotocol(item, nextitem=nextitem)\n"
        "    return True\n"
    )
    bench.pytester.makepyfile(
        test_bench="again = False\n\ndef test_own(ocg_generation):\n    again or ocg_generation.check()\n"
    )
    assert bench.run().parseoutcomes() == {"passed": 72}
