"""Files of the user: read if they are regular and not too large, otherwise refused with one message."""

from __future__ import annotations

import os

import pytest

from pytest_ocg.errors import ResultsError, ThresholdError
from pytest_ocg.inputs.files import check_file, parse_toml, read_bytes


def test_a_file_is_read_up_to_its_limit(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_bytes(path, "results file 'x'", 5, ResultsError, "give another") == b"12345"
    with pytest.raises(ResultsError, match=r"^results file 'x' is too large: 5 bytes, the limit is 4; give another$"):
        read_bytes(path, "results file 'x'", 4, ResultsError, "give another")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "does not exist; give another"),
        (lambda path: path.symlink_to("gone"), "does not exist; give another"),
        (lambda path: path.mkdir(), "is a folder; give another"),
        (os.mkfifo, "is not a regular file; give another"),
        (lambda path: path.symlink_to(path.name), r"cannot be read \(.+\); check the path and its permissions"),
    ],
)
def test_a_path_that_is_not_a_regular_file_raises_the_given_error(make, message, tmp_path):
    make(tmp_path / "x")
    for check in (check_file, read_bytes):
        with pytest.raises(ThresholdError, match=f"^thresholds 'x' {message}$"):
            check(tmp_path / "x", "thresholds 'x'", 100, ThresholdError, "give another")


def test_a_path_that_no_system_takes_and_a_file_without_rights_cannot_be_read(tmp_path, monkeypatch):
    with pytest.raises(ResultsError, match="cannot be read \\(embedded null"):
        read_bytes(tmp_path / "\0", "results file 'x'", 100, ResultsError, "give another")
    (tmp_path / "x").touch()

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(ResultsError, match=r"cannot be read \(Permission denied\); check the path"):
        read_bytes(tmp_path / "x", "results file 'x'", 100, ResultsError, "give another")


def test_invalid_toml_is_reported_with_its_place():
    assert parse_toml("a = 1", "x.toml", ThresholdError) == {"a": 1}
    with pytest.raises(ThresholdError, match=r"^x.toml is not valid TOML: .*; see the guide$"):
        parse_toml("a = ", "x.toml", ThresholdError, "; see the guide")
