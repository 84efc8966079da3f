from __future__ import annotations

import struct

import pytest

from pytest_ocg.backends.huggingface.footprint import ModelSize, size_of, weights_bytes
from pytest_ocg.backends.huggingface.gguf import read_gguf_header
from pytest_ocg.backends.huggingface.sources import Source


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def pair(key, kind, content):
    return text(key) + struct.pack("<I", kind) + content


def texts(*values):
    return struct.pack("<IQ", 8, len(values)) + b"".join(map(text, values))


def tensor(name, *shape):
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, 0)


PAIRS = (
    pair("general.architecture", 8, text("llama")),
    pair("tokenizer.ggml.tokens", 9, texts("a", "bc", "")),
    pair("tokenizer.ggml.scores", 9, struct.pack("<IQ3f", 6, 3, 0.0, 1.0, 2.0)),
    pair("nested", 9, struct.pack("<IQ", 9, 2) + texts("x") + texts()),
    pair("llama.block_count", 4, struct.pack("<I", 80)),
    pair("llama.attention.head_count", 10, struct.pack("<Q", 64)),
    pair("llama.attention.head_count_kv", 4, struct.pack("<I", 8)),
    pair("llama.embedding_length", 4, struct.pack("<I", 8192)),
    pair("tokenizer.ggml.add_bos_token", 7, b"\1"),
)
TENSORS = (tensor("token_embd.weight", 8192, 128256), tensor("blk.0.attn_q.weight", 8192, 8192), tensor("norm", 8192))
WHOLE = b"GGUF" + struct.pack("<IQQ", 3, len(TENSORS), len(PAIRS)) + b"".join((*PAIRS, *TENSORS))
PARAMETERS = 8192 * 128256 + 8192 * 8192 + 8192


@pytest.fixture
def file(tmp_path):
    """A GGUF file of a large model with only a header."""
    (tmp_path / "large.gguf").write_bytes(WHOLE)
    return tmp_path / "large.gguf"


def test_a_header_has_single_values_and_the_number_of_weights(file):
    header = read_gguf_header(file)
    assert header.parameters == PARAMETERS
    assert header.values == {
        "general.architecture": "llama",
        "llama.block_count": 80,
        "llama.attention.head_count": 64,
        "llama.attention.head_count_kv": 8,
        "llama.embedding_length": 8192,
        "tokenizer.ggml.add_bos_token": True,
    }


def test_a_gguf_file_is_unpacked_in_full_before_it_is_quantized(file):
    size = size_of(Source("gguf", "large", content="0" * 64, path=file), {})
    assert size == ModelSize(PARAMETERS, PARAMETERS, None, 163_840)
    assert {weights_bytes(size, "float32", kind) for kind in ("none", "4bit", "8bit")} == {4 * PARAMETERS}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGUF",
        b"GGUF and more",
        b"GGML" + WHOLE[4:],
        WHOLE[:4] + struct.pack("<I", 1) + WHOLE[8:],
        WHOLE[:4] + struct.pack(">I", 3) + WHOLE[8:],
        WHOLE[:-1],
        WHOLE[:100],
        WHOLE[:8] + b"\xff" * 40,
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + pair("key", 99, b"\0" * 8),
    ],
)
def test_an_incomplete_header_or_unknown_version_gives_none(content, file):
    file.write_bytes(content)
    assert read_gguf_header(file) is None
    assert size_of(Source("gguf", "large", content="0" * 64, path=file), {}) is None


def test_the_header_agrees_with_the_reading_package(tmp_path):
    gguf = pytest.importorskip("gguf", reason="needs the extra `gguf`")
    numpy = pytest.importorskip("numpy")
    path = tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_token_list(["a", "b"])
    writer.add_tensor("token_embd.weight", numpy.zeros((3, 5), dtype="float32"))
    writer.add_tensor("output_norm.weight", numpy.zeros(5, dtype="float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    header = read_gguf_header(path)
    assert header.parameters == sum(int(tensor.n_elements) for tensor in gguf.GGUFReader(path).tensors) == 20
    assert (header.values["general.architecture"], header.values["llama.block_count"]) == ("llama", 2)
