"""In which order the concepts occur in a reply, whatever was asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from pytest_ocg.metrics.base import SetKey

Order = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplyOrder:
    """The order asked for in one case and the one its reply has.

    `realised` is None where a concept is missing, or two concepts first occur at the same word. `in_order` says whether
    the concepts can be found in the order asked for, which need not be the one they first occur in.
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
        """Whether every concept occurs and yet no order can be told."""
        return self.covered and self.realised is None

    @property
    def deviates(self) -> bool:
        """Whether the reply has an order and it is not the one asked for."""
        return self.realised is not None and not self.in_order


def read_reply_order(record: Mapping[str, Any]) -> ReplyOrder | None:
    """The orders of one `generations.jsonl` object; None where there is no reply."""
    if record["outcome"] == "error":
        return None
    asked = tuple(record["concepts"])
    return ReplyOrder(
        template=record["template"],
        set_id=record["set"],
        pattern=record["pattern"],
        asked=asked,
        realised=realised_order(asked, record["positions"]),
        covered=record["covered"],
        in_order=record["in_order"],
        is_echo=record["echo"],
    )


def realised_order(concepts: Sequence[str], positions: Sequence[Sequence[int]]) -> Order | None:
    """The concepts by where each first occurs; None where one does not, or two first occur at the same word."""
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
    """How many pairs of concepts stand the other way round: of four concepts 0 to 6."""
    place = {concept: number for number, concept in enumerate(other)}
    return sum(place[before] > place[after] for before, after in combinations(one, 2))


def modes(counts: Counter[Order]) -> tuple[Order, ...]:
    """The most frequent orders, alphabetically; none of none."""
    most = max(counts.values(), default=0)
    return tuple(sorted(order for order, count in counts.items() if count == most)) if most else ()
