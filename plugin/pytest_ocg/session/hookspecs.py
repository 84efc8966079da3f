"""The hooks of this plugin: a conftest or another plugin adds a backend, models or metrics with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_ocg.backends.base import Backend, GenerationSettings
    from pytest_ocg.inputs.models import ModelSpec
    from pytest_ocg.metrics.base import Metric


@pytest.hookspec(firstresult=True)
def pytest_ocg_make_backend(spec: ModelSpec, settings: GenerationSettings) -> Backend | None:
    """Return the backend that generates replies for this model, or None if another hook or the shipped backend does it.

    Called in every process that runs tests, and once before, in the process that plans the run.
    """


@pytest.hookspec
def pytest_ocg_models() -> Mapping[str, ModelSpec]:
    """Return models to add to the registry, by short name; they replace shipped models of the same name."""
    raise NotImplementedError


@pytest.hookspec
def pytest_ocg_metrics() -> Mapping[str, Callable[[], Metric]]:
    """Return metrics to add: names, and functions that make them. They are measured like metrics without a model."""
    raise NotImplementedError
