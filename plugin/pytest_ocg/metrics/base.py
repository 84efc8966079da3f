"""What a metric takes and gives: replies by set, statistics per set, the scores made from them, and scoring models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_ocg.errors import MetricError

SetKey = tuple[int, str]
"""Template and concept set id."""

Replies = Mapping[SetKey, Sequence[str]]
"""The scored replies of each set under each template, errors left out; 24 where all orders have one."""


@dataclass(frozen=True, slots=True)
class Score:
    """A measured number, over how many values it was taken, and how it was computed.

    `value` is None where nothing could be measured, and `reason` says why. `count` is in what the metric averages over:
    replies or sets. Scores compare only where `signature` is equal.
    """

    value: float | None
    count: int
    signature: str
    reason: str = ""

    def __post_init__(self) -> None:
        if self.value is None and not self.reason:
            raise MetricError(f"a score without a value needs a reason (signature {self.signature!r})")
        if self.value is not None and not math.isfinite(self.value):
            raise MetricError(f"a score is a finite number or None, not {self.value!r} (signature {self.signature!r})")


@dataclass(frozen=True, slots=True)
class SetStatistic:
    """What one set under one template adds to its template's mean: a sum in the metric's unit, and of how many."""

    total: float
    count: int

    def __post_init__(self) -> None:
        if not math.isfinite(self.total) or self.count < 0:
            raise MetricError(f"a set adds a finite sum of 0 or more values, not {self.total!r} of {self.count!r}")


Statistics = Mapping[SetKey, SetStatistic]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A metric's result on one model and condition: the score, the same within each template, and what it is made of.

    `statistics` lets the score be taken again over other choices of sets by `average_over_templates`, without the
    replies; None where the score is no mean over sets. `left_out` is how many replies the metric has no value for, and
    `cut` how many replies or pairs were scored by their beginning alone; 0 as well where a metric does not count them.
    """

    score: Score
    by_template: Mapping[int, Score]
    statistics: Statistics | None
    left_out: int = 0
    cut: int = 0


class Metric(Protocol):
    """Something that can be measured on replies alone."""

    @property
    def name(self) -> str:
        """Its name in tables, options and threshold files."""
        ...

    def signature(self) -> str:
        """All that can change the number, as `key:value` joined by `|`; no model is loaded for it."""
        ...

    def measure(self, replies: Replies) -> Measurement:
        """The result on `replies`; the same whatever the order of sets and of the replies within a set."""
        ...


MetricFactory = Callable[[], Metric]


def template_averages(statistics: Statistics) -> dict[int, float]:
    """For each template that has values, lowest first: the sum of its sets' totals over the sum of their counts."""
    gathered: dict[int, list[SetStatistic]] = {}
    for (template, _), statistic in statistics.items():
        gathered.setdefault(template, []).append(statistic)
    return {
        template: math.fsum(statistic.total for statistic in gathered[template]) / count
        for template in sorted(gathered)
        if (count := sum(statistic.count for statistic in gathered[template]))
    }


def average(values: Sequence[float]) -> float | None:
    """The mean, equal for any order of `values`; None of none."""
    return math.fsum(values) / len(values) if values else None


def average_over_templates(statistics: Statistics) -> float | None:
    """The mean of the templates' own averages, over the templates that have values; None if none.

    Defined in docs/definitions.md, Metrics.
    """
    return average(list(template_averages(statistics).values()))


def measurement(statistics: Statistics, signature: str, *, reason: str, left_out: int = 0, cut: int = 0) -> Measurement:
    """The result that set statistics amount to; `reason` is said where they hold no value at all."""
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
    """Scores by scorer and key, kept between runs; the reply cache is one."""

    def scores(self, scorer: str, keys: Sequence[str]) -> dict[str, float]:
        """Those of the keys that this scorer has scored."""
        ...

    def add_scores(self, scorer: str, scores: Mapping[str, float]) -> None:
        """Keep new scores; a key that has one keeps it."""
        ...


@dataclass(frozen=True, slots=True)
class ScoringContext:
    """How scoring models are to be had and run.

    `perplexity_model` and `bleurt_model` are hub ids, local folders, `.gguf` files or registry names. `progress` is
    called with a label, the number of texts or pairs scored, and their total; first with 0, before anything is loaded.
    `notice` takes what the user must hear of once.
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
