"""Concept sets, and how a dataset of them is loaded."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_ocg.errors import ConceptError, OptionError, counted, did_you_mean, quote
from pytest_ocg.inputs.concept_sources import Row, commongen_lite_file, read_rows
from pytest_ocg.inputs.files import resource

Tag = Literal["N", "V"]

COMMONGEN_LITE = "commongen-lite"
EVERYDAY = "everyday"
MAX_CONCEPTS = 8
MAX_LEMMA_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class Concept:
    """A lemma and its part of speech, noun (N) or verb (V)."""

    lemma: str
    tag: Tag

    def __str__(self) -> str:
        return f"{self.lemma}_{self.tag}"


@dataclass(frozen=True, slots=True)
class ConceptSet:
    """Concepts to use together in one sentence; `id` is `cs` and the row in its dataset (`cs042`)."""

    id: str
    concepts: tuple[Concept, ...]

    @property
    def key(self) -> str:
        """A text that is equal for equal concepts, in any order and from any dataset."""
        return " ".join(sorted(map(str, self.concepts)))

    @property
    def make_up(self) -> str:
        """The part-of-speech tags, letters sorted: `NNVV` for two nouns and two verbs."""
        return "".join(sorted(concept.tag for concept in self.concepts))


@dataclass(frozen=True, slots=True)
class Dataset:
    """Concept sets and the name of their source.

    `sha256` is over the sorted set keys, so equal content has an equal hash in any file layout. `dropped` is the number
    of rows left out because they do not have four concepts (only in `commongen-lite`).
    """

    name: str
    sets: tuple[ConceptSet, ...]
    sha256: str
    dropped: int = 0


def load_dataset(source: str, *, revision: str | None = None) -> Dataset:
    """The concept sets of `commongen-lite` (192 of four, from the hub or its cache), `everyday`, or a file at a path.

    A file is a JSON list or JSONL of objects with `concept_set`; other fields are ignored. `revision` is the hub
    revision of `commongen-lite`. Raises ConceptError, which names file, place and field.
    """
    if revision is not None and source != COMMONGEN_LITE:
        raise OptionError(f"--ocg-concepts-revision {revision!r} works only with {COMMONGEN_LITE}, not with {source!r}")
    if source == COMMONGEN_LITE:
        rows = read_rows(commongen_lite_file(revision))
        kept = [row for row in rows if len(_concept_list(row)) == 4]
        if not kept:
            raise ConceptError(
                f"{rows[0].place}: none of the {len(rows)} rows has four concepts, so this is not {COMMONGEN_LITE}"
            )
        return _dataset(COMMONGEN_LITE, kept, dropped=len(rows) - len(kept))
    if source == EVERYDAY:
        return _dataset(EVERYDAY, read_rows(resource("fixtures", "concepts", "everyday.jsonl")))
    try:
        path = Path(source).expanduser()
    except RuntimeError as cause:
        raise ConceptError(f"concepts {source!r}: {cause}") from cause
    if not source.strip() or not _exists(path):
        hint = did_you_mean(source, (COMMONGEN_LITE, EVERYDAY))
        raise ConceptError(
            f"concept file {source!r} does not exist{hint} (pass {COMMONGEN_LITE}, {EVERYDAY} or the path of a file)"
        )
    return _dataset(path.name, read_rows(path))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _dataset(name: str, rows: Iterable[Row], dropped: int = 0) -> Dataset:
    places: dict[str, str] = {}
    sets = []
    for number, row in enumerate(rows):
        entry = ConceptSet(f"cs{number:03d}", _concepts(row))
        if entry.key in places:
            raise ConceptError(
                f"{row.place}: concept_set has the same concepts as {places[entry.key]} "
                f"({entry.key}); remove one of them"
            )
        places[entry.key] = row.place
        sets.append(entry)
    digest = hashlib.sha256("\n".join(sorted(places)).encode("utf-8")).hexdigest()
    return Dataset(name, tuple(sets), digest, dropped)


def _concept_list(row: Row) -> list[object]:
    if "concept_set" not in row.fields:
        hint = did_you_mean("concept_set", row.fields)
        raise ConceptError(f"{row.place}: the field 'concept_set' is missing{hint}")
    value = row.fields["concept_set"]
    if not isinstance(value, list):
        raise ConceptError(f'{row.place}: concept_set must be a list such as ["dog_N", "catch_V"], not {quote(value)}')
    return value


def _concepts(row: Row) -> tuple[Concept, ...]:
    items = _concept_list(row)
    if not 2 <= len(items) <= MAX_CONCEPTS:
        raise ConceptError(
            f"{row.place}: concept_set has {counted(len(items), 'concept')}; 2 to {MAX_CONCEPTS} are allowed"
        )
    concepts = tuple(_concept(item, f"{row.place}: concept_set[{index}]") for index, item in enumerate(items))
    seen: dict[str, int] = {}
    for index, concept in enumerate(concepts):
        first = seen.setdefault(concept.lemma.casefold(), index)
        if first != index:
            raise ConceptError(
                f"{row.place}: concept_set[{index}] is {str(concept)!r}, but concept_set[{first}] has the same word"
            )
    return concepts


def _concept(item: object, place: str) -> Concept:
    if not isinstance(item, str):
        raise ConceptError(f"{place} must be a string such as 'dog_N', not {quote(item)}")
    lemma, _, tag = unicodedata.normalize("NFC", item).rpartition("_")
    if tag not in ("N", "V"):
        raise ConceptError(
            f"{place} is {quote(item)}; a concept is a word and its tag, N for a noun or V for a verb, such as 'dog_N'"
        )
    if len(lemma) > MAX_LEMMA_CHARACTERS or not _is_word(lemma):
        raise ConceptError(
            f"{place} is {quote(item)}; its word must be 1 to {MAX_LEMMA_CHARACTERS} letters, digits, "
            "hyphens and apostrophes, and start with a letter or digit"
        )
    return Concept(lemma, "N" if tag == "N" else "V")


def _is_word(lemma: str) -> bool:
    """Whether the lemma fits in a prompt and a test id: letters with their marks, digits, hyphen, apostrophe."""
    return lemma[:1].isalnum() and all(
        character in "-'\u2019" or unicodedata.category(character)[0] in "LM" or character.isdecimal()
        for character in lemma
    )
