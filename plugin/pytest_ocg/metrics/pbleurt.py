"""pBLEURT: how similar in meaning the replies to one concept set are, as BLEURT of all ordered pairs.

Defined in docs/definitions.md, pBLEURT.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from pytest_ocg.errors import MetricError
from pytest_ocg.metrics.base import Measurement, Replies, ScoreStore, ScoringContext, SetStatistic, measurement
from pytest_ocg.metrics.bleurt_model import MAX_TOKENS
from pytest_ocg.metrics.bleurt_scorer import BleurtScorer, Pair, ScoredPairs

LABEL = "pBLEURT"

_KEYS_AT_ONCE = 20_000
_SECONDS_BETWEEN_WRITES = 5.0
_ANY_PAIR = ""

NumberedPair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Scored:
    """Scores by pair, and the number of pairs that were cut."""

    scores: Mapping[NumberedPair, float]
    cut: int


class PairScorer(Protocol):
    """Scores pairs of reference and candidate, as `BleurtScorer` does."""

    def identity(self) -> str:
        """Everything except the pair that can change a score; loads nothing."""
        ...

    def score(self, pairs: Sequence[Pair]) -> Iterator[ScoredPairs]:
        """The score of every pair, in parts."""
        ...

    def close(self) -> None:
        """Free the memory; `score` may be called again."""
        ...


def open_pbleurt(context: ScoringContext) -> PairwiseBleurt:
    """The metric with the checkpoint of the context; it is loaded at the first pair without a stored score."""
    scorer = BleurtScorer(
        context.bleurt_model,
        device=context.device,
        batch_size=context.batch_size,
        allow_pickle=context.allow_pickle,
        notice=context.notice,
    )
    return PairwiseBleurt(scorer, context.store, progress=context.progress, notice=context.notice)


class PairwiseBleurt:
    """Mean over sets of the mean BLEURT of reply pairs, times 100; it can be below 0 and above 100.

    Both directions of a pair count; no reply is paired with itself. A set of fewer than two replies has no value. Each
    different pair is scored once and stored in `store`, so that the next run continues after a killed one.
    """

    name: ClassVar[str] = "pbleurt"

    def __init__(
        self,
        scorer: PairScorer,
        store: ScoreStore,
        *,
        progress: Callable[[str, int, int], None] = lambda label, done, total: None,
        notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._scorer = scorer
        self._store = store
        self._progress = progress
        self._notice = notice

    def signature(self) -> str:
        """The checkpoint and its content, number format, cut, pairs and averages; loads no model."""
        return f"{self._scorer.identity()}|pairs:ordered|mean:sets,templates"

    def measure(self, replies: Replies) -> Measurement:
        """BLEURT times 100; `count` is the number of sets with two or more replies, `cut` of different pairs.

        The scorer's memory is freed at the end. Raises ModelError if the checkpoint is not available or cannot be
        loaded, MetricError if its scores are wrong.
        """
        groups = {key: Counter(texts) for key, texts in replies.items() if len(texts) > 1}
        texts = sorted({text for counts in groups.values() for text in counts})
        numbers = {text: number for number, text in enumerate(texts)}
        pairs = dict.fromkeys(pair for counts in groups.values() for pair in _pairs(counts, numbers))
        try:
            scored = self._scores(list(pairs), texts) if pairs else _Scored({}, 0)
        finally:
            self._scorer.close()
        if scored.cut:
            self._notice(
                f"{LABEL}: different pairs of replies cut to {MAX_TOKENS} tokens: {scored.cut:,} of {len(pairs):,}"
            )
        statistics = {
            key: SetStatistic(100 * _mean(counts, numbers, scored.scores), 1) for key, counts in groups.items()
        }
        return measurement(statistics, self.signature(), reason="no set has two replies", cut=scored.cut)

    def _scores(self, pairs: Sequence[NumberedPair], texts: Sequence[str]) -> _Scored:
        """The score of each pair of indices into `texts`: stored scores, then new ones, which are stored."""
        written = [json.dumps(text) for text in texts]  # once, because a text is in 46 pairs
        scorer = f"bleurt|{self._scorer.identity()}"

        def key_of(pair: NumberedPair) -> str:
            return f"[{written[pair[0]]},{written[pair[1]]}]"

        kept = self._kept(scorer, pairs, key_of)
        was_cut = bool(self._store.scores(_marks(scorer), [_ANY_PAIR]))
        cut = len(self._kept(_marks(scorer), list(kept), key_of)) if was_cut else 0
        missing = [pair for pair in pairs if pair not in kept]
        if not missing:
            return _Scored(kept, cut)
        new = self._score(scorer, missing, texts, key_of)
        return _Scored({**kept, **new.scores}, cut + new.cut)

    def _score(
        self, scorer: str, pairs: Sequence[NumberedPair], texts: Sequence[str], key_of: Callable[[NumberedPair], str]
    ) -> _Scored:
        """New scores; they are stored every few seconds, and when an exception ends the work."""
        scores: dict[NumberedPair, float] = {}
        unkept: dict[str, float] = {}
        marks: dict[str, float] = {}

        def keep() -> None:
            if marks:
                # Marks first, so that no score is stored without its mark. If _ANY_PAIR has no mark, no pair was cut.
                self._store.add_scores(_marks(scorer), {_ANY_PAIR: 1.0, **marks})
                marks.clear()
            if unkept:
                self._store.add_scores(scorer, unkept)
                unkept.clear()

        self._progress(LABEL, 0, len(pairs))
        kept_at, cut = time.monotonic(), 0
        try:
            for part in self._scorer.score([(texts[one], texts[other]) for one, other in pairs]):
                for place, score in part.scores.items():
                    scores[pairs[place]] = unkept[key_of(pairs[place])] = _checked(score)
                marks.update((key_of(pairs[place]), 1.0) for place in part.cut)
                cut += len(part.cut)
                self._progress(LABEL, len(scores), len(pairs))
                if len(unkept) >= _KEYS_AT_ONCE or time.monotonic() - kept_at > _SECONDS_BETWEEN_WRITES:
                    keep()
                    kept_at = time.monotonic()
        finally:
            keep()
        return _Scored(scores, cut)

    def _kept(
        self, scorer: str, pairs: Sequence[NumberedPair], key_of: Callable[[NumberedPair], str]
    ) -> dict[NumberedPair, float]:
        kept: dict[NumberedPair, float] = {}
        for start in range(0, len(pairs), _KEYS_AT_ONCE):
            by_key = {key_of(pair): pair for pair in pairs[start : start + _KEYS_AT_ONCE]}
            kept.update((by_key[key], score) for key, score in self._store.scores(scorer, list(by_key)).items())
        return kept


def _marks(scorer: str) -> str:
    """The scorer name under which the store marks the pairs that were cut."""
    return f"{scorer}|cut"


def _pairs(counts: Mapping[str, int], numbers: Mapping[str, int]) -> Iterator[NumberedPair]:
    """Every ordered pair of different texts, and a text with itself if it occurs more than once."""
    for one in counts:
        for other in counts:
            if one != other or counts[one] > 1:
                yield numbers[one], numbers[other]


def _mean(counts: Counter[str], numbers: Mapping[str, int], scores: Mapping[NumberedPair, float]) -> float:
    """The mean over all ordered pairs of replies; equal texts have a weight, and the order does not change it."""
    total = counts.total()
    weighted = (
        scores[numbers[one], numbers[other]] * counts[one] * (counts[other] - (one == other))
        for one in counts
        for other in counts
        if one != other or counts[one] > 1
    )
    return math.fsum(weighted) / (total * (total - 1))


def _checked(score: float) -> float:
    if not math.isfinite(score):
        raise MetricError(
            f"pbleurt: the score of a pair of replies is {score!r}; the checkpoint is damaged or the device computes "
            "wrong numbers: pass --ocg-device cpu, or download the checkpoint again"
        )
    return score
