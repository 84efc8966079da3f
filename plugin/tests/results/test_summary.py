"""Sums: what enters a metric, what is absent and why, and how far a value can be trusted."""

from __future__ import annotations

from functools import partial

import pytest

from plugin.tests.nouns import record_of
from pytest_ocg.errors import MetricError, OcgError
from pytest_ocg.metrics import catalogue
from pytest_ocg.metrics.base import Measurement, Score, SetStatistic, measurement
from pytest_ocg.results.schema import PatternScores
from pytest_ocg.results.summary import (
    CUT,
    NOT_ASKED,
    Measures,
    RowFrame,
    measure_metric,
    plain_statistics,
    score_of,
    summarise_row,
    unmeasured,
    with_deltas,
)
from pytest_ocg.statistics.intervals import intervals

CHEAP = catalogue.needing("replies")


def reply(template=0, set_id="cs000", pattern="NV", text="a dog runs", covered=True, in_order=True, **facts):
    return record_of(
        template=template, set=set_id, pattern=pattern, reply=text, covered=covered, in_order=in_order,
        outcome="hit" if in_order else "miss", **{"made_by": "m1", **facts},
    )  # fmt: skip


def error(**facts):
    return record_of(outcome="error", **{"made_by": "m1", **facts})


def summed(*records, metrics=CHEAP, model="m", condition="ordered", measures=None):
    return summarise_row(
        RowFrame(
            model=model, condition=condition, shots=0, published_as=None, identity={}, patterns={},
            planned=len(records), selected=len(records), matcher="inflection|x",
        ),
        records,
        metrics=metrics,
        measure=partial(measure_metric, measures=measures or Measures(metrics)),
        provenances={"m1": {"source": "here"}},
    )  # fmt: skip


def test_a_row_has_the_fields_of_its_frame():
    frame = RowFrame("m", "ordered", 1, "GPT-4o", {"dtype": "float32"}, {}, planned=3, selected=2, matcher="inflection")
    row = summarise_row(frame, [reply()], metrics=(), measure=pytest.fail, provenances={})
    assert (row.name, row.published_as, row.identity) == (("m", "ordered", 1), "GPT-4o", {"dtype": "float32"})
    assert (row.counts.planned, row.counts.selected, row.counts.done) == (3, 2, 1)


def test_an_error_enters_no_metric():
    with_error, without = summed(reply(), reply(in_order=False), error()), summed(reply(), reply(in_order=False))
    assert with_error.metrics == without.metrics
    assert with_error.value("coverage_ordered") == 50
    assert with_error.metrics["coverage_ordered"].n == 2


def test_the_ordered_rate_is_the_ratio_of_the_averages_over_templates_and_not_the_average_of_ratios():
    row = summed(
        reply(template=0), reply(template=0, covered=False, in_order=False),
        reply(template=1, in_order=False), reply(template=1),
    )  # fmt: skip
    assert row.value("coverage_unordered") == 75
    assert row.value("coverage_ordered") == 50
    assert row.value("ordered_rate") == pytest.approx(100 * 50 / 75)
    assert [row.by_template[name]["ordered_rate"] for name in ("0", "1")] == [100, 50]


def test_templates_have_equal_weight_for_any_their_number_of_replies():
    row = summed(*[reply(template=0, in_order=False)] * 9, reply(template=1))
    assert row.value("coverage_ordered") == 50


def test_without_a_scored_reply_every_metric_is_absent_with_a_reason():
    row = summed(error(), error())
    assert row.metrics.keys() == catalogue.METRICS.keys()
    for name, score in row.metrics.items():
        assert score.value is None, name
        assert score.reason, name


def test_a_metric_that_needs_a_scoring_model_or_was_not_asked_for_is_absent_with_a_reason():
    row = summed(reply(), metrics=("pbleu",))
    assert row.metrics["diverse_rate"] == unmeasured(NOT_ASKED)
    assert row.value("coverage_ordered") == 100
    assert summed(reply(), metrics=("perplexity",)).metrics["perplexity"] == unmeasured(CUT)


class Lengths:
    """The average number of characters: a metric that a hook might add."""

    def measure(self, replies):
        lengths = [len(text) for texts in replies.values() for text in texts]
        return Measurement(Score(sum(lengths) / len(lengths), len(lengths), "lengths:1"), {}, None)


def test_a_metric_of_a_hook_is_measured_and_comes_after_the_shipped_ones():
    measures = Measures(("lengths",), own={"lengths": Lengths})
    row = summed(reply(text="one"), reply(text="three"), metrics=("lengths",), measures=measures)
    assert list(row.metrics) == [*catalogue.METRICS, "lengths"]
    assert (row.value("lengths"), row.metrics["lengths"].n) == (4, 2)


def test_a_metric_of_a_hook_that_fails_has_no_value_and_a_reason():
    measures = Measures(("lengths",), own={"lengths": lambda: 1 / 0})
    with pytest.raises(MetricError, match=r"^lengths failed with ZeroDivisionError: division by zero$"):
        measure_metric("lengths", {}, measures=measures)
    row = summed(reply(), metrics=("lengths",), measures=measures)
    assert row.metrics["lengths"] == unmeasured("lengths failed with ZeroDivisionError: division by zero")


def test_a_scoring_model_without_its_context_is_refused():
    with pytest.raises(OcgError, match=CUT):
        measure_metric("pbleurt", {(0, "cs000"): ["a"]}, measures=Measures(("pbleurt",)))


def test_patterns_have_their_own_coverage_but_the_diverse_rate_of_their_whole_sets():
    row = summed(
        reply(pattern="NV", text="one"), reply(pattern="VN", text="one", in_order=False),
        reply(pattern="NV", set_id="cs001", text="two", covered=False, in_order=False),
    )  # fmt: skip
    assert row.by_pattern["NV"] == PatternScores(
        scored=2, coverage_unordered=50, coverage_ordered=50, ordered_rate=100, diverse_rate=75
    )
    assert row.by_pattern["VN"].diverse_rate == 50


def test_the_same_reply_to_all_24_orders_is_one_in_order_and_no_crash():
    replies = [reply(text="the same", in_order=number == 0) for number in range(24)]
    row = summed(*replies)
    assert row.value("coverage_unordered") == 100
    assert row.value("coverage_ordered") == pytest.approx(100 / 24)
    assert row.value("diverse_rate") == pytest.approx(100 / 24)
    assert row.value("pbleu") == 100


def test_replies_are_counted_by_what_made_them():
    row = summed(reply(), reply(made_by="m2"), reply())
    assert row.made_by == [{"replies": 2, "source": "here"}, {"replies": 1}]


def test_deltas_are_ordered_minus_original_of_the_same_model():
    records = [reply(), reply(in_order=False)]
    rows = with_deltas(
        [
            summed(*records, model="a"),
            summed(reply(in_order=False), reply(in_order=False), model="a", condition="original"),
            summed(*records, model="b"),
        ]
    )
    assert rows[0].delta_vs_original.keys() == catalogue.METRICS.keys()
    assert (rows[0].delta_vs_original["coverage_ordered"], rows[0].delta_vs_original["perplexity"]) == (50, None)
    assert [row.delta_vs_original for row in rows[1:]] == [None, None]


def test_the_scores_can_be_computed_from_the_statistics_of_the_sets():
    row = summed(
        reply(template=0), reply(template=0, covered=False, in_order=False), reply(template=0, set_id="cs001"),
        reply(template=3, text="rain"), reply(template=3, in_order=False), error(template=3, set_id="cs002"),
    )  # fmt: skip
    assert row.statistics.keys() == {"coverage_unordered", "coverage_ordered", "pbleu", "distinct2", "diverse_rate"}
    assert row.statistics["coverage_ordered"] == {
        "0": {"cs000": (100, 2), "cs001": (100, 1)},
        "3": {"cs000": (100, 2)},
    }
    found = intervals(row.statistics)
    without = {name for name, facts in catalogue.METRICS.items() if facts.without_interval}
    assert {name: interval.value for name, interval in found.items()} == pytest.approx(
        {name: value for name, value in row.values().items() if value is not None and name not in without}, abs=1e-12
    )
    assert without == {name for name, value in row.values().items() if value is not None} - found.keys()


def test_plain_statistics_are_by_template_and_set_in_order():
    statistics = {
        (3, "cs001"): SetStatistic(1.5, 2),
        (0, "cs002"): SetStatistic(3.0, 1),
        (0, "cs001"): SetStatistic(2.0, 1),
    }
    plain = plain_statistics(Measurement(Score(1.0, 4, "x"), {}, statistics))
    assert [(template, list(sets.items())) for template, sets in plain.items()] == [
        ("0", [("cs001", (2.0, 1)), ("cs002", (3.0, 1))]),
        ("3", [("cs001", (1.5, 2))]),
    ]
    assert plain_statistics(Measurement(Score(1.0, 4, "x"), {}, None)) == {}


SETS = {f"cs{number:03d}": (100.0 * (number % 3), 4) for number in range(12)}


def score(name, value, statistics, *, reason=""):
    """The score of a metric with this value, and the interval that these statistics have for it."""
    measured = Measurement(Score(value, 48, f"{name}:1", reason), {}, None, left_out=2, cut=3)
    return score_of(measured, intervals(statistics).get(name), name)


def test_a_score_is_the_measurement_with_its_interval_over_the_sets():
    found = score("pbleu", 25.0, {"pbleu": {"0": SETS}})
    assert (found.value, found.n, found.signature, found.reason) == (25.0, 48, "pbleu:1", None)
    assert (found.left_out, found.cut, found.sets, found.interval_reason) == (2, 3, 12, None)
    assert found.interval.low < found.interval.floor < 25 < found.interval.ceiling < found.interval.high
    assert found.standard_error == pytest.approx(6.155, abs=0.001)


def test_the_ordered_rate_has_its_interval_from_its_two_coverages():
    statistics = {"coverage_ordered": {"0": SETS}, "coverage_unordered": {"0": dict.fromkeys(SETS, (400.0, 4))}}
    assert score("ordered_rate", 25.0, statistics).interval is not None


def test_few_sets_have_an_error_but_no_interval():
    few = {name: SETS[name] for name in list(SETS)[:4]}
    found = score("pbleu", 18.75, {"pbleu": {"0": few}})
    assert (found.interval, found.sets) == (None, 4)
    assert found.interval_reason == "4 concept sets; an interval needs 6 or more"
    assert found.standard_error > 0


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("distinct2_pooled", 70.0, catalogue.METRICS["distinct2_pooled"].without_interval),
        ("of_mine", 3.0, "what each concept set adds to it is not known"),
        ("perplexity", None, "the metric has no value"),
        ("pbleu", None, "the metric has no value"),
    ],
)
def test_a_metric_without_an_interval_has_the_reason(name, value, reason):
    found = score(name, value, {"pbleu": {"0": SETS}}, reason="" if value else "nothing was scored")
    assert (found.interval, found.standard_error, found.sets, found.interval_reason) == (None, None, 0, reason)
    assert found.reason == (None if value else "nothing was scored")


def test_sums_too_large_for_an_interval_have_the_reason_and_no_infinite_number():
    values = {(0, f"cs{number:03d}"): SetStatistic(1e200 * number, 1) for number in range(12)}
    measured = measurement(values, "own:1", reason="none")
    score = score_of(measured, intervals({"own": plain_statistics(measured)})["own"], "own")
    assert score.value == pytest.approx(5.5e200)
    assert (score.interval, score.standard_error, score.sets) == (None, None, 12)
    assert score.interval_reason == "its values are too large for one"


def test_a_provenance_cannot_replace_the_number_of_replies():
    frame = RowFrame("m", "ordered", 0, None, {}, {}, planned=1, selected=1, matcher="inflection")
    sources = {"m1": {"replies": "many", "source": "here"}}
    row = summarise_row(frame, [reply()], metrics=(), measure=pytest.fail, provenances=sources)
    assert row.made_by == [{"replies": 1, "source": "here"}]
