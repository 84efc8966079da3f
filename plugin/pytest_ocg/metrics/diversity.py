"""Distinct-n and diverse rate: how different the words of a reply are, and the replies to a set.

Defined in docs/definitions.md, Metrics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pytest_ocg.metrics.base import Measurement, Replies, Score, SetStatistic, average, measurement


def ngrams(words: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    """Every sequence of `n` neighbouring words, first to last."""
    return zip(*(words[start:] for start in range(n)), strict=False)


def distinct(text: str, n: int) -> float | None:
    """Number of different word n-grams divided by number of words, 0 to 1; None for a text of fewer than `n` words."""
    words = text.split()
    return len(set(ngrams(words, n))) / len(words) if len(words) >= n else None


def diverse_rate(replies: Sequence[str]) -> float | None:
    """Number of different replies divided by number of replies, 0 to 1; None without replies."""
    return len(set(replies)) / len(replies) if replies else None


@dataclass(frozen=True, slots=True)
class Distinct:
    """Mean over replies of different n-grams per word, times 100; the published numbers are computed this way."""

    n: int = 2

    @property
    def name(self) -> str:
        """`distinct2` for bigrams."""
        return f"distinct{self.n}"

    def signature(self) -> str:
        """The n-gram length, the ratio and the averages."""
        return f"n:{self.n}|words:whitespace|ratio:different-ngrams/words|mean:replies,templates"

    def measure(self, replies: Replies) -> Measurement:
        """Percent; a set's statistic is the sum over its replies with an n-gram. `count` is the number of these."""
        statistics = {}
        for key, texts in replies.items():
            values = [value for text in texts if (value := distinct(text, self.n)) is not None]
            if values:
                statistics[key] = SetStatistic(100 * math.fsum(values), len(values))
        return measurement(statistics, self.signature(), reason=f"no reply has {self.n} words")


@dataclass(frozen=True, slots=True)
class PooledDistinct:
    """Different n-grams divided by all n-grams of a template's replies together, times 100; the paper's equation."""

    n: int = 2

    @property
    def name(self) -> str:
        """`distinct2_pooled` for bigrams."""
        return f"distinct{self.n}_pooled"

    def signature(self) -> str:
        """The n-gram length, the ratio and the averages."""
        return f"n:{self.n}|words:whitespace|ratio:different-ngrams/ngrams|pool:template|mean:templates"

    def measure(self, replies: Replies) -> Measurement:
        """Percent; it is not a sum over sets and has no statistics. `count` is the number of replies with an n-gram."""
        by_template = {}
        for template in sorted({template for template, _ in replies}):
            pool = (text for key, texts in replies.items() if key[0] == template for text in texts)
            score = self._pooled(pool)
            if score.value is not None:
                by_template[template] = score
        value = average([score.value for score in by_template.values() if score.value is not None])
        count = sum(score.count for score in by_template.values())
        reason = "" if value is not None else f"no reply has {self.n} words"
        return Measurement(Score(value, count, self.signature(), reason), by_template, None)

    def _pooled(self, texts: Iterator[str]) -> Score:
        different: set[tuple[str, ...]] = set()
        total = count = 0
        for text in texts:
            words = text.split()
            if len(words) >= self.n:
                different.update(ngrams(words, self.n))
                total += len(words) - self.n + 1
                count += 1
        if not total:
            return Score(None, 0, self.signature(), f"no reply has {self.n} words")
        return Score(100 * len(different) / total, count, self.signature())


@dataclass(frozen=True, slots=True)
class DiverseRate:
    """Mean over sets of different replies divided by replies, times 100."""

    name: ClassVar[str] = "diverse_rate"

    def signature(self) -> str:
        """The ratio and the averages."""
        return "ratio:different-replies/replies|mean:sets,templates"

    def measure(self, replies: Replies) -> Measurement:
        """Percent; `count` is the number of sets with at least one reply."""
        statistics = {
            key: SetStatistic(100 * rate, 1)
            for key, texts in replies.items()
            if (rate := diverse_rate(texts)) is not None
        }
        return measurement(statistics, self.signature(), reason="no replies")
