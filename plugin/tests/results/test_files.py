"""Files that may be anybody's: what a run writes is read back, anything else is named with its place and its value."""

from __future__ import annotations

import copy
import hashlib
import json
import os

import pytest

from plugin.tests.nouns import full_record, full_results, record_of
from pytest_ocg.errors import ResultsError
from pytest_ocg.results.files import (
    MAX_GENERATIONS_BYTES,
    MAX_RESULTS_BYTES,
    load_records,
    load_results,
    load_run,
    read_results,
)
from pytest_ocg.run.record import HitRecord

HITS = {"bake_V cake_N": (1, 1), "push_V hill_N": 2}
BOUNDS = {"low": 40.0, "high": 42.0, "floor": 40.2, "ceiling": 41.8}
WHOLE = full_results(
    {
        "selection": {"shard": "1/2", "whole": {"sets": 2, "cases_per_row": 24}},
        "rows": [
            {
                "patterns": {"NV": {"planned": 2, "run": 2}},
                "metrics": {"pbleu": {"value": 41.0, "interval": BOUNDS}},
                "by_template": {"0": {"pbleu": 41.0}},
                "statistics": {"pbleu": {"0": {"cs000": [82.0, 2]}}},
                "by_pattern": {"NV": {"coverage_ordered": 50.0}},
                "made_by": [{"replies": 2, "source": "x"}],
                "delta_vs_original": {"pbleu": None},
            }
        ],
        "gate": {
            "mode": "warn",
            "verdicts": [
                {
                    "model": "m",
                    "status": "passed",
                    "checks": [
                        {
                            "metric": "pbleu", "bound": "max", "limit": 45.0, "value": 41.0, "interval": [40.0, 42.0],
                            "holds": True, "says": "41.0 is not over 45.0", "fall": None,
                        }
                    ],
                }
            ],
        },
    }
)  # fmt: skip
GOOD = full_record(concepts=["bake", "cake"], pattern="VN", reply="Bake a cake.")


def damaged(*place, value=None, is_gone=False) -> bytes:
    """The whole file with one value put in the place of what is there, or taken away."""
    plain = inner = copy.deepcopy(WHOLE)
    for key in place[:-1]:
        inner = inner[key]
    if is_gone:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return json.dumps(plain).encode("ascii")


def refusal(content: bytes) -> str:
    with pytest.raises(ResultsError) as caught:
        read_results(content, "results file 'x'")
    return str(caught.value)


def lines_in(tmp_path, *lines: bytes):
    path = tmp_path / "generations.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not JSON ("),
        (b"{", "is not JSON ("),
        (b"\xff\xfe", "is not JSON ("),
        (b'{"schema": 1, "x": ' + b"[" * 100_000, "is not JSON ("),
        (b"{}", "has schema None, but this version reads 1"),
        (b'{"schema": 2}', "has schema 2, but this version reads 1"),
        (b'{"schema": true}', "has schema True, but this version reads 1"),
        (b'{"schema": "\\ud800"}', "has schema '\\ud800', but this version reads 1"),
    ],
)
def test_a_file_that_this_version_cannot_read_is_refused(tmp_path, content, said):
    path = tmp_path / "results.json"
    path.write_bytes(content)
    with pytest.raises(ResultsError) as caught:
        load_results(path)
    assert str(caught.value).startswith(f"results file {str(path)!r} {said}")
    assert "run the benchmark again" in str(caught.value)


@pytest.mark.parametrize("gone", [None, "gate", "generations_sha256"])
def test_a_run_is_read_with_or_without_its_optional_fields(gone):
    plain = {name: value for name, value in WHOLE.items() if name != gone}
    results = read_results(json.dumps(plain).encode("ascii"), "results file 'x'")
    assert [row.value("pbleu") for row in results.rows] == [41.0]
    assert [verdict.status for verdict in results.verdicts] == ([] if gone == "gate" else ["passed"])


def test_a_value_that_no_run_writes_is_named_with_the_way_out():
    assert refusal(damaged("rows", 0, "counts", "hit", value="many")) == (
        "results file 'x': rows[0].counts.hit is 'many': expected `int`, got `str`; run the benchmark again, which "
        "reuses the replies in the cache"
    )


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("run", 3),
        ("run.started", None),
        ("run.seconds", 1e301),
        ("run.command_line", "ocg"),
        ("dataset.sha256", None),
        ("seed", None),
        ("seed", True),
        ("selection", None),
        ("selection", []),
        ("selection.sets", 4),
        ("selection.whole", {"sets": 2}),
        ("selection.templates[0]", "0"),
        ("selection.complete", 1),
        ("selection.complete", "yes"),
        ("selection.run", None),
        ("selection.run", True),
        ("rows", {}),
        ("rows[0]", 3),
        ("rows[0].model", " "),
        ("rows[0].model", 3),
        ("rows[0].shots", False),
        ("rows[0].shots", "0"),
        ("rows[0].published_as", ["x"]),
        ("rows[0].identity", [1]),
        ("rows[0].counts", None),
        ("rows[0].counts.hit", -1),
        ("rows[0].counts.hit", True),
        ("rows[0].counts.hit", 123.0),
        ("rows[0].counts.hit", 10**13),
        ("rows[0].usage.cost_dollars", "x"),
        ("rows[0].metrics", 3),
        ("rows[0].metrics", ["pbleu"]),
        ("rows[0].statistics", []),
        ("rows[0].delta_vs_original", []),
        ("rows[0].made_by", {}),
        ("rows[0].made_by[0]", 3),
        ("gate", []),
        ("gate.verdicts[0].status", "great"),
        ("gate.verdicts[0].checks[0].metric", 3),
        ("gate.verdicts[0].checks[0].bound", "least"),
        ("generations_sha256", 3),
    ],
)
def test_a_damaged_value_is_named_with_its_place(place, value):
    keys = [int(key) if key.isdigit() else key for key in place.replace("[", ".").replace("]", "").split(".")]
    assert f"results file 'x': {place} is {value!r}: " in refusal(damaged(*keys, value=value))


@pytest.mark.parametrize(
    ("keys", "value", "place"),
    [
        (("run", "versions", "a\x1b]0;b"), 3, "run.versions['a\\x1b]0;b'] is 3: "),
        (("rows", 0, "metrics", "pbleu"), 3, "rows[0].metrics.pbleu is 3: "),
        (("rows", 0, "metrics", "pbleu", "value"), "41", "rows[0].metrics.pbleu.value is '41': "),
        (("rows", 0, "metrics", "pbleu", "value"), -1e301, "rows[0].metrics.pbleu.value is -1e+301: "),
        (("rows", 0, "metrics", "pbleu", "interval"), {"low": 1.0}, "rows[0].metrics.pbleu.interval is {'low': 1.0}: "),
        (("rows", 0, "metrics", "pbleu", "standard_error"), -1.0, "rows[0].metrics.pbleu.standard_error is -1.0: "),
        (("rows", 0, "by_pattern", "NV", "coverage_ordered"), "1", "rows[0].by_pattern.NV.coverage_ordered is '1': "),
        (("rows", 0, "by_template"), {"x": {}}, "the key 'x' of rows[0].by_template: "),
        (("rows", 0, "statistics", "pbleu"), 3, "rows[0].statistics.pbleu is 3: "),
        (("rows", 0, "statistics", "pbleu"), {"x": {}}, "the key 'x' of rows[0].statistics.pbleu: "),
        (("rows", 0, "statistics", "pbleu", "0"), [], "rows[0].statistics.pbleu['0'] is []: "),
        (("rows", 0, "statistics", "pbleu", "0", "cs000"), [1.0], "rows[0].statistics.pbleu['0'].cs000 is [1.0]: "),
        (("rows", 0, "statistics", "pbleu", "0", "cs000"), [1.0, -1], "rows[0].statistics.pbleu['0'].cs000[1] is -1: "),
        (
            ("rows", 0, "statistics", "pbleu", "0", "cs000"),
            [1.0, True],
            "rows[0].statistics.pbleu['0'].cs000[1] is True: ",
        ),
        (("rows", 0, "statistics", "pbleu", "0", "cs000"), ["1", 1], "rows[0].statistics.pbleu['0'].cs000[0] is '1': "),
        (("rows", 0, "made_by"), [{"source": "x"}], "rows[0]: made_by has None replies"),
        (("rows", 0, "made_by"), [{"replies": True}], "rows[0]: made_by has True replies"),
    ],
)
def test_a_damaged_value_under_a_users_name_is_found_by_its_place(keys, value, place):
    said = refusal(damaged(*keys, value=value))
    assert said.startswith(f"results file 'x': {place}")
    assert said.isprintable()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (("selection",), "the content: object missing required field `selection`"),
        (("selection", "shard"), "object missing required field `shard`"),
        (("rows", 0, "metrics", "pbleu", "value"), "rows[0].metrics.pbleu: object missing required field `value`"),
        (("rows", 0, "metrics", "pbleu", "reason"), "rows[0].metrics.pbleu: object missing required field `reason`"),
    ],
)
def test_a_missing_value_is_not_read_as_none(keys, said):
    assert said in refusal(damaged(*keys, is_gone=True))


@pytest.mark.parametrize("content", [b"[]", b"null", b"3", b"[" * 100_000])
def test_a_file_that_is_not_an_object_is_named_the_content(content):
    assert refusal(content).startswith("results file 'x': the content")


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_constant_that_is_not_a_number_is_not_json(number):
    assert "is not JSON" in refusal(damaged("rows", 0, "metrics", "pbleu", "value", value=number))


def test_a_file_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(
        ResultsError, match=r"results file '.*results.json' does not exist; pass the results.json of a run, or"
    ):
        load_results(tmp_path)


def test_a_file_too_large_for_results_is_not_read(tmp_path):
    path = tmp_path / "results.json"
    path.touch()
    os.truncate(path, MAX_RESULTS_BYTES + 1)
    with pytest.raises(ResultsError, match=f"too large: .* the limit is {MAX_RESULTS_BYTES:,}"):
        load_results(path)


def test_a_run_is_read_back_with_its_records(make_run):
    folder = make_run("run", HITS)
    run = load_run(folder)
    assert run == load_run(folder / "results.json")
    assert run.path == folder / "results.json"
    assert [record.outcome for record in run.records] == ["hit", "error", "hit", "hit"]
    assert run.results.rows[0].counts.planned == 576
    assert run.results.rows[0].statistics["coverage_ordered"] == {"0": {"cs000": (100.0, 1), "cs001": (200.0, 2)}}


def test_generations_of_another_run_are_refused(make_run):
    folder = make_run("run", HITS)
    path = folder / "generations.jsonl"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"It is", b"It was"))
    with pytest.raises(ResultsError) as caught:
        load_run(folder)
    assert str(caught.value) == (
        f"generations file {str(path)!r} has sha256 {hashlib.sha256(path.read_bytes()).hexdigest()!r} but the results "
        f"next to it were made from {hashlib.sha256(content).hexdigest()!r}; take both files from the same run"
    )


def test_without_generations_the_message_asks_to_keep_the_two_files_together(make_run):
    folder = make_run("run", HITS)
    (folder / "generations.jsonl").unlink()
    with pytest.raises(
        ResultsError,
        match=r"generations file '.*generations.jsonl' does not exist; results.json was made from this file; "
        "keep the two files together",
    ):
        load_run(folder)


def test_results_without_the_digest_of_their_generations_are_refused(make_run):
    folder = make_run("run", HITS)
    results = json.loads((folder / "results.json").read_bytes())
    del results["generations_sha256"]
    (folder / "results.json").write_text(json.dumps(results), encoding="ascii")
    with pytest.raises(ResultsError, match=r"has generations_sha256 None, so its generations cannot be checked"):
        load_run(folder)


def test_records_are_read_line_by_line_and_blank_lines_are_skipped(tmp_path):
    line, record = json.dumps(GOOD).encode("ascii"), record_of(**GOOD)
    path = lines_in(tmp_path, line, b"", line)
    assert load_records(path) == (record, record)
    assert load_records(path, sha256=hashlib.sha256(path.read_bytes()).hexdigest()) == (record, record)
    assert load_records(lines_in(tmp_path)) == ()
    assert isinstance(record, HitRecord)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "line 2 is not JSON ("),
        (b"[" * 100_000, "line 2: the content: "),
        (json.dumps(GOOD).encode("ascii").replace(b"Bake", b"\xff"), "line 2 is not JSON ("),
        (b"[]", "line 2: the content is []: "),
        (b"{}", "line 2: the content is {}: "),
    ],
)
def test_a_line_that_is_not_a_record_is_named(tmp_path, line, said):
    path = lines_in(tmp_path, json.dumps(GOOD).encode("ascii"), line)
    with pytest.raises(ResultsError) as caught:
        load_records(path)
    assert str(caught.value).startswith(f"generations file {str(path)!r}, {said}")
    assert str(caught.value).endswith("; run the benchmark again")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"shots": True}, "shots is True: "),
        ({"template": 1.0}, "template is 1.0: "),
        ({"set": None}, "set is None: "),
        ({"concepts": [], "positions": []}, "concepts () do not match the pattern 'VN'"),
        ({"concepts": ["bake", 3]}, "concepts[1] is 3: "),
        ({"pattern": "V"}, "concepts ('bake', 'cake') do not match the pattern 'V'"),
        ({"outcome": "won"}, "outcome is 'won': "),
        ({"outcome": []}, "outcome is []: "),
        ({"reply": None}, "reply is None: "),
        ({"covered": 1}, "covered is 1: "),
        ({"missing": [3]}, "missing[0] is 3: "),
        ({"order_break": 4}, "order_break is 4: "),
        ({"positions": [[1]]}, "positions ((1,),) must have one list for each concept"),
        ({"positions": [1, 2]}, "positions[0] is 1: "),
        ({"positions": [[0], [-1]]}, "positions[1][0] is -1: "),
        ({"outcome": "error"}, "reply is 'Bake a cake.': "),
        ({"outcome": "error", "reply": None}, "missing required field `error`"),
    ],
)
def test_a_damaged_record_is_named_with_its_line_and_field(tmp_path, changed, said):
    path = lines_in(tmp_path, json.dumps(GOOD | changed).encode("ascii"))
    with pytest.raises(ResultsError) as caught:
        load_records(path)
    assert str(caught.value).startswith(f"generations file {str(path)!r}, line 1: ")
    assert said in str(caught.value)


def test_generations_too_large_are_not_read(tmp_path):
    path = tmp_path / "generations.jsonl"
    path.touch()
    os.truncate(path, MAX_GENERATIONS_BYTES + 1)
    with pytest.raises(ResultsError, match=f"too large: .* the limit is {MAX_GENERATIONS_BYTES:,}"):
        load_records(path)


@pytest.mark.parametrize(
    "keys",
    [
        ("rows", 0, "published_as"), ("rows", 0, "metrics", "pbleu", "interval_reason"),
        ("rows", 0, "metrics", "pbleu", "sets"), ("rows", 0, "metrics", "pbleu", "interval"), ("selection", "whole"),
        ("gate", "verdicts", 0, "name"), ("gate", "verdicts", 0, "condition"), ("gate", "verdicts", 0, "shots"),
    ],
)  # fmt: skip
def test_a_file_of_an_older_version_without_a_later_field_is_read(keys):
    results = read_results(damaged(*keys, is_gone=True), "results file 'x'")
    assert results.verdicts[0].line().startswith("gate: PASSED m")


def test_a_number_too_large_for_a_float_is_refused_also_beside_a_lone_surrogate():
    content = damaged("rows", 0, "model", value="\ud800").replace(b'"limit": 45.0', b'"limit": 1e999')
    assert "1e999 is too large" in refusal(content)


def test_a_text_in_the_file_cannot_take_the_place_of_the_error(tmp_path):
    line = json.dumps({**GOOD, "outcome": " - at `$.id`"}).encode("ascii")
    with pytest.raises(ResultsError, match=r"line 1: outcome is ' - at `\$\.id`': invalid value ' - at `\$\.id`'; run"):
        load_records(lines_in(tmp_path, line))


def test_a_set_with_two_lists_of_words_is_named_with_both(tmp_path):
    good, other = ({**GOOD, "concepts": words} for words in (["bake", "cake"], ["bake", "bread"]))
    lines = [json.dumps(one).encode("ascii") for one in (good, other)]
    with pytest.raises(
        ResultsError, match=r"line 2: set '.*' has the concepts \('bake', 'bread'\), but in an earlier "
    ):
        load_records(lines_in(tmp_path, *lines))
    swapped = json.dumps({**GOOD, "concepts": ["cake", "bake"], "pattern": "NV"}).encode("ascii")
    assert len(load_records(lines_in(tmp_path, lines[0], swapped))) == 2
