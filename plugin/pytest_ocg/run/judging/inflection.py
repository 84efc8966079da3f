"""The legal English inflections of a lemma: spelling rules, and a table of exceptions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from pytest_ocg.errors import MatcherError
from pytest_ocg.inputs.files import read_toml, resource

_VOWELS = re.compile(r"[aeiouy]+")
# A final consonant is doubled after a single vowel letter: run, swim, quit; not sew, mix, play, look, act.
_DOUBLING = re.compile(r"(?:^|[^aeiou]|qu)[aeiouy][^aeiouwxy]$")
_CONSONANT_Y = re.compile(r"(?:[^aeiou]|qu)y$")
_CONSONANT_O = re.compile(r"[^aeiou]o$")
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh)$")
_VERB_PREFIXES = ("fore", "in", "inter", "mis", "out", "over", "pre", "re", "un", "under", "up", "with")


@dataclass(frozen=True, slots=True)
class _Table:
    """The irregular forms, by lemma; `plural` also applies to longer nouns with the same ending."""

    version: int
    past: Mapping[str, frozenset[str]]
    participle: Mapping[str, frozenset[str]]
    present: Mapping[str, frozenset[str]]
    plural: Mapping[str, frozenset[str]]
    plural_alone: Mapping[str, frozenset[str]]
    hard_ch: frozenset[str]
    adjective: frozenset[str]


@cache
def _table() -> _Table:
    raw = read_toml(resource("fixtures", "irregular_forms.toml"), MatcherError)

    def by_lemma(section: str) -> dict[str, frozenset[str]]:
        return {lemma: frozenset(forms.split()) for lemma, forms in raw[section].items()}

    return _Table(
        version=raw["version"],
        past=by_lemma("past"),
        participle=by_lemma("participle"),
        present=by_lemma("present"),
        plural=by_lemma("plural"),
        plural_alone=by_lemma("plural_alone"),
        hard_ch=by_lemma("hard_ch")["words"],
        adjective=by_lemma("adjective")["words"],
    )


def inflection_signature() -> str:
    """The version of the rules and the table together, `inflection:1`."""
    return f"inflection:{_table().version}"


@cache
def inflections(lemma: str) -> frozenset[str]:
    """Every form of `lemma` as a noun and as a verb, in lower case, with the lemma itself.

    If an irregular past is known, the regular one is not legal (`catched`), unless both are used (`leaped`, `leapt`).
    Verb forms are included even if the lemma is only a noun, because "carred" is not another word. The adjectives in
    the table ("toothed") are left out.
    """
    lemma = lemma.casefold()
    forms = {lemma} | _s_forms(lemma) | _plurals(lemma) | _past_forms(lemma) | _participles(lemma)
    return frozenset(forms | _table().present.get(lemma, frozenset())) - _table().adjective


def is_misread(text: str, lemma: str) -> bool:
    """Whether the `lemma` that the lemmatizer gives for the word `text` is a known mistake.

    Either `text` is an adjective that only looks like a past form ("crowded"), or the lemma has lost its final e:
    "rid" for "rides", "bar" for "bares".
    """
    if text in _table().adjective:
        return text != lemma
    ending = text.removeprefix(lemma)
    return ending in ("es", "ed", "ing") and len(text) > len(ending) and text not in inflections(lemma)


def _s_forms(lemma: str) -> set[str]:
    """The third person and the regular plural."""
    if _CONSONANT_Y.search(lemma):
        return {f"{lemma[:-1]}ies"}
    if lemma in _table().hard_ch:
        return {f"{lemma}s"}
    if _SIBILANT.search(lemma):
        return {f"{stem}es" for stem in _stems_before_vowel(lemma) | {lemma}}
    if _CONSONANT_O.search(lemma):
        return {f"{lemma}s", f"{lemma}es"}
    return {f"{lemma}s"}


def _plurals(lemma: str) -> set[str]:
    """The irregular plurals of the lemma, or of the noun at its end: feet, snowmen."""
    forms = set(_table().plural_alone.get(lemma, ()))
    for noun, plurals in _table().plural.items():
        if lemma.endswith(noun):
            forms |= {lemma.removesuffix(noun) + plural for plural in plurals}
    return forms


def _past_forms(lemma: str) -> set[str]:
    """The past tense and the past participle."""
    irregular = _table().past.get(lemma)
    if irregular is not None:
        return set(irregular)
    if lemma.endswith("e"):
        regular = {f"{lemma}d"}
    elif _CONSONANT_Y.search(lemma):
        regular = {f"{lemma[:-1]}ied"}
    else:
        regular = {f"{stem}ed" for stem in _stems_before_vowel(lemma)}
    return regular | _prefixed_past_forms(lemma)


def _prefixed_past_forms(lemma: str) -> set[str]:
    """The past forms of a verb made from an irregular one: rewrote, overdone, misunderstood."""
    forms: set[str] = set()
    for prefix in _VERB_PREFIXES:
        if lemma.startswith(prefix):
            verb = lemma.removeprefix(prefix)
            past = _table().past.get(verb) or (_prefixed_past_forms(verb) if verb else ())
            forms |= {prefix + form for form in past}
    return forms


def _participles(lemma: str) -> set[str]:
    """The -ing form."""
    irregular = _table().participle.get(lemma)
    if irregular is not None:
        return set(irregular)
    if lemma.endswith("ie"):
        return {f"{lemma[:-2]}ying"}
    if lemma.endswith("e") and not lemma.endswith(("ee", "oe", "ye")):
        return {f"{lemma[:-1]}ing"}
    return {f"{stem}ing" for stem in _stems_before_vowel(lemma)}


def _stems_before_vowel(lemma: str) -> set[str]:
    """The stems before -ed and -ing: `run` is doubled; with more syllables stress decides, so both are given."""
    if lemma.endswith("c") and len(_VOWELS.findall(lemma)) > 1:
        return {f"{lemma}k", lemma}
    doubled = lemma + lemma[-1]
    if lemma.endswith(("ial", "ual", "uel")):
        return {doubled, lemma}
    if not _DOUBLING.search(lemma):
        return {lemma}
    is_free = len(_VOWELS.findall(lemma)) > 1 or lemma.endswith("s")
    return {doubled, lemma} if is_free else {doubled}
