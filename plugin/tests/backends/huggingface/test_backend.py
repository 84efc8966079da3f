from __future__ import annotations

import itertools
import logging
import warnings

import pytest

from pytest_ocg.backends.base import ErrorKind
from pytest_ocg.backends.huggingface import backend as huggingface
from pytest_ocg.backends.huggingface import decoding, loading
from pytest_ocg.errors import BackendError
from pytest_ocg.inputs.models import ModelSpec

torch = pytest.importorskip("torch")

WORDS = ("dog", "catch", "frisbee", "throw", "apple", "tree", "child", "man")
SAMPLING = {
    "do_sample": True,
    "temperature": 0.7,
    "top_p": 0.5,
    "top_k": 3,
    "repetition_penalty": 1.9,
    "no_repeat_ngram_size": 2,
    "eos_token_id": [1, 3],
    "pad_token_id": 1,
}


@pytest.fixture(scope="session")
def prompts(make_prompt):
    """24 prompts of two to four words."""
    orders = [order[: 2 + place % 3] for place, order in enumerate(itertools.permutations(WORDS[:4]))]
    return [make_prompt(*order) for order in orders]


def _texts(generations):
    return [generation.text for generation in generations]


@pytest.mark.parametrize("architecture", ["Llama", "GPT2", "Mamba"])
def test_replies_do_not_depend_on_the_batch(architecture, save_model, backend_of, prompts):
    folder = save_model(architecture)
    together = backend_of(folder).generate(prompts)
    alone = backend_of(folder, batch_size=1)
    assert together == [generation for prompt in prompts for generation in alone.generate([prompt])]
    assert len(set(_texts(together))) > 1


def test_decoding_is_greedy_even_if_the_checkpoint_samples(save_model, backend_of, prompts):
    plain = backend_of(save_model(name="plain")).generate(prompts)
    backend = backend_of(save_model(name="sampling", generation=SAMPLING))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replies = backend.generate(prompts)
    assert _texts(replies) == _texts(plain)
    used = backend.provenance()["effective_decoding"]
    assert (used["do_sample"], used["repetition_penalty"], used["temperature"]) == (False, 1.0, None)
    assert used["ignored"] == {key: SAMPLING[key] for key in sorted(SAMPLING) if not key.endswith("token_id")}
    assert used["end_tokens"] == [1, 3]


def test_the_fallback_is_greedy_too(save_model, backend_of, prompts, monkeypatch):
    plain = backend_of(save_model(name="plain")).generate(prompts)
    monkeypatch.setattr(loading, "step_limit", lambda model: 0)
    backend = backend_of(save_model(name="sampling", generation=SAMPLING))
    assert _texts(backend.generate(prompts)) == _texts(plain)
    assert backend.provenance()["prefix_reuse"] is False


def test_provenance_records_how_replies_were_generated(save_model, backend_of, prompts):
    backend = backend_of(save_model())
    before = backend.provenance()
    assert "threads" not in before
    backend.generate(prompts)
    after = backend.provenance()
    assert after.items() >= backend.identity().items()
    assert after["batch_size"] == 96
    assert after["prefix_reuse"] is True
    assert after["system_role"] == "native"
    assert after["threads"] == torch.get_num_threads()
    assert after["versions"]["torch"] == torch.__version__
    assert after["quantized_layers"] == 0
    assert len(after["chat_template"]) == 64


def test_token_counts_exclude_padding_and_end_tokens(save_model, backend_of, make_prompt, make_tokenizer):
    folder = save_model()
    short, long = make_prompt("dog"), make_prompt(*WORDS)
    first, second = backend_of(folder).generate([short, long])
    tokenizer = make_tokenizer()
    for generation, prompt in ((first, short), (second, long)):
        chat = [{"role": turn.role, "content": turn.content} for turn in prompt.messages]
        expected = tokenizer(tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True))
        assert generation.prompt_tokens == len(expected["input_ids"])
    assert first.completion_tokens <= 12


def test_a_reply_that_reaches_the_cap_has_the_finish_reason_length(save_model, backend_of, prompts):
    generations = backend_of(save_model(), max_new_tokens=2).generate(prompts)
    capped = [generation for generation in generations if generation.completion_tokens == 2]
    assert capped
    assert {generation.finish_reason for generation in capped if generation.text} == {"length"}


def _patch_reply(monkeypatch, tokens, is_finished=True):
    monkeypatch.setattr(
        huggingface, "decode", lambda model, rows, plan: [decoding.Reply(tuple(tokens), is_finished)] * len(rows)
    )


@pytest.mark.parametrize(
    ("reply", "spec", "is_finished", "text", "error"),
    [
        (" A dog. ", {}, True, "A dog.", None),
        ("A dog.<|im_end|>\n<|im_start|>user\nMore?", {}, False, "A dog.", None),
        ("A dog.</s>", {}, True, "A dog.", None),
        ("", {}, True, None, ErrorKind.EMPTY),
        ("", {}, False, None, ErrorKind.TRUNCATED),
        ("<think>Hm</think>A dog.", {}, True, "A dog.", None),
        ("<think>Hm", {}, False, None, ErrorKind.TRUNCATED),
        ("<think>Hm</think>", {}, True, None, ErrorKind.EMPTY),
        ("<T>Hm</T><O>A dog.</O>", {"reasoning": ("<T>", "</T>"), "answer": ("<O>", "</O>")}, True, "A dog.", None),
    ],
)
def test_only_the_answer_is_the_reply(
    reply, spec, is_finished, text, error, save_model, backend_of, make_prompt, make_tokenizer, monkeypatch
):
    folder = save_model()
    backend = backend_of(folder, spec=ModelSpec("tiny", "huggingface", str(folder), **spec))
    _patch_reply(monkeypatch, make_tokenizer()(reply, add_special_tokens=False)["input_ids"], is_finished)
    [generation] = backend.generate([make_prompt("dog")])
    assert (generation.text, generation.error) == (text, error)


@pytest.mark.parametrize(
    ("reply", "text", "error"),
    [("Hm", None, ErrorKind.TRUNCATED), ("Hm</think>A dog.", "A dog.", None)],
)
def test_a_reasoning_block_that_the_prompt_opens_must_be_closed(
    reply, text, error, save_model, backend_of, make_prompt, make_tokenizer, monkeypatch
):
    template = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}<think>\n"
    backend = backend_of(save_model(template=template))
    _patch_reply(monkeypatch, make_tokenizer()(reply, add_special_tokens=False)["input_ids"])
    [generation] = backend.generate([make_prompt("dog")])
    assert (generation.text, generation.error) == (text, error)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("not enough memory: 9")])
def test_out_of_memory_halves_the_batch_and_continues(error, save_model, backend_of, prompts, monkeypatch):
    folder = save_model()
    expected = backend_of(folder).generate(prompts)
    sizes = []

    def decode(model, rows, plan):
        sizes.append(len(rows))
        if len(rows) > 7:
            raise error
        return decoding.decode(model, rows, plan)

    monkeypatch.setattr(huggingface, "decode", decode)
    notices = []
    backend = backend_of(folder, notice=notices.append, batch_size=24)
    assert backend.generate(prompts) == expected
    assert sizes == [24, 12, 6, 6, 6, 6]
    assert backend.provenance()["batch_size"] == 6
    assert notices == [
        "out of memory with 24 prompts at once: continuing with batches of 12",
        "out of memory with 12 prompts at once: continuing with batches of 6",
    ]
    backend.generate(prompts)
    assert sizes[6:] == [6] * 4


def test_the_cap_must_fit_the_context(save_model, backend_of, make_prompt):
    backend = backend_of(save_model(), max_new_tokens=500)
    with pytest.raises(BackendError, match=r"'tiny' has a context of 512 tokens; .* up to 500 .* --ocg-max-new-tokens"):
        backend.generate([make_prompt("dog")])


def test_nothing_is_generated_after_closing(save_model, backend_of, make_prompt):
    backend = backend_of(save_model())
    assert backend.generate([]) == []
    backend.close()
    with pytest.raises(BackendError, match="'tiny' was asked to generate after it was closed"):
        backend.generate([make_prompt("dog")])


def test_the_libraries_print_nothing_to_the_terminal(save_model, backend_of, prompts, capfd):
    folder = save_model(generation=SAMPLING)
    level = logging.getLogger("transformers").level
    capfd.readouterr()
    backend_of(folder).generate(prompts)
    backend_of(folder, quantization="8bit").generate(prompts[:2])
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("transformers").level == level
