"""Whole pytest sessions: a warm run of the full benchmark compared with plain pytest, and the time per case."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rows import Row

FULL = 27_648
NOT_USUAL = (
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
)  # some containers set these, and both sides would start more slowly
PLAIN = "import pytest\n\n\n@pytest.mark.parametrize('number', range({cases}))\ndef test_plain(number):\n    pass\n"


@dataclass(frozen=True, slots=True)
class Session:
    """The time of a session and its highest memory."""

    seconds: float
    peak_megabytes: float


def run(folder: Path, *arguments: str) -> Session:
    """Run pytest in the folder; exit status 1, for misses, is accepted."""
    environment = {name: value for name, value in os.environ.items() if name not in NOT_USUAL}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--rootdir", str(folder), "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    if code not in (0, 1):
        raise SystemExit(f"pytest {' '.join(arguments)} ended with status {code}")
    return Session(time.perf_counter() - started, usage.ru_maxrss / 1024)


def ours(sets: int, condition: str = "ordered") -> list[str]:
    """Arguments of a scripted run over `sets` concept sets; one case in four hits."""
    return [
        *("--pyargs", "ocg_tests", "--model", "scripted:quarter", "--ocg-concepts", "everyday"),
        *("--ocg-sets", str(sets), "--ocg-condition", condition, "--ocg-cache", "cache"),
    ]


def measure() -> list[Row]:
    """Rows for the warm run, its memory, and the time per case at three sizes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "test_plain.py").write_text(PLAIN.format(cases=FULL))
        run(folder, *ours(192, "both"))
        plain, warm = [], []
        for _ in range(2):
            plain.append(run(folder, "test_plain.py"))
            warm.append(run(folder, *ours(192)))
        small = min(run(folder, *ours(16)).seconds for _ in range(2))
        none = min(run(folder, *ours(1), "--ocg-templates", "0").seconds for _ in range(2))
        double = run(folder, *ours(192, "both")).seconds
        best_plain, best_warm = min(plain, key=_seconds), min(warm, key=_seconds)
        per_case = {
            2_304: (small - none) / 2_304,
            FULL: (best_warm.seconds - none) / FULL,
            2 * FULL: (double - none) / (2 * FULL),
        }
        spread = max(per_case.values()) / min(per_case.values())
        shown = ", ".join(f"{seconds * 1e3:.2f} ms at {cases:,}" for cases, seconds in per_case.items())
        return [
            Row(
                f"warm run of {FULL:,} cases, 3 of 4 missed, against plain pytest passing as many",
                f"{best_warm.seconds:.1f} s against {best_plain.seconds:.1f} s",
                best_warm.seconds / best_plain.seconds,
                at_most=1.0,
            ),
            Row(
                f"its memory, in MB (plain pytest: {best_plain.peak_megabytes:.0f})",
                "",
                best_warm.peak_megabytes,
                at_most=400,
            ),
            Row("time per case, slowest size against fastest", shown, spread, at_most=1.2),
        ]


def _seconds(session: Session) -> float:
    return session.seconds
