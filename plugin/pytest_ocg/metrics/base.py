"""Input and output of a metric: replies by set, statistics by set, scores, and the context for scoring models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Protocol

from pytest_ocg.errors import MetricError
from pytest_ocg.statistics.limits import LARGEST_COUNT, LARGEST_SCORE, LARGEST_SET_COUNT

SetKey = tuple[int, str]
"""Template and concept set id."""

Replies = Mapping[SetKey, Sequence[str]]
"""The scored replies of each set under each template, without errors; 24 if every order has a reply."""


@dataclass(frozen=True, slots=True)
class Score:
    """A measured number, the number of values behind it, and how it was computed.

    `value` is None if nothing could be measured; then `reason` is not empty. `count` is a number of replies or sets,
    depending on what the metric averages over. Scores can be compared only if their `signature` is equal.
    """

    value: float | None
    count: int
    signature: str
    reason: str = ""

    def __post_init__(self) -> None:
        if self.value is None and not self.reason:
            raise MetricError(f"a score without a value must have a reason (signature {self.signature!r})")
        if self.value is not None:
            # Numbers of numpy and subclasses of str cannot be written.
            what = f"the score with signature {self.signature!r}"
            object.__setattr__(self, "value", _plain_number(self.value, what))
        object.__setattr__(self, "count", _plain_count(self.count, LARGEST_COUNT))
        object.__setattr__(self, "signature", str(self.signature))
        object.__setattr__(self, "reason", str(self.reason))


@dataclass(frozen=True, slots=True)
class SetStatistic:
    """The part of one set in the mean of its template: a sum in the metric's unit, and the number of values in it."""

    total: float
    count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", _plain_number(self.total, "the sum of a set statistic"))
        object.__setattr__(self, "count", _plain_count(self.count, LARGEST_SET_COUNT))


def _plain_number(number: object, what: str) -> float:
    plain = float(number) if isinstance(number, Real) else math.nan
    if not abs(plain) <= LARGEST_SCORE:
        raise MetricError(f"{what} must be a number of at most {LARGEST_SCORE:g}, not {number!r}")
    return plain


def _plain_count(count: object, most: int) -> int:
    try:
        plain: int = int(count)  # type: ignore[call-overload] # anything else raises one of these errors
    except (TypeError, ValueError, OverflowError):
        plain = -1
    if plain != count or not 0 <= plain <= most:
        raise MetricError(f"a count must be a whole number from 0 to {most:,}, not {count!r}")
    return plain


Statistics = Mapping[SetKey, SetStatistic]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A metric's result on one model and condition: the score, the scores of each template, and the set statistics.

    With `statistics`, `average_over_templates` computes the score of another choice of sets without the replies; None
    if the score is not a mean over sets. `left_out` is the number of replies without a value, `cut` of replies or pairs
    of which only the beginning was scored. A metric that does not count them has 0.
    """

    score: Score
    by_template: Mapping[int, Score]
    statistics: Statistics | None
    left_out: int = 0
    cut: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "left_out", _plain_count(self.left_out, LARGEST_COUNT))
        object.__setattr__(self, "cut", _plain_count(self.cut, LARGEST_COUNT))


class Metric(Protocol):
    """A metric that is computed from replies alone."""

    @property
    def name(self) -> str:
        """The name in tables, options and threshold files."""
        ...

    def signature(self) -> str:
        """Everything that can change the number, as `key:value` joined by `|`; no model is loaded."""
        ...

    def measure(self, replies: Replies) -> Measurement:
        """The result on `replies`; the order of sets and of replies within a set does not change it."""
        ...


MetricFactory = Callable[[], Metric]


def template_averages(statistics: Statistics) -> dict[int, float]:
    """The sum of totals divided by the sum of counts, for each template that has values, lowest template first."""
    by_template: dict[int, list[SetStatistic]] = {}
    for (template, _), statistic in statistics.items():
        by_template.setdefault(template, []).append(statistic)
    return {
        template: math.fsum(statistic.total for statistic in by_template[template]) / count
        for template in sorted(by_template)
        if (count := sum(statistic.count for statistic in by_template[template]))
    }


def average(values: Sequence[float]) -> float | None:
    """The mean, the same for any order of `values`; None if there are no values."""
    return math.fsum(values) / len(values) if values else None


def average_over_templates(statistics: Statistics) -> float | None:
    """The mean of the averages of the templates that have values; None if there are no values.

    Defined in docs/definitions.md, Metrics.
    """
    return average(list(template_averages(statistics).values()))


def measurement(statistics: Statistics, signature: str, *, reason: str, left_out: int = 0, cut: int = 0) -> Measurement:
    """The result of set statistics; `reason` is the score's reason if they have no value."""
    counts: dict[int, int] = {}
    for (template, _), statistic in statistics.items():
        counts[template] = counts.get(template, 0) + statistic.count
    averages = template_averages(statistics)
    value = average(list(averages.values()))
    return Measurement(
        score=Score(value, sum(counts.values()), signature, "" if value is not None else reason),
        by_template={template: Score(averages[template], counts[template], signature) for template in averages},
        statistics=statistics,
        left_out=left_out,
        cut=cut,
    )


class ScoreStore(Protocol):
    """Stores scores by scorer and key between runs; the reply cache is one."""

    def scores(self, scorer: str, keys: Sequence[str]) -> dict[str, float]:
        """The scores that this scorer has for the keys; keys without a score are left out."""
        ...

    def add_scores(self, scorer: str, scores: Mapping[str, float]) -> None:
        """Store new scores; a score that a key already has does not change."""
        ...


@dataclass(frozen=True, slots=True)
class ScoringContext:
    """How scoring models are loaded and run.

    `perplexity_model` and `bleurt_model` are hub ids, local folders, `.gguf` files or registry names. `progress` is
    called with a label, the number of texts or pairs scored, and their total; first with 0, before anything is loaded.
    `notice` is called with messages for the user.
    """

    store: ScoreStore
    perplexity_model: str
    bleurt_model: str
    device: str
    batch_size: int | None
    trust_remote_code: bool
    allow_pickle: bool
    progress: Callable[[str, int, int], None]
    notice: Callable[[str], None]
