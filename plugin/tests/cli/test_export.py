"""`ocg export`: where the table comes from, where it is written, and the note to the user."""

import contextlib
import csv
import io
import json
import sys

import pytest

from plugin.tests.nouns import full_record, results_of
from pytest_ocg import cli
from pytest_ocg.results.writing import write_results


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run of two cases, one of them with a reply that a spreadsheet would run."""
    folder = tmp_path_factory.mktemp("export") / "run"
    cases = [full_record(id="a"), full_record(id="b", reply="=cmd()")]
    write_results(folder, results_of({}), [json.dumps(case) for case in cases])
    return folder


def export(*words):
    stream = io.StringIO(newline="")
    assert cli.main(["export", *map(str, words)], stream) == 0
    return list(csv.DictReader(io.StringIO(stream.getvalue(), newline="")))


def refused(*words):
    """What `ocg` prints of the error that stops it."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        assert cli.main(["export", *map(str, words)], io.StringIO()) == cli.FAILED
    return said.getvalue()


def test_every_case_of_a_run_is_a_line(bench):
    bench.run()
    rows = export(bench.path / "ocg-results")
    assert [row["id"] for row in rows] == [record["id"] for record in bench.generations()]
    assert sum(row["outcome"] == "hit" for row in rows) == 18


@pytest.mark.parametrize("name", ["", "results.json", "generations.jsonl"])
def test_the_folder_or_either_of_its_files_can_be_named(run, name):
    assert [row["id"] for row in export(run / name)] == ["a", "b"]


def test_it_is_written_to_a_file_and_not_to_the_terminal(run, tmp_path):
    assert export(run, "--output", tmp_path / "cases.csv") == []
    assert (tmp_path / "cases.csv").read_bytes().count(b"\r\n") == 3


def test_a_text_that_a_spreadsheet_would_run_is_not_changed_and_reported(run, capsys):
    assert export(run)[1]["reply"] == "=cmd()"
    assert capsys.readouterr().err == (
        "note: cells that begin with =, +, -, @, a tab or a line break: 1; a spreadsheet may run them as formulas; "
        "add --spreadsheet to prevent it\n"
    )


def test_with_spreadsheet_it_is_made_safe_without_a_note(run, capsys):
    assert export(run, "--spreadsheet")[1]["reply"] == "'=cmd()"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "parquet"], "--format 'parquet' cannot be written to the terminal; add --output FILE"),
        (["--output", "x.xlsx"], "--output 'x.xlsx' does not end in .csv or .parquet; rename it, or add --format"),
        (["--output", "x.parquet", "--spreadsheet"], "--spreadsheet works with CSV only; remove it for Parquet"),
    ],
)
def test_an_unclear_format_is_refused_before_the_run_is_read(tmp_path, words, message):
    assert refused(tmp_path / "nosuch", *words).startswith(f"ocg: {message}")


def test_a_missing_run_is_named(tmp_path):
    assert str(tmp_path / "nosuch") in refused(tmp_path / "nosuch")


def test_a_place_that_cannot_be_written_to_is_named(run, tmp_path):
    path = tmp_path / "nosuch" / "x.csv"
    said = f"ocg: {str(path)!r} cannot be written (No such file or directory); choose another --output\n"
    assert refused(run, "--output", path).endswith(said)


def test_parquet_without_pyarrow_writes_nothing_and_reports_what_to_install(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install" in refused(run, "--output", tmp_path / "x.parquet")
    assert not (tmp_path / "x.parquet").exists()


def test_the_end_of_the_name_chooses_parquet(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    export(run, "--output", tmp_path / "x.parquet")
    assert parquet.read_table(tmp_path / "x.parquet").num_rows == 2
