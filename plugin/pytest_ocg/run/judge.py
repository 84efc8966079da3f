"""Judges replies: verdicts from the cache where they were reached before, words from it, or from spaCy, where not."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ocg.run.cache.cache import Cache
from pytest_ocg.run.judging.coverage import (
    Coverage,
    coverage_at,
    find_concepts,
    matcher_signature,
    pack_positions,
    unpack_positions,
)
from pytest_ocg.run.judging.words import Analyser, Words, analyser_signature, pack_words, unpack_words

Lemmas = Sequence[str]


class Judge:
    """Holds the analyser open between batches; spaCy is loaded only for a reply not analysed before."""

    def __init__(self, cache: Cache, matcher: str) -> None:
        self._cache = cache
        self._matcher = matcher
        self._analyser = Analyser()
        self._words_signature = analyser_signature()
        self._verdict_signature = f"positions:1|{matcher_signature(matcher)}"

    def coverages(self, replies: Sequence[str], concepts: Sequence[Lemmas]) -> list[Coverage]:
        """One verdict per reply against the lemmas asked of it; the same question is answered once.

        Raises MatcherError where the analyser cannot be had or fails its self-check.
        """
        questions = [f"{' '.join(asked)}\n{reply}" for reply, asked in zip(replies, concepts, strict=True)]
        kept = self._cache.analyses(self._verdict_signature, questions)
        verdicts = {question: unpack_positions(packed) for question, packed in kept.items()}
        open_questions = {
            question: (reply, asked)
            for question, reply, asked in zip(questions, replies, concepts, strict=True)
            if question not in verdicts
        }
        if open_questions:
            words = self._words([reply for reply, _ in open_questions.values()])
            fresh = {
                question: find_concepts(words[reply], asked, self._matcher)
                for question, (reply, asked) in open_questions.items()
            }
            self._cache.add_analyses(
                self._verdict_signature, {question: pack_positions(found) for question, found in fresh.items()}
            )
            verdicts.update(fresh)
        return [coverage_at(asked, verdicts[question]) for question, asked in zip(questions, concepts, strict=True)]

    def _words(self, replies: Sequence[str]) -> dict[str, Words]:
        """The words of each different reply."""
        different = list(dict.fromkeys(replies))
        packed = self._cache.analyses(self._words_signature, different)
        fresh = [reply for reply in different if reply not in packed]
        words = {reply: unpack_words(text) for reply, text in packed.items()}
        if fresh:
            words.update(zip(fresh, self._analyser.analyse(fresh), strict=True))
            self._cache.add_analyses(self._words_signature, {reply: pack_words(words[reply]) for reply in fresh})
        return words
