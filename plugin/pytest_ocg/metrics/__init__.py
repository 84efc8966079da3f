"""The metrics by name: which there are, and the one called for, imported on use."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from pytest_ocg.errors import MetricError, did_you_mean
from pytest_ocg.metrics.base import Metric

if TYPE_CHECKING:
    from pytest_ocg.metrics.base import ScoreStore, ScoringContext

_NAME = re.compile(r"[a-z][a-z0-9_]*")

ORDER_METRICS = ("coverage_unordered", "coverage_ordered", "ordered_rate")
"""What every run has from its verdicts alone (`metrics.order`), in the order of the paper's tables."""

CHEAP_METRICS = ("pbleu", "distinct2", "distinct2_pooled", "diverse_rate")
"""What needs replies but no model, in the order of the paper's tables."""

KEPT_METRICS = ("pbleu",)
"""Those of them whose factory takes the store of scores, since looking a set up is quicker than measuring it."""

MODEL_METRICS = ("pbleurt", "perplexity")
"""What needs a scoring model, in the order of the paper's tables."""

MODEL_METRIC_PATHS: Mapping[str, str] = MappingProxyType(
    {
        "pbleurt": "pytest_ocg.metrics.pbleurt:open_pbleurt",
        "perplexity": "pytest_ocg.metrics.perplexity:open_perplexity",
    }
)

METRIC_PATHS: Mapping[str, str] = MappingProxyType(
    {
        "pbleu": "pytest_ocg.metrics.pbleu:PairwiseBleu",
        "distinct2": "pytest_ocg.metrics.diversity:Distinct",
        "distinct2_pooled": "pytest_ocg.metrics.diversity:PooledDistinct",
        "diverse_rate": "pytest_ocg.metrics.diversity:DiverseRate",
    }
)


def load_metric(name: str, paths: Mapping[str, str] = METRIC_PATHS, store: ScoreStore | None = None) -> Metric:
    """The metric called `name`, made by the `module:factory` that `paths` has for it.

    The factory is called without arguments, or with `store` if the metric is one of KEPT_METRICS. Raises MetricError
    for a name that `paths` does not have, with the nearest ones.
    """
    if name not in paths:
        raise MetricError(_unknown(name, paths))
    module, _, factory = paths[name].partition(":")
    make = cast("Callable[..., Metric]", getattr(import_module(module), factory))
    return make(store) if name in KEPT_METRICS else make()


def open_model_metric(name: str, context: ScoringContext) -> Metric:
    """The metric called `name`, one of MODEL_METRICS, whose model is loaded at the first text without a kept score."""
    module, _, factory = MODEL_METRIC_PATHS[name].partition(":")
    return cast("Callable[[ScoringContext], Metric]", getattr(import_module(module), factory))(context)


def choose_metrics(wanted: Sequence[str], *, has_gpu: bool, own: Sequence[str] = ()) -> tuple[str, ...]:
    """The metrics that `--ocg-metrics` stands for, beyond those that every run has.

    `cheap` is all that need no model, with those that hooks added, `own`; `all` those that do as well, `auto` all where
    there is a GPU and cheap where not. Raises MetricError for an unknown name, with the nearest ones, and for one of
    `own` that cannot stand in a table, an option and a file, or is a shipped metric's.
    """
    shipped = {*ORDER_METRICS, *METRIC_PATHS, *MODEL_METRIC_PATHS, "cheap", "all", "auto"}
    for name in own:
        if not _NAME.fullmatch(name) or name in shipped:
            raise MetricError(
                f"metric {name!r} cannot be added by that name: it must be lower-case letters, digits and _, and none "
                f"of {', '.join(sorted(shipped))}"
            )
    groups: dict[str, tuple[str, ...]] = {
        "cheap": (*CHEAP_METRICS, *own),
        "all": (*CHEAP_METRICS, *MODEL_METRICS, *own),
        **dict.fromkeys(ORDER_METRICS, ()),
    }
    groups["auto"] = groups["all" if has_gpu else "cheap"]
    groups.update({name: (name,) for name in (*METRIC_PATHS, *MODEL_METRIC_PATHS, *own)})
    for name in wanted:
        if name not in groups:
            known = dict.fromkeys((*METRIC_PATHS, *MODEL_METRIC_PATHS, *own, "cheap", "all"), "")
            raise MetricError(_unknown(name, known))
    return tuple(dict.fromkeys(name for one in wanted for name in groups[one]))


def _unknown(name: str, paths: Mapping[str, str]) -> str:
    if name in ORDER_METRICS:
        return f"metric {name!r} is part of every run and need not be asked for; to choose are {', '.join(paths)}"
    return f"unknown metric {name!r}{did_you_mean(name, paths, 3) or '.'} To choose are {', '.join(paths)}"
