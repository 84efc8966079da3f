from __future__ import annotations

import re
from pathlib import Path

import pytest

from plugin.tests.nouns import rows_of
from pytest_ocg.gate.judge import evaluate
from pytest_ocg.gate.thresholds import Limit, Selection, Thresholds
from pytest_ocg.results.verdicts import Status, Verdict

MODEL = "smollm2-135m"


def thresholds(*limits: Limit, max_error_share: float = 0.0, **signature) -> Thresholds:
    selection = Selection("smoke", limits or (Limit("coverage_ordered", 20.0),), "4:0")
    return Thresholds(Path("x.toml"), MODEL, (selection,), max_error_share, signature)


def verdict(results, limits: Thresholds) -> Verdict:
    return evaluate(rows_of(results)[0], limits)


def with_errors(results, errors: int):
    results["rows"][0]["counts"].update(miss=453 - errors, error=errors)
    return results


def test_limits_that_hold_pass_however_many_misses(results):
    limits = thresholds(Limit("coverage_ordered", 20.0), Limit("ordered_rate", 30.0), Limit("pbleu", maximum=45.0))
    assert verdict(results, limits).line() == "gate: PASSED smollm2-135m (3 limits hold)"


@pytest.mark.parametrize(
    ("limit", "bounds", "says"),
    [
        (Limit("coverage_ordered", 20.0), ["min"], "1 limit holds"),
        (Limit("coverage_ordered", 20.0, 30.0), ["min", "max"], "2 limits hold"),
    ],
)
def test_floors_and_ceilings_are_counted_one_by_one(results, limit, bounds, says):
    found = verdict(results, thresholds(limit))
    assert ([check.bound for check in found.checks], found.reasons) == (bounds, (says,))


@pytest.mark.parametrize(
    ("value", "limit", "says"),
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
def test_a_broken_limit_fails_and_shows_both_values_apart(results, value, limit, says):
    results["rows"][0]["metrics"][limit.metric] = {"value": value, "n": 576}
    found = verdict(results, thresholds(limit))
    assert found.line() == f"gate: FAILED {MODEL} {says}"
    [check] = found.checks
    assert (check.metric, check.value, {check.bound: check.limit}) == (limit.metric, value, limit.bounds())
    assert not check.holds


@pytest.mark.parametrize(
    "limit",
    [Limit("coverage_ordered", 21.4), Limit("coverage_ordered", maximum=21.4), Limit("coverage_ordered", 21.4, 21.4)],
)
@pytest.mark.parametrize("value", [21.4, 21.4 + 4e-15, 21.4 - 4e-15])
def test_exactly_at_the_limit_passes_up_to_float_rounding(results, limit, value):
    results["rows"][0]["metrics"]["coverage_ordered"]["value"] = value
    assert verdict(results, thresholds(limit)).status is Status.PASSED


def test_every_broken_limit_is_named(results):
    limits = thresholds(Limit("coverage_ordered", 23.0), Limit("diverse_rate", 90.0), Limit("pbleu", maximum=40.0))
    found = verdict(results, limits)
    assert found.reasons == ("coverage_ordered 21.4 under 23.0", "pbleu 41.2 over 40.0")
    assert found.line() == f"gate: FAILED {MODEL} {'; '.join(found.reasons)}"


@pytest.mark.parametrize(
    ("score", "says"),
    [
        (None, "no reason given"),
        ({"value": None, "n": 0}, "no reason given"),
        ({"value": None, "n": 0, "reason": "not asked for\x1b"}, r"'not asked for\\x1b'"),
        ({"value": 50.0, "n": 0}, "no reason given"),
        ({"value": 7500, "n": 576}, "7500.* 0 to 100"),
        ({"value": -1.0, "n": 576}, "-1.0.* 0 to 100"),
    ],
)
@pytest.mark.parametrize("limit", [Limit("coverage_ordered", 0.0), Limit("coverage_ordered", maximum=100.0)])
def test_what_was_not_measured_holds_no_limit(results, limit, score, says):
    metrics = results["rows"][0]["metrics"]
    del metrics["coverage_ordered"]
    if score is not None:
        metrics["coverage_ordered"] = score
    found = verdict(results, thresholds(limit))
    assert (found.status, found.checks) == (Status.NOT_EVALUATED, ())
    [reason] = found.reasons
    assert reason.startswith("coverage_ordered ")
    assert re.search(says, reason), reason


def test_a_broken_limit_fails_even_where_another_metric_is_missing(results):
    found = verdict(results, thresholds(Limit("pbleurt", 50.0), Limit("coverage_ordered", 23.0)))
    assert found.status is Status.FAILED
    assert [reason.split(" ")[0] for reason in found.reasons] == ["coverage_ordered", "pbleurt"]


def test_a_metric_measured_in_another_way_is_not_compared(results):
    found = verdict(results, thresholds(Limit("pbleu", maximum=1.0, signature="pbleu|v:0")))
    assert found.line() == (
        "gate: NOT EVALUATED smollm2-135m pbleu was measured as 'pbleu|v:1' but its limit is for 'pbleu|v:0'; "
        "renew the baseline with --ocg-write-thresholds"
    )


def test_a_partial_run_is_not_evaluated_whatever_its_scores(results):
    results["selection"].update(planned=27648, run=192, complete=False)
    results["rows"][0]["counts"].update(planned=27648, hit=192, miss=0)
    found = verdict(results, thresholds(Limit("coverage_ordered", 99.0)))
    assert found.status is Status.NOT_EVALUATED
    partial, way_out = found.reasons
    assert partial == "partial run (192 of 27,648 cases)"
    assert way_out.endswith("--ocg-sets 4:0")


@pytest.mark.parametrize(
    ("errors", "share", "says"),
    [
        (0, 0.0, None),
        (1, 0.0, "1 error in 576 cases.* 0.0017.* 0.0"),
        (5, 0.01, None),
        (6, 0.01, "6 errors in 576 cases.* 0.0104.* 0.01"),
        (144, 0.25, None),
        (288, 1.0, "288 errors in 576 cases"),
    ],
)
def test_errors_are_judged_within_their_budget_only(results, errors, share, says):
    limits = thresholds(Limit("coverage_ordered", 1.0), max_error_share=share)
    found = verdict(with_errors(results, errors), limits)
    assert found.status is (Status.PASSED if says is None else Status.NOT_EVALUATED)
    assert re.search(says or "1 limit holds", found.line()), found.line()


@pytest.mark.parametrize(
    ("metric", "floor", "with_misses"),
    [
        ("coverage_ordered", 21.0, 21.4 * 556 / 576),
        ("coverage_unordered", 61.0, 61.8 * 556 / 576),
        ("ordered_rate", 34.0, 34.6 * (0.618 * 556) / (0.618 * 556 + 20)),
        ("diverse_rate", 96.0, 97.3 * 556 / 576),
    ],
)
def test_leaving_errors_out_never_lifts_a_score_over_its_floor(results, metric, floor, with_misses):
    limits = thresholds(Limit(metric, floor), max_error_share=0.1)
    assert verdict(with_errors(results, 0), limits).status is Status.PASSED
    found = verdict(with_errors(results, 20), limits)
    assert found.status is Status.NOT_EVALUATED
    [reason] = found.reasons
    assert re.search(f"{metric} .* {floor} .*20 errors.*{with_misses:.1f}$", reason), reason


def test_names_from_a_file_cannot_drive_the_terminal(results):
    results["rows"][0]["model"] = "\x1b[31mred\n"
    found = verdict(results, thresholds()).line()
    assert found.startswith("gate: NOT EVALUATED ?[31mred? ")
    assert repr("\x1b[31mred\n") in found
    assert found.isprintable()
