"""Order bias: the order that a model prefers, and how often it keeps the order asked for."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from pytest_ocg.metrics.base import SetKey, SetStatistic, average_over_templates
from pytest_ocg.metrics.order import ordered_rate
from pytest_ocg.run.record import CaseRecord, ReplyRecord

Order = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplyOrder:
    """The order asked for in one case and the order of its reply.

    `realised` is None if a concept is missing, or if two concepts first occur at the same word. `in_order` is whether
    the concepts can be found in the order asked for. Their first positions can have another order.
    """

    template: int
    set_id: str
    pattern: str
    asked: Order
    realised: Order | None
    covered: bool
    in_order: bool
    is_echo: bool

    @property
    def is_undecided(self) -> bool:
        """Whether every concept occurs but the reply has no realised order."""
        return self.covered and self.realised is None

    @property
    def deviates(self) -> bool:
        """Whether the reply has an order, and not the one asked for."""
        return self.realised is not None and not self.in_order


def read_reply_order(record: CaseRecord) -> ReplyOrder | None:
    """The orders of one case; None without a reply."""
    if not isinstance(record, ReplyRecord):
        return None
    return ReplyOrder(
        template=record.template,
        set_id=record.set,
        pattern=record.pattern,
        asked=record.concepts,
        realised=realised_order(record.concepts, record.positions),
        covered=record.covered,
        in_order=record.in_order,
        is_echo=record.echo,
    )


def realised_order(concepts: Sequence[str], positions: Sequence[Sequence[int]]) -> Order | None:
    """The concepts sorted by first position; None if one is missing or if two first occur at the same word."""
    if not all(positions):
        return None
    first = {at[0]: concept for concept, at in zip(concepts, positions, strict=True)}
    return tuple(first[place] for place in sorted(first)) if len(first) == len(concepts) else None


def by_set(replies: Iterable[ReplyOrder]) -> dict[SetKey, list[ReplyOrder]]:
    """The replies of each concept set under each template."""
    groups: defaultdict[SetKey, list[ReplyOrder]] = defaultdict(list)
    for reply in replies:
        groups[reply.template, reply.set_id].append(reply)
    return dict(groups)


def kendall_distance(one: Order, other: Order) -> int:
    """The number of pairs of concepts in opposite order: 0 to 6 for four concepts."""
    place = {concept: number for number, concept in enumerate(other)}
    return sum(place[before] > place[after] for before, after in combinations(one, 2))


def modes(counts: Counter[Order]) -> tuple[Order, ...]:
    """The most frequent orders, sorted alphabetically; empty without counts."""
    most = max(counts.values(), default=0)
    return tuple(sorted(order for order, count in counts.items() if count == most)) if most else ()


MIN_REPLIES = 2


@dataclass(frozen=True, slots=True)
class OrderPreference:
    """The realised orders of replies that cover their concepts; shares in percent, entropies in bits.

    `sets` is the number of pairs of set and template with at least two such replies. The averages are over these pairs,
    and None without any. `heat_map[i][j]` counts how often the concept asked for at place i is at place j of the reply.
    """

    replies: int
    sets: int
    default_share: float | None
    held_out_share: float | None
    held_out_share_at_random: float
    entropy_bits: float | None
    entropy_bits_at_random: float | None
    most_bits: float
    heat_map: tuple[tuple[int, ...], ...]


def measure_preference(replies: Sequence[ReplyOrder], concepts: int) -> OrderPreference:
    """The preference of `replies` to sets of that many concepts; replies without a realised order are left out."""
    realised = {
        key: Counter(reply.realised for reply in group if reply.realised is not None)
        for key, group in by_set(replies).items()
    }
    counts = {key: found for key, found in realised.items() if found.total() >= MIN_REPLIES}
    orders = math.factorial(concepts)
    return OrderPreference(
        replies=sum(found.total() for found in realised.values()),
        sets=len(counts),
        default_share=average_over_templates(
            {key: SetStatistic(100.0 * max(found.values()), found.total()) for key, found in counts.items()}
        ),
        held_out_share=average_over_templates(
            {key: SetStatistic(100.0 * _predicted(found), found.total()) for key, found in counts.items()}
        ),
        held_out_share_at_random=100 / orders,
        entropy_bits=average_over_templates(
            {key: SetStatistic(entropy_bits(found), 1) for key, found in counts.items()}
        ),
        entropy_bits_at_random=average_over_templates(
            {key: SetStatistic(random_entropy_bits(found.total(), orders), 1) for key, found in counts.items()}
        ),
        most_bits=math.log2(orders),
        heat_map=_heat_map(replies, concepts),
    )


def entropy_bits(counts: Counter[Order]) -> float:
    """The entropy of the counted orders: 0 if all are the same."""
    total = counts.total()
    return math.fsum(count / total * math.log2(total / count) for count in counts.values())


@lru_cache(maxsize=4096)
def random_entropy_bits(replies: int, orders: int) -> float:
    """The expected `entropy_bits` if each reply takes each order with the same probability.

    It is below log2 of `orders`, because few replies cannot have all orders equally often.
    """
    chance = 1 / orders
    repeated = math.fsum(
        math.exp(
            math.lgamma(replies + 1)
            - math.lgamma(count + 1)
            - math.lgamma(replies - count + 1)
            + count * math.log(chance)
            + (replies - count) * math.log1p(-chance)
        )
        * count
        * math.log2(count)
        for count in range(2, replies + 1)
    )
    return math.log2(replies) - orders * repeated / replies


def _predicted(counts: Counter[Order]) -> float:
    """The number of replies with the most frequent order of the other replies to their set; a tie of n counts 1/n."""
    predicted = 0.0
    for order, count in counts.items():
        others = [number for other, number in counts.items() if other != order]
        most = max(others, default=0)
        if count - 1 >= most:
            predicted += count / (1 + (others.count(most) if count - 1 == most else 0))
    return predicted


def _heat_map(replies: Sequence[ReplyOrder], concepts: int) -> tuple[tuple[int, ...], ...]:
    cells = [[0] * concepts for _ in range(concepts)]
    for reply in replies:
        if reply.realised is not None:
            for place, concept in enumerate(reply.asked):
                cells[place][reply.realised.index(concept)] += 1
    return tuple(map(tuple, cells))


@dataclass(frozen=True, slots=True)
class KeptRate:
    """How often the order asked for is kept `at` a distance or place; None is a list without a verb.

    `replies` are scored, `covered` of them have every concept, and `in_order` of them have them in order. If the set of
    a reply has n default orders, the reply counts 1/n at the distance of each. Both shares are in percent, None without
    replies.
    """

    at: int | None
    replies: float
    covered: float
    in_order: float
    coverage_ordered: float | None
    ordered_rate: float | None


@dataclass(frozen=True, slots=True)
class OrderBias:
    """The order bias for one model, condition and number of shots, on the sets of `concepts` concepts.

    `replies` are scored; `covered` of them have every concept. Of these, `undecided` have two concepts at the same word
    and `echoes` are echoes. `without_default` replies have no distance, because no other reply to their set deviates.
    `by_first_verb` is by the place asked for, from 1. `by_make_up` is the same within sets of the same tags.
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
    by_distance: tuple[KeptRate, ...]
    by_first_verb: tuple[KeptRate, ...]
    by_make_up: Mapping[str, tuple[KeptRate, ...]]


def order_biases(records: Iterable[CaseRecord]) -> tuple[OrderBias, ...]:
    """The order bias of every model, condition and number of shots, in the order of the records."""
    groups: defaultdict[tuple[str, str, int, int], list[ReplyOrder]] = defaultdict(list)
    for record in records:
        reply = read_reply_order(record)
        if reply is not None:
            groups[record.model, record.condition, record.shots, len(reply.asked)].append(reply)
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
    """For each reply, the distances of its asked order from the default orders of its set, with their weights.

    The default orders are the most frequent orders among the other replies to the set that deviate. A reply that
    follows its prompt shows the order of the prompt, not the model's own. A reply must not influence the order with
    which it is compared.
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


def _by_first_verb(replies: Sequence[ReplyOrder]) -> tuple[KeptRate, ...]:
    places: defaultdict[int, list[ReplyOrder]] = defaultdict(list)
    for reply in replies:
        places[reply.pattern.find("V")].append(reply)
    return tuple(
        _kept(place + 1 if place >= 0 else None, ((reply, 1) for reply in places[place])) for place in sorted(places)
    )


def _kept(at: int | None, weighted: Iterable[tuple[ReplyOrder, float]]) -> KeptRate:
    total = covered = in_order = 0.0
    for reply, weight in weighted:
        total += weight
        covered += weight * reply.covered
        in_order += weight * reply.in_order
    share = 100 * in_order / total if total else None
    return KeptRate(at, total, covered, in_order, share, ordered_rate(share, 100 * covered / total if total else None))
