import json
from pathlib import Path

import pytest

GOLD = Path(__file__).parents[3].parent / "shared" / "data" / "coverage_gold.jsonl"


@pytest.fixture(scope="session")
def gold_rows():
    """Real replies of six models to the 192 concept sets: rows with `model`, `concept_set` and `sentence`."""
    if not GOLD.is_file():
        pytest.skip("needs the real replies of shared/data/coverage_gold.jsonl, which are not part of the project")
    return [json.loads(line) for line in GOLD.read_text(encoding="utf-8").splitlines()]
