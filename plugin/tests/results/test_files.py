from __future__ import annotations

import hashlib
import json
import os

import pytest

from pytest_ocg.errors import ResultsError
from pytest_ocg.results.files import (
    MAX_GENERATIONS_BYTES,
    MAX_RESULTS_BYTES,
    load_records,
    load_results,
    load_run,
    row_statistics,
)

HITS = {"bake_V cake_N": (1, 1), "push_V hill_N": 2}
GOOD = {
    "id": "m-ordered-t0-VN-cs000-bake_cake",
    "model": "m",
    "condition": "ordered",
    "shots": 0,
    "template": 0,
    "set": "cs000",
    "pattern": "VN",
    "concepts": ["bake", "cake"],
    "outcome": "hit",
    "reply": "Bake a cake.",
    "cached": False,
    "made_by": "x",
    "covered": True,
    "in_order": True,
    "missing": [],
    "order_break": None,
    "positions": [[0], [7]],
    "echo": False,
}


def lines_in(tmp_path, *lines: bytes):
    path = tmp_path / "generations.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "are not JSON ("),
        (b"{", "are not JSON ("),
        (b"\xff\xfe", "are not JSON ("),
        (b"[" * 100_000, "are not JSON ("),
        (b'{"schema": 1' + b"0" * 5000 + b"}", "are not JSON ("),
        (b"[]", "hold a list, not an object; give the results.json of a run, not its generations.jsonl"),
        (b"null", "hold a NoneType, not an object"),
        (b"{}", "have schema None, this version reads 1; use the version of pytest-ordered-commongen that wrote them"),
        (b'{"schema": 2}', "have schema 2, this version reads 1"),
        (b'{"schema": true}', "have schema True, this version reads 1"),
        (b'{"schema": 1}', "have no list of rows that each name their model"),
        (b'{"schema": 1, "rows": {}}', "have no list of rows"),
        (b'{"schema": 1, "rows": [3]}', "have no list of rows"),
        (b'{"schema": 1, "rows": [{"model": " "}]}', "have no list of rows"),
    ],
)
def test_what_is_no_results_file_is_refused(tmp_path, content, said):
    path = tmp_path / "results.json"
    path.write_bytes(content)
    with pytest.raises(ResultsError) as caught:
        load_results(path)
    assert str(caught.value).startswith(f"results {str(path)!r} ")
    assert said in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(
        ResultsError, match=r"results '.*results.json' do not exist; give the results.json of a run, or"
    ):
        load_results(tmp_path)


def test_a_file_too_large_for_results_is_not_read(tmp_path):
    path = tmp_path / "results.json"
    path.touch()
    os.truncate(path, MAX_RESULTS_BYTES + 1)
    with pytest.raises(ResultsError, match=f"are over {MAX_RESULTS_BYTES} bytes, too large"):
        load_results(path)


def test_a_run_is_read_back_with_its_records(make_run):
    folder = make_run("run", HITS)
    run = load_run(folder)
    assert run == load_run(folder / "results.json")
    assert run.path == folder / "results.json"
    assert [record["outcome"] for record in run.records] == ["hit", "error", "hit", "hit"]
    assert run.results["rows"][0]["counts"]["planned"] == 576


def test_generations_of_another_run_are_refused(make_run):
    folder = make_run("run", HITS)
    path = folder / "generations.jsonl"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"It is", b"It was"))
    with pytest.raises(ResultsError) as caught:
        load_run(folder)
    assert str(caught.value) == (
        f"generations {str(path)!r} have sha256 {hashlib.sha256(path.read_bytes()).hexdigest()!r} but the results "
        f"beside them were made from {hashlib.sha256(content).hexdigest()!r}; take both files from the same run"
    )


def test_results_without_their_generations_say_to_keep_the_two_together(make_run):
    folder = make_run("run", HITS)
    (folder / "generations.jsonl").unlink()
    with pytest.raises(
        ResultsError,
        match=r"generations '.*generations.jsonl' do not exist; it has the replies that results.json was made from, "
        "so keep the two together",
    ):
        load_run(folder)


def test_results_that_do_not_say_which_generations_are_theirs_are_refused(make_run):
    folder = make_run("run", HITS)
    results = json.loads((folder / "results.json").read_bytes())
    del results["generations_sha256"]
    (folder / "results.json").write_text(json.dumps(results), encoding="ascii")
    with pytest.raises(ResultsError, match=r"have generations_sha256 None, so nothing says which replies they are of"):
        load_run(folder)


def test_records_are_read_line_by_line_and_blank_lines_are_none(tmp_path):
    line = json.dumps(GOOD).encode("ascii")
    path = lines_in(tmp_path, line, b"", line)
    assert load_records(path) == (GOOD, GOOD)
    assert load_records(path, sha256=hashlib.sha256(path.read_bytes()).hexdigest()) == (GOOD, GOOD)
    assert load_records(lines_in(tmp_path)) == ()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "line 2 is not JSON in ASCII ("),
        (b"[" * 100_000, "line 2 is not JSON in ASCII ("),
        (b'{"id": "\xff"}', "line 2 is not JSON in ASCII ("),
        (b"[]", "line 2 holds a list, not an object; give the file of a run"),
        (b"{}", "line 2 has id None, which no run writes; run the benchmark again"),
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path, line, said):
    path = lines_in(tmp_path, json.dumps(GOOD).encode("ascii"), line)
    with pytest.raises(ResultsError) as caught:
        load_records(path)
    assert str(caught.value).startswith(f"generations {str(path)!r}, {said}")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"shots": True}, "has shots True"),
        ({"template": 1.0}, "has template 1.0"),
        ({"set": None}, "has set None"),
        ({"concepts": []}, "has concepts []"),
        ({"concepts": ["bake", 3]}, "has concepts ['bake', 3]"),
        ({"pattern": "V"}, "has concepts ['bake', 'cake']"),
        ({"outcome": "won"}, "has outcome 'won'"),
        ({"outcome": []}, "has outcome []"),
        ({"reply": None}, "has reply None"),
        ({"covered": 1}, "has covered 1"),
        ({"order_break": 4}, "has order_break 4"),
        ({"outcome": "error"}, "has reply 'Bake a cake.'"),
        ({"outcome": "error", "reply": None}, "has error None"),
    ],
)
def test_a_record_of_the_wrong_types_names_its_field(tmp_path, changed, said):
    path = lines_in(tmp_path, json.dumps(GOOD | changed).encode("ascii"))
    with pytest.raises(ResultsError) as caught:
        load_records(path)
    assert str(caught.value) == (
        f"generations {str(path)!r}, line 1 {said}, which no run writes; run the benchmark again"
    )


def test_generations_too_large_are_not_read(tmp_path):
    path = tmp_path / "generations.jsonl"
    path.touch()
    os.truncate(path, MAX_GENERATIONS_BYTES + 1)
    with pytest.raises(ResultsError, match=f"are over {MAX_GENERATIONS_BYTES} bytes, too large"):
        load_records(path)


def test_statistics_are_read_by_metric_template_and_set(make_run):
    run = load_run(make_run("run", HITS))
    assert row_statistics(run, run.results["rows"][0])["coverage_ordered"] == {
        "0": {"cs000": (100.0, 1), "cs001": (200.0, 2)}
    }


@pytest.mark.parametrize(
    ("statistics", "said"),
    [
        ({}, "has statistics {}, so no metric can be taken by concept set; run the benchmark again, which asks"),
        ([], "has statistics [], so no metric"),
        ({"pbleu": 3}, "has 3 as statistics of 'pbleu', not a sum and a count by metric, template and set"),
        ({"pbleu": {"0": []}}, "has [] as statistics of 'pbleu', template '0'"),
        ({"pbleu": {"x": {}}}, "has {} as statistics of 'pbleu', template 'x'"),
        ({"pbleu": {"0": {"cs000": [1.0]}}}, "has [1.0] as statistics of 'pbleu', template '0', set 'cs000'"),
        ({"pbleu": {"0": {"cs000": [1.0, -1]}}}, "has [1.0, -1] as"),
        ({"pbleu": {"0": {"cs000": [1.0, True]}}}, "has [1.0, True] as"),
        ({"pbleu": {"0": {"cs000": [float("nan"), 1]}}}, "has [nan, 1] as"),
        ({"pbleu": {"0": {"cs000": [1e200, 1]}}}, "has [1e+200, 1] as"),
        ({"pbleu": {"0": {"cs000": ["1", 1]}}}, "has ['1', 1] as"),
    ],
)
def test_statistics_of_another_shape_are_refused(make_run, statistics, said):
    run = load_run(make_run("run", HITS))
    with pytest.raises(ResultsError) as caught:
        row_statistics(run, run.results["rows"][0] | {"statistics": statistics})
    assert f"the row of 'smollm2-135m' 'ordered' {said}" in str(caught.value)
