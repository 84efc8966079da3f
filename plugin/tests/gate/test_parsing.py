from __future__ import annotations

import math
from pathlib import Path

import pytest

from pytest_ocg.errors import ThresholdError
from pytest_ocg.gate.parsing import parse_thresholds
from pytest_ocg.gate.thresholds import METRIC_RANGES, Limit, Selection, is_number

PATH = Path("thresholds/model-a.toml")
HEAD = 'schema = 1\nmodel = "model-a"\n'
METRICS = "[selection.full.metrics.coverage_ordered]\nmin = 20.0\n"


def parse(text: str):
    return parse_thresholds(text, PATH)


def refusal(text: str) -> str:
    with pytest.raises(ThresholdError) as caught:
        parse(text)
    return str(caught.value)


def test_a_minimal_file_leaves_all_open_but_the_sets():
    thresholds = parse("schema = 1\n" + METRICS)
    assert thresholds.selections == (Selection("full", (Limit("coverage_ordered", minimum=20.0),), "all"),)
    assert (thresholds.model, thresholds.max_error_share, thresholds.path) == (None, 0.0, PATH)
    assert (dict(thresholds.signature), thresholds.origin) == ({}, "measured")


def test_a_full_file_comes_back_as_it_was_written():
    thresholds = parse(
        HEAD
        + """origin = "published"
max_error_share = 0.02
[signature]
dataset = "everyday"
dataset_sha256 = "ab"
templates = [0, 3]
templates_sha256 = "cd"
condition = "ordered"
shots = 1
matcher = "inflection|spacy:3.8.18"
quantization = "4bit"
[selection.full.metrics.coverage_ordered]
min = 20
max = 20
baseline = 21.5
signature = "coverage|x"
[selection.full.metrics.perplexity]
max = 300.5
max_rise = 12
baseline = 250
strict = true
[selection.smoke]
sets = "4:7"
[selection.smoke.metrics.coverage_ordered]
max_drop = 1.5
baseline = 20
[selection.verbs]
pattern = "VVVV"
[selection.verbs.metrics.coverage_ordered]
min = 5
[selection.full.provenance]
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
    }
    assert thresholds.origin == "published"
    assert thresholds.selections == (
        Selection(
            "full",
            (
                Limit("coverage_ordered", 20.0, 20.0, "coverage|x", 21.5),
                Limit("perplexity", maximum=300.5, baseline=250.0, max_rise=12.0, strict=True),
            ),
        ),
        Selection("smoke", (Limit("coverage_ordered", baseline=20.0, max_drop=1.5),), "4:7"),
        Selection("verbs", (Limit("coverage_ordered", 5.0),), "all", "VVVV"),
    )
    assert isinstance(thresholds.selections[0].limits[0].minimum, float)
    assert list(map(str, thresholds.selections)) == [
        "full (all concept sets)",
        "smoke (--ocg-sets 4:7)",
        "verbs (-k VVVV)",
    ]


@pytest.mark.parametrize(("written", "means"), [("all", "all"), ("4:0", "4:0"), ("4", "4:0"), ("12:7", "12:7")])
def test_sets_without_a_seed_have_seed_0(written, means):
    assert parse(HEAD + f'[selection.full]\nsets = "{written}"\n' + METRICS).selections[0].sets == means


@pytest.mark.parametrize("metric", METRIC_RANGES)
def test_every_known_metric_may_be_limited(metric):
    text = HEAD + f"[selection.full.metrics.{metric}]\nmax = 100\n"
    assert parse(text).selections[0].limits == (Limit(metric, maximum=100.0),)


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
        ("min = 20\nbaseline = nan", "metrics.coverage_ordered.baseline is nan"),
        ("max_drop = 1", "metrics.coverage_ordered.max_drop has no baseline to count from; add baseline = 21.4 or so"),
        ("max_rise = 1", "metrics.coverage_ordered.max_rise has no baseline to count from"),
        ("max_drop = -1\nbaseline = 20", "max_drop is -1, outside 0 to 100; it counts from baseline, in the unit of"),
        ("max_drop = nan\nbaseline = 20", "max_drop is nan; it must be a finite number"),
        ("max_drop = 101\nbaseline = 20", "max_drop is 101, outside 0 to 100"),
        ("max_drop = 1\nbaseline = 7500", "baseline is 7500, outside 0 to 100; percentages are written as 75 for"),
        ("max_drop = 1\nbaseline = 20\nstrict = 1", "metrics.coverage_ordered.strict is 1; it must be true or false"),
        ("min = 20\nstrict = true", "strict is about max_drop and max_rise, which are not there; remove it"),
        ("max_drops = 1", "unknown key 'selection.full.metrics.coverage_ordered.max_drops'; did you mean 'max_drop'?"),
        (
            "min = 30.0\nmax = 20.0",
            "metrics.coverage_ordered.min is 30.0, over selection.full.metrics.coverage_ordered.max 20.0",
        ),
        ("signature = 'x'", "metrics.coverage_ordered has none of min, max, max_drop and max_rise, so nothing is held"),
        ("", "metrics.coverage_ordered has none of min, max, max_drop and max_rise"),
        ("min = 20\nsignature = 3", "metrics.coverage_ordered.signature is 3; it must be a text in quotes"),
        (
            "min = 20\nsignature = ''",
            "metrics.coverage_ordered.signature is ''; it must be a text in quotes that is not",
        ),
        ("minimum = 20", "unknown key 'selection.full.metrics.coverage_ordered.minimum'; did you mean 'min'?"),
        (
            "min = 20\nzzz = 1",
            "unknown key 'selection.full.metrics.coverage_ordered.zzz'; known are min, max, max_drop",
        ),
        ("min = 20\nmin = 21", "is not valid TOML"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_by_file_key_and_value(line, said):
    message = refusal(HEAD + f"[selection.full.metrics.coverage_ordered]\n{line}\n")
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
        ("schema = 1\nmodel = ' '\n" + METRICS, "model is ' '; it must be a text in quotes"),
        (
            HEAD,
            "there is no selection, so nothing is held; add a table such as [selection.full.metrics.coverage_ordered]",
        ),
        (
            HEAD + "[selection.full]\n",
            "selection.full.metrics is {}, so nothing is held; add a table such as [selection",
        ),
        (HEAD + "selection = 3\n", "selection is 3, not a table; write it as [selection]"),
        (HEAD + "[selection]\nfull = 3\n", "selection.full is 3, not a table; write it as [selection.full]"),
        (
            HEAD + "selection.full.metrics = 3\n",
            "selection.full.metrics is 3, not a table; write it as [selection.full.",
        ),
        (
            HEAD + "[selection.full.metrics]\npbleu = 40\n",
            "selection.full.metrics.pbleu is 40, not a table; write it as [selection.full.metrics.pbleu]",
        ),
        (HEAD + "[[selection]]\nmin = 3\n", "selection is [{'min': 3}], not a table"),
        (
            HEAD + "[metrics.pbleu]\nmax = 40\n",
            "unknown key 'metrics'; known are schema, model, origin, max_error_share",
        ),
        (HEAD + "origin = 'paper'\n" + METRICS, "origin is 'paper'; it must be 'measured' or 'published'"),
        (HEAD + "origin = 3\n" + METRICS, "origin is 3; it must be 'measured' or 'published'"),
        (
            HEAD + "[selection.full.metrics.coverage_order]\nmin = 3\n",
            "unknown metric 'selection.full.metrics.coverage_order'; did you mean 'coverage_ordered'?",
        ),
        (
            HEAD + "[selection.full.metrics.zzz]\nmin = 3\n",
            "unknown metric 'selection.full.metrics.zzz'; known are coverage_unordered, ",
        ),
        (HEAD + "[selections.full.metrics.pbleu]\nmin = 3\n", "unknown key 'selections'; did you mean 'selection'?"),
        (
            HEAD + "[selection.full.metric.pbleu]\nmin = 3\n",
            "unknown key 'selection.full.metric'; did you mean 'metrics'?",
        ),
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
        (HEAD + METRICS + "[selection.full]\nprovenance = 'me'\n", "selection.full.provenance is 'me', not a table"),
        (HEAD + "signature = 'me'\n" + METRICS, "signature is 'me', not a table"),
        (HEAD + "[selection.full.metrics.pbleu]\nmax = 101\n", "metrics.pbleu.max is 101, outside 0 to 100"),
        (
            HEAD + "[selection.full.metrics.perplexity]\nmax = -1\n",
            "metrics.perplexity.max is -1, outside 0 to inf; perplexity cannot be",
        ),
        (HEAD + "[selection.full.metrics.pbleurt]\nmin = -7500\n", "metrics.pbleurt.min is -7500, outside -100 to 200"),
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
        ("sets = '4:0'", "unknown key 'signature.sets'"),
        ("model = ''", "unknown key 'signature.model'"),
    ],
)
def test_a_signature_that_makes_no_sense_is_refused(line, said):
    assert said in refusal(HEAD + f"[signature]\n{line}\n" + METRICS)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sets = 4", "selection.full.sets is 4; it must be 'all' or 'N:SEED'"),
        ("sets = '0:1'", "selection.full.sets is '0:1'; it must be 'all' or 'N:SEED'"),
        ("sets = '4:'", "selection.full.sets is '4:'; it must be"),
        ("sets = '4:0\\n'", "it must be 'all' or 'N:SEED'"),
        ("set = '4:0'", "unknown key 'selection.full.set'; did you mean 'sets'?"),
        ("pattern = 'VVVA'", "selection.full.pattern is 'VVVA'; it must be the tags in the order asked for"),
        ("pattern = 3", "selection.full.pattern is 3; it must be the tags"),
    ],
)
def test_a_selection_that_makes_no_sense_is_refused(line, said):
    assert said in refusal(HEAD + f"[selection.full]\n{line}\n" + METRICS)


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 65, ".."])
def test_a_selection_has_a_plain_name(name):
    assert f"selection {name!r} must be named by letters, digits, - and _ alone" in refusal(
        HEAD + f'[selection."{name}".metrics.pbleu]\nmax = 1\n'
    )


def test_two_selections_of_the_same_cases_are_refused():
    text = HEAD + METRICS + '[selection.every]\nsets = "all"\n[selection.every.metrics.pbleu]\nmax = 1\n'
    assert "selection.every is of the same cases as selection.full, all concept sets; put their limits" in refusal(text)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (
            "pbleu]\nmax = 1\n",
            "selection.verbs has limits on 'pbleu', which is not measured by pattern; to choose are ",
        ),
        (
            "ordered_rate]\nmax_drop = 1\nbaseline = 2\n",
            "selection.verbs.metrics.ordered_rate.max_drop needs an interval, which there is none of by pattern; write",
        ),
    ],
)
def test_a_pattern_is_limited_in_what_is_measured_of_it(limits, said):
    assert said in refusal(HEAD + f'[selection.verbs]\npattern = "VVVV"\n[selection.verbs.metrics.{limits}')


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
