from __future__ import annotations

import itertools

import pytest

from pytest_ocg.report import summary_table as table

METRICS = {
    "coverage_unordered": 97.512, "coverage_ordered": 75.25, "ordered_rate": 77.17, "pbleu": 17.6, "pbleurt": 41.9,
    "distinct2": 92.8, "distinct2_pooled": 70.1, "diverse_rate": 93.7, "perplexity": 52.46,
}  # fmt: skip
CELLS = {name: METRICS[name] for name in ("coverage_unordered", "coverage_ordered", "ordered_rate", "diverse_rate")}


@pytest.fixture
def make_run():
    """Builds the results and records of a whole run, on the paper's own cases if by the results."""

    def make(model="gemma2-9b", *, condition="ordered", published_as="Gemma2-9B", reply="The dog runs."):
        row = {
            "model": model, "condition": condition, "shots": 0, "published_as": published_as,
            "metrics": {name: {"value": value, "reason": None} for name, value in METRICS.items()},
            "by_template": {"0": dict(CELLS), "1": {**CELLS, "coverage_ordered": 70.0}},
            "by_pattern": {"NNVV": dict(CELLS)},
            "counts": {
                "planned": 48, "selected": 48, "hit": 36, "miss": 12, "error": 0, "not_run": 0, "cached": 0, "echo": 0,
                "truncated": 0, "errors": {},
            },
            "made_by": [{"replies": 48, "source": "google/gemma-2-9b-it"}],
        }  # fmt: skip
        results = {
            "run": {"started": "2026-11-30T10:00:00+00:00", "python": "3.11.7", "versions": {"spacy": "3.8.18"}},
            "rows": [row],
            "dataset": {"name": "commongen-lite", "sha256": table.PAPER_SHA256, "sets": 192, "dropped": 0},
            "selection": {"sets": None, "shard": None, "complete": True, "templates": [0, 1, 2, 3, 4, 5], "shots": 0},
            "matcher": "inflection|spacy:3.8.18",
            "gate": {
                "verdicts": [{"model": model, "status": "failed", "reasons": ["coverage_ordered 75.3 under 80.0"]}],
            },
        }  # fmt: skip
        records = [
            {
                "model": model, "condition": condition, "shots": 0, "template": 0, "set": "cs000", "pattern": "NNVV",
                "concepts": list(asked), "outcome": "hit", "reply": reply, "covered": True, "in_order": True,
                "positions": [[1], [2], [3], [4]], "echo": False,
            }
            for asked in itertools.permutations(("dog", "park", "run", "walk"))
        ]  # fmt: skip
        return results, records

    return make
