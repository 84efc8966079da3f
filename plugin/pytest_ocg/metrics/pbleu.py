"""pBLEU: how similar the replies to one concept set are, as sentence BLEU over all ordered pairs.

Defined in docs/definitions.md, pBLEU.

The result is the same as `sacrebleu.sentence_bleu(hypothesis, [reference])` on each pair, but no work is done twice:
sacrebleu's tokenizer sees each word once, equal replies are one row with a weight, both directions of a pair use the
same matches, and the final formula runs over all pairs of many sets at once. The mean of a set is stored between runs
like a model's score, because the import of sacrebleu takes longer than reading all means of a full run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from itertools import chain, permutations
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_ocg.errors import MetricError
from pytest_ocg.metrics.base import Measurement, Replies, SetKey, SetStatistic, measurement

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sacrebleu.metrics.bleu import BLEU

    from pytest_ocg.metrics.base import ScoreStore


_ORDERS = (1, 2, 3, 4)
_BLOCK_COLUMNS = 256  # a product this small runs on one thread: on a busy machine BLAS threads were 50 times slower


@dataclass(frozen=True, slots=True)
class Group:
    """The replies of one set as token numbers: each different reply once, and how often it occurs."""

    key: SetKey
    rows: tuple[tuple[int, ...], ...]
    repeats: tuple[int, ...]


def mean_scores(groups: list[Group]) -> dict[SetKey, float]:
    """The mean sentence BLEU over the ordered pairs of each group."""
    import numpy as np

    lengths = [np.array([len(row) for row in group.rows]) for group in groups]
    hypothesis = np.concatenate([np.repeat(length, len(length)) for length in lengths])
    reference = np.concatenate([np.tile(length, len(length)) for length in lengths])
    scores = sentence_scores(_matches(groups), hypothesis, reference)
    means: dict[SetKey, float] = {}
    start = 0
    for group in groups:
        size = len(group.rows)
        repeats = np.array(group.repeats)
        pairs = np.outer(repeats, repeats) - np.diag(repeats)
        own = scores[start : start + size * size].reshape(size, size)
        means[group.key] = float((pairs * own).sum() / pairs.sum())
        start += size * size
    return means


def _matches(groups: list[Group]) -> list[NDArray[Any]]:
    """By n-gram length the clipped matches of every pair of rows: the square matrices of all groups, flat and joined.

    The n-grams of a group are numbered; the second "the" of a row has another number than the first. So the clipped
    matches of two rows are their common members, and one matrix product computes them for the whole group.
    """
    import numpy as np

    sizes = np.array([len(group.rows) for group in groups])
    lengths = np.array([len(row) for group in groups for row in group.rows])
    words = np.fromiter(chain.from_iterable(chain.from_iterable(group.rows for group in groups)), np.int64)
    group_of_row = np.repeat(np.arange(len(groups)), sizes)
    place_of_row = np.arange(len(lengths)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    row_of_word = np.repeat(np.arange(len(lengths)), lengths)
    words_left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(words))
    vocabulary = int(words.max(initial=0)) + 1
    prefix = group_of_row[row_of_word]
    found = []
    for n in _ORDERS:
        starts = np.flatnonzero(words_left >= n)
        grams = prefix[starts] * vocabulary + words[starts + n - 1]
        by_gram = np.argsort(grams, kind="stable")
        starts, grams = starts[by_gram], grams[by_gram]
        rows = row_of_word[starts]
        is_new_gram = np.diff(grams, prepend=-1) != 0
        is_new = is_new_gram | (np.diff(rows, prepend=-1) != 0)
        position = np.arange(len(grams))
        nth = position - np.maximum.accumulate(np.where(is_new, position, 0))
        numbers = np.cumsum(is_new_gram) - 1
        prefix[starts] = numbers
        columns = np.unique(numbers * (int(nth.max(initial=0)) + 1) + nth, return_inverse=True)[1]
        found.append(_squares(columns, place_of_row[rows], group_of_row[rows], sizes))
    return found


def _squares(columns: NDArray[Any], places: NDArray[Any], groups: NDArray[Any], sizes: NDArray[Any]) -> NDArray[Any]:
    """The number of common members of each two rows: a square matrix for each group, flat, joined.

    Member `columns[i]` is in the row with index `places[i]` of group `groups[i]`; groups are in ascending order.
    """
    import numpy as np

    bounds = np.searchsorted(groups, np.arange(len(sizes) + 1)).tolist()
    squares = []
    for size, start, end in zip(sizes.tolist(), bounds[:-1], bounds[1:], strict=True):
        own = columns[start:end]
        block, column = np.divmod(own - own.min(initial=len(columns)), _BLOCK_COLUMNS)
        has = np.zeros((int(block.max(initial=0)) + 1, size, _BLOCK_COLUMNS), np.float32)
        has[block, places[start:end], column] = 1
        squares.append((has @ has.transpose(0, 2, 1)).sum(axis=0).ravel())
    return np.concatenate(squares)


def sentence_scores(
    matches: list[NDArray[Any]], hypothesis_lengths: NDArray[Any], reference_lengths: NDArray[Any]
) -> NDArray[Any]:
    """Sentence BLEU of many pairs, 0 to 100, from their matches and their lengths in tokens.

    sacrebleu's `BLEU.compute_bleu` with smoothing `exp` and effective order, over arrays: `matches[n - 1]` are the
    clipped matches of length n. Rounding above 100 is cut to 100, so that equal replies keep a limit of 100.
    """
    import numpy as np

    smoothing = np.ones(len(hypothesis_lengths))
    logarithms = np.zeros(len(hypothesis_lengths))
    for n, matched in zip(_ORDERS, matches, strict=True):
        total = np.maximum(hypothesis_lengths - (n - 1), 0)
        smoothing[(total > 0) & (matched == 0)] *= 2
        share = np.where(matched > 0, matched, 1 / smoothing) / np.maximum(total, 1)
        logarithms += np.where(total > 0, np.log(100 * share), 0)
    orders = np.clip(hypothesis_lengths, 1, len(_ORDERS))
    brevity = np.exp(np.minimum(0, 1 - reference_lengths / np.maximum(hypothesis_lengths, 1)))
    scores = np.minimum(brevity * np.exp(logarithms / orders), 100)
    return np.where(np.any(matches, axis=0), scores, 0.0)


_RECIPE = "nrefs:1|case:mixed|eff:yes|tok:13a|smooth:exp"
_SUPPORTED = "install a supported sacrebleu (2.5 or 2.6)"
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

    Both directions of a pair count; no reply is paired with itself. A set of fewer than two replies has no value. With
    a `store`, a set whose replies were scored before, in any order, is not scored again.
    """

    name: ClassVar[str] = "pbleu"
    store: ScoreStore | None = None

    def signature(self) -> str:
        """sacrebleu's signature of this BLEU, and the pairs; sacrebleu is not imported."""
        return f"{_RECIPE}|version:{metadata.version('sacrebleu')}|pairs:ordered"

    def measure(self, replies: Replies) -> Measurement:
        """BLEU points; `count` is the number of sets with two or more replies.

        Raises MetricError if the installed sacrebleu and this module score a few fixed texts differently.
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
    """The mean of each set; all sets have two or more replies."""
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
    """Raise MetricError if `bleu` and this module differ; an update of sacrebleu could change its scores."""
    scores = [
        bleu.sentence_score(hypothesis, [reference]).score for hypothesis, reference in permutations(_CHECKED_TEXTS, 2)
    ]
    theirs = sum(scores) / len(scores)
    key = (0, "checked")
    ours = mean_scores([_grouped(key, _CHECKED_TEXTS, _encoder(bleu.tokenizer))])[key]
    if abs(ours - theirs) > 1e-9:
        raise MetricError(
            f"pbleu: sacrebleu {metadata.version('sacrebleu')!r} scores the fixed texts {theirs!r}, but this "
            f"plugin computes {ours!r}; {_SUPPORTED}"
        )
    recipe = bleu.get_signature().format().partition("|version:")[0]
    if recipe != _RECIPE:
        raise MetricError(
            f"pbleu: sacrebleu {metadata.version('sacrebleu')!r} has the signature {recipe!r}, not {_RECIPE!r}; "
            f"{_SUPPORTED}"
        )


def _encoder(tokenize: Callable[[str], str]) -> Callable[[str], tuple[int, ...]]:
    """A function from a reply to the numbers of its tokens; equal tokens have equal numbers.

    The rules of 13a look at single words, except one: it joins a word that a hyphen and a line break divide. So each
    different word is tokenised once, and only replies of several lines are tokenised as a whole.
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
    """The group of one set; texts are sorted, so that sums over the same replies are equal to the last bit."""
    counts = Counter(map(encode, sorted(texts)))
    return Group(key, tuple(counts), tuple(counts.values()))


def _batches(groups: Iterable[Group]) -> Iterator[list[Group]]:
    """Groups in lists of about `_BATCH_WORDS` words; this limits the memory."""
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
