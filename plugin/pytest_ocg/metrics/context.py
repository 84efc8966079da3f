"""What a metric with a scoring model is given: where scores are kept, and whom to tell how far it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


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
