"""How much a model keeps to one order of a concept set, whatever it is asked for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pytest_ocg.analysis.reply_orders import Order, ReplyOrder, by_set
from pytest_ocg.metrics.base import SetStatistic, average_over_templates

MIN_REPLIES = 2


@dataclass(frozen=True, slots=True)
class OrderPreference:
    """The realised orders of replies that cover their concepts; shares in percent, entropies in bits.

    `sets` is how many pairs of set and template have at least two such replies; the averages are over these, and None
    where there is none. `heat_map[i][j]` counts how often the concept asked for at place i stands at place j.
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
    """The preference shown by `replies` to sets of that many concepts; those without a realised order are left out."""
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
    """The entropy of the orders as they were counted: 0 where all are the same."""
    total = counts.total()
    return math.fsum(count / total * math.log2(total / count) for count in counts.values())


@lru_cache(maxsize=4096)
def random_entropy_bits(replies: int, orders: int) -> float:
    """What `entropy_bits` is on average where each reply takes any of the orders with the same chance.

    It lies below log2 of `orders`, since so few replies cannot show them evenly.
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
    """How many replies have the order most frequent among the others of their set; a tie of n counts 1/n."""
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
