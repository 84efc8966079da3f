"""Paths given to our options are not taken for tests: the project's own ini file, addopts and conftests hold."""

import json

import pytest

INI = """
[tool.pytest.ini_options]
testpaths = ["tests"]
addopts = ["--strict-markers", "-p", "own_plugin", "--ocg-templates", "0"]
markers = ["own: registered in the ini file"]
ocg_show_misses = "1"
pythonpath = ["lib"]
"""


@pytest.fixture
def project(pytester):
    """A project with an ini file beside a folder of data, neither above the other."""
    rows = [{"concept_set": ["bake_V", "cake_N", "kitchen_N", "smile_V"]}]
    data, project = pytester.mkdir("data"), pytester.mkdir("project")
    (data / "sets.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (project / "pyproject.toml").write_text(INI)
    (project / "lib").mkdir()
    (project / "lib" / "own_plugin.py").write_text("def pytest_report_header(): return 'own plugin here'\n")
    (project / "tests").mkdir()
    (project / "tests" / "test_bench.py").write_text(
        "import pytest\nfrom ocg_tests.test_ordered_commongen import test_generation\npytestmark = pytest.mark.own\n"
    )
    (project / "test_stray.py").write_text("def test_stray(): assert False\n")
    pytester.chdir()
    return project


@pytest.mark.parametrize(("joined", "way"), [(True, ()), (False, ()), (False, ("-n", "2"))])
def test_the_projects_ini_file_holds_whatever_paths_our_options_are_given(
    pytester, project, kept, monkeypatch, joined, way
):
    monkeypatch.chdir(project)
    given = {"--ocg-concepts": "../data/sets.jsonl", "--ocg-cache": "../data", "--model": "scripted:quarter"}
    options = [f"{name}={value}" for name, value in given.items()]
    arguments = options if joined else [part for pair in given.items() for part in pair]
    if way:
        result = pytester.runpytest_subprocess(*arguments, *way)
    else:
        result = pytester.runpytest_inprocess(*arguments, plugins=[kept])
    assert result.parseoutcomes() == {"passed": 6, "missed": 18}
    result.stdout.fnmatch_lines(["rootdir: *project", "configfile: pyproject.toml", "testpaths: tests"])
    result.stdout.fnmatch_lines(["own plugin here", "*1 of 18 misses*"], consecutive=False)


def test_tests_named_on_the_command_line_still_decide(pytester, project, kept, monkeypatch):
    monkeypatch.chdir(pytester.path)
    given = ("--model", "scripted:quarter", "--ocg-concepts", "data/sets.jsonl", "--ocg-cache", "data")
    result = pytester.runpytest_inprocess("project/tests", *given, plugins=[kept])
    assert result.parseoutcomes() == {"passed": 6, "missed": 18}
    result.stdout.fnmatch_lines(["rootdir: *project", "configfile: pyproject.toml"])
