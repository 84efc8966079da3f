from __future__ import annotations

import json

import pytest

from pytest_ocg.backends.huggingface import gguf as gguf_files
from pytest_ocg.errors import ModelError

gguf = pytest.importorskip("gguf", reason="needs the extra `gguf`")

NAMES = {
    "embed_tokens": "token_embd",
    "norm": "output_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
HEADS = {"self_attn.q_proj": 4, "self_attn.k_proj": 2}


def _tensors(model):
    """The model's weights under their GGUF names, with the rotary halves of queries and keys interleaved."""
    for name, weight in model.model.state_dict().items():
        path = name.removesuffix(".weight").split(".")
        block, path = (f"blk.{path[1]}.", path[2:]) if path[0] == "layers" else ("", path)
        key, array = ".".join(path), weight.numpy()
        if key in HEADS:
            rows, columns = array.shape
            array = array.reshape(HEADS[key], 2, rows // HEADS[key] // 2, columns).swapaxes(1, 2).reshape(rows, columns)
        yield f"{block}{NAMES[key]}.weight", array.copy()


@pytest.fixture
def tiny_llama(tmp_path, make_model, make_tokenizer, save_model):
    """The same tiny Llama as a GGUF file and as a folder."""
    changes = {"tie_word_embeddings": True, "rms_norm_eps": 1e-6}
    model, tokenizer = make_model("Llama", **changes), make_tokenizer()
    path = tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_block_count(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(16)
    writer.add_vocab_size(400)
    vocabulary = tokenizer.get_vocab()
    words = sorted(vocabulary, key=vocabulary.__getitem__)
    words += [f"<unused{place}>" for place in range(400 - len(words))]
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(words)
    writer.add_token_types([3 if place < 4 else 1 for place in range(len(words))])
    writer.add_token_merges([" ".join(merge) for merge in merges])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_chat_template(tokenizer.chat_template)
    for name, array in _tensors(model):
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path, save_model("Llama", **changes)


def test_a_gguf_file_gives_the_same_replies_as_the_model_in_a_folder(tiny_llama, backend_of, make_prompt):
    file, folder = tiny_llama
    prompts = [make_prompt("dog"), make_prompt("dog", "catch", "frisbee")]
    assert backend_of(file).generate(prompts) == backend_of(folder).generate(prompts)


def test_a_gguf_file_is_parsed_once(tiny_llama, backend_of, make_prompt, monkeypatch):
    file, _ = tiny_llama
    read = []

    class Reader(gguf.GGUFReader):
        def __init__(self, *arguments):
            read.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(gguf, "GGUFReader", Reader)
    backend_of(file).generate([make_prompt("dog")])
    assert len(read) == 1
    assert gguf.GGUFReader is Reader


@pytest.mark.parametrize("quantization", ["4bit", "8bit"])
def test_a_gguf_file_is_quantized_when_asked_for(quantization, tiny_llama, backend_of, make_prompt):
    file, folder = tiny_llama
    prompts = [make_prompt("dog"), make_prompt("dog", "catch", "frisbee")]
    backend = backend_of(file, quantization=quantization)
    replies = backend.generate(prompts)
    assert backend.provenance()["quantized_layers"] == 14
    if quantization == "4bit":
        assert replies == backend_of(folder, quantization=quantization).generate(prompts)


def test_without_the_reading_package_the_message_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr(gguf_files.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="needs the package gguf; run `pip install gguf`"):
        gguf_files.require_gguf(tmp_path / "a.gguf")
