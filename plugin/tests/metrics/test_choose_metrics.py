"""The metrics that an option selects."""

import pytest

from pytest_ocg.errors import MetricError
from pytest_ocg.metrics import catalogue, choose_metrics

CHEAP_METRICS, MODEL_METRICS = catalogue.needing("replies"), catalogue.needing("model")


@pytest.mark.parametrize(
    ("wanted", "has_gpu", "chosen"),
    [
        (("cheap",), True, CHEAP_METRICS),
        (("all",), False, (*CHEAP_METRICS, *MODEL_METRICS)),
        (("auto",), False, CHEAP_METRICS),
        (("auto",), True, (*CHEAP_METRICS, *MODEL_METRICS)),
        (("perplexity",), False, ("perplexity",)),
        (("cheap", "perplexity"), False, (*CHEAP_METRICS, "perplexity")),
        (("pbleu", "cheap"), False, ("pbleu", *(name for name in CHEAP_METRICS if name != "pbleu"))),
        (("coverage_ordered",), False, ()),
    ],
)
def test_groups_and_names_stand_for_metrics_each_once(wanted, has_gpu, chosen):
    assert choose_metrics(wanted, has_gpu=has_gpu) == chosen


@pytest.mark.parametrize(("wrong", "near"), [("perplexty", "perplexity"), ("chaep", "cheap"), ("pblue", "pbleu")])
def test_an_unknown_name_is_answered_with_the_nearest(wrong, near):
    with pytest.raises(MetricError, match=f"unknown metric '{wrong}'.*'{near}'"):
        choose_metrics((wrong,), has_gpu=False)
