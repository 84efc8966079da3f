"""Markdown that the text put into it cannot break: inline code, tables, and parts to unfold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pytest_ocg.errors import printable

# What Markdown, HTML or a forge's own syntax (links, mentions, issue numbers) could take for more than a letter.
_SPECIAL = re.compile(r"[^\w\s.,=+/-]|_|(?<=www)\.", re.IGNORECASE)


def plain(text: str, limit: int = 300) -> str:
    """The text on one line, cut at `limit` characters, with nothing in it that is read as markup."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found.group())};", printable(text, limit))


def code(text: str, limit: int = 300) -> str:
    """The text as `plain` has it, in typewriter face; a name in it calls nobody."""
    # HTML rather than backticks: a table splits its cells before it looks for backticks.
    return f"<code>{plain(text, limit)}</code>"


def number(value: float | None, form: str = ".2f") -> str:
    """The number for a cell, a dash where there is none."""
    return "-" if value is None else format(value, form)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> list[str]:
    """The lines of a table, its first `left` columns flush left and the others flush right, and a blank line."""
    sides = [":--" if column < left else "--:" for column in range(len(titles))]
    return [*(f"| {' | '.join(cells)} |" for cells in (titles, sides, *rows)), ""]


def folded(title: str, lines: Iterable[str]) -> list[str]:
    """The lines under a title that unfolds them."""
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "</details>", ""]
