from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from pytest_ocg.errors import ThresholdError
from pytest_ocg.gate.parsing import parse_thresholds
from pytest_ocg.gate.thresholds import Limit, Selection, is_number
from pytest_ocg.metrics.catalogue import METRICS

PATH = Path("thresholds/model-a.toml")
HEAD = 'schema = 1\nmodel = "model-a"\n'
FLOOR = "[selection.full.metrics.coverage_ordered]\nmin = 20.0\n"


def parse(text: str):
    return parse_thresholds(text, PATH)


def refusal(text: str) -> str:
    """Why the text is refused, without the name of the file."""
    with pytest.raises(ThresholdError, match=f"^{re.escape(str(PATH))}(: | is not valid TOML: )") as caught:
        parse(text)
    return str(caught.value).removeprefix(f"{PATH}: ")


def test_a_minimal_file_leaves_all_open_but_the_sets():
    thresholds = parse("schema = 1\n" + FLOOR)
    assert thresholds.selections == (Selection("full", (Limit("coverage_ordered", minimum=20.0),), "all"),)
    assert (thresholds.model, thresholds.max_error_share, thresholds.path) == (None, 0.0, PATH)
    assert (dict(thresholds.signature), thresholds.origin) == ({}, "measured")


def test_a_full_file_is_read_as_it_was_written():
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
    assert parse(HEAD + f'[selection.full]\nsets = "{written}"\n' + FLOOR).selections[0].sets == means


@pytest.mark.parametrize("metric", METRICS)
def test_every_known_metric_may_be_limited(metric):
    text = HEAD + f"[selection.full.metrics.{metric}]\nmax = 100\n"
    assert parse(text).selections[0].limits == (Limit(metric, maximum=100.0),)


def test_a_limit_outside_its_range_is_refused_by_file_key_value_and_way_out():
    with pytest.raises(ThresholdError) as caught:
        parse(HEAD + "[selection.full.metrics.coverage_ordered]\nmin = 7500\n")
    assert str(caught.value) == (
        f"{PATH}: selection.full.metrics.coverage_ordered.min is 7500, outside 0 to 100; write 75 for 75 %"
    )


@pytest.mark.parametrize(
    ("line", "key", "says"),
    [
        ("min = -0.1", "min", "-0.1.* 0 to 100"),
        ("max = 100.01", "max", "100.01.* 0 to 100"),
        ("min = nan", "min", "nan;.*number"),
        ("max = inf", "max", "inf;.*number"),
        ("min = -inf", "min", "-inf;.*number"),
        ('min = "nan"', "min", "'nan';.*number without quotes"),
        ('min = "20"', "min", "'20';.*number without quotes"),
        ("min = true", "min", "True;.*number"),
        ("min = [20]", "min", r"\[20\];.*number"),
        ("min = 2026-11-30", "min", r"datetime.date\(2026, 11, 30\);.*number"),
        (f"min = 1{'0' * 400}", "min", "10000.*;.*number"),
        ("min = 20\nbaseline = nan", "baseline", "nan"),
        ("max_drop = 1", "max_drop", "baseline"),
        ("max_rise = 1", "max_rise", "baseline"),
        ("max_drop = -1\nbaseline = 20", "max_drop", "-1.* 0 to 100.*baseline.*coverage_ordered"),
        ("max_drop = nan\nbaseline = 20", "max_drop", "nan;.*number"),
        ("max_drop = 101\nbaseline = 20", "max_drop", "101.* 0 to 100"),
        ("max_drop = 1\nbaseline = 7500", "baseline", "7500.* 0 to 100"),
        ("max_drop = 1\nbaseline = 20\nstrict = 1", "strict", "1;.*true or false"),
        ("min = 20\nstrict = true", "strict", "max_drop and max_rise"),
        ("max_drops = 1", "max_drops", "'max_drop'"),
        ("min = 30.0\nmax = 20.0", "min", r"30.0.*metrics\.coverage_ordered\.max 20.0"),
        ("min = 20\nsignature = 3", "signature", "3;.*text in quotes"),
        ("min = 20\nsignature = ''", "signature", "'';.*text in quotes"),
        ("minimum = 20", "minimum", "'min'"),
        ("min = 20\nzzz = 1", "zzz", "known keys are min, max, max_drop"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(line, key, says):
    text = HEAD + f"[selection.full.metrics.coverage_ordered]\n{line}\n"
    assert re.search(rf"selection\.full\.metrics\.coverage_ordered\.{key}\b.*{says}", refusal(text))


@pytest.mark.parametrize("line", ["signature = 'x'", ""])
def test_a_table_without_a_limit_is_refused(line):
    text = HEAD + f"[selection.full.metrics.coverage_ordered]\n{line}\n"
    assert re.search(r"metrics\.coverage_ordered .*min, max, max_drop and max_rise", refusal(text))


@pytest.mark.parametrize(
    "text",
    [
        "schema = 1\nmodel = ",
        "{}",
        "x = " + "[" * 5000,
        HEAD + "[selection.full.metrics.coverage_ordered]\nmin = 20\nmin = 21\n",
        HEAD + f"[selection.full.metrics.coverage_ordered]\nmin = 1{'0' * 5000}\n",
    ],
)
def test_what_is_not_toml_is_refused(text):
    assert "TOML" in refusal(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "schema is None.*schema = 1"),
        (HEAD.replace("1", "2", 1) + FLOOR, "schema is 2"),
        (HEAD.replace("1", "true", 1) + FLOOR, "schema is True"),
        (HEAD.replace("1", "1.0", 1) + FLOOR, "schema is 1.0"),
        ("schema = 1\nmodel = ' '\n" + FLOOR, "model is ' '.*text in quotes"),
        ("schema = 1\nmodel = 3\n" + FLOOR, "model is 3.*text in quotes"),
        (HEAD, r"no selection.*\[selection\.full\.metrics\.coverage_ordered\]"),
        (HEAD + "[selection.full]\n", r"selection\.full\.metrics is {}.*\[selection\.full\.metrics\."),
        (HEAD + "selection = 3\n", r"selection is 3.*\[selection\]"),
        (HEAD + "[selection]\nfull = 3\n", r"selection\.full is 3.*\[selection\.full\]"),
        (HEAD + "selection.full.metrics = 3\n", r"selection\.full\.metrics is 3.*\[selection\.full\.metrics\]"),
        (HEAD + "[selection.full.metrics]\npbleu = 40\n", r"pbleu is 40.*\[selection\.full\.metrics\.pbleu\]"),
        (HEAD + "[[selection]]\nmin = 3\n", r"selection is \[{'min': 3}\].*table"),
        (HEAD + "[metrics.pbleu]\nmax = 40\n", "'metrics'.*known keys are schema, model, origin, max_error_share"),
        (HEAD + "origin = 'paper'\n" + FLOOR, "origin is 'paper'.*'measured' or 'published'"),
        (HEAD + "origin = 3\n" + FLOOR, "origin is 3.*'measured' or 'published'"),
        (
            HEAD + "[selection.full.metrics.coverage_order]\nmin = 3\n",
            r"metric 'selection\.full\.metrics\.coverage_order'.*'coverage_ordered'",
        ),
        (
            HEAD + "[selection.full.metrics.zzz]\nmin = 3\n",
            r"metric 'selection\.full\.metrics\.zzz'.*coverage_unordered, ",
        ),
        (HEAD + "[selections.full.metrics.pbleu]\nmin = 3\n", "'selections'.*'selection'"),
        (HEAD + "[selection.full.metric.pbleu]\nmin = 3\n", r"'selection\.full\.metric'.*'metrics'"),
        (HEAD + "max_errors_share = 0.1\n" + FLOOR, "'max_errors_share'.*'max_error_share'"),
        (HEAD + "max_error_share = 5\n" + FLOOR, "max_error_share is 5.* 0 to 1;.*0.05"),
        (HEAD + "max_error_share = -0.1\n" + FLOOR, "max_error_share is -0.1.* 0 to 1;"),
        (HEAD + "max_error_share = nan\n" + FLOOR, "max_error_share is nan;.*number"),
        (HEAD + "max_error_share = false\n" + FLOOR, "max_error_share is False;.*number"),
        (HEAD + FLOOR + "[selection.full]\nprovenance = 'me'\n", r"selection\.full\.provenance is 'me'.*table"),
        (HEAD + "signature = 'me'\n" + FLOOR, r"signature is 'me'.*\[signature\]"),
        (HEAD + "[selection.full.metrics.pbleu]\nmax = 101\n", r"metrics\.pbleu\.max is 101.* 0 to 100"),
        (HEAD + "[selection.full.metrics.perplexity]\nmax = -1\n", "is -1.* 0 to inf; perplexity"),
        (HEAD + "[selection.full.metrics.pbleurt]\nmin = -7500\n", "is -7500.* -100 to 200; pbleurt"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(text, says):
    assert re.search(says, refusal(text))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("datasets = 'x'", r"'signature\.datasets'.*'dataset'"),
        ("dataset = ''", r"signature\.dataset is ''.*text in quotes"),
        ("matcher = 3", r"signature\.matcher is 3.*text in quotes"),
        ("templates = []", r"signature\.templates is \[\].*list of different template numbers"),
        ("templates = [0, 0]", r"signature\.templates is \[0, 0\].*list of different template numbers"),
        ("templates = [true]", r"signature\.templates is \[True\]"),
        ("templates = [-1]", r"signature\.templates is \[-1\]"),
        ("templates = 3", r"signature\.templates is 3"),
        ("condition = 'order'", r"signature\.condition is 'order'.*'ordered' or 'original'"),
        ("condition = ['ordered']", r"signature\.condition is \['ordered'\]"),
        ("shots = true", r"signature\.shots is True.*whole number"),
        ("shots = -1", r"signature\.shots is -1.*whole number"),
        ("sets = '4:0'", r"unknown key 'signature\.sets'"),
        ("model = ''", r"unknown key 'signature\.model'"),
    ],
)
def test_a_signature_that_makes_no_sense_is_refused(line, says):
    assert re.search(says, refusal(HEAD + f"[signature]\n{line}\n" + FLOOR))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("sets = 4", r"selection\.full\.sets is 4;.*'all' or 'N:SEED'"),
        ("sets = '0:1'", r"selection\.full\.sets is '0:1';.*'all' or 'N:SEED'"),
        ("sets = '4:'", r"selection\.full\.sets is '4:';"),
        ('sets = "4:0\\n"', r"selection\.full\.sets is '4:0\\n';"),
        ("set = '4:0'", r"'selection\.full\.set'.*'sets'"),
        ("pattern = 'VVVA'", r"selection\.full\.pattern is 'VVVA';.*'NVVN'"),
        ("pattern = 3", r"selection\.full\.pattern is 3;.*'NVVN'"),
    ],
)
def test_a_selection_that_makes_no_sense_is_refused(line, says):
    assert re.search(says, refusal(HEAD + f"[selection.full]\n{line}\n" + FLOOR))


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 65, ".."])
def test_a_selection_has_a_plain_name(name):
    text = HEAD + f'[selection."{name}".metrics.pbleu]\nmax = 1\n'
    assert re.search(f"selection {re.escape(repr(name))} .*letters, digits, - and _", refusal(text))


def test_two_selections_of_the_same_cases_are_refused():
    text = HEAD + FLOOR + '[selection.every]\nsets = "all"\n[selection.every.metrics.pbleu]\nmax = 1\n'
    assert re.search(r"selection\.every .*selection\.full.*all concept sets", refusal(text))


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ("pbleu]\nmax = 1\n", r"selection\.verbs .*'pbleu'.*coverage_unordered, coverage_ordered, ordered_rate$"),
        (
            "ordered_rate]\nmax_drop = 1\nbaseline = 2\n",
            r"selection\.verbs\.metrics\.ordered_rate\.max_drop .*interval.*min or max",
        ),
    ],
)
def test_a_pattern_is_limited_in_what_is_measured_of_it(limits, says):
    text = HEAD + f'[selection.verbs]\npattern = "VVVV"\n[selection.verbs.metrics.{limits}'
    assert re.search(says, refusal(text))


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
