"""What the plugin costs a session that does not use it."""

from __future__ import annotations

import subprocess
import sys

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
    """One row: milliseconds for importing the plugin after pytest, the best of five."""
    outputs = [
        subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(5)
    ]
    heavy = {loaded for _, loaded in outputs}
    best = min(float(spent) for spent, _ in outputs)
    return [
        Row("importing the plugin where it is not used, in ms", f"heavy modules: {', '.join(heavy)}", best, at_most=50)
    ]
