"""The exceptions of this package under one base class, and functions that format names and values for messages."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable


class OcgError(Exception):
    """An error that the user can fix; the message gives the name, the value and what to do."""


class OptionError(OcgError):
    """A command line option or ini value that cannot be used."""


class ConceptError(OcgError):
    """A concept file or dataset that cannot be read as concept sets."""


class TemplateError(OcgError):
    """A template file that cannot be read as instruction templates."""


class ModelError(OcgError):
    """A model name that is unknown, or a model that is not available or cannot be loaded."""


class BackendError(OcgError):
    """Generation cannot continue for any prompt: the run stops with this message."""


class CacheError(OcgError):
    """The reply cache cannot be opened, read or written."""


class MatcherError(OcgError):
    """The words of a reply cannot be analysed: the language model is missing or broken."""


class MetricError(OcgError):
    """A metric that is unknown, or input that a metric cannot score."""


class ThresholdError(OcgError):
    """A threshold file that cannot be read or does not match the results."""


class ResultsError(OcgError):
    """A results file that cannot be read or has another schema."""


class CompareError(OcgError):
    """Two runs that cannot be compared, or only after the user chooses what to compare."""


class MergeError(OcgError):
    """Runs that cannot be merged because they are not shards or models of one run."""


class ExportError(OcgError):
    """A report or a table of cases that cannot be written."""


def did_you_mean(name: str, known: Iterable[str], limit: int = 1) -> str:
    """The end of an error message, `; did you mean 'x'?`; empty if no known name is similar. Case is ignored."""
    by_folded = {choice.casefold(): choice for choice in known}
    near = [by_folded[match] for match in difflib.get_close_matches(name.casefold(), by_folded, limit, 0.6)]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def counted(number: int, noun: str) -> str:
    """The number with its noun: `1 reply`, `2,000 replies`. `noun` is a singular with a plural in `s` or `ies`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun.removesuffix('y')}ies" if noun.endswith("y") else f"{number:,} {noun}s"


def printable(text: str, limit: int = 300) -> str:
    """The text on one line, cut at `limit` characters; control characters are written as escapes."""
    short = text[:limit]
    if not short.isprintable():
        short = "".join(
            character if character.isprintable() else " " if character in "\n\t\r" else ascii(character)[1:-1]
            for character in short
        )
    return f"{short} …" if len(text) > limit else short


def quote(value: object) -> str:
    """The `repr` of a value from a file on one line; a long one is shortened in the middle."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = 160
    short.maxlist = short.maxtuple = 12
    short.maxlevel = 3
    return short.repr(value)
