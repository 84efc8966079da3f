"""Tables of plain text, and Markdown that no inserted text can break: inline code, tables and collapsible sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pytest_ocg.errors import printable

# Characters with a meaning in Markdown, in HTML or on a code host (links, mentions, issue numbers).
_SPECIAL = re.compile(r"[^\w\s.,=+/-]|_|(?<=www)\.", re.IGNORECASE)


def escape(text: str, limit: int = 300) -> str:
    """The text on one line, cut at `limit` characters, with every markup character escaped."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found.group())};", printable(text, limit))


def code(text: str, limit: int = 300) -> str:
    """The text from `escape` as inline code; a name in it does not notify anybody."""
    # HTML and not backticks: a table is split into cells before backticks are read.
    return f"<code>{escape(text, limit)}</code>"


def number(value: float | None, form: str = ".2f") -> str:
    """The number as text for a cell; a dash without a value."""
    return "-" if value is None else format(value, form)


def render_grid(titles: Sequence[str], lines: Sequence[Sequence[str]], *, left: int) -> list[str]:
    """The lines under titles of one or two lines each; the first `left` columns are left-aligned, the others right."""
    from tabulate import tabulate

    above = [title.rpartition("\n")[0] for title in titles]
    below = [title.rpartition("\n")[2] for title in titles]
    heads = [above, below] if any(above) else [below]
    grid = [*heads, *lines]
    rule = ["-" * max(len(line[column]) for line in grid) for column in range(len(titles))]
    alignment = ["left" if column < left else "right" for column in range(len(titles))]
    table: str = tabulate([*heads, rule, *lines], tablefmt="plain", colalign=alignment, disable_numparse=True)
    return table.splitlines()


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> list[str]:
    """The lines of a table and a blank line; the first `left` columns are left-aligned, the others right."""
    sides = [":--" if column < left else "--:" for column in range(len(titles))]
    return [*(f"| {' | '.join(cells)} |" for cells in (titles, sides, *rows)), ""]


def collapsible(title: str, lines: Iterable[str]) -> list[str]:
    """A section with a title; a click on the title shows the lines."""
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "</details>", ""]
