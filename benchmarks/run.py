"""Run the named benchmarks, or all: `python benchmarks/run.py [imports] [lemmas] [sessions] [generation] ...`."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path

NAMES = ("imports", "lemmas", "pbleu", "sessions", "generation", "perplexity", "calibration", "scaling")


def main(chosen: list[str]) -> int:
    """Print each row when it is measured; the exit status is the number of limits that do not hold."""
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; choose from {', '.join(NAMES)}", file=sys.stderr)
        return 2
    print("      measured         limit  what")
    broken = 0
    for name in chosen or NAMES:
        started = time.perf_counter()
        for row in importlib.import_module(name).measure():
            print(row.line(), flush=True)
            broken += not row.holds
        print(f"      ({name} took {time.perf_counter() - started:.0f} s)", flush=True)
    return broken


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main(sys.argv[1:]))
