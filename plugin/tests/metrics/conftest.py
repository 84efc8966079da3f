import json
from pathlib import Path

import pytest

from pytest_ocg.metrics.base import ScoringContext
from pytest_ocg.run.cache.cache import Cache

GOLD = Path(__file__).parents[3].parent / "shared" / "data" / "coverage_gold.jsonl"


@pytest.fixture(scope="session")
def gold_rows():
    """Real replies of six models to the 192 concept sets: rows with `model`, `concept_set` and `sentence`."""
    if not GOLD.is_file():
        pytest.skip("needs the real replies of shared/data/coverage_gold.jsonl, which are not part of the project")
    return [json.loads(line) for line in GOLD.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def context_of(tmp_path):
    """Makes the context for a scoring model, with a store of its own for each call."""
    opened = []

    def make(model, **changes):
        opened.append(Cache.open(tmp_path / f"cache{len(opened)}"))
        plain = {
            "store": opened[-1],
            "perplexity_model": str(model),
            "bleurt_model": "",
            "device": "cpu",
            "batch_size": None,
            "trust_remote_code": False,
            "allow_pickle": False,
            "progress": lambda label, done, total: None,
            "notice": lambda text: pytest.fail(f"not expected: {text}"),
        }
        return ScoringContext(**{**plain, **changes})

    yield make
    for cache in opened:
        cache.close()
