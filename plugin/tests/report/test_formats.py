"""The formats of a report: chosen by suffix, checked before the run, written to the path given."""

import re

import pytest

from plugin.tests.report.whole_run import whole_run
from pytest_ocg.errors import ExportError, OptionError
from pytest_ocg.report import formats
from pytest_ocg.report.formats import format_of, require_report, write_report


@pytest.fixture(scope="module")
def run():
    """The results and records of a run of 24 cases."""
    return whole_run()


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("r.html", b"<!DOCTYPE html>"), ("r.md", b"## Ordered CommonGen"), ("r.tex", b"% "), ("r.csv", b"id,model"),
        ("R.HTML", b"<!DOCTYPE html>"),
    ],
)  # fmt: skip
def test_the_suffix_chooses_the_format(run, tmp_path, name, starts):
    path = tmp_path / "new" / name
    write_report(path, *run)
    assert path.read_bytes().startswith(starts)


def test_parquet_is_one_of_them(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    write_report(tmp_path / "r.parquet", *run)
    assert parquet.read_table(tmp_path / "r.parquet").num_rows == 24


@pytest.mark.parametrize("name", ["r.pdf", "r", "html"])
def test_an_unknown_suffix_is_refused_with_the_known_ones(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(OptionError) as caught:
        format_of(path)
    assert str(caught.value) == (f"report {str(path)!r} does not end in .html, .md, .tex, .csv or .parquet; rename it")


@pytest.mark.parametrize(
    ("name", "library", "extra"), [("r.html", "matplotlib", "report"), ("r.parquet", "pyarrow", "parquet")]
)
def test_a_library_that_is_not_installed_is_named_with_its_extra(tmp_path, monkeypatch, name, library, extra):
    monkeypatch.setattr(formats, "find_spec", lambda asked: None)
    with pytest.raises(OptionError) as caught:
        require_report(tmp_path / name)
    assert f'needs {library}, which is not installed; run `pip install "pytest-ordered-commongen[{extra}]"`' in str(
        caught.value
    )


def test_a_missing_folder_is_accepted(tmp_path):
    path = tmp_path / "a" / "b" / "r.md"
    assert require_report(path) == path
    assert not path.parent.exists()


@pytest.mark.parametrize("name", ["file/r.md", "folder.md"])
def test_a_place_that_cannot_be_written_to_is_refused(tmp_path, name):
    (tmp_path / "file").touch()
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(OptionError, match=f"{re.escape(name)}' cannot be written; choose a file in a folder"):
        require_report(tmp_path / name)


@pytest.mark.parametrize(("name", "command"), [("r.md", "ocg report"), ("r.csv", "ocg export")])
def test_a_write_that_fails_names_the_file_and_the_way_out(run, tmp_path, name, command):
    path = tmp_path / name
    path.mkdir()
    with pytest.raises(ExportError) as caught:
        write_report(path, *run)
    assert str(caught.value) == (
        f"report {str(path)!r} cannot be written (Is a directory); choose another file, "
        f"or write it later with {command}"
    )
