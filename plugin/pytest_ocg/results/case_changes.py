"""How the outcomes of the same cases differ between two runs: hits won and lost, by case and by concept set."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_ocg.run.record import CaseRecord, Outcome, ReplyRecord
from pytest_ocg.statistics.differences import mcnemar

CaseKey = tuple[int, str, tuple[str, ...]]
"""Template, concept set as its tagged words in sorted order, and the words in the order asked for."""

Move = tuple[Outcome, Outcome]
"""The outcome of a case, in the old run and in the new one."""

Cases = Mapping[CaseKey, CaseRecord]
"""The records of one model and condition."""

_LOST, _WON = (Outcome.HIT, Outcome.MISS), (Outcome.MISS, Outcome.HIT)
_BOTH_HIT, _BOTH_MISS = (Outcome.HIT, Outcome.HIT), (Outcome.MISS, Outcome.MISS)


@dataclass(frozen=True, slots=True)
class ChangedCase:
    """One case with both replies and their outcomes."""

    template: int
    asked: tuple[str, ...]
    old_outcome: str
    old_reply: str
    new_outcome: str
    new_reply: str


@dataclass(frozen=True, slots=True)
class ChangedSet:
    """A concept set whose hits changed, among the `judged` cases with a reply in both runs, and an example.

    `example` is the first case, in run order, that changed in the same direction as the whole set.
    """

    concepts: str
    judged: int
    old_hits: int
    new_hits: int
    hit_to_miss: int
    miss_to_hit: int
    example: ChangedCase


@dataclass(frozen=True, slots=True)
class CaseChanges:
    """How many cases and how many concept sets changed in which direction, and the sets that changed most.

    A set rose if it has more hits in the new run than in the old one, among the cases with a reply in both. `p` is from
    McNemar's exact test on the sets that rose and fell. `without_reply` counts cases with no reply in one or both runs.
    """

    both_hit: int
    both_miss: int
    hit_to_miss: int
    miss_to_hit: int
    without_reply: int
    sets_rose: int
    sets_fell: int
    sets_same: int
    p: float
    most_changed: tuple[ChangedSet, ...]


def case_changes(old: Cases, new: Cases, *, shown_sets: int = 10) -> CaseChanges:
    """The changes over the cases that are in both runs."""
    moves: Counter[Move] = Counter()
    by_set: defaultdict[str, list[CaseKey]] = defaultdict(list)
    for key, record in old.items():
        if key in new:
            moves[record.outcome, new[key].outcome] += 1
            by_set[key[1]].append(key)
    judged = sum(moves[move] for move in (_LOST, _WON, _BOTH_HIT, _BOTH_MISS))
    by_change = {concepts: _moves(keys, old, new) for concepts, keys in by_set.items()}
    net = {concepts: of_set[_WON] - of_set[_LOST] for concepts, of_set in by_change.items()}
    rose, fell = sum(change > 0 for change in net.values()), sum(change < 0 for change in net.values())
    changed = sorted(
        (concepts for concepts, of_set in by_change.items() if of_set[_WON] or of_set[_LOST]),
        key=lambda concepts: (-abs(net[concepts]), -by_change[concepts][_WON] - by_change[concepts][_LOST], concepts),
    )
    return CaseChanges(
        both_hit=moves[_BOTH_HIT],
        both_miss=moves[_BOTH_MISS],
        hit_to_miss=moves[_LOST],
        miss_to_hit=moves[_WON],
        without_reply=moves.total() - judged,
        sets_rose=rose,
        sets_fell=fell,
        sets_same=len(net) - rose - fell,
        p=mcnemar(rose, fell),
        most_changed=tuple(
            _changed_set(concepts, by_set[concepts], by_change[concepts], old, new) for concepts in changed[:shown_sets]
        ),
    )


def _moves(keys: list[CaseKey], old: Cases, new: Cases) -> Counter[Move]:
    return Counter((old[key].outcome, new[key].outcome) for key in keys)


def _changed_set(concepts: str, keys: list[CaseKey], moves: Counter[Move], old: Cases, new: Cases) -> ChangedSet:
    lost, won = moves[_LOST], moves[_WON]
    wanted = _WON if won > lost else _LOST
    example = next(key for key in keys if (old[key].outcome, new[key].outcome) == wanted)
    before, after = old[example], new[example]
    assert isinstance(before, ReplyRecord)
    assert isinstance(after, ReplyRecord)
    both_hit = moves[_BOTH_HIT]
    return ChangedSet(
        concepts=concepts,
        judged=both_hit + lost + won + moves[_BOTH_MISS],
        old_hits=both_hit + lost,
        new_hits=both_hit + won,
        hit_to_miss=lost,
        miss_to_hit=won,
        example=ChangedCase(
            template=example[0],
            asked=example[2],
            old_outcome=wanted[0].value,
            old_reply=before.reply,
            new_outcome=wanted[1].value,
            new_reply=after.reply,
        ),
    )
