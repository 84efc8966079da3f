from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from plugin.tests.nouns import results_of
from pytest_ocg.errors import ThresholdError
from pytest_ocg.gate.renewal import render_thresholds
from pytest_ocg.results.rows import run_rows

PATH = Path("thresholds/smollm2-135m.toml")
HEAD = 'schema = 1\nmodel = "smollm2-135m"\n'
SETS = '[selection.smoke]\nsets = "4:0"\n'
TEXT = HEAD + '[signature]\ncondition = "ordered"\n' + SETS + "[selection.smoke.metrics.coverage_ordered]\nmin = 3\n"


def render(results, text=None, margin=1.0) -> str:
    read = results_of(results)
    [measured] = run_rows(read)
    return render_thresholds(text, PATH, read, measured, margin).text


def refusal(results, text=None, margin=1.0) -> str:
    """Why no file is written, without the name of the file."""
    with pytest.raises(ThresholdError, match=f"^{re.escape(str(PATH))}[: ]") as caught:
        render(results, text, margin)
    return str(caught.value).removeprefix(str(PATH)).removeprefix(":").lstrip()


def test_a_run_that_measured_nothing_makes_no_file(results):
    results["rows"][0]["metrics"] = {}
    assert re.search("coverage_ordered, .*--ocg-metrics cheap", refusal(results))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"run": 3, "complete": False}, "3 of 576 cases"),
        ({"cut": "interrupted"}, "stopped early.*'interrupted'"),
        ({"shard": "1/2"}, "shard '1/2'.*ocg merge"),
        ({"complete": False}, "complete is False"),
    ],
)
def test_a_run_that_is_not_whole_makes_no_thresholds(results, change, says):
    results["selection"].update(change)
    assert re.search(f"'smollm2-135m'.*{says}", refusal(results))


def test_a_run_with_an_error_makes_no_thresholds(results):
    results["rows"][0]["counts"].update(miss=452, error=1)
    assert re.search("'smollm2-135m'.*1 error in 576 cases", refusal(results, TEXT))


def test_the_file_of_another_model_is_not_renewed(results):
    assert refusal(results, TEXT.replace("smollm2-135m", "gemma2-9b")) == (
        "has the thresholds of 'gemma2-9b', which a run of 'smollm2-135m' cannot renew; pass another file with "
        "--ocg-thresholds"
    )


def test_the_file_of_another_condition_is_not_renewed(results):
    assert re.search(
        "condition 'original', shots None.*condition 'ordered', shots 0.*--ocg-thresholds",
        refusal(results, TEXT.replace('"ordered"', '"original"')),
    )


def test_limits_on_what_was_not_computed_are_not_renewed(results):
    assert re.search(
        r"selection\.smoke .*pbleurt.*'not asked for; --ocg-metrics all'.*--ocg-metrics all, or .*metrics\.pbleurt",
        refusal(results, HEAD + SETS + "[selection.smoke.metrics.pbleurt]\nmin = 50\n"),
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            HEAD + 'selection.smoke.sets = "4:0"\nselection.smoke.metrics.coverage_ordered.min = 90\n', id="dotted keys"
        ),
        pytest.param(
            f"{TEXT}[selection.smoke.provenance]\ndeep = {'[' * 150}{']' * 150}\n", id="deeper than tomlkit reads"
        ),
    ],
)
def test_a_file_that_cannot_be_edited_in_place_is_left_alone(results, text):
    message = refusal(results, text)
    assert message.startswith("cannot be edited in place (")
    assert "`ocg thresholds --help`" in message


def test_a_broken_file_is_not_renewed(results):
    assert "'min'" in refusal(results, HEAD + "[selection.full.metrics.pbleu]\nminn = 3\n")


def test_a_signature_that_other_selections_were_taken_with_is_not_changed(results):
    whole = render(results) + "[selection.full.metrics.pbleu]\nmax = 50\n"
    was, results["matcher"] = results["matcher"], "inflection|spacy:4"
    assert re.search(
        f"matcher is {re.escape(repr(was))} .*'inflection.spacy:4' .*selections full .*--ocg-thresholds",
        refusal(results, whole),
    )


def test_a_signature_key_that_the_run_does_not_have_is_never_removed_silently(results):
    fresh = render(results)
    del results["rows"][0]["identity"]["quantization"]
    assert re.search("quantization is None .*'none'", refusal(results, fresh))


@pytest.mark.parametrize("margin", [-0.1, math.nan, math.inf, True, "1"])
def test_a_margin_that_makes_no_sense_is_refused(results, margin):
    with pytest.raises(ThresholdError, match=f"^margin is {re.escape(repr(margin))};"):
        render(results, margin=margin)
