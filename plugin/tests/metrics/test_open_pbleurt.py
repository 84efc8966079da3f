import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ocg.errors import MetricError, ModelError
from pytest_ocg.metrics.base import ScoringContext
from pytest_ocg.metrics.bleurt_scorer import BleurtScorer
from pytest_ocg.metrics.pbleurt import PairwiseBleurt, open_pbleurt
from pytest_ocg.run.cache.cache import Cache

GOLDEN = Path(__file__).parents[1] / "golden" / "bleurt"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
KEY = (0, "cs001")


@pytest.fixture
def store(tmp_path):
    with Cache.open(tmp_path) as opened:
        yield opened


@pytest.fixture
def make_context():
    """Builds a scoring context on a store, with the checkpoint of the reference where no other is named."""

    def make(store, *, bleurt_model=str(GOLDEN), **more):
        values = {
            "perplexity_model": "none", "device": "cpu", "batch_size": None, "trust_remote_code": False,
            "allow_pickle": False, "progress": lambda *arguments: None, "notice": lambda text: None,
        }  # fmt: skip
        return ScoringContext(store=store, bleurt_model=bleurt_model, **{**values, **more})

    return make


def test_the_metric_of_a_context_refuses_a_checkpoint_that_scores_nonsense(make_context, store):
    calls = []
    metric = open_pbleurt(make_context(store, progress=lambda *arguments: calls.append(arguments)))
    with pytest.raises(
        MetricError, match=r"scores identical texts .*, unrelated texts .*; the difference must be at least 0\.3"
    ):
        metric.measure({KEY: ["a", "b"]})
    assert calls == [("pBLEURT", 0, 2)]
    assert store.scores(f"bleurt|{metric.signature().partition('|pairs')[0]}", ['["a","b"]']) == {}


def test_the_metric_of_a_context_names_its_checkpoint_in_the_signature(make_context, store):
    signature = open_pbleurt(make_context(store)).signature()
    assert signature.startswith("model:bleurt|version:")
    assert signature.endswith("|dtype:float32|max_tokens:512|recipe:1|pairs:ordered|mean:sets,templates")


def test_the_metric_of_a_context_refuses_an_unknown_checkpoint(make_context, store):
    with pytest.raises(
        ModelError, match="BLEURT model 'BLEURT-21' does not exist; did you mean 'BLEURT-20'\\? Choose BLEURT-20,"
    ):
        open_pbleurt(make_context(store, bleurt_model="BLEURT-21"))


def test_pbleurt_of_real_replies_is_the_mean_of_the_scores_of_bleurt_pytorch(store):
    scores = {tuple(row["pair"]): row["score"] for row in EXPECTED["pairs"]}
    places = [2, 3, 3]
    expected = [scores[one, other] for at, one in enumerate(places) for to, other in enumerate(places) if at != to]
    scorer = BleurtScorer(str(GOLDEN), device="cpu", checks_meaning=False)
    result = PairwiseBleurt(scorer, store).measure({KEY: [EXPECTED["texts"][place] for place in places]})
    assert result.score.value == pytest.approx(100 * sum(expected) / 6, abs=1e-3)


SECOND_RUN = """
import json, sys
from pathlib import Path
from pytest_ocg.run.cache.cache import Cache
from pytest_ocg.metrics.base import ScoringContext
from pytest_ocg.metrics.pbleurt import open_pbleurt

texts, cache, checkpoint = json.loads(sys.argv[1])
with Cache.open(Path(cache)) as store:
    context = ScoringContext(store, "none", checkpoint, "auto", None, False, False, print, print)
    value = open_pbleurt(context).measure({(0, "cs001"): texts}).score.value
print(json.dumps({"value": value, "imported": sorted({"torch", "transformers", "sentencepiece"} & set(sys.modules))}))
"""


def test_a_second_run_takes_all_scores_from_the_cache_and_imports_nothing_heavy(tmp_path):
    texts = ["A dog runs.", "The dog catches it.", "A dog runs."]
    with Cache.open(tmp_path) as store:
        scorer = BleurtScorer(str(GOLDEN), device="cpu", checks_meaning=False)
        first = PairwiseBleurt(scorer, store).measure({KEY: texts}).score.value
    arguments = json.dumps([texts, str(tmp_path), str(GOLDEN)])
    done = subprocess.run([sys.executable, "-W", "error", "-c", SECOND_RUN, arguments], capture_output=True, text=True)
    assert done.stderr == ""
    assert json.loads(done.stdout) == {"value": first, "imported": []}
