"""The text of a reply as the tagger is to see it: one case, plain quotes and dashes, no markup."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_LONGEST_WORD = 64
_LONGEST_RUN = 3
_CLUSTER = re.compile(r".[\u0300-\u036f]*", re.DOTALL)
# A word, a hyphen inside a word, or what else means something to a tagger; the rest becomes a space.
_PART = re.compile(
    r"(?P<word>[^\W_]+)|(?P<hyphen>(?<=[^\W\d_])-(?=[^\W\d_]))|(?P<dash>-+)|(?P<stop>[.,;:!?)]+)|(?P<quote>['\"(]+)"
)
_APOSTROPHES = frozenset("\u2018\u2019\u201a\u201b\u2032\u02b9\u02bb\u02bc\u055a\ua78c\uff07\u0060\u00b4")
_QUOTES = frozenset("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb")
_MINUS_SIGNS = frozenset("\u2212\u02d7\u2043")


@dataclass(frozen=True, slots=True)
class PlainText:
    """A text made plain; `offsets` are, for each of its characters, where in the original it comes from."""

    text: str
    offsets: tuple[int, ...]


def read_plain_text(text: str) -> PlainText:
    """The text in lower case and plain punctuation, with single spaces where it has anything that is not read.

    Not read are markdown, emoji, control characters, lone surrogates, and a run of more than 64 letters or digits. A
    full stop or comma glued to the next word is set apart from it, and so is a dash; a hyphen between letters stays. A
    run of marks is cut to three.
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
    """The text casefolded, in plain letters, quotes and dashes, and the offset each character of it comes from."""
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
    """What a character with its accents is read as; nothing for a soft hyphen or an invisible joiner."""
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
