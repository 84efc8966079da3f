"""The catalogue: its facts go together, and a metric that is added to it is in every place that has metrics."""

import dataclasses
import math
import re
from pathlib import Path

import pytest

from plugin.tests.report.whole_run import whole_run
from pytest_ocg.errors import ThresholdError
from pytest_ocg.gate.judge import evaluate
from pytest_ocg.gate.parsing import parse_thresholds
from pytest_ocg.gate.renewal import render_thresholds
from pytest_ocg.inputs.published import load_published
from pytest_ocg.metrics import catalogue, choose_metrics, load_metric
from pytest_ocg.metrics.base import SetStatistic, measurement
from pytest_ocg.metrics.catalogue import METRICS, MetricFacts
from pytest_ocg.metrics.order import OrderMeasurements
from pytest_ocg.report.comparison import render_comparison
from pytest_ocg.report.grids import metrics_grid
from pytest_ocg.report.latex import render_latex
from pytest_ocg.report.markdown import render_markdown
from pytest_ocg.report.summary_table import render_breakdown, render_table
from pytest_ocg.results.comparison import compare
from pytest_ocg.results.files import Run, read_results
from pytest_ocg.results.rows import run_rows
from pytest_ocg.results.schema import PatternScores
from pytest_ocg.results.verdicts import Status
from pytest_ocg.results.writing import results_json
from pytest_ocg.run.options import Options

FACTS = pytest.mark.parametrize(("name", "facts"), METRICS.items(), ids=list(METRICS))


@FACTS
def test_a_metric_has_a_name_that_an_option_and_a_file_can_have(name, facts):
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    assert name not in ("cheap", "all", "auto")


@FACTS
def test_a_title_is_of_one_or_two_lines_with_a_text_each(name, facts):
    assert len(facts.title.splitlines()) in (1, 2)
    assert all(line and line == line.strip() for line in facts.title.split("\n"))


def test_no_two_metrics_have_the_same_label():
    labels = [facts.label for facts in METRICS.values()]
    assert len(set(labels)) == len(labels)


@FACTS
def test_the_range_is_from_a_finite_number_up(name, facts):
    assert math.isfinite(facts.low)
    assert facts.low < facts.high


@FACTS
def test_what_computes_a_metric_goes_with_what_it_needs(name, facts):
    assert (facts.factory is None) == (facts.needs == "verdicts")
    assert (facts.model_option is not None) == (facts.needs == "model")
    assert not facts.has_stored_scores or facts.needs == "replies"
    if facts.model_option is not None:
        assert facts.model_option in {field.name for field in dataclasses.fields(Options)}


def test_the_metrics_of_verdicts_are_those_that_the_verdicts_are_measured_by():
    assert catalogue.needing("verdicts") == tuple(field.name for field in dataclasses.fields(OrderMeasurements))


@FACTS
def test_a_metric_that_new_thresholds_limit_has_a_tolerance_and_a_rank_of_its_own(name, facts):
    assert (facts.first_limit is None) == (facts.tolerance is None)
    assert facts.first_limit in (None, "min", "max")
    if facts.tolerance is not None:
        assert 0 < facts.tolerance < facts.high - facts.low
        assert [other for other, of in METRICS.items() if of.first_limit and of.limit_rank == facts.limit_rank] == [
            name
        ]


def test_the_first_limits_are_by_rank():
    ranks = [METRICS[name].limit_rank for name in catalogue.first_limits()]
    assert ranks == sorted(ranks)
    assert len(ranks) == sum(facts.first_limit is not None for facts in METRICS.values())


@FACTS
def test_a_margin_that_is_a_share_of_the_value_is_between_none_of_it_and_all(name, facts):
    assert facts.margin_share is None or 0 < facts.margin_share < 1


def test_the_metrics_with_a_value_by_pattern_are_the_fields_that_results_have_for_it():
    assert {"scored", *catalogue.pattern_metrics()} == set(PatternScores.__struct_fields__)


@FACTS
def test_a_limit_by_pattern_is_on_a_metric_that_has_a_value_by_pattern(name, facts):
    assert facts.has_pattern_value or not facts.has_pattern_limit


@pytest.mark.parametrize("name", catalogue.needing("replies"))
def test_a_metric_that_is_not_a_mean_over_sets_has_a_reason_for_no_interval(name):
    measured = load_metric(name).measure({(0, "cs000"): ["A dog runs.", "A cat sleeps on it."]})
    assert (measured.statistics is None) == bool(METRICS[name].without_interval)


def test_the_published_metrics_are_the_columns_of_the_papers_table_1_in_its_order():
    for row in load_published().table1.values():
        assert catalogue.published_metrics() == tuple(row.values)


def test_a_metric_of_a_hook_is_called_by_its_name():
    assert (catalogue.label_of("own"), catalogue.title_of("own")) == ("own", "own")
    assert (catalogue.label_of("diverse_rate"), catalogue.title_of("diverse_rate")) == ("diverse rate", "diverse\nrate")


class Words:
    """How many words a reply has, a mean over replies."""

    name = "words"

    def signature(self):
        return "words:whitespace"

    def measure(self, replies):
        counts = {key: [len(text.split()) for text in texts] for key, texts in replies.items()}
        statistics = {key: SetStatistic(float(sum(found)), len(found)) for key, found in counts.items()}
        return measurement(statistics, self.signature(), reason="no reply was scored")


WORDS = MetricFacts(
    title="words per\nreply", needs="replies", factory=f"{__name__}:Words", high=1000.0, first_limit="max",
    limit_rank=6, tolerance=1.0, is_published=False,
)  # fmt: skip
LIMIT = "schema = 1\n[selection.full]\nsets = '1:0'\n[selection.full.metrics.words]\nmax = {}\n"


@pytest.fixture
def add_metric(monkeypatch):
    """Adds the metric of this module to the catalogue."""

    def add(**facts):
        monkeypatch.setattr(catalogue, "METRICS", {**METRICS, "words": dataclasses.replace(WORDS, **facts)})

    return add


@pytest.fixture
def run(add_metric):
    """The results and records of a run whose cheap metrics have the added one among them; its value is 9."""
    add_metric()
    return whole_run(metrics=choose_metrics(["cheap"], has_gpu=False))


def test_an_added_metric_is_chosen_by_its_name_and_with_the_cheap_ones(add_metric):
    assert "words" not in choose_metrics(["cheap"], has_gpu=False)
    add_metric()
    for wanted in (["words"], ["cheap"], ["auto"], ["all"]):
        assert "words" in choose_metrics(wanted, has_gpu=False)


def test_an_added_metric_that_needs_a_model_is_not_among_the_cheap_ones(add_metric):
    add_metric(needs="model", model_option="bleurt_model")
    assert "words" not in choose_metrics(["cheap"], has_gpu=False)
    assert "words" in choose_metrics(["all"], has_gpu=False)


def test_an_added_metric_is_in_the_results_and_is_read_back(run):
    results, _ = run
    [row] = read_results(results_json(results, "ab" * 32), "results file 'made'").rows
    assert (row.value("words"), row.metrics["words"].n, row.metrics["words"].signature) == (9, 24, "words:whitespace")
    assert row.by_template["0"]["words"] == 9
    assert row.statistics["words"] == {"0": {"cs000": (216, 24)}}


def test_an_added_metric_that_was_not_asked_for_has_a_reason(add_metric):
    add_metric()
    [row] = whole_run()[0].rows
    assert row.value("words") is None
    assert "not asked for" in row.metrics["words"].reason


def test_an_added_metric_has_its_title_and_value_in_every_report(run):
    results, records = run
    titles, more, _, row = render_table(results)[:4]
    assert (titles.split()[-2:], more.split()[-1], row.split()[-1]) == (["words", "per"], "reply", "9.00")
    assert [line.split()[-1] for line in render_breakdown(results) if line.startswith("t0 ")] == ["9.00"]
    head, row = [line for line in render_markdown(results, records).splitlines() if line.startswith("| ")][0:3:2]
    assert (head.split(" | ")[-1], row.split(" | ")[-1]) == ("words per reply |", "9.00 |")
    grid = metrics_grid(results)
    assert (grid.titles[-1], grid.rows[0][-1].text) == ("words per reply", "9.00")


@pytest.mark.parametrize(("is_published", "cells"), [(True, ["words per reply", "9.00"]), (False, [])])
def test_an_added_metric_is_in_the_latex_table_if_the_paper_has_it(add_metric, is_published, cells):
    add_metric(is_published=is_published)
    text = render_latex(whole_run(metrics=("words",))[0])
    assert re.findall(r"words per reply|\b9\.00\b", text) == cells


def test_an_added_metric_is_compared_between_runs(run):
    results, records = run
    compared = compare(Run(Path("a"), results, tuple(records)), Run(Path("b"), results, tuple(records)))
    [words] = [one for one in compared.rows[0].differences if one.metric == "words"]
    assert (words.old, words.new, words.difference) == (9, 9, 0)
    assert [line for line in render_comparison(compared) if line.startswith("words per reply  ")]


def test_a_session_measures_an_added_metric_and_prints_it(add_metric, bench):
    add_metric()
    ran = bench.run("--ocg-metrics", "words", model="scripted:in-order")
    ran.stdout.fnmatch_lines(["*words per*"])
    [row] = bench.results()["rows"]
    assert row["metrics"]["words"]["value"] > 4


@pytest.mark.parametrize(("limit", "status"), [("8.5", Status.FAILED), ("9.5", Status.PASSED)])
def test_an_added_metric_can_be_limited_and_is_judged_by_its_limit(run, limit, status):
    thresholds = parse_thresholds(LIMIT.format(limit), Path("t.toml"))
    verdict = evaluate(run_rows(run[0])[0], thresholds)
    assert (verdict.status, [check.metric for check in verdict.checks]) == (status, ["words"])


def test_a_limit_on_a_metric_that_was_not_added_is_refused():
    with pytest.raises(ThresholdError, match="words"):
        parse_thresholds(LIMIT.format(8), Path("t.toml"))


def test_a_limit_is_held_to_the_range_of_the_added_metric(add_metric):
    add_metric()
    with pytest.raises(ThresholdError, match=r"1001\.0, outside 0 to 1000"):
        parse_thresholds(LIMIT.format("1001.0"), Path("t.toml"))


@pytest.mark.parametrize(
    ("facts", "limits"),
    [
        ({"first_limit": "max"}, {"max": 10.0}),
        ({"first_limit": "min"}, {"min": 8.0}),
        ({"first_limit": "max", "margin_share": 0.5}, {"max": 13.5}),
        ({"first_limit": "max", "high": 9.5}, {"max": 9.5}),
        ({"first_limit": None}, None),
    ],
)
def test_new_thresholds_limit_an_added_metric_on_its_worse_side_if_it_has_one(add_metric, facts, limits):
    add_metric(**facts)
    results, _ = whole_run(metrics=choose_metrics(["cheap"], has_gpu=False))
    renewed = render_thresholds(None, Path("t.toml"), results, run_rows(results)[0], 1.0)
    [selection] = renewed.thresholds.selections
    written = {limit.metric: limit.bounds() for limit in selection.limits}
    assert written.get("words") == limits
    assert ("[selection.smoke.metrics.words]" in renewed.text) == (limits is not None)
