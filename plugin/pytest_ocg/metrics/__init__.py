"""Metrics by name: load one, imported on use, or choose those that an option selects."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

from pytest_ocg.errors import MetricError, did_you_mean
from pytest_ocg.metrics import catalogue

if TYPE_CHECKING:
    from pytest_ocg.metrics.base import Metric, ScoreStore, ScoringContext

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def load_metric(name: str, store: ScoreStore | None = None) -> Metric:
    """The metric of this name, one that needs no scoring model.

    Its factory is called with `store` if the catalogue has `has_stored_scores`, otherwise without arguments. Raises
    MetricError for an unknown name, with the most similar names.
    """
    names = catalogue.needing("replies")
    if name not in names:
        raise MetricError(_unknown(name, names))
    make = _factory(name)
    return cast("Metric", make(store) if catalogue.METRICS[name].has_stored_scores else make())


def open_model_metric(name: str, context: ScoringContext) -> Metric:
    """The metric of this name; its scoring model is loaded at the first text without a stored score."""
    return cast("Metric", _factory(name)(context))


def choose_metrics(wanted: Sequence[str], *, has_gpu: bool, own: Sequence[str] = ()) -> tuple[str, ...]:
    """The metrics that `--ocg-metrics` selects, in addition to those of every run.

    `cheap` selects the metrics without a model and those that hooks added, `own`. `all` adds the metrics with a model.
    `auto` is `all` on a machine with a GPU, otherwise `cheap`. Raises MetricError for an unknown name, with the most
    similar names, and for a name in `own` that a shipped metric has or that a table, an option or a file cannot have.
    """
    order, cheap, model = (catalogue.needing(needs) for needs in ("verdicts", "replies", "model"))
    shipped = {*catalogue.METRICS, "cheap", "all", "auto"}
    for name in own:
        if not _NAME.fullmatch(name) or name in shipped:
            raise MetricError(
                f"metric {name!r} cannot be added by that name; choose one of lower-case letters, digits and _ that is "
                f"not one of {', '.join(sorted(shipped))}"
            )
    groups: dict[str, tuple[str, ...]] = {
        "cheap": (*cheap, *own),
        "all": (*cheap, *model, *own),
        **dict.fromkeys(order, ()),
    }
    groups["auto"] = groups["all" if has_gpu else "cheap"]
    groups.update({name: (name,) for name in (*cheap, *model, *own)})
    for name in wanted:
        if name not in groups:
            raise MetricError(_unknown(name, (*cheap, *model, *own, "cheap", "all")))
    return tuple(dict.fromkeys(name for one in wanted for name in groups[one]))


def _factory(name: str) -> Callable[..., object]:
    module, _, factory = str(catalogue.METRICS[name].factory).partition(":")
    return cast("Callable[..., object]", getattr(import_module(module), factory))


def _unknown(name: str, names: Sequence[str]) -> str:
    if name in catalogue.needing("verdicts"):
        return f"metric {name!r} is part of every run; remove it from the list, or choose from {', '.join(names)}"
    return f"unknown metric {name!r}{did_you_mean(name, names, 3) or '.'} Choose from {', '.join(names)}"
