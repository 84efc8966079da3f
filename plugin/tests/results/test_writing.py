"""What is written to disk: whole or not at all, and read back as what it was."""

from __future__ import annotations

import hashlib
import json
import re

import msgspec
import pytest

from plugin.tests.nouns import full_results, record_of, results_of
from plugin.tests.results.part_folders import PartFolders
from pytest_ocg.errors import OptionError, ResultsError
from pytest_ocg.results.files import load_results, load_run, read_results
from pytest_ocg.results.writing import check_output, results_folder, results_json, write_results, write_whole
from pytest_ocg.run.record import record_line

DIGEST = "ab" * 32


def written(plain) -> dict:
    return json.loads(results_json(results_of(plain), DIGEST))


def test_results_are_read_back_as_they_were_written(make_results, tmp_path):
    results = load_results(PartFolders(tmp_path, make_results()).write("a", "1/2"))
    assert read_results(results_json(results, results.generations_sha256), "results file 'x'") == results


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"rows": [{"statistics": {}}]},
        {"rows": [{"statistics": {"pbleu": {"0": {}, "3": {'a"\\\ud800': [1.5, 2]}}}}]},
        {"run": {"platform": "x", "command_line": ["-k", "VVVV"]}},
        {"run": {"merged_from": [{"folder": "a"}], "missing_shards": []}},
        {"rows": [{"delta_vs_original": {"pbleu": None, "distinct2": -1.5}}]},
        {"gate": {"verdicts": []}},
        {"gate": {"mode": "auto", "exit_status": 1, "verdicts": [{"model": "m", "status": "failed"}]}},
    ],
)
def test_any_results_survive_being_written(plain):
    results = results_of(plain)
    expected = msgspec.structs.replace(results, generations_sha256=DIGEST)
    assert read_results(results_json(results, DIGEST), "results file 'x'") == expected


def test_a_missing_value_is_left_out_only_if_it_is_optional():
    plain = written({"rows": [{"metrics": {"pbleu": {}, "pbleurt": {"signature": "x"}}}]})
    [row] = plain["rows"]
    assert list(plain) == [*full_results({}), "generations_sha256"]
    assert not {"platform", "command_line", "merged_from", "missing_shards"} & plain["run"].keys()
    assert (plain["selection"]["shard"], row["published_as"]) == (None, None)
    assert "delta_vs_original" not in row
    assert not {"left_out", "cut"} & row["metrics"]["pbleu"].keys()
    assert (row["metrics"]["pbleurt"]["left_out"], row["metrics"]["pbleurt"]["cut"]) == (0, 0)


def test_the_statistics_of_a_template_are_on_one_line_and_all_is_ascii():
    statistics = {"pbleu": {"0": {"cs000": [1.0, 2], "cs001": [2.0, 4]}}}
    content = results_json(results_of({"rows": [{"model": "é", "statistics": statistics}]}), DIGEST)
    assert content.isascii()
    assert re.search(rb'\n +"0": \{"cs000": \[1\.0, 2\], "cs001": \[2\.0, 4\]\}\n', content)


def test_both_files_are_written_and_the_digest_shows_that_they_belong_together(tmp_path):
    records = [record_of(reply="café \ud800"), record_of(id="m-2", outcome="error")]
    write_results(tmp_path / "new" / "folder", results_of({}), [record_line(record) for record in records])
    run = load_run(tmp_path / "new" / "folder")
    assert run.records == tuple(records)
    content = (tmp_path / "new" / "folder" / "generations.jsonl").read_bytes()
    assert run.results.generations_sha256 == hashlib.sha256(content).hexdigest()


def test_a_folder_that_cannot_be_created_is_named_with_the_way_out(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ResultsError) as caught:
        write_results(tmp_path / "file", results_of({}), [], way_out="choose another")
    assert str(caught.value) == (
        f"results cannot be written to {str(tmp_path / 'file')!r} (File exists); choose another"
    )


def test_if_the_new_file_cannot_be_written_the_old_one_stays_and_nothing_else_is_left(tmp_path, monkeypatch):
    path = tmp_path / "results.json"
    write_whole(path, b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    assert [(found.name, found.read_bytes()) for found in tmp_path.iterdir()] == [("results.json", b"old")]


@pytest.mark.parametrize("complete", [True, False])
def test_results_that_are_not_complete_go_to_their_own_folder(tmp_path, complete):
    folder = results_folder(tmp_path, results_of({"selection": {"complete": complete}}))
    assert folder == (tmp_path if complete else tmp_path / "partial")


def test_an_output_that_is_a_file_is_refused_and_one_that_does_not_exist_is_accepted(tmp_path):
    (tmp_path / "file").touch()
    check_output(tmp_path / "not" / "yet")
    for output in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(OptionError, match=re.escape(repr(str(output)))):
            check_output(output)
    assert not (tmp_path / "not").exists()
