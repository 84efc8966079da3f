"""Where replies come from: one file per source, each behind the seam in `base`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pytest_ocg.backends.base import Backend, GenerationSettings
from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.models import ModelSpec

BACKENDS: Mapping[str, str] = MappingProxyType(
    {
        "huggingface": "pytest_ocg.backends.huggingface.backend:HuggingFaceBackend",
        "openai": "pytest_ocg.backends.openai.backend:OpenAIBackend",
        "replay": "pytest_ocg.backends.replay:ReplayBackend",
        "scripted": "pytest_ocg.backends.scripted:open_script",
    }
)


def open_backend(spec: ModelSpec, settings: GenerationSettings, notice: Callable[[str], None]) -> Backend:
    """The backend that the spec names, not yet loaded; raises ModelError for an unknown backend."""
    path = BACKENDS.get(spec.backend)
    if path is None:
        raise ModelError(
            f"model {spec.name!r} needs the backend {spec.backend!r}, which this version does not have; "
            f"the backends are {', '.join(BACKENDS)}. To judge replies made elsewhere pass --ocg-outputs FILE"
        )
    module, _, name = path.partition(":")
    make: Any = getattr(importlib.import_module(module), name)
    backend: Backend = make(spec, settings, notice)
    return backend
