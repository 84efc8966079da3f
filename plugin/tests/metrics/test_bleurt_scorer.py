import gc
import json
import random
import shutil
import weakref
from pathlib import Path

import pytest

from pytest_ocg.backends.huggingface import hub
from pytest_ocg.errors import MetricError, ModelError
from pytest_ocg.metrics import bleurt_scorer
from pytest_ocg.metrics.bleurt_scorer import BleurtScorer

GOLDEN = Path(__file__).parents[1] / "golden" / "bleurt"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
PAIRS = [tuple(EXPECTED["texts"][place] for place in row["pair"]) for row in EXPECTED["pairs"]]
SCORES = [row["score"] for row in EXPECTED["pairs"]]
CUT = {place for place, row in enumerate(EXPECTED["pairs"]) if row["is_cut"]}
SHORT = PAIRS[3:9]


def scorer_of(folder: Path = GOLDEN, **changes) -> BleurtScorer:
    return BleurtScorer(str(folder), **{"device": "cpu", "checks_meaning": False, **changes})


def scored(scorer: BleurtScorer, pairs):
    parts = list(scorer.score(pairs))
    scores = {place: score for part in parts for place, score in part.scores.items()}
    return [scores[place] for place in range(len(pairs))]


@pytest.fixture
def copied(tmp_path):
    shutil.copytree(GOLDEN, tmp_path / "bleurt")
    return tmp_path / "bleurt"


@pytest.fixture
def batches(monkeypatch):
    """The sizes of the batches that reach the model, in pairs and in the tokens of the longest."""
    seen = []
    real = bleurt_scorer.score_encoded

    def score_encoded(loaded, batch):
        seen.append((len(batch), max(len(pair.tokens) for pair in batch)))
        return real(loaded, batch)

    monkeypatch.setattr(bleurt_scorer, "score_encoded", score_encoded)
    return seen


@pytest.mark.parametrize("batch_size", [None, 1, 5, 1000])
def test_all_scores_are_those_of_bleurt_pytorch_and_cut_pairs_are_reported(batch_size):
    parts = list(scorer_of(batch_size=batch_size).score(PAIRS))
    scores = {place: score for part in parts for place, score in part.scores.items()}
    assert [scores[place] for place in range(len(PAIRS))] == pytest.approx(SCORES, abs=1e-5)
    assert sum(len(part.scores) for part in parts) == len(PAIRS)
    assert set().union(*(part.cut for part in parts)) == CUT


def test_the_order_of_the_pairs_changes_no_bit_of_a_score():
    mixed = list(range(len(PAIRS)))
    random.Random(3).shuffle(mixed)
    scores = scored(scorer_of(), PAIRS)
    assert scored(scorer_of(), [PAIRS[place] for place in mixed]) == [scores[place] for place in mixed]


def test_batches_hold_pairs_of_like_length_longest_first_and_about_as_many_tokens(batches):
    scored(scorer_of(), PAIRS)
    sizes, longest = zip(*batches, strict=True)
    assert list(longest) == sorted(longest, reverse=True)
    assert max(size * tokens for size, tokens in batches) <= bleurt_scorer.BATCH_TOKENS["cpu"]
    assert sizes[0] == 4
    assert max(sizes) > 20


def test_a_given_batch_size_is_the_maximum_of_pairs_in_a_batch(batches):
    scored(scorer_of(batch_size=9), PAIRS)
    assert max(size for size, _ in batches) == 9
    assert batches[0] == (4, 512)


@pytest.mark.parametrize("batch_size", [None, 8])
def test_out_of_memory_halves_the_batch_with_a_notice_and_the_same_scores(monkeypatch, batch_size):
    asked, said = [], []
    real = bleurt_scorer.score_encoded

    def short_of_memory(loaded, batch):
        asked.append(len(batch))
        if len(batch) > 3:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return real(loaded, batch)

    monkeypatch.setattr(bleurt_scorer, "score_encoded", short_of_memory)
    scores = scored(scorer_of(batch_size=batch_size, notice=said.append), PAIRS)
    assert scores == pytest.approx(SCORES, abs=1e-5)
    assert said[0].startswith("pBLEURT: out of memory with ")
    failures = [size for size in asked if size > 3]
    assert 0 < len(failures) == len(said) < 9


def test_a_single_pair_that_does_not_fit_is_an_error_with_a_way_out(monkeypatch):
    def out_of_memory(loaded, batch):
        raise MemoryError

    monkeypatch.setattr(bleurt_scorer, "score_encoded", out_of_memory)
    with pytest.raises(ModelError, match="on cpu: out of memory with a single pair; use a smaller checkpoint such as"):
        scored(scorer_of(), SHORT)


def test_another_error_of_the_model_is_not_taken_for_one_of_memory(monkeypatch):
    def broken(loaded, batch):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(bleurt_scorer, "score_encoded", broken)
    with pytest.raises(RuntimeError, match="shapes"):
        scored(scorer_of(), SHORT)


def test_texts_no_tokenizer_expects_have_finite_scores():
    texts = ["", "\x00", "\ud800", "\U0001f415", "dog " * 10_000]
    scores = scored(scorer_of(), [(one, other) for one in texts for other in texts])
    assert all(abs(score) < 10 for score in scores)


def test_no_pairs_load_nothing(monkeypatch):
    monkeypatch.setattr(bleurt_scorer, "load_bleurt", lambda *arguments, **more: pytest.fail("loaded"))
    assert list(scorer_of().score([])) == []


def test_closing_frees_the_model_and_scoring_again_loads_it_again(monkeypatch):
    made = []
    real = bleurt_scorer.load_bleurt

    def load_bleurt(*arguments, **more):
        loaded = real(*arguments, **more)
        made.append(weakref.ref(loaded.model))
        return loaded

    monkeypatch.setattr(bleurt_scorer, "load_bleurt", load_bleurt)
    scorer = scorer_of()
    first = scored(scorer, SHORT)
    scored(scorer, SHORT)
    assert len(made) == 1
    scorer.close()
    gc.collect()
    assert made[0]() is None
    assert scored(scorer, SHORT) == first
    assert len(made) == 2


def test_the_identity_has_the_content_and_not_the_place_of_the_checkpoint(copied):
    assert scorer_of(copied).identity() == scorer_of().identity()
    name, content, *rest = scorer_of().identity().split("|")
    assert (name, rest) == ("model:bleurt", ["dtype:float32", "max_tokens:512", "recipe:1"])
    (copied / "spm.model").write_bytes(b"other")
    assert content.startswith("version:")
    assert scorer_of(copied).identity().split("|")[1] != content


def test_the_identity_of_a_hub_checkpoint_has_its_commit(monkeypatch):
    monkeypatch.setattr(hub, "look_up", lambda name, revision: ("c" * 40, ["model.safetensors"]))
    expected = f"model:lucadiliello/BLEURT-20|version:{'c' * 16}|dtype:float32|max_tokens:512|recipe:1"
    assert BleurtScorer("BLEURT-20").identity() == expected


def test_pickles_on_the_hub_are_refused_with_the_option_that_allows_them(monkeypatch):
    monkeypatch.setattr(hub, "look_up", lambda name, revision: ("c" * 40, ["pytorch_model.bin", "spm.model"]))
    with pytest.raises(
        ModelError, match=r"'lucadiliello/BLEURT-20': its weights are pickles .* pass --ocg-allow-pickle"
    ):
        BleurtScorer("BLEURT-20").identity()
    assert "version:cc" in BleurtScorer("BLEURT-20", allow_pickle=True).identity()


def test_pickles_in_a_folder_are_refused_before_anything_is_read(copied):
    (copied / "model.safetensors").rename(copied / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"its weights are pickles \(pytorch_model\.bin\).* pass --ocg-allow-pickle"):
        scored(scorer_of(copied), SHORT)


def test_a_checkpoint_that_is_not_there_offline_is_a_model_error(tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=r"'lucadiliello/BLEURT-20' is not in the local hub cache and the hub can"):
        scored(BleurtScorer("BLEURT-20"), SHORT)


def test_a_checkpoint_that_scores_nonsense_is_refused_and_not_kept():
    scorer = scorer_of(checks_meaning=True)
    for _ in range(2):
        with pytest.raises(
            MetricError, match=r"identical texts 1\.\d+ and 1\.\d+, unrelated texts 1\.\d+ and 1\.\d+; the"
        ):
            scored(scorer, SHORT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"), [("BLEURT-20", (0.9990497, 0.7930182)), ("BLEURT-20-D12", (0.9604414, 0.808005))]
)
def test_the_real_checkpoints_score_as_published(name, expected):
    if not hub.is_cached(f"lucadiliello/{name}", None):
        pytest.skip(f"needs lucadiliello/{name} in the local hub cache")
    bird = "a bird chirps by the window"
    pairs = [(bird, bird), ("this is a random sentence", "this looks like a random sentence")]
    scores = scored(BleurtScorer(name, device="cpu", allow_pickle=True), pairs)
    assert scores == pytest.approx(expected, abs=1e-3)
