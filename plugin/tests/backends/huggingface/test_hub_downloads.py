"""A model on a simulated hub: the requests before a download, and their number during one."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from pytest_ocg.backends.huggingface import hub

pytest.importorskip("huggingface_hub")

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "acme/dog-70b"
WEIGHTS = "model.safetensors"
PROCESSES = 3
TIMEOUT_SECONDS = 60


class SimulatedHub(http.server.BaseHTTPRequestHandler):
    """The answers of the hub for a model; weights are sent only after `crowd` processes have asked about them."""

    files: dict[str, bytes]
    counts: dict[str, int] | None
    requests: Counter[tuple[str, str]]
    crowd = 0
    crowded: threading.Event

    def do_HEAD(self):
        self.serve()

    def do_GET(self):
        self.serve()

    def serve(self):
        path = self.path.partition("?")[0]
        name = path.rpartition("/")[2]
        if path == f"/api/models/{NAME}/tree/{COMMIT}":
            tree = [{"type": "file", "path": name, "size": len(body), "oid": name} for name, body in self.files.items()]
            self.answer(json.dumps(tree).encode(), {"Content-Type": "application/json"})
        elif path.startswith(f"/api/models/{NAME}"):
            self.answer(self.info(), {"Content-Type": "application/json"})
        elif path == f"/{NAME}/resolve/{COMMIT}/{name}" and name in self.files:
            self.requests[self.command, name] += 1
            if self.requests["HEAD", WEIGHTS] >= self.crowd:
                self.crowded.set()
            if (self.command, name) == ("GET", WEIGHTS):
                self.crowded.wait(TIMEOUT_SECONDS)
            self.answer(self.files[name], {"ETag": f'"{name}"', "X-Repo-Commit": COMMIT})
        else:
            self.answer(b"{}", {"X-Error-Code": "EntryNotFound"}, status=404)

    def info(self):
        answer = {"id": NAME, "sha": COMMIT, "private": False, "tags": [], "gated": False}
        answer["siblings"] = [{"rfilename": name} for name in self.files]
        if self.counts is not None:
            answer["safetensors"] = {"parameters": self.counts, "total": sum(self.counts.values())}
        return json.dumps(answer).encode()

    def answer(self, body, headers, status=200):
        self.send_response(status)
        for key, value in (headers | {"Content-Length": str(len(body))}).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def simulate_hub(tmp_path):
    """Simulates a hub with these files of the model; returns its handler and a function that starts Python with it."""
    servers = []

    def start(files, counts=None, crowd=0):
        state = {"files": files, "counts": counts, "requests": Counter(), "crowd": crowd, "crowded": threading.Event()}
        handler = type("Handler", (SimulatedHub,), state)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
        environment |= {
            "HF_HOME": str(tmp_path / "home"),
            "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "NO_PROXY": "*",
            "PYTHONPATH": str(Path(hub.__file__).parents[3]),
        }

        def run(script):
            return subprocess.Popen(
                [sys.executable, "-c", script],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )

        return handler, run

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_workers_that_start_at_once_download_nothing_twice(simulate_hub):
    files = {"config.json": b"{}", "tokenizer.json": b"{}", WEIGHTS: b"weights" * 1000}
    handler, run = simulate_hub(files, crowd=PROCESSES)
    script = (
        "from pytest_ocg.backends.huggingface import hub\n"
        f"print(hub.download({NAME!r}, {COMMIT!r}, allow_pickle=False, notice=lambda text: None))\n"
    )
    workers = [run(script) for _ in range(PROCESSES)]
    answers = [worker.communicate(timeout=2 * TIMEOUT_SECONDS) for worker in workers]
    assert [error for _, error in answers] == [""] * PROCESSES
    [folder] = {Path(output.strip()) for output, _ in answers}
    assert {name: (folder / name).read_bytes() for name in files} == files
    assert handler.requests["HEAD", WEIGHTS] >= PROCESSES
    assert {name: handler.requests["GET", name] for name in files} == dict.fromkeys(files, 1)


@pytest.mark.parametrize(
    ("present", "is_whole"),
    [
        (("model.safetensors", "tokenizer.json"), True),
        (("model.safetensors",), False),
        (("tokenizer.json",), False),
        (("model-00001-of-00002.safetensors", "tokenizer.json"), False),
        (("pytorch_model.bin", "tokenizer.json"), True),
    ],
)
def test_a_download_under_way_in_another_worker_is_not_a_complete_model(present, is_whole, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / f"models--{NAME.replace('/', '--')}" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    for name in ("config.json", *present):
        (snapshot / name).touch()
    assert hub.whole_snapshot(NAME, COMMIT) == (snapshot if is_whole else None)


CHECK = (
    "from pytest_ocg.backends.base import GenerationSettings\n"
    "from pytest_ocg.backends.huggingface.devices import Memory\n"
    "from pytest_ocg.backends.huggingface import backend as huggingface\n"
    "from pytest_ocg.errors import ModelError\n"
    "from pytest_ocg.inputs.models import ModelSpec\n"
    "huggingface.memory_of = lambda device, gpus: Memory(8 * 10**9, 0)\n"
    f"spec = ModelSpec('dog', 'huggingface', {NAME!r})\n"
    "backend = huggingface.HuggingFaceBackend(spec, GenerationSettings(device='cpu'))\n"
    "try:\n"
    "    print(backend.check_loading(None))\n"
    "except ModelError as error:\n"
    "    print(error)\n"
)


@pytest.mark.parametrize(
    ("config", "counts", "message"),
    [
        (
            {"vocab_size": 128256},
            {"BF16": 70 * 10**9, "F32": 10**9},
            "does not fit into memory: * about 284.0 GB in float32",
        ),
        ({"vocab_size": 128256}, {"BF16": 10**9}, "None"),
        ({"vocab_size": 128256}, None, "None"),
        (
            {"auto_map": {"AutoConfig": "a.B"}, "model_type": "quark"},
            None,
            "needs code from its own repository; read that",
        ),
    ],
)
def test_a_model_is_checked_before_its_weights_are_downloaded(config, counts, message, simulate_hub):
    handler, run = simulate_hub({"config.json": json.dumps(config).encode(), WEIGHTS: b"", "a.py": b""}, counts)
    output, error = run(CHECK).communicate(timeout=TIMEOUT_SECONDS)
    assert error == ""
    assert all(part in output for part in message.split(" * "))
    assert {name for command, name in handler.requests if command == "GET"} == {"config.json"}
