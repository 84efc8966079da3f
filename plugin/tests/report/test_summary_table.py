"""The summary table: what stands in it, what stands under it, and that it fits."""

import copy

import pytest

from pytest_ocg.report import summary_table as table


def metrics(**values):
    named = dict.fromkeys(table.COLUMNS)
    named.update(values)
    return {
        name: {"value": value, "n": 10, "signature": None, "reason": None if value is not None else "no model for it"}
        for name, value in named.items()
    }


FULL = metrics(
    coverage_unordered=97.512, coverage_ordered=75.25, ordered_rate=77.17, pbleu=17.6, pbleurt=41.9, distinct2=92.8,
    distinct2_pooled=70.1, diverse_rate=93.7, perplexity=52.46,
)  # fmt: skip
COUNTS = {
    "planned": 27_648, "selected": 27_648, "hit": 20_000, "miss": 7_000, "error": 648, "not_run": 0, "cached": 5,
    "echo": 3, "truncated": 0, "errors": {"refused": 600, "timeout": 48},
}  # fmt: skip


@pytest.fixture
def results():
    row = {
        "model": "gemma2-9b", "condition": "ordered", "shots": 0, "published_as": "Gemma2-9B",
        "metrics": copy.deepcopy(FULL), "counts": COUNTS,
        "made_by": [{"replies": 27_648, "source": "google/gemma-2-9b-it", "quantization": "4bit", "batch_size": 192}],
    }  # fmt: skip
    return {
        "rows": [row],
        "dataset": {"name": "commongen-lite", "sha256": table.PAPER_SHA256, "sets": 192, "dropped": 0},
        "selection": {"sets": None, "shard": None, "complete": True, "templates": [0, 1, 2, 3, 4, 5], "shots": 0},
        "matcher": "inflection|spacy:3.8.18",
    }


def test_a_model_has_a_row_and_the_paper_its_numbers_under_it(results):
    lines = table.render_table(results)
    [ours] = [line for line in lines if line.startswith("gemma2-9b")]
    [paper] = [line for line in lines if "published" in line]
    assert ours.split() == [
        "gemma2-9b", "ordered", "97.51", "75.25", "77.17", "17.60", "41.90", "92.80", "70.10", "93.70", "52.46",
    ]  # fmt: skip
    assert paper.split()[1] == f"{table.load_published().table1['Gemma2-9B'].values['coverage_unordered']:.2f}"


@pytest.mark.parametrize("model", ["gemma2-9b", "a-rather-long-model-name-of-24"])
def test_the_whole_table_fits_100_columns(results, model):
    results["rows"][0]["model"] = model[:16]
    assert max(map(len, table.render_table(results))) <= 120
    for name in ("pbleurt", "perplexity"):
        results["rows"][0]["metrics"][name] = {"value": None, "n": 0, "signature": None, "reason": "not computed"}
    assert max(map(len, table.render_table(results))) <= 100


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("dataset", "sha256"), "0" * 64),
        (("selection", "sets"), "12:0"),
        (("selection", "complete"), False),
        (("selection", "templates"), [0, 1]),
        (("matcher",), "lemma|spacy:3.8.18"),
        (("rows", 0, "published_as"), None),
        (("rows", 0, "published_as"), "Gemma9-2B"),
        (("rows", 0, "shots"), 2),
    ],
)
def test_a_run_that_is_not_the_papers_has_no_published_row(results, place, value):
    *path, last = place
    target = results
    for step in path:
        target = target[step]
    target[last] = value
    assert not [line for line in table.render_table(results) if "published" in line]


def test_the_original_condition_is_held_against_value_minus_delta(results):
    row = table.load_published().table1["Gemma2-9B"]
    results["rows"][0]["condition"] = "original"
    published = table.published_values(results, results["rows"][0])
    assert published["coverage_ordered"] == pytest.approx(
        row.values["coverage_ordered"] - row.deltas["coverage_ordered"]
    )


def test_one_shot_is_held_against_table_4(results):
    results["rows"][0]["shots"] = 1
    published = table.published_values(results, results["rows"][0])
    assert published == table.load_published().table4["Gemma2-9B"].values


def test_a_metric_no_row_has_leaves_a_reason_instead_of_a_column(results):
    results["rows"][0]["metrics"]["perplexity"] = {"value": None, "n": 0, "signature": None, "reason": "hub is away"}
    lines = table.render_table(results)
    assert lines[-1] == "-: perplexity: hub is away"
    assert "perplexity" not in "".join(lines[:2])


def test_a_metric_one_row_lacks_is_a_dash_there(results):
    other = copy.deepcopy(results["rows"][0])
    other["model"] = "other"
    other["metrics"]["pbleu"] = {"value": None, "n": 0, "signature": None, "reason": "fewer than two replies"}
    results["rows"].append(other)
    lines = table.render_table(results)
    [line] = [line for line in lines if line.startswith("other")]
    assert line.split()[5] == "-"
    assert "-: pBLEU: fewer than two replies" in lines


def test_deltas_stand_under_the_row_with_their_sign(results):
    results["rows"][0]["delta_vs_original"] = {"coverage_ordered": 3.8, "pbleu": -1.25, "perplexity": None}
    [line] = [line for line in table.render_table(results) if "- original" in line]
    assert "+3.80" in line
    assert "-1.25" in line


def test_counts_say_what_became_of_every_case_and_errors_by_kind(results):
    assert table.counts_line(results["rows"][0]) == (
        "gemma2-9b ordered: 27,648 cases: 20,000 hit, 7,000 missed, 648 without a reply (600 refused, 48 timeout); "
        "5 from the cache; 3 repeat the bare list of words"
    )


def test_a_part_of_the_cases_says_how_many_there_are(results):
    counts = {**COUNTS, "hit": 1, "miss": 1, "error": 0, "errors": {}, "selected": 4, "not_run": 2, "echo": 0}
    line = table.counts_line({**results["rows"][0], "counts": counts})
    assert "2 cases" in line
    assert "2 not run; 4 of 27,648 selected" in line


def test_replies_cut_off_at_the_cap_are_counted_and_warned_of_above_one_in_twenty(results):
    [row] = results["rows"]
    row["counts"] = {**COUNTS, "truncated": 1382}
    assert table.counts_line(row).endswith("; 1,382 cut off at the cap of new tokens")
    assert list(table.truncation_notes(results)) == []
    row["counts"] = {**COUNTS, "truncated": 1383}
    assert list(table.truncation_notes(results)) == [
        "gemma2-9b ordered: 5.0% of the replies were cut off at the cap of new tokens; raise it with "
        "--ocg-max-new-tokens"
    ]
    row["counts"] = {**COUNTS, "hit": 0, "miss": 0, "error": 0}
    assert list(table.truncation_notes(results)) == []


def test_a_hosted_model_tells_its_tokens_and_their_cost_and_a_local_one_does_not(results):
    usage = {
        "prompt_tokens": 1_500_000, "completion_tokens": 400_000, "uncounted": 2,
        "cost_dollars": 7.75, "new_cost_dollars": 0.5,
    }  # fmt: skip
    row = {**results["rows"][0], "identity": {"backend": "openai"}, "usage": usage}
    assert table.usage_line(row) == (
        "gemma2-9b ordered: 1,500,000 tokens in, 400,000 out (2 replies without a count); "
        "$7.75, of which $0.50 for replies of this run"
    )
    row["usage"] = {**usage, "uncounted": 0, "cost_dollars": None, "new_cost_dollars": None}
    assert table.usage_line(row) == "gemma2-9b ordered: 1,500,000 tokens in, 400,000 out; cost unknown"
    assert table.usage_line({**row, "identity": {"backend": "huggingface"}}) is None


def test_the_recipe_names_dataset_templates_shots_and_matcher(results):
    assert table.recipe_line(results) == (
        "commongen-lite 30a0836e, templates 0,1,2,3,4,5, 0-shot, matcher inflection|spacy:3.8.18"
    )
    assert table.made_by_line(results["rows"][0]) == "gemma2-9b: google/gemma-2-9b-it, 4bit, batch 192"
    assert table.made_by_line({**results["rows"][0], "made_by": []}) is None
