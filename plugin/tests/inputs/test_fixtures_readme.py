"""fixtures/README.md lists every shipped data file with its sha256, and the script that writes the list is right."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ocg.inputs.files import resource

FIXTURES = resource("fixtures")
SCRIPT = Path(__file__).parents[3] / "scripts" / "fixtures_checksums"
ROW = re.compile(r"^\| `([^`]+)` \| `([0-9a-f]{64})` \|$", re.MULTILINE)


def listed(folder: Path) -> dict[str, str]:
    """The sha256 of each file by path, as the folder's README says."""
    rows = ROW.findall((folder / "README.md").read_text(encoding="utf-8"))
    assert len(rows) == len(dict(rows)), "a file is listed twice"
    return dict(rows)


def measured(folder: Path) -> dict[str, str]:
    """The sha256 of each file by path, as it is on disk; hidden files and the README itself left out."""
    names = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in names.items()
        if name != "README.md" and not re.search(r"(^|/)\.", name)
    }


def run_script(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path):
    """A folder of two data files and a README whose table is still empty."""
    marks = "<!-- checksums: written by scripts/fixtures_checksums -->\n<!-- end of checksums -->"
    (tmp_path / "README.md").write_text(f"# Data\n\n{marks}\n\nThe end.\n", encoding="utf-8")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.csv").write_bytes(b"")
    (tmp_path / "a.toml").write_bytes(b"abc")
    (tmp_path / ".hidden").write_bytes(b"no data")
    return tmp_path


def test_every_data_file_is_listed_with_its_sha256_and_nothing_else_is():
    assert "concepts/everyday.jsonl" in listed(FIXTURES)
    assert listed(FIXTURES) == measured(FIXTURES), "run scripts/fixtures_checksums"


@pytest.mark.parametrize("name", sorted(measured(FIXTURES)))
def test_every_data_file_is_described_outside_the_table(name):
    prose = ROW.sub("", (FIXTURES / "README.md").read_text(encoding="utf-8"))
    assert f"`{name}`" in prose


def test_the_script_writes_known_sums_and_keeps_the_text_around_them(folder):
    assert run_script(folder).returncode == 0
    assert listed(folder) == {
        "a.toml": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "inner/b.csv": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    }
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# Data\n")
    assert text.endswith("\nThe end.\n")


def test_the_script_changes_nothing_the_second_time(folder):
    run_script(folder)
    once = (folder / "README.md").read_bytes()
    assert run_script(folder).returncode == 0
    assert (folder / "README.md").read_bytes() == once


@pytest.mark.parametrize("change", ["edit", "add", "remove"])
def test_check_reports_a_stale_table_and_does_not_change_it(folder, change):
    run_script(folder)
    assert run_script("--check", folder).returncode == 0
    before = (folder / "README.md").read_bytes()
    if change == "remove":
        (folder / "a.toml").unlink()
    else:
        (folder / ("a.toml" if change == "edit" else "c.toml")).write_bytes(b"other")
    checked = run_script("--check", folder)
    assert checked.returncode == 1
    assert "the table is out of date; run scripts/fixtures_checksums" in checked.stderr
    assert (folder / "README.md").read_bytes() == before


def test_a_readme_without_its_marks_is_refused_not_overwritten(folder):
    (folder / "README.md").write_text("# Data\n", encoding="utf-8")
    refused = run_script(folder)
    assert refused.returncode == 1
    assert "the table belongs between one" in refused.stderr
    assert (folder / "README.md").read_text(encoding="utf-8") == "# Data\n"


def test_a_folder_without_readme_is_refused_by_name(tmp_path):
    refused = run_script(tmp_path)
    assert refused.returncode == 1
    assert f"{tmp_path / 'README.md'}: no such file" in refused.stderr
