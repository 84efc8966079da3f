"""`ocg report`: a report made later from what a run left behind."""

import contextlib
import io
import json
import subprocess
import sys

import pytest

from pytest_ocg import cli


@pytest.fixture
def run(bench):
    """The folder of a run of 72 cases."""
    bench.run()
    return bench.path / "ocg-results"


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


def test_markdown_and_latex_go_to_the_terminal(run):
    assert report(run, "--markdown").startswith("## Ordered CommonGen\n")
    assert r"\begin{tabular}" in report(run / "results.json", "--latex")


@pytest.mark.parametrize(("name", "start"), [("r.md", "## Ordered"), ("r.tex", "% ")])
def test_a_file_has_the_form_of_its_suffix(run, tmp_path, name, start):
    assert report(run, "-o", tmp_path / name) == ""
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_html_has_the_history_of_earlier_runs(run, tmp_path):
    before = json.loads((run / "results.json").read_text(encoding="utf-8"))
    before["run"]["started"] = "2026-01-31T10:00:00+00:00"
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps(before), encoding="utf-8")
    made = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "pytest_ocg.cli", "report", run),
            *("--output", tmp_path / "r.html", "--earlier", earlier),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "How were the runs before?" in text
    assert "2026-01-31T10:00:00+00:00" in text


def test_thresholds_give_the_verdict_that_merged_results_do_not_hold(bench, tmp_path):
    for index in (1, 2):
        bench.run("--ocg-shard", f"{index}/2", "--ocg-output", f"s{index}", "--ocg-cache", f"c{index}")
    shards, merged = [bench.path / "s1", bench.path / "s2"], bench.path / "merged"
    assert cli.main(["merge", *map(str, shards), "-o", str(merged)], io.StringIO()) == 0
    assert "- gate: no verdict in these results, as in any that were merged" in report(merged, "--markdown")
    limits = tmp_path / "limits.toml"
    limits.write_text("schema = 1\n[selection.full.metrics.coverage_ordered]\nmin = 99\n", encoding="utf-8")
    said = report(merged, "--markdown", "--thresholds", limits)
    assert "**<code>gate&#58; FAILED scripted&#95;quarter coverage&#95;ordered " in said
    assert "no verdict" not in said
    page = tmp_path / "r.html"
    made = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "pytest_ocg.cli", "report", merged, "-o", page),
            *("--thresholds", limits),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (made.returncode, made.stderr) == (0, "")
    assert '<div class="verdict failed">' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--latex", "--thresholds", "t.toml"],
            "--thresholds 't.toml' is for a report that has a verdict; write one with --markdown or with --output to a "
            "file that ends in .html or .md",
        ),
        (["-o", "r.tex", "--thresholds", "t.toml"], "--thresholds 't.toml' is for a report that has a verdict"),
        (["-o", "r.pdf"], "report 'r.pdf' does not end in .html, .md or .tex; rename it"),
        (["-o", "r.csv"], "report 'r.csv' does not end in .html, .md or .tex; use ocg export"),
        (["-o", "R.PARQUET"], "report 'R.PARQUET' does not end in .html, .md or .tex; use ocg export"),
        (
            ["-o", "r.md", "--earlier", "x.json"],
            "--earlier 'x.json' is for the HTML report; write one with --output FILE.html",
        ),
        (["--latex", "--earlier", "x.json"], "--earlier 'x.json' is for the HTML report"),
        (["--markdown"], "results 'nosuch' do not exist"),
    ],
)
def test_what_cannot_be_done_is_said_before_the_run_is_read(words, message):
    assert refused("nosuch", *words).startswith(f"ocg: {message}")


def test_results_that_no_run_writes_are_named(run):
    path = run / "results.json"
    results = json.loads(path.read_text(encoding="utf-8"))
    results["rows"][0]["counts"]["hit"] = "many"
    path.write_text(json.dumps(results), encoding="utf-8")
    assert f"results {str(path)!r}: rows.counts.hit is 'many', which no run writes" in refused(run, "--markdown")


def test_where_to_write_must_be_said(capsys):
    with pytest.raises(SystemExit):
        cli.main(["report", "x"], io.StringIO())
    assert "one of the arguments -o/--output --markdown --latex is required" in capsys.readouterr().err
