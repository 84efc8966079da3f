"""CommonGen-lite from the hub, played on this machine: a hub cache, a hub, and a server that never answers."""

from __future__ import annotations

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import types
from pathlib import Path

import pytest

from pytest_ocg.errors import ConceptError
from pytest_ocg.inputs import concept_sources
from pytest_ocg.inputs.concepts import load_dataset

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SHORT = {"concept_set": ["cat_N", "sleep_V", "sofa_N"]}
FOUR = {"concept_set": ["dog_N", "catch_V", "throw_V", "frisbee_N"], "human_annotations": []}
FOUR_MORE = {"concept_set": ["sit_V", "food_N", "front_N", "table_N"]}
LONG = {"concept_set": ["fix_V", "light_N", "roof_N", "shirt_N", "top_N"]}
ROWS = [SHORT, FOUR, LONG, FOUR_MORE]
WAYS_OUT = ("--ocg-concepts everyday", "--ocg-concepts PATH")


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    """An empty hub cache, with the network switched off for the hub's client."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def cache_files(hub_cache: Path, files: dict[str, str], reference: str = "main") -> Path:
    """The snapshot folder of a cached dataset repository with these files."""
    repository = hub_cache / "datasets--allenai--commongen_lite"
    snapshot = repository / "snapshots" / COMMIT
    for name, content in files.items():
        (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
        (snapshot / name).write_text(content, encoding="utf-8")
    (repository / "refs").mkdir(parents=True, exist_ok=True)
    (repository / "refs" / reference).write_text(COMMIT, encoding="utf-8")
    return snapshot


@pytest.mark.parametrize(
    "files",
    [
        {"commongen_hard_nohuman.json": json.dumps(ROWS), "README.md": "# Data", "other.json": "[]"},
        {"train.jsonl": "\n".join(map(json.dumps, ROWS)), "dataset_infos.json": "{}", ".cache/x.json": "[]"},
        {"data/train-00000-of-00001.json": json.dumps(ROWS), "data/test-00000-of-00001.json": "[]"},
    ],
)
def test_rows_of_other_than_four_concepts_are_dropped_and_counted(hub_cache, files):
    cache_files(hub_cache, files)
    dataset = load_dataset("commongen-lite")
    assert dataset.name == "commongen-lite"
    assert [(entry.id, len(entry.concepts)) for entry in dataset.sets] == [("cs000", 4), ("cs001", 4)]
    assert [str(concept) for concept in dataset.sets[0].concepts] == FOUR["concept_set"]
    assert dataset.dropped == 2


def test_a_pinned_revision_is_read_from_the_cache(hub_cache):
    cache_files(hub_cache, {"train.json": json.dumps(ROWS)}, reference="v1")
    assert len(load_dataset("commongen-lite", revision="v1").sets) == 2
    assert len(load_dataset("commongen-lite", revision=COMMIT).sets) == 2
    with pytest.raises(ConceptError, match=r"allenai/commongen_lite at revision 'v2' is not in the local hub cache"):
        load_dataset("commongen-lite", revision="v2")


@pytest.mark.parametrize("files", [None, {"README.md": "# Data"}])
def test_offline_and_not_cached_names_both_ways_out(hub_cache, files):
    if files:
        cache_files(hub_cache, files)
    with pytest.raises(ConceptError) as caught:
        load_dataset("commongen-lite")
    message = str(caught.value)
    assert message.startswith(
        "commongen-lite: allenai/commongen_lite is not in the local hub cache and the hub cannot be reached (offline)"
    )
    assert all(way in message for way in WAYS_OUT)
    assert "\n" not in message


def test_a_file_without_any_set_of_four_is_refused(hub_cache):
    snapshot = cache_files(hub_cache, {"train.json": json.dumps([SHORT, LONG])})
    with pytest.raises(ConceptError) as caught:
        load_dataset("commongen-lite")
    assert str(caught.value) == (
        f"{snapshot}/train.json[0]: none of the 2 rows has four concepts, so this is not commongen-lite"
    )


def test_parquet_is_read_where_there_is_no_json(hub_cache, monkeypatch):
    class Table:
        def to_pylist(self):
            return [{"concept_set": row["concept_set"]} for row in ROWS]

    def read_table(path, columns):
        assert (path.name, columns) == ("train-00000-of-00001.parquet", ["concept_set"])
        return Table()

    monkeypatch.setitem(sys.modules, "pyarrow", types.ModuleType("pyarrow"))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", types.SimpleNamespace(read_table=read_table))
    cache_files(hub_cache, {"data/train-00000-of-00001.parquet": "PAR1", "data/test-00000-of-00001.parquet": "PAR1"})
    assert len(load_dataset("commongen-lite").sets) == 2


def test_without_the_hubs_client_the_ways_out_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConceptError, match=r"huggingface_hub cannot be imported .*--ocg-concepts everyday"):
        concept_sources.commongen_lite_file()


HUB_FILES = {"README.md": b"# Data", "commongen_hard_nohuman.json": json.dumps(ROWS).encode()}


class PlayedHub(http.server.BaseHTTPRequestHandler):
    """What the hub answers for a dataset repository of two files."""

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path.startswith("/api/datasets/allenai/commongen_lite"):
            if path.endswith("/revision/nosuch"):
                return self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            siblings = [{"rfilename": name} for name in HUB_FILES]
            info = {"id": "allenai/commongen_lite", "sha": COMMIT, "siblings": siblings, "tags": [], "private": False}
            return self.answer(200, json.dumps(info).encode(), {"Content-Type": "application/json"})
        name = path.rpartition("/")[2]
        if path.startswith("/datasets/allenai/commongen_lite/resolve/") and name in HUB_FILES:
            return self.answer(200, HUB_FILES[name], {"ETag": '"abc"', "X-Repo-Commit": COMMIT})
        return self.answer(404, b"{}", {"X-Error-Code": "EntryNotFound"})

    do_HEAD = do_GET

    def answer(self, status, body, headers):
        self.send_response(status)
        for key, value in (headers | {"Content-Length": str(len(body))}).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


def load_in_a_process(home: Path, endpoint: str, *, revision: str | None = None, timeout_seconds: float = 10.0) -> str:
    """What a fresh process with this hub cache and this hub gets: its sets, or its error."""
    script = (
        "from pytest_ocg import errors\n"
        "from pytest_ocg.inputs import concepts, hub\n"
        f"hub.TIMEOUT_SECONDS = {timeout_seconds}\n"
        "try:\n"
        f"    found = concepts.load_dataset('commongen-lite', revision={revision!r})\n"
        "    print(len(found.sets), found.dropped)\n"
        "except errors.ConceptError as error:\n"
        "    print(error)\n"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    environment |= {
        "HF_HOME": str(home),
        "HF_ENDPOINT": endpoint,
        "NO_PROXY": "*",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "PYTHONPATH": str(Path(concept_sources.__file__).parents[2]),
    }
    process = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return process.stdout.strip()


def test_the_first_run_downloads_and_later_runs_need_no_network(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), PlayedHub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    try:
        assert load_in_a_process(tmp_path, endpoint) == "2 2"
        missing = load_in_a_process(tmp_path, endpoint, revision="nosuch")
    finally:
        server.shutdown()
        server.server_close()
    assert "allenai/commongen_lite has no revision 'nosuch'" in missing
    assert all(way in missing for way in WAYS_OUT)
    assert load_in_a_process(tmp_path, endpoint) == "2 2"


def test_a_server_that_accepts_and_never_answers_is_given_up(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        message = load_in_a_process(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_seconds=0.5)
    assert "the hub cannot be reached (" in message
    assert "timed out" in message
    assert all(way in message for way in WAYS_OUT)
