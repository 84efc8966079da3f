"""Sentence BLEU of all pairs of replies of many sets at once, from token numbers, over arrays."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from pytest_ocg.metrics.base import SetKey

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ORDERS = (1, 2, 3, 4)
_BLOCK_COLUMNS = 256  # a product this small stays on one thread: on a busy machine BLAS threads took 50 times as long


@dataclass(frozen=True, slots=True)
class Group:
    """One set's replies as token numbers: each different one once, and how often it came."""

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
    """For each n-gram length the clipped matches of every pair of rows: each group's square matrix, flat, in turn.

    A group's n-grams are numbered, a row's second "the" apart from its first, so that clipped matches are the common
    members of two rows and one matrix product gives them for the whole group.
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
    """How many members rows have in common, a square matrix for each group, flat and joined.

    The i-th member is `columns[i]`, of the row at `places[i]` in group `groups[i]`; groups come in ascending order.
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
    """Sentence BLEU of many pairs, 0 to 100, from what they have in common and their lengths in tokens.

    sacrebleu's `BLEU.compute_bleu` with smoothing `exp` and effective order, over arrays: `matches[n - 1]` are the
    clipped matches of length n. Rounding above 100 is cut, so that equal replies are at 100 and not past a limit of it.
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
