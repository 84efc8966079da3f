"""The summary table: its content and width, the lines below it, and the cases shown."""

import msgspec
import pytest

from plugin.tests.nouns import record_of, results_of
from plugin.tests.report.whole_run import changed
from pytest_ocg.inputs.published import PAPER_SHA256, load_published
from pytest_ocg.report import summary_table as table
from pytest_ocg.run.record import Outcome, record_line

METRICS = {
    "coverage_unordered": 97.512, "coverage_ordered": 75.25, "ordered_rate": 77.17, "pbleu": 17.6, "pbleurt": 41.9,
    "distinct2": 92.8, "distinct2_pooled": 70.1, "diverse_rate": 93.7, "perplexity": 52.46,
}  # fmt: skip
COUNTS = {
    "planned": 27_648, "selected": 27_648, "hit": 20_000, "miss": 7_000, "error": 648, "not_run": 0, "cached": 5,
    "echo": 3, "truncated": 0, "errors": {"refused": 600, "timeout": 48},
}  # fmt: skip
MADE_BY = {"replies": 27_648, "source": "google/gemma-2-9b-it", "quantization": "4bit", "batch_size": 192}
PUBLISHED = load_published()


@pytest.fixture(scope="module")
def results():
    row = {
        "model": "gemma2-9b", "condition": "ordered", "shots": 0, "published_as": "Gemma2-9B",
        "metrics": {name: {"value": value, "n": 10} for name, value in METRICS.items()},
        "counts": COUNTS, "made_by": [MADE_BY],
    }  # fmt: skip
    return results_of(
        {
            "rows": [row],
            "dataset": {"name": "commongen-lite", "sha256": PAPER_SHA256, "sets": 192},
            "selection": {"templates": [0, 1, 2, 3, 4, 5]},
            "matcher": "inflection|spacy:3.8.18",
        }
    )


def missing(name, reason):
    """The change that removes the metric's value from the first row."""
    return {f"rows.0.metrics.{name}": {"value": None, "n": 0, "reason": reason}}


def counting(results, **counts):
    """The only row of the results with other counts."""
    return changed(results, {f"rows.0.counts.{name}": number for name, number in counts.items()}).rows[0]


def test_a_model_has_a_row_with_the_papers_numbers_below(results):
    lines = table.render_table(results)
    [ours] = [line for line in lines if line.startswith("gemma2-9b")]
    [paper] = [line for line in lines if "published" in line]
    assert ours.split() == [
        "gemma2-9b", "ordered", "97.51", "75.25", "77.17", "17.60", "41.90", "92.80", "70.10", "93.70", "52.46",
    ]  # fmt: skip
    assert paper.split()[1] == f"{PUBLISHED.table1['Gemma2-9B'].values['coverage_unordered']:.2f}"


@pytest.mark.parametrize("model", ["gemma2-9b", "a-rather-long-model-name-of-24"])
def test_the_table_fits_100_columns_and_with_all_metrics_120(results, model):
    named = changed(results, {"rows.0.model": model[:16]})
    assert max(map(len, table.render_table(named))) <= 120
    cheap = changed(named, missing("pbleurt", "not computed") | missing("perplexity", "not computed"))
    assert max(map(len, table.render_table(cheap))) <= 100


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("dataset.sha256", "0" * 64),
        ("selection.sets", "12:0"),
        ("selection.complete", False),
        ("selection.templates", [0, 1]),
        ("matcher", "lemma|spacy:3.8.18"),
        ("rows.0.published_as", None),
        ("rows.0.published_as", "Gemma9-2B"),
        ("rows.0.shots", 2),
    ],
)
def test_a_run_that_is_not_the_papers_has_no_published_row(results, place, value):
    other = changed(results, {place: value})
    assert not [line for line in table.render_table(other) if "published" in line]


def test_the_original_condition_is_compared_with_value_minus_delta(results):
    row = PUBLISHED.table1["Gemma2-9B"]
    original = changed(results, {"rows.0.condition": "original"})
    published = table.published_values(original, original.rows[0])
    assert published["coverage_ordered"] == pytest.approx(
        row.values["coverage_ordered"] - row.deltas["coverage_ordered"]
    )


def test_one_shot_is_compared_with_table_4(results):
    one_shot = changed(results, {"rows.0.shots": 1})
    assert table.published_values(one_shot, one_shot.rows[0]) == PUBLISHED.table4["Gemma2-9B"].values


def test_a_metric_without_any_value_has_a_reason_instead_of_a_column(results):
    lines = table.render_table(changed(results, missing("perplexity", "hub is away")))
    assert lines[-1] == "no value: perplexity: hub is away"
    assert "perplexity" not in "".join(lines[:2])


def test_a_metric_one_row_lacks_is_a_dash_there(results):
    [other] = changed(results, {"rows.0.model": "other", **missing("pbleu", "fewer than two replies")}).rows
    lines = table.render_table(msgspec.structs.replace(results, rows=(*results.rows, other)))
    [line] = [line for line in lines if line.startswith("other")]
    assert line.split()[5] == "-"
    assert "no value: pBLEU: fewer than two replies" in lines


def test_deltas_are_below_the_row_with_their_sign(results):
    deltas = {"coverage_ordered": 3.8, "pbleu": -1.25, "perplexity": None}
    lines = table.render_table(changed(results, {"rows.0.delta_vs_original": deltas}))
    [line] = [line for line in lines if "- original" in line]
    assert "+3.80" in line
    assert "-1.25" in line


def test_the_counts_have_every_outcome_and_errors_by_kind(results):
    assert table.counts_line(results.rows[0]) == (
        "gemma2-9b ordered: 27,648 cases: 20,000 hit, 7,000 missed, 648 without a reply (600 refused, 48 timeout); "
        "5 from the cache; 3 repeat the word list"
    )


def test_a_partial_run_has_the_number_of_all_cases(results):
    line = table.counts_line(counting(results, hit=1, miss=1, error=0, errors={}, selected=4, not_run=2))
    assert "2 cases" in line
    assert "2 not run; 4 of 27,648 selected" in line


def test_replies_cut_off_at_the_token_limit_are_counted(results):
    assert "; 1,382 cut off at the token limit" in table.counts_line(counting(results, truncated=1382))


@pytest.mark.parametrize(
    ("counts", "warnings"),
    [({"truncated": 1382}, 0), ({"truncated": 1383}, 1), ({"truncated": 1383, "hit": 0, "miss": 0, "error": 0}, 0)],
)
def test_more_than_5_percent_of_replies_cut_off_is_a_warning(results, counts, warnings):
    found = list(table.truncation_notes(msgspec.structs.replace(results, rows=(counting(results, **counts),))))
    assert len(found) == warnings
    for warning in found:
        assert warning.startswith("gemma2-9b ordered: 5.0% of the replies")
        assert "--ocg-max-new-tokens" in warning


def test_a_hosted_model_has_its_tokens_and_their_cost_and_a_local_one_does_not(results):
    usage = {
        "prompt_tokens": 1_500_000, "completion_tokens": 400_000, "new_prompt_tokens": 0, "new_completion_tokens": 0,
        "uncounted": 2, "cost_dollars": 7.75, "new_cost_dollars": 0.5,
    }  # fmt: skip
    hosted = changed(results, {"rows.0.identity": {"backend": "openai"}, "rows.0.usage": usage})
    assert table.usage_line(hosted.rows[0]) == (
        "gemma2-9b ordered: 1,500,000 tokens in, 400,000 out (2 replies without a count); "
        "$7.75, of which $0.50 for replies of this run"
    )
    unknown = {"rows.0.usage.uncounted": 0, "rows.0.usage.cost_dollars": None, "rows.0.usage.new_cost_dollars": None}
    assert table.usage_line(changed(hosted, unknown).rows[0]) == (
        "gemma2-9b ordered: 1,500,000 tokens in, 400,000 out; cost unknown"
    )
    half_known = changed(hosted, {"rows.0.usage.new_cost_dollars": None})
    assert table.usage_line(half_known.rows[0]).endswith("; cost unknown")
    local = changed(hosted, {"rows.0.identity": {"backend": "huggingface"}})
    assert table.usage_line(local.rows[0]) is None


def test_the_recipe_names_dataset_templates_shots_and_matcher(results):
    assert table.recipe_line(results) == (
        "commongen-lite 30a0836e, templates 0,1,2,3,4,5, 0-shot, matcher inflection|spacy:3.8.18"
    )


def test_how_replies_were_made_is_on_one_line_and_none_without_replies(results):
    assert table.made_by_line(results.rows[0]) == "gemma2-9b: google/gemma-2-9b-it, 4bit, batch 192"
    assert table.made_by_line(changed(results, {"rows.0.made_by": []}).rows[0]) is None


def line(pattern, number, outcome="miss", **facts):
    """A line of `generations.jsonl`."""
    of_outcome = {} if outcome == "error" else {"order_break": "run", "reply": f"a reply {number}"}
    facts = {"id": f"{pattern}{number}", "concepts": ["dog", "run"], "outcome": outcome, **of_outcome, **facts}
    return record_line(record_of(pattern=pattern, **facts))


def test_patterns_take_turns_among_the_cases_shown():
    lines = [line(pattern, number) for pattern in ("NN", "NV", "VV") for number in range(5)]
    shown = table.shown_cases(lines, Outcome.MISS, 5)
    assert [case.split()[2] for case in shown] == ["NN:", "NV:", "VV:", "NN:", "NV:"]


@pytest.mark.parametrize(("number", "shown"), [(0, 0), (1, 1), (3, 3), (100, 3)])
def test_the_number_of_cases_shown_is_limited(number, shown):
    assert len(table.shown_cases([line("NN", place) for place in range(3)], Outcome.MISS, number)) == shown


def test_hits_and_errors_are_not_misses():
    assert table.shown_cases([line("NN", 0, "hit"), line("NN", 1, "error")], Outcome.MISS, 5) == []


def test_a_reply_cannot_send_control_codes_to_the_terminal():
    [shown] = table.shown_cases([line("NN", 0, reply="\x1b]0;owned\x07")], Outcome.MISS, 1)
    assert shown.isprintable()


def test_a_case_without_a_reply_has_its_error_and_detail():
    lines = [line("NN", 0), line("NV", 1, "error", error="refused", detail="No\x1b[2J.")]
    assert table.shown_cases(lines, Outcome.ERROR, 5) == ["m t0 NV: refused: No\\x1b[2J. | asked: dog run"]
