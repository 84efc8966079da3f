"""The data of Figures 3 and 4: which ordered concept lists the models compose, with any template."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_ocg.run.record import CaseRecord, HitRecord, ReplyRecord

ListKey = tuple[str, tuple[str, ...]]
"""A concept set's id and its concepts in the order asked for."""


@dataclass(frozen=True, slots=True)
class ComposedLists:
    """For each ordered list asked for, how many of the `models` composed it with at least one template.

    `unjudged` is the number of pairs of model and list without any reply. Such a list counts as not composed by that
    model.
    """

    models: tuple[str, ...]
    by_list: Mapping[ListKey, int]
    unjudged: int


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of Figure 3: the lists composed by exactly `models` models, and the share in percent by at most as many."""

    models: int
    lists: int
    share: float
    cumulative_share: float


@dataclass(frozen=True, slots=True)
class OrdersOfSets:
    """A column of Figure 4: how many orders of each set were composed by at least `models` models.

    `sets` counts the sets by that number, from 0 to all orders of the largest set. `mean` is over the sets.
    """

    models: int
    mean: float
    sets: tuple[int, ...]


def composed_lists(records: Iterable[CaseRecord], *, shots: int = 0) -> ComposedLists:
    """The lists composed in condition `ordered`; `records` are of one dataset, from one or more models."""
    replied: defaultdict[ListKey, set[str]] = defaultdict(set)
    composed: defaultdict[ListKey, set[str]] = defaultdict(set)
    models: dict[str, None] = {}
    for record in records:
        if record.condition != "ordered" or record.shots != shots:
            continue
        key = (record.set, record.concepts)
        models[record.model] = None
        of_list = replied[key]
        if isinstance(record, ReplyRecord):
            of_list.add(record.model)
        if isinstance(record, HitRecord):
            composed[key].add(record.model)
    return ComposedLists(
        models=tuple(models),
        by_list={key: len(composed[key]) if key in composed else 0 for key in replied},
        unjudged=sum(len(models) - len(of_list) for of_list in replied.values()),
    )


def figure3(composed: ComposedLists) -> tuple[Bar, ...]:
    """One bar for every number of models from 0 to all; empty without lists."""
    total = len(composed.by_list)
    if not total:
        return ()
    counts = Counter(composed.by_list.values())
    bars, up_to = [], 0
    for models in range(len(composed.models) + 1):
        up_to += counts[models]
        bars.append(Bar(models, counts[models], 100 * counts[models] / total, 100 * up_to / total))
    return tuple(bars)


def figure4(composed: ComposedLists) -> tuple[OrdersOfSets, ...]:
    """One column for every number of models from 1 to all; empty without lists."""
    by_set: defaultdict[str, list[int]] = defaultdict(list)
    for (set_id, _), models in composed.by_list.items():
        by_set[set_id].append(models)
    if not by_set:
        return ()
    most = max(map(len, by_set.values()))
    columns = []
    for models in range(1, len(composed.models) + 1):
        orders = Counter(sum(count >= models for count in counts) for counts in by_set.values())
        mean = sum(number * sets for number, sets in orders.items()) / len(by_set)
        columns.append(OrdersOfSets(models, mean, tuple(orders[number] for number in range(most + 1))))
    return tuple(columns)
