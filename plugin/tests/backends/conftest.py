"""Tiny random models with their own tokenizer, saved to folders in milliseconds."""

from __future__ import annotations

import json
import warnings

import pytest

from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.huggingface.backend import HuggingFaceBackend
from pytest_ocg.inputs.models import ModelSpec

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SENTENCES = (
    "You are a helpful assistant. Please generate only an answer.",
    "Concepts: dog catch frisbee throw Write a sentence that includes all these words in the specified order. Answer:",
    "A man throws a frisbee and his dog runs to catch it, while a child eats an apple under the tree.",
    "system user assistant think",
)
SPECIAL = ("<s>", "</s>", "<|im_start|>", "<|im_end|>")
WORDS = ("dog", "catch", "frisbee", "throw", "apple", "tree", "child", "man")


@pytest.fixture(scope="session")
def make_tokenizer():
    """Builds a byte-level BPE tokenizer, with a chat template or without."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    def make(template: str | None = CHATML, *, adds_start: bool = False, pad_token: str | None = "</s>"):
        inner = Tokenizer(models.BPE())
        inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        inner.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=list(SPECIAL),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        inner.train_from_iterator(SENTENCES, trainer)
        if adds_start:
            inner.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=inner, bos_token="<s>", eos_token="</s>", pad_token=pad_token
        )
        tokenizer.chat_template = template
        return tokenizer

    return make


@pytest.fixture(scope="session")
def make_model():
    """Builds a small random model of an architecture, with several layers, heads and grouped keys."""
    import torch
    import transformers

    shape = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 400}
    grouped = {**shape, "num_key_value_heads": 2, "intermediate_size": 64, "max_position_embeddings": 512}

    def make(architecture: str, **changes):
        sizes = {
            "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 400, "n_positions": 512},
            "Bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 400},
            "Mamba": {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 400, "state_size": 4},
            "Gemma2": {**grouped, "head_dim": 8, "query_pre_attn_scalar": 8},
        }.get(architecture, grouped)
        tokens = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
        head = "GPT2LMHeadModel" if architecture == "GPT2" else f"{architecture}ForCausalLM"
        torch.manual_seed(7)
        values = {**sizes, **tokens, "initializer_range": 0.6, **changes}
        config = getattr(transformers, f"{architecture}Config")(**values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(transformers, head)(config).eval()

    return make


@pytest.fixture
def save_model(tmp_path, make_model, make_tokenizer):
    """Saves a model folder and returns its path; `generation` is the content of its generation config."""

    def save(architecture="Llama", *, template=CHATML, generation=None, tokenizer=None, name="tiny", **changes):
        folder = tmp_path / name
        model = make_model(architecture, **changes)
        model.save_pretrained(folder)
        (tokenizer or make_tokenizer(template)).save_pretrained(folder)
        if generation is not None:
            (folder / "generation_config.json").write_text(json.dumps(generation))
        return folder

    return save


@pytest.fixture
def backend_of():
    """Opens a backend on a saved folder, and closes it afterwards."""
    opened = []

    def make(folder, *, notice=lambda text: None, spec=None, **settings):
        spec = spec or ModelSpec(folder.name, "huggingface", str(folder))
        settings = {"max_new_tokens": 12, "device": "cpu", **settings}
        opened.append(HuggingFaceBackend(spec, GenerationSettings(**settings), notice))
        return opened[-1]

    yield make
    for backend in opened:
        backend.close()


@pytest.fixture
def hosted(monkeypatch):
    """Servers that simulate faults, and the backends that ask them."""
    from plugin.tests.backends.openai.fault_server import KEY, Hosted

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Hosted() as opened:
        yield opened
