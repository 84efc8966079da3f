"""Running model libraries: smaller batches when memory runs out, freed memory, and no log lines on the terminal."""

from __future__ import annotations

import gc
import importlib
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partialmethod
from typing import Any, Generic, TypeVar

from pytest_ocg.errors import BackendError


def free_memory() -> None:
    """Collect garbage, and free the memory that torch, if it was imported, holds in reserve."""
    gc.collect()
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch.backends.mps.is_available():
        torch.mps.empty_cache()


_LOGGERS = ("transformers", "huggingface_hub", "accelerate", "bitsandbytes", "torch", "gguf")


@contextmanager
def silence_libraries() -> Iterator[None]:
    """Turns off warnings, progress bars and log lines below errors; restores them at the end, even on an exception."""
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        bars: Any = importlib.import_module("huggingface_hub.utils")
        if not bars.are_progress_bars_disabled():
            bars.disable_progress_bars()
            stack.callback(bars.enable_progress_bars)
        messages: Any = importlib.import_module("transformers.utils.logging")
        if messages.is_progress_bar_enabled():
            messages.disable_progress_bar()
            stack.callback(messages.enable_progress_bar)
        bar: Any = importlib.import_module("tqdm.std").tqdm  # some bars ignore both switches
        stack.callback(setattr, bar, "__init__", bar.__init__)
        bar.__init__ = partialmethod(bar.__init__, disable=True)
        for name in _LOGGERS:
            logger = logging.getLogger(name)
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.ERROR)
        yield


Item = TypeVar("Item")
Result = TypeVar("Result")

_OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory",
                  "cublas_status_alloc_failed")  # fmt: skip

_WAY_OUT = "pass --ocg-quantization 4bit, a smaller --ocg-max-new-tokens, or a device with more memory"


@dataclass(frozen=True, slots=True)
class Batched(Generic[Result]):
    """Results in the order of their items, and the batch size that worked in the end."""

    results: list[Result]
    size: int


def run_in_batches(
    items: Sequence[Item],
    size: int,
    run: Callable[[Sequence[Item]], list[Result]],
    *,
    free_memory: Callable[[], None],
    notice: Callable[[str], None],
    noun: str = "prompt",
    way_out: str = _WAY_OUT,
) -> Batched[Result]:
    """The results of `run` over all items, `size` at a time; if memory runs out, the batch stays at half its size.

    Raises BackendError with the `way_out` if a single item does not fit; `noun` is the name of an item.
    """
    results: list[Result] = []
    while len(results) < len(items):
        batch = items[len(results) : len(results) + size]
        made = _try_batch(batch, run)
        if made is not None:
            results += made
            continue
        # We free memory only here: while the exception is handled, its traceback still refers to the tensors.
        free_memory()
        if len(batch) == 1:
            raise BackendError(f"out of memory with a single {noun}; {way_out}")
        size = len(batch) // 2
        notice(f"out of memory with {len(batch)} {noun}s at once: continuing with batches of {size}")
    return Batched(results, size)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the error means that memory ran out, on any device of torch."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(phrase in str(error).lower() for phrase in _OUT_OF_MEMORY)


def _try_batch(batch: Sequence[Item], run: Callable[[Sequence[Item]], list[Result]]) -> list[Result] | None:
    try:
        return run(batch)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return None
