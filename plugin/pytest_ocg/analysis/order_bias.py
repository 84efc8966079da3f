"""Order bias: which order a model writes whatever it is asked for, and how often it keeps the order that is asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ocg.analysis.order_preference import OrderPreference, measure_preference
from pytest_ocg.analysis.reply_orders import Order, ReplyOrder, by_set, kendall_distance, modes, read_reply_order
from pytest_ocg.metrics.order import ordered_rate


@dataclass(frozen=True, slots=True)
class Kept:
    """How often the order asked for is kept `at` a distance or place; None is a list without a verb.

    Numbers of scored replies, of those that cover the concepts, and of those that cover them in order; a reply whose
    set has n default orders counts 1/n at the distance of each. Then both shares in percent, None of nothing.
    """

    at: int | None
    replies: float
    covered: float
    in_order: float
    coverage_ordered: float | None
    ordered_rate: float | None


@dataclass(frozen=True, slots=True)
class OrderBias:
    """One model, condition and number of shots, on the sets of `concepts` concepts.

    `replies` are scored; `covered` of them have every concept, and of these `undecided` have two at the same word and
    `echoes` repeat the bare list. `without_default` replies are in no distance: no other reply of their set deviates.
    `by_first_verb` is by the place asked for, from 1; `by_make_up` the same within sets of the same tags.
    """

    model: str
    condition: str
    shots: int
    concepts: int
    replies: int
    covered: int
    undecided: int
    echoes: int
    as_scored: OrderPreference
    without_echo: OrderPreference
    without_default: int
    by_distance: tuple[Kept, ...]
    by_first_verb: tuple[Kept, ...]
    by_make_up: Mapping[str, tuple[Kept, ...]]


def order_biases(records: Iterable[Mapping[str, Any]]) -> tuple[OrderBias, ...]:
    """The order bias of every model, condition and number of shots in `generations.jsonl` objects, as they come."""
    groups: defaultdict[tuple[str, str, int, int], list[ReplyOrder]] = defaultdict(list)
    for record in records:
        reply = read_reply_order(record)
        if reply is not None:
            groups[record["model"], record["condition"], record["shots"], len(reply.asked)].append(reply)
    return tuple(_order_bias(*key, replies) for key, replies in groups.items())


def _order_bias(model: str, condition: str, shots: int, concepts: int, replies: Sequence[ReplyOrder]) -> OrderBias:
    distances = _distances(replies)
    make_ups: defaultdict[str, list[ReplyOrder]] = defaultdict(list)
    for reply in replies:
        make_ups["".join(sorted(reply.pattern))].append(reply)
    return OrderBias(
        model=model,
        condition=condition,
        shots=shots,
        concepts=concepts,
        replies=len(replies),
        covered=sum(reply.covered for reply in replies),
        undecided=sum(reply.is_undecided for reply in replies),
        echoes=sum(reply.covered and reply.is_echo for reply in replies),
        as_scored=measure_preference(replies, concepts),
        without_echo=measure_preference([reply for reply in replies if not reply.is_echo], concepts),
        without_default=sum(not found for found in distances),
        by_distance=tuple(
            _kept(
                distance, ((reply, found.get(distance, 0.0)) for reply, found in zip(replies, distances, strict=True))
            )
            for distance in range(concepts * (concepts - 1) // 2 + 1)
        ),
        by_first_verb=_by_first_verb(replies),
        by_make_up={make_up: _by_first_verb(members) for make_up, members in sorted(make_ups.items())},
    )


def _distances(replies: Sequence[ReplyOrder]) -> list[Mapping[int, float]]:
    """For each reply, how far its asked order is from the default orders of its set, with their weights.

    The default orders are the most frequent among the other replies of the set that deviate. What follows its prompt
    tells of the prompt, and a reply must not have a say in what it is then held against.
    """
    deviating: dict[tuple[int, str], Counter[Order]] = {
        key: Counter(reply.realised for reply in group if reply.realised is not None and reply.deviates)
        for key, group in by_set(replies).items()
    }
    defaults: dict[tuple[int, str, Order | None], tuple[Order, ...]] = {}
    distances: list[Mapping[int, float]] = []
    for reply in replies:
        own = reply.realised if reply.deviates else None
        key = (reply.template, reply.set_id, own)
        if key not in defaults:
            others = deviating[reply.template, reply.set_id]
            defaults[key] = modes(others if own is None else others - Counter((own,)))
        weights: defaultdict[int, float] = defaultdict(float)
        for default in defaults[key]:
            weights[kendall_distance(reply.asked, default)] += 1 / len(defaults[key])
        distances.append(weights)
    return distances


def _by_first_verb(replies: Sequence[ReplyOrder]) -> tuple[Kept, ...]:
    places: defaultdict[int, list[ReplyOrder]] = defaultdict(list)
    for reply in replies:
        places[reply.pattern.find("V")].append(reply)
    return tuple(
        _kept(place + 1 if place >= 0 else None, ((reply, 1) for reply in places[place])) for place in sorted(places)
    )


def _kept(at: int | None, weighted: Iterable[tuple[ReplyOrder, float]]) -> Kept:
    total = covered = in_order = 0.0
    for reply, weight in weighted:
        total += weight
        covered += weight * reply.covered
        in_order += weight * reply.in_order
    share = 100 * in_order / total if total else None
    return Kept(at, total, covered, in_order, share, ordered_rate(share, 100 * covered / total if total else None))
