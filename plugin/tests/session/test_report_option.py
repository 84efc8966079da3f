"""`--ocg-report`: checked before anything is generated, written at the end, and never at the cost of results."""

import pytest

BLOCKING = """
import pathlib
from pytest_ocg.backends.scripted import ScriptedBackend, quarter

def reply(prompt):
    pathlib.Path("new").touch()
    return quarter(prompt)

def pytest_ocg_make_backend(spec, settings):
    return ScriptedBackend(reply)
"""


def test_each_report_is_written_by_its_suffix_and_named(bench):
    result = bench.run("--ocg-report", "r.md,new/r.tex, r.csv")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["report: r.md", f"report: {'new/r.tex'}", "report: r.csv"])
    assert (bench.path / "r.md").read_text(encoding="utf-8").startswith("## Ordered CommonGen")
    assert (bench.path / "r.csv").read_text(encoding="utf-8").count("\n") == 73
    assert (bench.path / "new" / "r.tex").exists()


def test_the_html_report_is_one_of_them(bench):
    result = bench.run("--ocg-report", "r.html")
    result.stdout.fnmatch_lines(["report: r.html"])
    text = (bench.path / "r.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "scripted_quarter" in text


def test_the_ini_file_can_ask_for_it(bench):
    bench.pytester.makeini("[pytest]\nocg_report = r.md\n")
    bench.run().stdout.fnmatch_lines(["report: r.md"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("r.md,r.pdf", "*report 'r.pdf' does not end in .html, .md, .tex, .csv or .parquet; rename it"),
        ("test_bench.py/r.md", "*report 'test_bench.py/r.md' cannot be written; choose a file in a folder*"),
        (" , ", "*--ocg-report: ' , ' names nothing"),
    ],
)
def test_what_cannot_be_written_is_a_usage_error(bench, name, message):
    result = bench.run("--ocg-report", name)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert not (bench.path / "cache").exists()


def test_a_run_that_is_not_whole_takes_the_place_of_no_report(bench):
    bench.run("--ocg-report", "r.md")
    whole = (bench.path / "r.md").read_bytes()
    result = bench.run("--ocg-report", "r.md", "-k", "cs000")
    result.stdout.fnmatch_lines(["report: partial/r.md"])
    assert (bench.path / "r.md").read_bytes() == whole


def test_a_report_that_cannot_be_written_in_the_end_is_a_problem_and_loses_nothing(bench):
    bench.pytester.makeconftest(BLOCKING)
    result = bench.run("--ocg-report", "new/r.md,r.csv", model="blocking/model")
    result.stdout.fnmatch_lines([
        "report: r.csv", "ocg: report 'new/r.md' cannot be written (File exists); choose another file, or write it*",
    ])  # fmt: skip
    assert len(bench.generations()) == 72
