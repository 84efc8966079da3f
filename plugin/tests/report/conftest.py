from __future__ import annotations

import itertools

import pytest

from plugin.tests.nouns import record_of, results_of
from pytest_ocg.inputs.published import PAPER_SHA256

METRICS = {
    "coverage_unordered": 97.512, "coverage_ordered": 75.25, "ordered_rate": 77.17, "pbleu": 17.6, "pbleurt": 41.9,
    "distinct2": 92.8, "distinct2_pooled": 70.1, "diverse_rate": 93.7, "perplexity": 52.46,
}  # fmt: skip
CELLS = {name: METRICS[name] for name in ("coverage_unordered", "coverage_ordered", "ordered_rate", "diverse_rate")}


@pytest.fixture
def make_run():
    """Builds the results and records of a whole run; by its results it is on the paper's cases."""

    def make(model="gemma2-9b", *, condition="ordered", published_as="Gemma2-9B", reply="The dog runs."):
        row = {
            "model": model, "condition": condition, "published_as": published_as,
            "metrics": {name: {"value": value} for name, value in METRICS.items()},
            "by_template": {"0": CELLS, "1": {**CELLS, "coverage_ordered": 70.0}},
            "by_pattern": {"NNVV": CELLS},
            "counts": {"planned": 48, "selected": 48, "hit": 36, "miss": 12},
            "made_by": [{"replies": 48, "source": "google/gemma-2-9b-it"}],
        }  # fmt: skip
        results = results_of(
            {
                "run": {"versions": {"spacy": "3.8.18"}},
                "rows": [row],
                "dataset": {"name": "commongen-lite", "sha256": PAPER_SHA256, "sets": 192},
                "selection": {"templates": [0, 1, 2, 3, 4, 5]},
                "matcher": "inflection|spacy:3.8.18",
                "gate": {
                    "verdicts": [{"model": model, "status": "failed", "reasons": ["coverage_ordered 75.3 under 80.0"]}],
                },
            }
        )  # fmt: skip
        records = [
            record_of(
                model=model, condition=condition, pattern="NNVV", concepts=list(asked), reply=reply,
                positions=[[1], [2], [3], [4]],
            )
            for asked in itertools.permutations(("dog", "park", "run", "walk"))
        ]  # fmt: skip
        return results, records

    return make
