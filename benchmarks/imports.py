"""The cost of the plugin in a session that does not use it, and the start of `ocg`."""

from __future__ import annotations

import subprocess
import sys
import time

from rows import Row

CODE = """
import sys, time
import pytest
started = time.perf_counter()
import pytest_ocg.plugin
spent = time.perf_counter() - started
heavy = [name for name in ("torch", "transformers", "spacy", "openai", "numpy", "sacrebleu") if name in sys.modules]
print(spent * 1e3, ",".join(heavy) or "none")
"""


def measure() -> list[Row]:
    """Rows for the import of the plugin after pytest and for `ocg models`; each is the best of five."""
    outputs = [
        subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(5)
    ]
    heavy = {loaded for _, loaded in outputs}
    best = min(float(spent) for spent, _ in outputs)
    bare = _fastest_seconds("-c", "pass")
    started = _fastest_seconds("-m", "pytest_ocg.cli", "models") - bare
    return [
        Row("importing the plugin where it is not used, in ms", f"heavy modules: {', '.join(heavy)}", best, at_most=50),
        Row("`ocg models` from start to end, in seconds beyond Python's own start", "", started, at_most=0.3),
    ]


def _fastest_seconds(*arguments: str) -> float:
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
        seconds.append(time.perf_counter() - started)
    return min(seconds)
