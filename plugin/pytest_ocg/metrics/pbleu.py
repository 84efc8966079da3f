"""pBLEU: how alike the replies to one concept set are, as sentence BLEU over all ordered pairs (SPEC section 4).

Equal to calling `sacrebleu.sentence_bleu(hypothesis, [reference])` on each pair, without doing the work of a pair
twice: words are tokenised once by sacrebleu's own tokenizer, equal replies are one row with a weight, the matches of a
pair serve both directions, and the final formula runs over all pairs of many sets at once. A set's mean is kept between
runs like a model's score: sacrebleu alone takes longer to import than all means of a full run to look up.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from itertools import permutations
from typing import TYPE_CHECKING, ClassVar

from pytest_ocg.errors import MetricError
from pytest_ocg.metrics.base import Measurement, Replies, SetKey, SetStatistic, measurement
from pytest_ocg.metrics.bleu_pairs import Group, mean_scores

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

    from pytest_ocg.metrics.context import ScoreStore

_RECIPE = "nrefs:1|case:mixed|eff:yes|tok:13a|smooth:exp"
_MADE_FOR = "install the sacrebleu it was made for (2.5 or 2.6)"
_BATCH_WORDS = 1 << 16
_CHECKED_TEXTS = (
    "",
    "Dogs",
    "Rain.",
    "A dog catches a frisbee",
    "A man, 3.5 m tall, throws a frisbee; the dog catches it - twice.",
    "The dog -- a re-trained, 2-year-old one -- said: &quot;1,000 frisbees&quot; ... and ran.",
    "the the the the cat",
    "The dog catches a frisbee that the man throws, and the man throws the frisbee that the dog catches.",
)


@dataclass(frozen=True, slots=True)
class PairwiseBleu:
    """Mean over sets of the mean sentence BLEU (4-grams, 13a, exp smoothing, effective order) of reply pairs, 0 to 100.

    Both directions of a pair count, no reply meets itself. A set of fewer than two replies has no value. With a `store`
    a set whose replies were scored before, in whatever order, is not scored again.
    """

    name: ClassVar[str] = "pbleu"
    store: ScoreStore | None = None

    def signature(self) -> str:
        """sacrebleu's own signature of the BLEU that is computed, and which pairs; sacrebleu is not imported for it."""
        return f"{_RECIPE}|version:{metadata.version('sacrebleu')}|pairs:ordered"

    def measure(self, replies: Replies) -> Measurement:
        """BLEU points; `count` is in sets with two replies or more.

        Raises MetricError if the installed sacrebleu scores a few fixed texts otherwise than this module.
        """
        signature = self.signature()
        written = {key: json.dumps(sorted(texts)) for key, texts in replies.items() if len(texts) > 1}
        kept = {} if self.store is None else self.store.scores(signature, list(written.values()))
        fresh = _scored({key: replies[key] for key, text in written.items() if text not in kept})
        if self.store is not None and fresh:
            self.store.add_scores(signature, {written[key]: mean for key, mean in fresh.items()})
        means = {key: fresh[key] if key in fresh else kept[text] for key, text in written.items()}
        statistics = {key: SetStatistic(mean, 1) for key, mean in means.items()}
        return measurement(statistics, signature, reason="no set has two replies")


def _scored(replies: Replies) -> dict[SetKey, float]:
    """The mean of each set, all of two replies or more."""
    if not replies:
        return {}
    bleu = _sacrebleu()
    _check_equal(bleu)
    encode = _encoder(bleu.tokenizer)
    groups = (_grouped(key, texts, encode) for key, texts in replies.items())
    return {key: mean for batch in _batches(groups) for key, mean in mean_scores(batch).items()}


def _sacrebleu() -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True, force=True)


def _check_equal(bleu: BLEU) -> None:
    """Raise MetricError unless `bleu` and this module agree, so that an update of sacrebleu cannot part them unseen."""
    scores = [
        bleu.sentence_score(hypothesis, [reference]).score for hypothesis, reference in permutations(_CHECKED_TEXTS, 2)
    ]
    theirs = sum(scores) / len(scores)
    key = (0, "checked")
    ours = mean_scores([_grouped(key, _CHECKED_TEXTS, _encoder(bleu.tokenizer))])[key]
    if abs(ours - theirs) > 1e-9:
        raise MetricError(
            f"pbleu: sacrebleu {metadata.version('sacrebleu')!r} scores the fixed texts {theirs!r} but this "
            f"version computes {ours!r}; {_MADE_FOR}"
        )
    recipe = bleu.get_signature().format().partition("|version:")[0]
    if recipe != _RECIPE:
        raise MetricError(
            f"pbleu: sacrebleu {metadata.version('sacrebleu')!r} signs its BLEU {recipe!r} and not {_RECIPE!r}; "
            f"{_MADE_FOR}"
        )


def _encoder(tokenize: Callable[[str], str]) -> Callable[[str], tuple[int, ...]]:
    """A function from a reply to the numbers of its tokens; equal tokens have equal numbers.

    No rule of 13a looks past white space, except that it joins what a line break after a hyphen parts. So each
    different word is tokenised once, and only replies of several lines as a whole.
    """
    numbers: dict[str, int] = {}
    words: dict[str, tuple[int, ...]] = {}

    def numbered(text: str) -> tuple[int, ...]:
        return tuple(numbers.setdefault(token, len(numbers)) for token in tokenize(text).split())

    def encode(reply: str) -> tuple[int, ...]:
        text = reply.rstrip()
        if "\n" in text:
            return numbered(text)
        row: list[int] = []
        for word in text.split():
            known = words.get(word)
            if known is None:
                known = words[word] = numbered(word)
            row += known
        return tuple(row)

    return encode


def _grouped(key: SetKey, texts: Iterable[str], encode: Callable[[str], tuple[int, ...]]) -> Group:
    """One set made ready; sorted first, so that sums of the same replies are the same to the last bit."""
    counts = Counter(map(encode, sorted(texts)))
    return Group(key, tuple(counts), tuple(counts.values()))


def _batches(groups: Iterable[Group]) -> Iterator[list[Group]]:
    """Groups in lists of about `_BATCH_WORDS` words, which bounds the memory in use at a time."""
    batch: list[Group] = []
    words = 0
    for group in groups:
        batch.append(group)
        words += sum(map(len, group.rows))
        if words >= _BATCH_WORDS:
            yield batch
            batch, words = [], 0
    if batch:
        yield batch
