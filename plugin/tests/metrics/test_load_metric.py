import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from pytest_ocg.errors import MetricError
from pytest_ocg.inputs.published import load_published
from pytest_ocg.metrics import catalogue, load_metric


@pytest.mark.parametrize("name", catalogue.needing("replies"))
def test_every_listed_metric_loads_under_its_own_name_and_has_a_recipe(name):
    metric = load_metric(name)
    assert metric.name == name
    assert re.fullmatch(r"[^|:]+:[^|]+(\|[^|:]+:[^|]+)*", metric.signature())


def test_metrics_are_in_the_order_of_the_papers_table():
    columns = list(next(iter(load_published().table1.values())).values)
    assert list(catalogue.published_metrics()) == columns


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pblue", "unknown metric 'pblue'; did you mean 'pbleu'? "),
        ("distinct3", "unknown metric 'distinct3'; did you mean 'distinct2' or 'distinct2_pooled'? "),
        ("", "unknown metric ''. Choose from pbleu, distinct2, "),
        ("ordered_rate", "metric 'ordered_rate' is part of every run; remove it from the list, or choose from pbleu, "),
    ],
)
def test_an_unknown_name_is_refused_with_what_was_meant(name, message):
    with pytest.raises(MetricError, match="^" + re.escape(message)):
        load_metric(name)


def test_a_metric_is_made_by_the_factory_that_the_catalogue_names(monkeypatch):
    facts = replace(catalogue.METRICS["diverse_rate"], title="mine")
    monkeypatch.setattr(catalogue, "METRICS", {"mine": facts})
    assert load_metric("mine").name == "diverse_rate"


def test_importing_the_metrics_imports_nothing_heavy():
    code = (
        "import sys, pytest_ocg.metrics, pytest_ocg.metrics.pbleu, pytest_ocg.metrics.diversity, "
        "pytest_ocg.metrics.order, pytest_ocg.inputs.published\n"
        "sys.exit(', '.join(sorted({'numpy', 'sacrebleu', 'torch', 'spacy', 'transformers'} & set(sys.modules))) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
