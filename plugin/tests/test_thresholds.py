from __future__ import annotations

import math
from pathlib import Path

import pytest

from pytest_ocg.errors import ThresholdError
from pytest_ocg.thresholds import METRIC_RANGES, Limit, is_number, parse_thresholds

PATH = Path("thresholds/model-a.toml")
HEAD = 'schema = 1\nmodel = "model-a"\n'
METRICS = "[metrics.coverage_ordered]\nmin = 20.0\n"


def parse(text: str):
    return parse_thresholds(text, PATH)


def refusal(text: str) -> str:
    with pytest.raises(ThresholdError) as caught:
        parse(text)
    return str(caught.value)


def test_a_minimal_file_leaves_all_open_but_the_sets():
    thresholds = parse(HEAD + METRICS)
    assert thresholds.limits == (Limit("coverage_ordered", minimum=20.0),)
    assert (thresholds.model, thresholds.max_error_share, thresholds.path) == ("model-a", 0.0, PATH)
    assert dict(thresholds.signature) == {"sets": "all"}


def test_a_full_file_comes_back_as_it_was_written():
    thresholds = parse(
        HEAD
        + """max_error_share = 0.02
[signature]
dataset = "everyday"
dataset_sha256 = "ab"
templates = [0, 3]
templates_sha256 = "cd"
condition = "ordered"
shots = 1
matcher = "inflection|spacy:3.8.18"
quantization = "4bit"
sets = "4:7"
[metrics.coverage_ordered]
min = 20
max = 20
measured = 21.5
signature = "coverage|x"
[metrics.perplexity]
max = 300.5
[provenance]
anything = { nested = [1, "two"] }
when = 2026-11-30
"""
    )
    assert thresholds.max_error_share == 0.02
    assert thresholds.signature == {
        "dataset": "everyday",
        "dataset_sha256": "ab",
        "templates": [0, 3],
        "templates_sha256": "cd",
        "condition": "ordered",
        "shots": 1,
        "matcher": "inflection|spacy:3.8.18",
        "quantization": "4bit",
        "sets": "4:7",
    }
    assert thresholds.limits == (
        Limit("coverage_ordered", 20.0, 20.0, "coverage|x", 21.5),
        Limit("perplexity", maximum=300.5),
    )
    assert isinstance(thresholds.limits[0].minimum, float)


@pytest.mark.parametrize(("written", "means"), [("all", "all"), ("4:0", "4:0"), ("4", "4:0"), ("12:7", "12:7")])
def test_sets_without_a_seed_have_seed_0(written, means):
    assert parse(HEAD + f'[signature]\nsets = "{written}"\n' + METRICS).signature["sets"] == means


@pytest.mark.parametrize("metric", METRIC_RANGES)
def test_every_known_metric_may_be_limited(metric):
    assert parse(HEAD + f"[metrics.{metric}]\nmax = 100\n").limits == (Limit(metric, maximum=100.0),)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "min = 7500",
            "metrics.coverage_ordered.min is 7500, outside 0 to 100; percentages are written as 75 for 75 %",
        ),
        ("min = -0.1", "metrics.coverage_ordered.min is -0.1, outside 0 to 100"),
        ("max = 100.01", "metrics.coverage_ordered.max is 100.01, outside 0 to 100"),
        ("min = nan", "metrics.coverage_ordered.min is nan; it must be a finite number without quotes"),
        ("max = inf", "metrics.coverage_ordered.max is inf; it must be a finite number"),
        ("min = -inf", "metrics.coverage_ordered.min is -inf; it must be a finite number"),
        ('min = "nan"', "metrics.coverage_ordered.min is 'nan'; it must be a finite number without quotes"),
        ('min = "20"', "metrics.coverage_ordered.min is '20'; it must be a finite number without quotes"),
        ("min = true", "metrics.coverage_ordered.min is True; it must be a finite number"),
        ("min = [20]", "metrics.coverage_ordered.min is [20]; it must be a finite number"),
        ("min = 2026-11-30", "metrics.coverage_ordered.min is datetime.date(2026, 11, 30); it must be a finite number"),
        (f"min = 1{'0' * 400}", "it must be a finite number"),
        (f"min = 1{'0' * 5000}", "is not valid TOML"),
        ("min = 20\nmeasured = nan", "metrics.coverage_ordered.measured is nan"),
        ("min = 30.0\nmax = 20.0", "metrics.coverage_ordered.min is 30.0, over metrics.coverage_ordered.max 20.0"),
        ("signature = 'x'", "metrics.coverage_ordered has neither min nor max, so nothing is held"),
        ("", "metrics.coverage_ordered has neither min nor max"),
        ("min = 20\nsignature = 3", "metrics.coverage_ordered.signature is 3; it must be a text in quotes"),
        (
            "min = 20\nsignature = ''",
            "metrics.coverage_ordered.signature is ''; it must be a text in quotes that is not",
        ),
        ("minimum = 20", "unknown key 'metrics.coverage_ordered.minimum'; did you mean 'min'?"),
        ("min = 20\nzzz = 1", "unknown key 'metrics.coverage_ordered.zzz'; known are min, max, signature, measured"),
        ("min = 20\nmin = 21", "is not valid TOML"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_by_file_key_and_value(line, said):
    message = refusal(HEAD + f"[metrics.coverage_ordered]\n{line}\n")
    assert message.startswith(f"{PATH}: ")
    assert said in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schema = 1\nmodel = ", "is not valid TOML"),
        ("{}", "is not valid TOML"),
        ("x = " + "[" * 5000, "is not valid TOML"),
        ("", "schema is None, this version reads 1; write schema = 1"),
        (HEAD.replace("1", "2", 1) + METRICS, "schema is 2, this version reads 1"),
        (HEAD.replace("1", "true", 1) + METRICS, "schema is True, this version reads 1"),
        (HEAD.replace("1", "1.0", 1) + METRICS, "schema is 1.0, this version reads 1"),
        ("schema = 1\n" + METRICS, "model is None; it must be a text in quotes that is not empty"),
        ("schema = 1\nmodel = ' '\n" + METRICS, "model is ' '; it must be a text in quotes"),
        (HEAD, "metrics is {}, so nothing is held; add a table such as [metrics.coverage_ordered]"),
        (HEAD + "[metrics]\n", "metrics is {}, so nothing is held"),
        (HEAD + "metrics = 3\n", "metrics is 3, not a table; write it as [metrics]"),
        (HEAD + "[metrics]\npbleu = 40\n", "metrics.pbleu is 40, not a table; write it as [metrics.pbleu]"),
        (HEAD + "[[metrics]]\nmin = 3\n", "metrics is [{'min': 3}], not a table"),
        (
            HEAD + "[metrics.coverage_order]\nmin = 3\n",
            "unknown metric 'metrics.coverage_order'; did you mean 'coverage_ordered'?",
        ),
        (HEAD + "[metrics.zzz]\nmin = 3\n", "unknown metric 'metrics.zzz'; known are coverage_unordered, "),
        (HEAD + "[metric.pbleu]\nmin = 3\n", "unknown key 'metric'; did you mean 'metrics'?"),
        (
            HEAD + "max_errors_share = 0.1\n" + METRICS,
            "unknown key 'max_errors_share'; did you mean 'max_error_share'?",
        ),
        (
            HEAD + "max_error_share = 5\n" + METRICS,
            "max_error_share is 5, outside 0 to 1; it is a share: 0.05 allows 5 %",
        ),
        (HEAD + "max_error_share = -0.1\n" + METRICS, "max_error_share is -0.1, outside 0 to 1"),
        (HEAD + "max_error_share = nan\n" + METRICS, "max_error_share is nan; it must be a finite number"),
        (HEAD + "max_error_share = false\n" + METRICS, "max_error_share is False; it must be a finite number"),
        (HEAD + "provenance = 'me'\n" + METRICS, "provenance is 'me', not a table"),
        (HEAD + "signature = 'me'\n" + METRICS, "signature is 'me', not a table"),
        (HEAD + "[metrics.pbleu]\nmax = 101\n", "metrics.pbleu.max is 101, outside 0 to 100"),
        (
            HEAD + "[metrics.perplexity]\nmax = -1\n",
            "metrics.perplexity.max is -1, outside 0 to inf; perplexity cannot be",
        ),
        (HEAD + "[metrics.pbleurt]\nmin = -7500\n", "metrics.pbleurt.min is -7500, outside -100 to 200"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(text, said):
    message = refusal(text)
    assert message.startswith(f"{PATH}: ")
    assert said in message


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("datasets = 'x'", "unknown key 'signature.datasets'; did you mean 'dataset'?"),
        ("dataset = ''", "signature.dataset is ''; it must be a text in quotes"),
        ("matcher = 3", "signature.matcher is 3; it must be a text in quotes"),
        ("templates = []", "signature.templates is []; it must be a list of different template numbers"),
        ("templates = [0, 0]", "signature.templates is [0, 0]; it must be a list of different template numbers"),
        ("templates = [true]", "signature.templates is [True]; it must be"),
        ("templates = [-1]", "signature.templates is [-1]; it must be"),
        ("templates = 3", "signature.templates is 3; it must be"),
        ("condition = 'order'", "signature.condition is 'order'; it must be 'ordered' or 'original', or be left out"),
        ("condition = ['ordered']", "signature.condition is ['ordered']; it must be"),
        ("shots = true", "signature.shots is True; it must be a whole number, 0 or more"),
        ("shots = -1", "signature.shots is -1; it must be a whole number"),
        ("sets = 4", "signature.sets is 4; it must be 'all' or 'N:SEED'"),
        ("sets = '0:1'", "signature.sets is '0:1'; it must be 'all' or 'N:SEED'"),
        ("sets = '4:'", "signature.sets is '4:'; it must be"),
        ("sets = '4:0\\n'", "it must be 'all' or 'N:SEED'"),
    ],
)
def test_a_signature_that_makes_no_sense_is_refused(line, said):
    assert said in refusal(HEAD + f"[signature]\n{line}\n" + METRICS)


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        (0, True),
        (1.5, True),
        (-3, True),
        (True, False),
        ("1", False),
        (None, False),
        (math.nan, False),
        (math.inf, False),
        (-math.inf, False),
        (10**4000, False),
        ([1], False),
    ],
)
def test_only_finite_ints_and_floats_are_numbers(value, is_one):
    assert is_number(value) is is_one
