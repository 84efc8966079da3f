"""Keeps the model libraries' log lines, warnings and progress bars off the terminal while a model works."""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partialmethod
from typing import Any

_LOGGERS = ("transformers", "huggingface_hub", "accelerate", "bitsandbytes", "torch", "gguf")


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Silence below errors, put back as it was afterwards, whatever happens inside."""
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
        bar: Any = importlib.import_module("tqdm.std").tqdm  # some bars are drawn past both switches
        stack.callback(setattr, bar, "__init__", bar.__init__)
        bar.__init__ = partialmethod(bar.__init__, disable=True)
        for name in _LOGGERS:
            logger = logging.getLogger(name)
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.ERROR)
        yield
