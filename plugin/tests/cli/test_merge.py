"""`ocg merge` as its users see it: shards of real runs become one run, or nothing is written and it is said why."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from plugin.tests.results.part_folders import PartFolders
from pytest_ocg.cli import main
from pytest_ocg.errors import ResultsError
from pytest_ocg.results.files import load_results

MORE = ("--ocg-condition", "both", "--ocg-templates", "0,3")


def ocg(command: str, *words: object) -> tuple[int, str]:
    stream = io.StringIO()
    return main([command, *map(str, words)], stream), stream.getvalue()


@pytest.fixture
def folders(make_results, tmp_path):
    return PartFolders(tmp_path, make_results())


def test_three_shards_one_of_them_on_two_workers_leave_the_files_of_one_run(bench):
    bench.run(*MORE, "--ocg-output", "whole")
    for index in (1, 2, 3):
        spread = ("-n", "2") if index == 2 else ()
        shard = ("--ocg-shard", f"{index}/3", "--ocg-cache", f"cache{index}", "--ocg-output", f"shard{index}")
        bench.run(*MORE, *shard, *spread)
        assert not (bench.path / f"shard{index}" / "partial").exists()
    status, said = ocg("merge", *(bench.path / f"shard{index}" for index in (3, 1, 2)), "-o", bench.path / "merged")
    assert (status, said.splitlines()) == (
        0,
        [
            "3 runs of 'scripted_quarter': 288 of 288 cases",
            f"results: {bench.path / 'merged'}/results.json, generations.jsonl",
        ],
    )
    one, merged = bench.results("whole"), bench.results("merged")
    # Who ran what and when is another story; `ocg gate` gives the verdict.
    assert {**one, "run": None, "gate": None} == {**merged, "run": None, "gate": None}
    assert bench.generations("whole") == bench.generations("merged")


def test_a_shard_has_whole_sets_under_their_own_names_and_is_the_same_for_every_worker(bench):
    bench.run("--ocg-output", "whole")
    bench.run("--ocg-shard", "2/3", "--ocg-output", "alone")
    bench.run("--ocg-shard", "2/3", "--ocg-output", "workers", "-n", "2")
    shard = bench.generations("alone")
    assert [one["id"] for one in shard] == [one["id"] for one in bench.generations("workers")]
    assert len(shard) == 24
    assert [one["id"] for one in bench.generations("whole") if one["set"] == shard[0]["set"]] == [
        one["id"] for one in shard
    ]


def test_a_shard_is_never_judged_and_the_merged_run_is(bench):
    limits = ("--ocg-thresholds", "limits.toml")
    bench.run(*limits, "--ocg-write-thresholds")
    for index in (1, 2):
        result = bench.run(*limits, "--ocg-gate", "require", "--ocg-shard", f"{index}/2", "--ocg-output", f"s{index}")
        assert result.ret == 10
        reason = f"only shard '{index}/2' of the run; merge all shards with `ocg merge`"
        result.stdout.fnmatch_lines([f"gate: NOT EVALUATED scripted_quarter {reason}"])
    ocg("merge", bench.path / "s1", bench.path / "s2", "-o", bench.path / "merged")
    status, said = ocg("gate", bench.path / "merged", bench.path / "limits.toml", "--require")
    assert (status, said.startswith("gate: PASSED scripted_quarter")) == (0, True)


def test_a_baseline_is_not_taken_from_a_shard(bench):
    result = bench.run("--ocg-write-thresholds", "--ocg-thresholds", "limits.toml", "--ocg-shard", "1/2")
    result.stdout.fnmatch_lines(["*only shard '1/2' of the run; merge all shards*"])
    assert not (bench.path / "limits.toml").exists()


def test_runs_of_two_models_leave_the_rows_of_one_run_of_both(bench):
    bench.run("--model", "scripted:echo", "--ocg-output", "both")
    bench.run("--ocg-output", "one")
    bench.run("--ocg-output", "other", model="scripted:echo")
    assert ocg("merge", bench.path / "one", bench.path / "other", "-o", bench.path / "merged")[0] == 0
    both, merged = bench.results("both")["rows"], bench.results("merged")["rows"]
    for rows in (both, merged):
        for row in rows:
            row["counts"].pop("cached")  # the single runs found in the cache what the first one asked for
    assert merged == both


@pytest.mark.parametrize("shard", ["4/5", "5/5"])
def test_a_shard_without_a_concept_set_is_a_usage_error_that_says_how_many_there_are(bench, shard):
    result = bench.run("--ocg-shard", shard)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"ERROR: --ocg-shard {shard}: this shard is empty, *3 concept sets; use at most 3 shards"]
    )


@pytest.mark.parametrize("shard", ["0/3", "4/3", "3", "1/0", "a/b", "1/2/3", ""])
def test_what_is_no_shard_is_a_usage_error(bench, shard):
    result = bench.run("--ocg-shard", shard)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--ocg-shard: {shard!r} is not I/N with I from 1 to N, such as 2/3 (*)"])


def test_missing_shards_are_named_and_nothing_is_written(folders, tmp_path):
    folder = folders.write("a", "2/3")
    status, said = ocg("merge", folder, "-o", tmp_path / "out")
    assert (status, said.splitlines()) == (
        1,
        [
            "missing: shard 1/3 of 'm'",
            "missing: shard 3/3 of 'm'",
            "1 run of 'm': 8 of 20 cases",
            "nothing was written; run the missing shards, or add --allow-missing to write the others",
        ],
    )
    assert not (tmp_path / "out").exists()


def test_an_allowed_partial_merge_is_written_to_its_own_folder_and_not_judged(folders, tmp_path):
    status, said = ocg("merge", folders.write("a", "2/3"), "-o", tmp_path / "out", "--allow-missing", "--json")
    told = json.loads(said)
    assert (status, told["cases"], told["planned"], told["exit_status"]) == (0, 8, 20, 0)
    assert told["folder"] == str(tmp_path / "out" / "partial")
    assert told["missing_shards"] == [{"model": "m", "shard": "1/3"}, {"model": "m", "shard": "3/3"}]
    assert load_results(tmp_path / "out" / "partial").selection.complete is False
    with pytest.raises(ResultsError):
        load_results(tmp_path / "out")


def test_a_part_is_never_written_over(folders, capsys):
    folder = folders.write("a")
    assert ocg("merge", folder, "-o", folder) == (2, "")
    assert capsys.readouterr().err == (
        f"ocg: --output: {str(folder)!r} is one of the folders to merge and would be overwritten; choose another\n"
    )


def test_a_folder_that_cannot_be_written_is_named_with_the_way_out(folders, tmp_path, capsys):
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert ocg("merge", folders.write("a"), "-o", tmp_path / "file" / "out") == (2, "")
    assert "free disk space or choose another --output, then merge again" in capsys.readouterr().err


def test_results_are_merged_without_pytest_and_without_a_model(folders, tmp_path):
    parts = [folders.write("a", "1/2"), folders.write("b", "2/2")]
    script = (
        "import sys\nfrom pytest_ocg.cli import main\nstatus = main(sys.argv[1:])\n"
        "print(sorted({'pytest', '_pytest', 'torch', 'transformers', 'spacy', 'openai'} & set(sys.modules)))\n"
        "sys.exit(status)"
    )
    words = [sys.executable, "-c", script, "merge", *map(str, parts), "-o", str(tmp_path / "out")]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "[]"), ended.stderr
