"""The metrics by name: which there are, and the one called for, imported on use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from types import MappingProxyType
from typing import cast

from pytest_ocg.errors import MetricError
from pytest_ocg.metrics.base import Metric

ORDER_METRICS = ("coverage_unordered", "coverage_ordered", "ordered_rate")
"""What every run has from its verdicts alone (`metrics.order`), in the order of the paper's tables."""

CHEAP_METRICS = ("pbleu", "distinct2", "distinct2_pooled", "diverse_rate")
"""What needs replies but no model, in the order of the paper's tables."""

METRIC_PATHS: Mapping[str, str] = MappingProxyType(
    {
        "pbleu": "pytest_ocg.metrics.pbleu:PairwiseBleu",
        "distinct2": "pytest_ocg.metrics.diversity:Distinct",
        "distinct2_pooled": "pytest_ocg.metrics.diversity:PooledDistinct",
        "diverse_rate": "pytest_ocg.metrics.diversity:DiverseRate",
    }
)


def load_metric(name: str, paths: Mapping[str, str] = METRIC_PATHS) -> Metric:
    """The metric called `name`, made by the `module:factory` that `paths` has for it, called without arguments.

    Raises MetricError for a name that `paths` does not have, with the nearest ones.
    """
    if name not in paths:
        raise MetricError(_unknown(name, paths))
    module, _, factory = paths[name].partition(":")
    return cast("Callable[[], Metric]", getattr(import_module(module), factory))()


def _unknown(name: str, paths: Mapping[str, str]) -> str:
    if name in ORDER_METRICS:
        return f"metric {name!r} is part of every run and need not be asked for; to choose are {', '.join(paths)}"
    near = [repr(match) for match in get_close_matches(name, paths)]
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"unknown metric {name!r}: {hint}To choose are {', '.join(paths)}"
