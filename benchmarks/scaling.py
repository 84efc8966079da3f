"""Wall time by number of workers and shards, with a model that only sleeps.

A run of another version of the script judges the replies before, so that no worker loads spaCy. On a machine with few
cores the start of spaCy in eight workers would hide everything else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rows import Row

SETS = 8
BATCH_CASES = 12
BATCHES = SETS * 24 * 6 // BATCH_CASES
SECONDS_A_BATCH = 1.5
MODEL = """
from pytest_ocg.backends.scripted import SCRIPTS, ScriptedBackend


def pytest_ocg_make_backend(spec, settings):
    return ScriptedBackend(SCRIPTS["quarter"], version={version!r}, batch_size={cases}, delay_seconds={seconds})
"""


def run(folder: Path, name: str, *parts: tuple[str, ...], seconds_a_batch: float = SECONDS_A_BATCH) -> float:
    """Seconds until the last of several sessions ends; they start together, and each has its own options."""
    (folder / "conftest.py").write_text(MODEL.format(version=name, cases=BATCH_CASES, seconds=seconds_a_batch))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    started = time.perf_counter()
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "--rootdir", str(folder), "-p", "no:cacheprovider"),
                *("--pyargs", "ocg_tests", "--model", "scripted:quarter", "--ocg-concepts", "everyday"),
                *("--ocg-sets", str(SETS), "--ocg-cache", "cache"),
                *("--ocg-output", f"out-{name}-{number}", *options),
            ],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        for number, options in enumerate(parts)
    ]
    codes = [process.wait() for process in processes]
    if not set(codes) <= {0, 1}:
        raise SystemExit(f"sessions of {name!r} ended with status {codes}")
    return time.perf_counter() - started


def measure() -> list[Row]:
    """Rows for efficiency: the time of one worker over workers times their time, with the start of every process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        run(folder, "judged before", (), seconds_a_batch=0.0)
        one = run(folder, "one", ("-n", "1"))
        rows = []
        for workers, least in ((2, 0.9), (4, 0.85), (8, 0.7)):
            seconds = run(folder, f"workers{workers}", ("-n", str(workers)))
            rows.append(_row(f"{workers} workers", one, seconds, workers, least))
        for shards, workers, least in ((2, 2, 0.85), (4, 2, 0.7)):
            parts = [("--ocg-shard", f"{number}/{shards}", "-n", str(workers)) for number in range(1, shards + 1)]
            seconds = run(folder, f"shards{shards}", *parts)
            rows.append(_row(f"{shards} shards of {workers} workers", one, seconds, shards * workers, least))
        return rows


def _row(what: str, one: float, seconds: float, processes: int, least: float) -> Row:
    return Row(
        f"efficiency of {what}, {BATCHES} batches of {SECONDS_A_BATCH:g} s",
        f"{seconds:.1f} s against {one:.1f} s with one worker",
        one / (processes * seconds),
        at_least=least,
    )
