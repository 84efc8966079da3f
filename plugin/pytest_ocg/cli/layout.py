"""Lines for people to read: aligned columns and sizes."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ocg.report.markup import plain


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[str] = frozenset()) -> list[str]:
    """The lines of a table, columns two blanks apart, those named in `right` flush right; no control characters."""
    cells = [list(header), *([_printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    sides = [">" if name in right else "<" for name in header]
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)).rstrip()
        for row in cells
    ]


def markdown_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[str] = frozenset()
) -> list[str]:
    """The lines of the same table in Markdown; no text in it is read as markup."""
    sides = ["--:" if name in right else ":--" for name in header]
    cells = [header, sides, *([plain(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in cells]


def size_text(size_bytes: int) -> str:
    """A size in powers of 1000: `6.5 MB`."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    size, units = size_bytes / 1000, ["kB", "MB", "GB", "TB"]
    while size >= 999.95 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.1f} {units[0]}"


def _printable(text: str) -> str:
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )
