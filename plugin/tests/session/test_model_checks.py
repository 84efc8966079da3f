"""A local model that cannot or may not be loaded: the user sees one message, before anything is generated."""

from __future__ import annotations

import json

import pytest

CONFIG = {"model_type": "llama", "vocab_size": 128256, "hidden_size": 8192}
OWN_CODE = {"model_type": "quark", "auto_map": {"AutoConfig": "own.Config"}}


def header_of(*shape):
    """A safetensors file of one tensor that ends where its weights would begin."""
    packed = json.dumps({"a": {"dtype": "BF16", "shape": shape, "data_offsets": [0, 0]}}).encode()
    return len(packed).to_bytes(8, "little") + packed


@pytest.mark.parametrize(
    ("config", "weights", "message"),
    [
        (
            CONFIG,
            ("model.safetensors", header_of(10**6, 10**9)),
            "4000000.0 GB in float32*--ocg-base-url",
        ),
        (
            CONFIG,
            ("pytorch_model.bin", b""),
            "pickles (pytorch_model.bin)*--ocg-allow-pickle*",
        ),
        (
            OWN_CODE,
            ("model.safetensors", header_of(2, 3)),
            "code*--ocg-trust-remote-code*",
        ),
        (
            CONFIG,
            ("README.md", b""),
            "no weights*[*].safetensors*",
        ),
        (
            CONFIG,
            ("model.safetensors", header_of(2, 3)),
            "no tokenizer*tokenizer[*]*",
        ),
    ],
    ids=["memory", "pickle", "own code", "no weights", "no tokenizer"],
)
def test_a_model_that_cannot_be_loaded_is_a_usage_error(config, weights, message, bench):
    folder = bench.path / "large"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    (folder / weights[0]).write_bytes(weights[1])
    result = bench.run_here("--ocg-device", "cpu", "-n", "2", model=str(folder))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: model '{folder}'*{message}"])
    assert not (bench.path / "ocg-results").exists()


def test_a_device_that_is_not_there_is_a_usage_error(bench, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    folder = bench.path / "small"
    folder.mkdir()
    for name, content in (
        ("config.json", json.dumps(CONFIG).encode()),
        ("model.safetensors", header_of(2, 3)),
        ("tokenizer.json", b"{}"),
    ):
        (folder / name).write_bytes(content)
    result = bench.run("--ocg-device", "cuda", model=str(folder))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: device 'cuda' *--ocg-device cpu*"])
    assert not (bench.path / "ocg-results").exists()


TOO_LARGE = """
import os
from pytest_ocg.backends.scripted import open_script
from pytest_ocg.errors import ModelError

class TooLarge:
    def __init__(self, backend):
        self.backend = backend
    def __getattr__(self, name):
        return getattr(self.backend, name)
    def check_loading(self, gpus):
        if "TOO_LARGE" in os.environ:
            raise ModelError("it does not fit")

def pytest_ocg_make_backend(spec, settings):
    return TooLarge(open_script(spec, settings, print))
"""


def test_a_model_too_large_for_this_machine_is_still_judged_where_the_cache_has_every_reply(bench, monkeypatch):
    bench.pytester.makeconftest(TOO_LARGE)
    monkeypatch.setenv("TOO_LARGE", "yes")
    refused = bench.run()
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["ERROR: it does not fit"])
    monkeypatch.delenv("TOO_LARGE")
    assert bench.run("--ocg-sets", "2").parseoutcomes()["missed"] == 36
    monkeypatch.setenv("TOO_LARGE", "yes")
    assert bench.run().ret == pytest.ExitCode.USAGE_ERROR
    assert bench.run("--ocg-sets", "2").parseoutcomes()["missed"] == 36
    assert bench.run("--ocg-sets", "2", "--ocg-refresh").ret == pytest.ExitCode.USAGE_ERROR
