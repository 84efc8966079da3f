"""Everything this package raises on purpose, under one root, and how names and foreign text are put into messages."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable


class OcgError(Exception):
    """Something the user can put right; the message names it, its value and the way out."""


class OptionError(OcgError):
    """A command line option or ini value that cannot be used."""


class ConceptError(OcgError):
    """A concept file or dataset that cannot be read as concept sets."""


class TemplateError(OcgError):
    """A template file that cannot be read as instruction templates."""


class ModelError(OcgError):
    """A model name that means nothing, or a model that cannot be had or loaded."""


class BackendError(OcgError):
    """Generation cannot go on for any prompt: the run stops with this message."""


class CacheError(OcgError):
    """The reply cache cannot be opened, read or written."""


class MatcherError(OcgError):
    """The words of a reply cannot be analysed: no language model, or a broken one."""


class MetricError(OcgError):
    """A metric that is unknown or was given what it cannot score."""


class ThresholdError(OcgError):
    """A threshold file that cannot be read, or does not fit the results."""


class ResultsError(OcgError):
    """A results file that cannot be read or was written by another schema."""


class CompareError(OcgError):
    """Two runs that cannot be compared, or not without being told on what."""


class MergeError(OcgError):
    """Runs that cannot be put together: no shards or models of one run."""


class ExportError(OcgError):
    """A report or a table of cases that cannot be written."""


def did_you_mean(name: str, known: Iterable[str], limit: int = 1) -> str:
    """The end of an error message, `; did you mean 'x'?`, empty where no known name is near; case is ignored."""
    by_folded = {choice.casefold(): choice for choice in known}
    near = [by_folded[match] for match in difflib.get_close_matches(name.casefold(), by_folded, limit, 0.6)]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def printable(text: str, limit: int = 300) -> str:
    """The text on one line, with anything a terminal might obey written as an escape, cut at `limit` characters."""
    shown = text[:limit]
    if not shown.isprintable():
        shown = "".join(
            character if character.isprintable() else " " if character in "\n\t\r" else ascii(character)[1:-1]
            for character in shown
        )
    return f"{shown} …" if len(text) > limit else shown


def shown(value: object) -> str:
    """A value out of a file, quoted on one line, cut in the middle where it is long."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = 160
    short.maxlist = short.maxtuple = 12
    short.maxlevel = 3
    return short.repr(value)
