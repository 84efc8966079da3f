from __future__ import annotations

import math
from pathlib import Path

import pytest

from pytest_ocg.gate.judge import Status, evaluate
from pytest_ocg.gate.thresholds import Limit, Selection, Thresholds

MODEL = "smollm2-135m"


def thresholds(*limits: Limit, max_error_share: float = 0.0, **signature) -> Thresholds:
    selection = Selection("smoke", limits or (Limit("coverage_ordered", 20.0),), "4:0")
    return Thresholds(Path("x.toml"), MODEL, (selection,), max_error_share, signature)


@pytest.fixture
def results(make_results):
    return make_results()


def line(results, limits: Thresholds) -> str:
    return evaluate(results, results["rows"][0], limits).line()


def with_errors(results, errors: int):
    results["rows"][0]["counts"].update(miss=453 - errors, error=errors)
    return results


def test_limits_that_hold_pass_however_many_misses(results):
    limits = thresholds(Limit("coverage_ordered", 20.0), Limit("ordered_rate", 30.0), Limit("pbleu", maximum=45.0))
    assert line(results, limits) == "gate: PASSED smollm2-135m (3 limits hold)"


@pytest.mark.parametrize(
    ("limit", "said"),
    [(Limit("coverage_ordered", 20.0), "(1 limit holds)"), (Limit("coverage_ordered", 20.0, 30.0), "(2 limits hold)")],
)
def test_floors_and_ceilings_are_counted_one_by_one(results, limit, said):
    assert line(results, thresholds(limit)).endswith(said)


@pytest.mark.parametrize(
    ("value", "limit", "said"),
    [
        (21.4, Limit("coverage_ordered", 23.0), "coverage_ordered 21.4 under 23.0"),
        (46.0, Limit("pbleu", maximum=45.0), "pbleu 46.0 over 45.0"),
        (22.96, Limit("coverage_ordered", 23.0), "coverage_ordered 22.96 under 23.00"),
        (19.9, Limit("coverage_ordered", 20.25), "coverage_ordered 19.90 under 20.25"),
        (22.99999999, Limit("coverage_ordered", 23.0), "coverage_ordered 22.99999999 under 23.0"),
        (0, Limit("coverage_ordered", 0.5), "coverage_ordered 0.0 under 0.5"),
        (1234.5, Limit("perplexity", maximum=300.0), "perplexity 1234.5 over 300.0"),
    ],
)
def test_a_broken_limit_fails_and_shows_both_values_apart(results, value, limit, said):
    results["rows"][0]["metrics"][limit.metric] = {"value": value, "n": 576}
    verdict = evaluate(results, results["rows"][0], thresholds(limit))
    assert verdict.line() == f"gate: FAILED {MODEL} {said}"
    [broken] = verdict.broken
    assert (broken.name, broken.value, {broken.bound: broken.limit}) == (limit.metric, value, limit.bounds())


@pytest.mark.parametrize(
    "limit",
    [Limit("coverage_ordered", 21.4), Limit("coverage_ordered", maximum=21.4), Limit("coverage_ordered", 21.4, 21.4)],
)
@pytest.mark.parametrize("value", [21.4, 21.4 + 4e-15, 21.4 - 4e-15])
def test_exactly_at_the_limit_passes_up_to_float_rounding(results, limit, value):
    results["rows"][0]["metrics"]["coverage_ordered"]["value"] = value
    assert evaluate(results, results["rows"][0], thresholds(limit)).status is Status.PASSED


def test_every_broken_limit_is_named(results):
    limits = thresholds(Limit("coverage_ordered", 23.0), Limit("diverse_rate", 90.0), Limit("pbleu", maximum=40.0))
    assert line(results, limits) == ("gate: FAILED smollm2-135m coverage_ordered 21.4 under 23.0; pbleu 41.2 over 40.0")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "was not computed ('no reason given')"),
        (math.nan, "is nan, which is no number from 0 to 100"),
        (math.inf, "is inf, which is no number"),
        (-math.inf, "is -inf, which is no number"),
        ("99", "is '99', which is no number"),
        (True, "is True, which is no number"),
        (7500, "is 7500, which is no number from 0 to 100"),
        (-1.0, "is -1.0, which is no number"),
        ([99], "is [99], which is no number"),
    ],
)
@pytest.mark.parametrize("limit", [Limit("coverage_ordered", 0.0), Limit("coverage_ordered", maximum=100.0)])
def test_a_value_that_is_no_measurement_holds_no_limit(results, limit, value, said):
    results["rows"][0]["metrics"]["coverage_ordered"]["value"] = value
    assert line(results, thresholds(limit)).startswith(f"gate: NOT EVALUATED {MODEL} coverage_ordered {said}")


@pytest.mark.parametrize("entry", [None, 3, {}, {"value": 50.0, "n": 0}])
def test_a_metric_without_a_measurement_is_not_computed(results, entry):
    results["rows"][0]["metrics"]["coverage_ordered"] = entry
    assert "coverage_ordered was not computed" in line(results, thresholds())


def test_a_metric_not_computed_says_why(results):
    assert line(results, thresholds(Limit("pbleurt", 50.0))) == (
        "gate: NOT EVALUATED smollm2-135m pbleurt was not computed ('not asked for; --ocg-metrics all')"
    )


def test_a_broken_limit_fails_even_where_another_metric_is_missing(results):
    verdict = evaluate(results, results["rows"][0], thresholds(Limit("pbleurt", 50.0), Limit("coverage_ordered", 23.0)))
    assert verdict.status is Status.FAILED
    assert [reason.split(" ")[0] for reason in verdict.reasons] == ["coverage_ordered", "pbleurt"]


def test_a_metric_measured_in_another_way_is_not_compared(results):
    assert line(results, thresholds(Limit("pbleu", maximum=1.0, signature="pbleu|v:0"))) == (
        "gate: NOT EVALUATED smollm2-135m pbleu was measured as 'pbleu|v:1' but its limit is for 'pbleu|v:0'; "
        "renew the baseline with --ocg-write-thresholds"
    )


def test_a_partial_run_is_not_evaluated_whatever_its_scores(results):
    results["selection"].update(planned=27648, run=192, complete=False)
    results["rows"][0]["counts"].update(planned=27648, hit=192, miss=0)
    assert line(results, thresholds(Limit("coverage_ordered", 99.0))) == (
        "gate: NOT EVALUATED smollm2-135m partial run (192 of 27,648 cases); selection smoke is run with --ocg-sets 4:0"
    )


@pytest.mark.parametrize(
    ("errors", "share", "status"),
    [
        (0, 0.0, Status.PASSED),
        (1, 0.0, Status.NOT_EVALUATED),
        (5, 0.01, Status.PASSED),
        (6, 0.01, Status.NOT_EVALUATED),
        (288, 1.0, Status.NOT_EVALUATED),
    ],
)
def test_errors_are_judged_within_their_budget_only(results, errors, share, status):
    limits = thresholds(Limit("coverage_ordered", 1.0), max_error_share=share)
    assert evaluate(with_errors(results, errors), results["rows"][0], limits).status is status


def test_an_error_share_exactly_at_the_budget_is_judged(results):
    limits = thresholds(Limit("coverage_ordered", 1.0), max_error_share=144 / 576)
    assert evaluate(with_errors(results, 144), results["rows"][0], limits).status is Status.PASSED


@pytest.mark.parametrize(
    ("metric", "floor"),
    [("coverage_ordered", 21.0), ("coverage_unordered", 61.0), ("ordered_rate", 34.0), ("diverse_rate", 96.0)],
)
def test_leaving_errors_out_never_lifts_a_score_over_its_floor(results, metric, floor):
    limits = thresholds(Limit(metric, floor), max_error_share=0.1)
    assert evaluate(with_errors(results, 0), results["rows"][0], limits).status is Status.PASSED
    said = line(with_errors(results, 20), limits)
    assert said.startswith(f"gate: NOT EVALUATED {MODEL} {metric} ")
    assert f"holds {floor} only because 20 errors are left out" in said


def test_the_score_with_errors_as_misses_is_the_share_of_all_cases(results):
    said = line(with_errors(results, 20), thresholds(Limit("coverage_ordered", 21.0), max_error_share=0.1))
    assert "coverage_ordered 21.4 holds" in said
    assert f"({21.4 * 556 / 576:.1f} with them as misses)" in said


def test_names_from_a_file_cannot_drive_the_terminal(results):
    results["rows"][0]["model"] = "\x1b[31mred\n"
    said = line(results, thresholds())
    assert said.startswith("gate: NOT EVALUATED ?[31mred? x.toml is for model 'smollm2-135m', not '\\x1b[31mred\\n'")
    assert said.isprintable()
