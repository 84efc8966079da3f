"""`ocg report`: a report that is made later from the files of a run."""

import contextlib
import io
import json
import subprocess
import sys

import pytest

from plugin.tests.report.whole_run import whole_run
from pytest_ocg import cli
from pytest_ocg.results.writing import write_results
from pytest_ocg.run.record import record_line


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run of 24 cases."""
    results, records = whole_run()
    folder = tmp_path_factory.mktemp("run")
    write_results(folder, results, list(map(record_line, records)))
    return folder


def report(*words):
    stream = io.StringIO()
    assert cli.main(["report", *map(str, words)], stream) == 0
    return stream.getvalue()


def refused(*words):
    """What `ocg` prints of the error that stops it."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        assert cli.main(["report", *map(str, words)], io.StringIO()) == cli.FAILED
    return said.getvalue()


def page_of(folder, tmp_path, *words):
    """The HTML report that is written."""
    assert report(folder, "-o", tmp_path / "r.html", *words) == ""
    return (tmp_path / "r.html").read_text(encoding="utf-8")


def test_markdown_and_latex_go_to_the_terminal(run):
    assert report(run, "--markdown").startswith("## Ordered CommonGen\n")
    assert r"\begin{tabular}" in report(run / "results.json", "--latex")


@pytest.mark.parametrize(("name", "start"), [("r.md", "## Ordered"), ("r.tex", "% ")])
def test_a_file_has_the_form_of_its_suffix(run, tmp_path, name, start):
    assert report(run, "-o", tmp_path / name) == ""
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_html_has_the_history_of_earlier_runs(run, tmp_path):
    before, records = whole_run(started="2026-01-31T10:00:00+00:00")
    write_results(tmp_path / "before", before, list(map(record_line, records)))
    made = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "pytest_ocg.cli", "report", run),
            *("--output", tmp_path / "r.html", "--earlier", tmp_path / "before"),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<h2>Gate history</h2>" in text
    assert "2026-01-31T10:00:00+00:00" in text


def test_thresholds_give_the_verdict_that_merged_results_do_not_have(bench, tmp_path):
    limits = tmp_path / "limits.toml"
    limits.write_text("schema = 1\n[selection.full.metrics.coverage_ordered]\nmin = 99\n", encoding="utf-8")
    for index in (1, 2):
        bench.run("--ocg-shard", f"{index}/2", "--ocg-output", f"s{index}", "--ocg-cache", f"c{index}")
    shards, merged = [bench.path / "s1", bench.path / "s2"], bench.path / "merged"
    assert cli.main(["merge", *map(str, shards), "-o", str(merged)], io.StringIO()) == 0
    assert "- gate: these results have no verdict" in report(merged, "--markdown")
    said = report(merged, "--markdown", "--thresholds", limits)
    assert "**<code>gate&#58; FAILED scripted&#95;quarter coverage&#95;ordered " in said
    assert "no verdict" not in said


def test_thresholds_give_another_verdict_than_the_run_had_in_html_too(run, tmp_path):
    limits = tmp_path / "other.toml"
    limits.write_text(
        "schema = 1\n[selection.full]\nsets = '1:0'\nmetrics.coverage_ordered.max = 1\n", encoding="utf-8"
    )
    assert '<div class="verdict passed">' in page_of(run, tmp_path)
    assert '<div class="verdict failed">' in page_of(run, tmp_path, "--thresholds", limits)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--latex", "--thresholds", "t.toml"],
            "--thresholds 't.toml' works only with a report that has a verdict; add --markdown, or --output with a "
            "file that ends in .html or .md",
        ),
        (
            ["-o", "r.tex", "--thresholds", "t.toml"],
            "--thresholds 't.toml' works only with a report that has a verdict",
        ),
        (["-o", "r.pdf"], "report 'r.pdf' does not end in .html, .md or .tex; rename it"),
        (["-o", "r.csv"], "report 'r.csv' does not end in .html, .md or .tex; use ocg export"),
        (["-o", "R.PARQUET"], "report 'R.PARQUET' does not end in .html, .md or .tex; use ocg export"),
        (
            ["-o", "r.md", "--earlier", "x.json"],
            "--earlier 'x.json' works with the HTML report only; add --output FILE.html",
        ),
        (["--latex", "--earlier", "x.json"], "--earlier 'x.json' works with the HTML report only"),
        (["--markdown"], "results file 'nosuch' does not exist"),
    ],
)
def test_a_usage_error_is_reported_before_the_run_is_read(words, message):
    assert refused("nosuch", *words).startswith(f"ocg: {message}")


def test_results_that_no_run_writes_are_named(run, tmp_path):
    path = tmp_path / "results.json"
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    results["rows"][0]["counts"]["hit"] = "many"
    path.write_text(json.dumps(results), encoding="utf-8")
    said = refused(path, "--markdown")
    assert f"results file {str(path)!r}: rows[0].counts.hit is 'many'" in said


def test_an_output_is_required(capsys):
    with pytest.raises(SystemExit):
        cli.main(["report", "x"], io.StringIO())
    assert "one of the arguments -o/--output --markdown --latex is required" in capsys.readouterr().err
