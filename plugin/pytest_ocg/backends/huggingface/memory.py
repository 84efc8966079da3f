"""Gives memory back to the machine and its accelerator."""

from __future__ import annotations

import gc
import sys
from typing import Any


def free_memory() -> None:
    """Drop what nothing refers to any more, and return what torch, if it was imported, holds in reserve."""
    gc.collect()
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch.backends.mps.is_available():
        torch.mps.empty_cache()
