"""`results.json` as typed nouns, in the order of the file; these types check every file that is read.

A field that may be None and has a default is left out of the file if it is None. A field that is `absent()` may be
missing in a file of an older version; it is always written.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from pytest_ocg.inputs.selection import Whole
from pytest_ocg.results.verdicts import Verdict, absent
from pytest_ocg.run.record import Count, Number
from pytest_ocg.statistics.limits import LARGEST_NUMBER, LARGEST_SET_COUNT
from pytest_ocg.statistics.resampling import Bounds

SCHEMA = 1

Value = Number | None
Name = Annotated[str, msgspec.Meta(pattern=r"\S")]
TemplateKey = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,9}$")]
SetCount = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_SET_COUNT)]
SetStatistics = dict[TemplateKey, dict[str, tuple[Number, SetCount]]]
"""What each concept set adds to a metric: by template and set, a sum and of how many values."""


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """When and how a run was made, and with which versions; merged runs have no platform and no command line."""

    started: str
    seconds: Number
    versions: dict[str, str | None]
    python: str
    platform: str | None = None
    command_line: list[str] | None = None
    merged_from: list[dict[str, Any]] | None = None
    missing_shards: list[dict[str, str]] | None = None


class DatasetInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The file of concept sets; `dropped` is the number of its rows that are not sets of four."""

    name: str
    sha256: str
    sets: Count
    dropped: Count


class RunSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases were planned, selected and run; `cut` is why a run ended early, None if it did not."""

    sets: str | None
    shard: str | None
    whole: Whole | None = absent()
    templates: list[Count]
    conditions: list[str]
    shots: Count
    planned: Count
    selected: Count
    run: Count
    complete: bool
    cut: str | None


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a row's cases by outcome; `errors` is by kind."""

    planned: Count
    selected: Count
    hit: Count
    miss: Count
    error: Count
    not_run: Count
    cached: Count
    echo: Count
    truncated: Count
    errors: dict[str, Count]

    @property
    def scored(self) -> int:
        """The cases with a reply."""
        return self.hit + self.miss

    @property
    def done(self) -> int:
        """The cases that were run."""
        return self.hit + self.miss + self.error


class PatternCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of one part-of-speech pattern."""

    planned: Count
    run: Count


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens as counted by the backend, for all cases and for those not in the cache; costs in US dollars."""

    prompt_tokens: Count
    completion_tokens: Count
    new_prompt_tokens: Count
    new_completion_tokens: Count
    uncounted: Count
    cost_dollars: Value
    new_cost_dollars: Value


class MetricScore(msgspec.Struct, frozen=True, kw_only=True):
    """A metric over a row: `value` is None if it was not computed, and `reason` is why.

    `left_out` and `cut` are those of `metrics.base.Measurement`; the file has them only if there is a signature.
    `interval_reason` is why a value has no interval.
    """

    value: Value
    n: Count
    signature: str | None
    reason: str | None
    left_out: Count = 0
    cut: Count = 0
    interval: Bounds | None = absent()
    standard_error: Annotated[float, msgspec.Meta(ge=0, le=LARGEST_NUMBER)] | None = absent()
    sets: Count = 0
    interval_reason: str | None = absent()


class PatternScores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of the cases of one part-of-speech pattern (Table 2), in percent."""

    scored: Count
    coverage_unordered: Value
    coverage_ordered: Value
    ordered_rate: Value
    diverse_rate: Value


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One model under one condition: counts, metrics, and the statistics behind them.

    `made_by` lists each way in which replies were made, with the number of replies. Only a row `ordered` whose twin
    `original` was run has `delta_vs_original`.
    """

    model: Name
    condition: str
    shots: Count
    published_as: str | None = absent()
    identity: dict[str, Any]
    patterns: dict[str, PatternCounts]
    counts: Counts
    usage: Usage
    metrics: dict[str, MetricScore]
    by_template: dict[TemplateKey, dict[str, Value]]
    statistics: dict[str, SetStatistics]
    by_pattern: dict[str, PatternScores]
    made_by: list[dict[str, Any]]
    delta_vs_original: dict[str, Value] | None = None

    def __post_init__(self) -> None:
        for source in self.made_by:
            if type(source.get("replies")) is not int:
                raise ValueError(f"made_by has {source.get('replies')!r} replies, which is not a whole number")

    @property
    def name(self) -> tuple[str, str, int]:
        """What identifies this row in a run."""
        return self.model, self.condition, self.shots

    def value(self, metric: str) -> float | None:
        """The value of a metric, None if it was not computed."""
        score = self.metrics.get(metric)
        return None if score is None else score.value

    def values(self) -> dict[str, float | None]:
        """The value of each metric by name."""
        return {name: score.value for name, score in self.metrics.items()}

    def pattern_values(self) -> dict[str, dict[str, float | None]]:
        """The value of each metric by part-of-speech pattern and name."""
        return {
            pattern: {name: getattr(scores, name) for name in scores.__struct_fields__ if name != "scored"}
            for pattern, scores in self.by_pattern.items()
        }


class GateInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts of the gate, its mode, and the exit status of the run."""

    mode: str | None = None
    verdicts: tuple[Verdict, ...]
    exit_status: int | None = None


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `results.json` (schema 1); rows are by model and condition, in the order of the plan."""

    schema: int
    run: RunInfo
    dataset: DatasetInfo
    templates_sha256: str
    matcher: str
    seed: int
    selection: RunSelection
    rows: tuple[Row, ...]
    gate: GateInfo | None = None
    generations_sha256: str | None = None

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of the gate when the run ended."""
        return () if self.gate is None else self.gate.verdicts

    def models(self) -> tuple[str, ...]:
        """The models that have a row, each once."""
        return tuple(dict.fromkeys(row.model for row in self.rows))
