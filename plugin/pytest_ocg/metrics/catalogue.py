"""The catalogue of metrics: each fact about each metric is here once, for code that shows, limits or computes it.

To add a metric, write its class and an entry in `METRICS`. Functions read that mapping when they are called.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

PER_CENT = (0.0, 100.0)


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """The facts about a metric that are known without computing it.

    - `title` is the title of its column, one or two lines.
    - `needs` is the input: the verdicts that every run has, the replies, or the replies and a scoring model.
    - `factory` is the `module:name` that makes it, None for the metrics of `metrics.order`. `has_stored_scores`: the
      factory takes the store of scores, because reading the score of a set is faster than measuring it. `model_option`
      is the field of Options with the name of the scoring model.
    - `low` and `high` are the bounds of its value, in its own unit. `first_limit` is the limit that new thresholds have
      for it, on the side of worse values, None if they have none; `limit_rank` is the order in the file. `tolerance` is
      how much worse than the paper a run may be, in points, in addition to the noise of its concept sets
      (thresholds/README.md).
    - `margin_share`: a point of margin is this share of the value, not one unit.
    - `is_share_of_replies`: a missing reply could only have lowered it.
    - `has_pattern_value`: results have it for each part-of-speech pattern. `has_pattern_limit`: its value is computed
      from the cases of that pattern alone; a diverse rate needs whole sets.
    - `without_interval` is the reason why it has no interval over concept sets, empty if it has one.
    - `is_published`: the paper's Table 1 has a column for it.
    """

    title: str
    needs: Literal["verdicts", "replies", "model"]
    factory: str | None = None
    has_stored_scores: bool = False
    model_option: str | None = None
    low: float = PER_CENT[0]
    high: float = PER_CENT[1]
    first_limit: Literal["min", "max"] | None = None
    limit_rank: int = 9
    tolerance: float | None = None
    margin_share: float | None = None
    is_share_of_replies: bool = False
    has_pattern_value: bool = False
    has_pattern_limit: bool = False
    without_interval: str = ""
    is_published: bool = False

    @property
    def label(self) -> str:
        """The title on one line."""
        return self.title.replace("\n", " ")


METRICS: Mapping[str, MetricFacts] = MappingProxyType(
    {
        "coverage_unordered": MetricFacts(
            title="coverage\nw/o order",
            needs="verdicts",
            first_limit="min",
            limit_rank=4,
            tolerance=2.0,
            is_share_of_replies=True,
            has_pattern_value=True,
            has_pattern_limit=True,
            is_published=True,
        ),
        "coverage_ordered": MetricFacts(
            title="coverage\nw/ order",
            needs="verdicts",
            first_limit="min",
            limit_rank=1,
            tolerance=2.0,
            is_share_of_replies=True,
            has_pattern_value=True,
            has_pattern_limit=True,
            is_published=True,
        ),
        "ordered_rate": MetricFacts(
            title="ordered\nrate",
            needs="verdicts",
            first_limit="min",
            limit_rank=2,
            tolerance=2.0,
            has_pattern_value=True,
            has_pattern_limit=True,
            is_published=True,
        ),
        "pbleu": MetricFacts(
            title="pBLEU",
            needs="replies",
            factory="pytest_ocg.metrics.pbleu:PairwiseBleu",
            has_stored_scores=True,
            first_limit="max",
            limit_rank=5,
            tolerance=2.0,
            is_published=True,
        ),
        "pbleurt": MetricFacts(
            title="pBLEURT",
            needs="model",
            factory="pytest_ocg.metrics.pbleurt:open_pbleurt",
            model_option="bleurt_model",
            low=-100.0,  # BLEURT times 100 can be below 0 and above 100
            high=200.0,
            is_published=True,
        ),
        "distinct2": MetricFacts(
            title="distinct",
            needs="replies",
            factory="pytest_ocg.metrics.diversity:Distinct",
            is_share_of_replies=True,
            is_published=True,
        ),
        "distinct2_pooled": MetricFacts(
            title="distinct\n(pooled)",
            needs="replies",
            factory="pytest_ocg.metrics.diversity:PooledDistinct",
            without_interval="its bigrams are counted over all sets together, so it is not a mean over sets",
        ),
        "diverse_rate": MetricFacts(
            title="diverse\nrate",
            needs="replies",
            factory="pytest_ocg.metrics.diversity:DiverseRate",
            first_limit="min",
            limit_rank=3,
            tolerance=3.0,
            is_share_of_replies=True,
            has_pattern_value=True,
            is_published=True,
        ),
        "perplexity": MetricFacts(
            title="perplexity",
            needs="model",
            factory="pytest_ocg.metrics.perplexity:open_perplexity",
            model_option="perplexity_model",
            high=math.inf,
            margin_share=0.05,
            is_published=True,
        ),
    }
)
"""The shipped metrics by name, in the order of the paper's tables."""


def needing(needs: Literal["verdicts", "replies", "model"]) -> tuple[str, ...]:
    """The names of the metrics with this input, in the order of the tables."""
    return tuple(name for name, facts in METRICS.items() if facts.needs == needs)


def label_of(name: str) -> str:
    """The title of a metric on one line; a metric from a hook has its name as title."""
    return METRICS[name].label if name in METRICS else name


def title_of(name: str) -> str:
    """The title of a metric's column, one or two lines; a metric from a hook has its name as title."""
    return METRICS[name].title if name in METRICS else name


def published_metrics() -> tuple[str, ...]:
    """The metrics with a column in the paper's Table 1, in its order."""
    return tuple(name for name, facts in METRICS.items() if facts.is_published)


def pattern_metrics() -> tuple[str, ...]:
    """The metrics that results have for each part-of-speech pattern (Table 2) and template (Table 3)."""
    return tuple(name for name, facts in METRICS.items() if facts.has_pattern_value)


def first_limits() -> dict[str, Literal["min", "max"]]:
    """The metrics that new thresholds limit, the most important first, and the limit of each: `min` or `max`."""
    limited = {name: facts for name, facts in METRICS.items() if facts.first_limit is not None}
    ranked = sorted(limited.items(), key=lambda entry: entry[1].limit_rank)
    return {name: facts.first_limit for name, facts in ranked if facts.first_limit is not None}
