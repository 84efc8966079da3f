from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from pytest_ocg.backends.huggingface.decoding import (
    Decoding,
    Reply,
    _decode_by_generate,
    _decode_in_own_loop,
    decode,
    shared_prefix,
    step_limit,
)

torch = pytest.importorskip("torch")

CAP = 14
ARCHITECTURES = ["Llama", "Mistral", "Qwen2", "Qwen3", "Gemma2", "GPT2", "Olmo2", "Phi3", "Bloom", "Mamba"]


@pytest.fixture(scope="module")
def prompts():
    """Token ids of 10 prompts that share nine tokens, of 12 to 17 tokens each."""
    source = random.Random(3)
    start = [source.randrange(4, 400) for _ in range(9)]
    return [start + [source.randrange(4, 400) for _ in range(3 + place % 6)] for place in range(10)]


def _alone(model, prompt) -> Reply:
    """The reply of a bare `model.generate` to one prompt without padding or end tokens."""
    tokens = torch.tensor([prompt])
    output = model.generate(
        input_ids=tokens,
        attention_mask=torch.ones_like(tokens),
        do_sample=False,
        max_new_tokens=CAP,
        eos_token_id=None,
        pad_token_id=1,
    )
    return Reply(tuple(output[0, len(prompt) :].tolist()), False)


def _stopped(reply: Reply, stop_tokens) -> Reply:
    end = next((place for place, token in enumerate(reply.tokens) if token in stop_tokens), None)
    return Reply(reply.tokens[:end], end is not None)


def _token_that_ends_half(replies) -> int:
    counts = Counter(token for reply in replies for token in set(reply.tokens))
    return min(sorted(counts), key=lambda token: abs(counts[token] - len(replies) / 2))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_batch_gets_the_same_replies_as_single_prompts(architecture, make_model, prompts):
    model = make_model(architecture)
    model.generation_config.eos_token_id = None
    endless = [_alone(model, prompt) for prompt in prompts]
    stop_tokens = frozenset({_token_that_ends_half(endless)})
    expected = [_stopped(reply, stop_tokens) for reply in endless]
    assert {reply.is_finished for reply in expected} == {True, False}
    model.generation_config.update(
        do_sample=False, max_new_tokens=CAP, eos_token_id=sorted(stop_tokens), pad_token_id=1
    )
    plan = Decoding(stop_tokens, 1, CAP, step_limit(model))
    assert decode(model, prompts, plan) == expected
    assert _decode_by_generate(model, prompts, plan) == expected


@pytest.mark.parametrize("architecture", ["Llama", "Mistral", "Qwen2", "Qwen3", "Gemma2", "GPT2", "Olmo2", "Phi3"])
def test_plain_decoders_use_the_loop_that_shares_the_prefix(architecture, make_model):
    assert step_limit(make_model(architecture)) >= 500


@pytest.mark.parametrize(
    ("architecture", "changes", "limit"),
    [
        ("Mamba", {}, 0),
        ("Bloom", {}, 0),
        ("Gemma2", {"sliding_window": 30}, 29),
        ("Mistral", {"sliding_window": 40}, 39),
        ("Mistral", {"sliding_window": None}, 512),
        ("Llama", {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}}, 0),
    ],
)
def test_other_decoders_and_longer_prompts_use_generate(architecture, changes, limit, make_model):
    assert step_limit(make_model(architecture, **changes)) == limit


@pytest.mark.parametrize("window", [24, 31, 64])
def test_replies_are_the_same_when_prompts_outgrow_a_sliding_window(window, make_model, prompts):
    model = make_model("Mistral", sliding_window=window)
    model.generation_config.update(do_sample=False, max_new_tokens=CAP, eos_token_id=None, pad_token_id=1)
    expected = [_alone(model, prompt) for prompt in prompts]
    assert decode(model, prompts, Decoding(frozenset(), 1, CAP, step_limit(model))) == expected


def test_a_model_with_its_own_code_uses_generate(make_model):
    model = make_model("Llama")
    model.__class__ = type("Custom", (type(model),), {"__module__": "transformers_modules.custom"})
    assert step_limit(model) == 0


@pytest.mark.parametrize(
    ("rows", "shared"),
    [
        ([[1, 2, 3]], 0),
        ([[1, 2, 3], [1, 2, 4]], 2),
        ([[1, 2, 3], [1, 2, 3]], 2),
        ([[1, 2], [1, 2, 3]], 1),
        ([[5, 2], [1, 2]], 0),
        ([[1], [1, 2, 3]], 0),
        ([[1, 2, 3, 9], [1, 2, 3, 4, 5], [1, 2, 7, 4]], 2),
    ],
)
def test_the_shared_prefix_leaves_every_prompt_a_token(rows, shared):
    assert shared_prefix(rows) == shared


def test_the_shared_prefix_does_not_depend_on_the_order_of_prompts(prompts):
    rows = prompts[:4]
    assert {shared_prefix(order) for order in itertools.permutations(rows)} == {9}


@pytest.mark.parametrize("count", [1, 2, 10])
def test_a_cap_of_one_token_gives_one_token(count, make_model, prompts):
    replies = decode(make_model("Llama"), prompts[:count], Decoding(frozenset(), 1, 1, 512))
    assert [len(reply.tokens) for reply in replies] == [1] * count
    assert not any(reply.is_finished for reply in replies)


def test_the_shared_prefix_is_computed_once_and_finished_rows_leave_the_batch(make_model, prompts):
    model = make_model("Llama")
    endless = _decode_in_own_loop(model, prompts, Decoding(frozenset(), 1, CAP, 512))
    stop_tokens = frozenset(reply.tokens[3] for reply in endless[:4])
    shapes = []
    handle = model.register_forward_pre_hook(
        lambda module, arguments, named: shapes.append(tuple(named["input_ids"].shape)), with_kwargs=True
    )
    _decode_in_own_loop(model, prompts, Decoding(stop_tokens, 1, CAP, 512))
    handle.remove()
    assert shapes[:2] == [(1, 9), (10, 8)]
    assert {width for _, width in shapes[2:]} == {1}
    heights = [height for height, _ in shapes[2:]]
    assert heights == sorted(heights, reverse=True)
    assert heights[-1] < 10
