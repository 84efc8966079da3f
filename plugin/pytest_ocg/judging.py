"""Judges replies: words from the cache where they were analysed before, from spaCy where not."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ocg.cache import Cache
from pytest_ocg.coverage import Coverage, judge
from pytest_ocg.words import Analyser, analyser_signature, pack_words, unpack_words


class Judge:
    """Holds the analyser open between batches; spaCy is loaded only for a reply not analysed before."""

    def __init__(self, cache: Cache, matcher: str) -> None:
        self._cache = cache
        self._matcher = matcher
        self._analyser = Analyser()
        self._signature = analyser_signature()

    def coverages(self, replies: Sequence[str], concepts: Sequence[Sequence[str]]) -> list[Coverage]:
        """One verdict per reply against the lemmas asked of it; each different reply is analysed once.

        Raises MatcherError where the analyser cannot be had or fails its self-check.
        """
        different = list(dict.fromkeys(replies))
        packed = self._cache.analyses(self._signature, different)
        fresh = [reply for reply in different if reply not in packed]
        words = {reply: unpack_words(text) for reply, text in packed.items()}
        if fresh:
            words.update(zip(fresh, self._analyser.analyse(fresh), strict=True))
            self._cache.add_analyses(self._signature, {reply: pack_words(words[reply]) for reply in fresh})
        return [judge(words[reply], asked, self._matcher) for reply, asked in zip(replies, concepts, strict=True)]
