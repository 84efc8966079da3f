"""Scores pairs of texts with a BLEURT-20 checkpoint: batches by length, memory, and a check of the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pytest_ocg.backends.huggingface.devices import plan_device
from pytest_ocg.backends.huggingface.runtime import free_memory, run_in_batches, silence_libraries
from pytest_ocg.backends.huggingface.sources import Source, fetch, find_source
from pytest_ocg.errors import BackendError, MetricError, ModelError
from pytest_ocg.metrics.bleurt_model import (
    DTYPE,
    MAX_TOKENS,
    SMALLER,
    LoadedBleurt,
    bleurt_spec,
    load_bleurt,
    score_encoded,
)

Pair = tuple[str, str]
"""Reference and candidate."""

BATCH_TOKENS: Mapping[str, int] = MappingProxyType({"cpu": 2048, "mps": 8192, "cuda": 32768})
MINIMUM_DIFFERENCE = 0.3

_RECIPE = 1  # part of every score's identity: increase it when a change here changes scores
_UNRELATED = ("A dog catches a frisbee in the park.", "The committee has put off its vote on property taxes.")
_PUBLISHED_PAIR = ("this is a random sentence", "this looks like a random sentence")
_PUBLISHED_SCORES = {"lucadiliello/bleurt-20": 0.7930, "lucadiliello/bleurt-20-d12": 0.8080}  # from their model cards
_PUBLISHED_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """The scores of some pairs by index among all pairs, and the indices of those that were cut to `MAX_TOKENS`."""

    scores: Mapping[int, float]
    cut: frozenset[int]


class BleurtScorer:
    """Scores pairs of texts with one checkpoint; the first pair loads it and `close` frees it.

    The length of the pairs and the kind of device limit the size of a batch; `batch_size` limits it further. With
    `checks_meaning` False the scores of the checkpoint are not checked; tests with random weights need this.
    """

    def __init__(
        self,
        name: str,
        *,
        device: str = "auto",
        batch_size: int | None = None,
        allow_pickle: bool = False,
        notice: Callable[[str], None] = lambda text: None,
        checks_meaning: bool = True,
    ) -> None:
        self._spec = bleurt_spec(name)
        self._device_name = device
        self._batch_size = batch_size
        self._allow_pickle = allow_pickle
        self._notice = notice
        self._checks_meaning = checks_meaning
        self._source: Source | None = None
        self._loaded: LoadedBleurt | None = None
        self._batch_tokens: int | None = None

    def identity(self) -> str:
        """Everything except the pair that can change a score, as `key:value` joined by `|`; loads nothing.

        Raises ModelError if the checkpoint is not available, or if its weights are pickles and these are not allowed.
        """
        source = self._find()
        # The folder of a local checkpoint does not change its scores.
        name = source.name if source.path is None or source.kind == "hub" else source.path.name
        version = (source.revision or source.content or "")[:16]
        return f"model:{name}|version:{version}|dtype:{DTYPE}|max_tokens:{MAX_TOKENS}|recipe:{_RECIPE}"

    def score(self, pairs: Sequence[Pair]) -> Iterator[ScoredPairs]:
        """The scores of all pairs, batch by batch, the longest pairs first; the order of `pairs` does not change them.

        Raises ModelError if the checkpoint cannot be loaded or a single pair does not fit into memory, MetricError if
        its scores are wrong.
        """
        if not pairs:
            return
        with silence_libraries():
            loaded = self._load()
        lengths = [loaded.tokenizer.pair_tokens(*pair) for pair in pairs]
        places = sorted(range(len(pairs)), key=lambda place: (-min(lengths[place], MAX_TOKENS), pairs[place]))
        start = 0
        while start < len(places):
            batch = places[start : start + self._size_for(loaded, min(lengths[places[start]], MAX_TOKENS))]
            with silence_libraries():
                scores = self._score_batch(loaded, [pairs[place] for place in batch])
            yield ScoredPairs(
                dict(zip(batch, scores, strict=True)),
                frozenset(place for place in batch if lengths[place] > MAX_TOKENS),
            )
            start += len(batch)

    def close(self) -> None:
        """Free the checkpoint and its memory; the next `score` loads it again."""
        if self._loaded is not None:
            self._loaded = None
            free_memory()

    def _find(self) -> Source:
        if self._source is None:
            self._source = find_source(self._spec, allow_pickle=self._allow_pickle, notice=self._notice)
        return self._source

    def _load(self) -> LoadedBleurt:
        if self._loaded is None:
            self._source = fetch(self._find(), allow_pickle=self._allow_pickle, notice=self._notice)
            device = plan_device(self._device_name, DTYPE)
            loaded = load_bleurt(self._source, device, allow_pickle=self._allow_pickle)
            if self._checks_meaning:
                check_meaning(self._source.name, lambda pairs: self._score_batch(loaded, pairs))
            self._loaded = loaded
        return self._loaded

    def _size_for(self, loaded: LoadedBleurt, pair_tokens: int) -> int:
        most_pairs = max(1, (self._batch_tokens or BATCH_TOKENS[loaded.device.kind]) // pair_tokens)
        return min(most_pairs, self._batch_size or most_pairs)

    def _score_batch(self, loaded: LoadedBleurt, pairs: Sequence[Pair]) -> list[float]:
        encoded = [loaded.tokenizer.encode_pair(*pair) for pair in pairs]
        try:
            done = run_in_batches(
                encoded,
                len(encoded),
                lambda batch: score_encoded(loaded, batch),
                free_memory=free_memory,
                notice=lambda text: self._notice(f"pBLEURT: {text}"),
                noun="pair",
                way_out=SMALLER,
            )
        except BackendError as cause:
            raise ModelError(f"BLEURT model {self._spec.name!r} on {loaded.device.name}: {cause}") from cause
        if done.size < len(encoded):
            self._batch_tokens = done.size * max(len(pair.tokens) for pair in encoded)
        return done.results


def check_meaning(name: str, score: Callable[[Sequence[Pair]], Sequence[float]]) -> None:
    """Raise MetricError if identical texts do not score far above unrelated ones, or a published score differs."""
    one, other = _UNRELATED
    identical_one, identical_other, forward, backward = score([(one, one), (other, other), (one, other), (other, one)])
    # Written so that a NaN fails.
    identical, unrelated = (identical_one, identical_other), (forward, backward)
    if not all(high - low >= MINIMUM_DIFFERENCE for high in identical for low in unrelated):
        raise MetricError(
            f"BLEURT model {name!r} scores identical texts {identical_one:.3f} and {identical_other:.3f}, "
            f"unrelated texts {forward:.3f} and {backward:.3f}; the difference must be at least {MINIMUM_DIFFERENCE}, "
            "so its weights are not those of a trained BLEURT-20; choose another checkpoint"
        )
    published = _PUBLISHED_SCORES.get(name.casefold())
    if published is None:
        return
    [found] = score([_PUBLISHED_PAIR])
    if not abs(found - published) <= _PUBLISHED_TOLERANCE:
        raise MetricError(
            f"BLEURT model {name!r} scores {_PUBLISHED_PAIR!r} {found:.4f}, but its model card has {published:.4f}; "
            "its files are damaged or the installed transformers is not supported: download the checkpoint again"
        )
