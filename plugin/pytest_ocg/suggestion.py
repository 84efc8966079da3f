"""What a name that means nothing was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], limit: int = 1) -> str:
    """The end of an error message, `; did you mean 'x'?`, empty where no known name is near; case is ignored."""
    by_folded = {choice.casefold(): choice for choice in known}
    near = [by_folded[match] for match in difflib.get_close_matches(name.casefold(), by_folded, limit, 0.6)]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
