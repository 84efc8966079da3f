"""Scores pairs of texts with a BLEURT-20 checkpoint: batches by length, memory, and whether scores mean something."""

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
LEAST_DIFFERENCE = 0.3

_RECIPE = 1  # part of every score's identity: raise it with whatever changes scores
_UNALIKE = ("A dog catches a frisbee in the park.", "The committee has put off its vote on property taxes.")
_PUBLISHED_PAIR = ("this is a random sentence", "this looks like a random sentence")
_PUBLISHED_SCORES = {"lucadiliello/bleurt-20": 0.7930, "lucadiliello/bleurt-20-d12": 0.8080}  # in their model cards
_PUBLISHED_WITHIN = 0.01


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """The scores of some of the pairs by their place among all, and which of these were cut to `MAX_TOKENS`."""

    scores: Mapping[int, float]
    cut: frozenset[int]


class BleurtScorer:
    """Scores pairs of texts with one checkpoint, which is loaded for the first pair and freed by `close`.

    A batch has as many pairs as their length and the kind of device allow, and no more than `batch_size` if that is
    given. `checks_meaning` False leaves out the check that scores mean something, for random weights in tests.
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
        """All that can change a score but its pair, as `key:value` joined by `|`; loads nothing.

        Raises ModelError for a checkpoint that cannot be had, or whose weights are pickles and those are not allowed.
        """
        source = self._find()
        # Where a local checkpoint lies does not change its scores.
        name = source.name if source.path is None or source.kind == "hub" else source.path.name
        version = (source.revision or source.content or "")[:16]
        return f"model:{name}|version:{version}|dtype:{DTYPE}|max_tokens:{MAX_TOKENS}|recipe:{_RECIPE}"

    def score(self, pairs: Sequence[Pair]) -> Iterator[ScoredPairs]:
        """The scores of all pairs, batch by batch, the longest pairs first; the same in any order of `pairs`.

        Raises ModelError for a checkpoint that cannot be loaded or does not fit into memory with a single pair,
        MetricError where it scores nonsense.
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
        """Drop the checkpoint and give its memory back; another `score` would load it again."""
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
        fitting = max(1, (self._batch_tokens or BATCH_TOKENS[loaded.device.kind]) // pair_tokens)
        return min(fitting, self._batch_size or fitting)

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
    """Raise MetricError unless identical texts score far above unrelated ones, and a known checkpoint as published."""
    one, other = _UNALIKE
    alike_one, alike_other, forth, back = score([(one, one), (other, other), (one, other), (other, one)])
    # Put so that a NaN in any place does not pass.
    if not all(alike - unlike >= LEAST_DIFFERENCE for alike in (alike_one, alike_other) for unlike in (forth, back)):
        raise MetricError(
            f"BLEURT model {name!r} scores identical texts {alike_one:.3f} and {alike_other:.3f}, unrelated ones "
            f"{forth:.3f} and {back:.3f}, which should be {LEAST_DIFFERENCE} apart at least: "
            "its weights are not those of a trained BLEURT-20; choose another"
        )
    published = _PUBLISHED_SCORES.get(name.casefold())
    if published is None:
        return
    [found] = score([_PUBLISHED_PAIR])
    if not abs(found - published) <= _PUBLISHED_WITHIN:
        raise MetricError(
            f"BLEURT model {name!r} scores {_PUBLISHED_PAIR!r} {found:.4f} where its model card says {published:.4f}: "
            "its files or the installed transformers are not what this was made for; download it anew"
        )
