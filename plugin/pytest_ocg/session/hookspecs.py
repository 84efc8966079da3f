"""Hooks of our own: how a conftest or another plugin adds a backend, models or metrics."""

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
    """Return the source of replies for this model, or None to leave it to others.

    Called in every process that runs tests, and once before that where the run is planned.
    """


@pytest.hookspec
def pytest_ocg_models() -> Mapping[str, ModelSpec]:
    """Return models to add to the registry, by short name; they stand before shipped ones of the same name."""
    raise NotImplementedError


@pytest.hookspec
def pytest_ocg_metrics() -> Mapping[str, Callable[[], Metric]]:
    """Return metrics to add, by name, each with what makes it; they are measured like those that need no model."""
    raise NotImplementedError
