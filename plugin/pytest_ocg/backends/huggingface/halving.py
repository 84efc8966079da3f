"""Runs work in batches, and in smaller ones once memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pytest_ocg.errors import BackendError

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
    """The results of `run` over all items, `size` at a time; out of memory, the batch is halved and kept so.

    Raises BackendError where a single item does not fit, with the `way_out`; `noun` is what the items are called.
    """
    results: list[Result] = []
    while len(results) < len(items):
        batch = items[len(results) : len(results) + size]
        made = _attempt(batch, run)
        if made is not None:
            results += made
            continue
        # Freed only here: while the exception is handled, its traceback still holds the tensors.
        free_memory()
        if len(batch) == 1:
            raise BackendError(f"out of memory with a single {noun}; {way_out}")
        size = len(batch) // 2
        notice(f"out of memory with {len(batch)} {noun}s at once: going on with batches of {size}")
    return Batched(results, size)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the error is how torch, on whatever device, says that memory ran out."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _OUT_OF_MEMORY)


def _attempt(batch: Sequence[Item], run: Callable[[Sequence[Item]], list[Result]]) -> list[Result] | None:
    try:
        return run(batch)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return None
