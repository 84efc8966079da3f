"""Where the shipped data lies: inside the wheel, or at the top of a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_CHECKOUT = _PACKAGE.parent.parent


def resource(*parts: str) -> Path:
    """The path of shipped data, `resource("fixtures", "models.toml")`, whether or not it exists."""
    packaged = _PACKAGE.joinpath(*parts)
    return packaged if (_PACKAGE / parts[0]).is_dir() else _CHECKOUT.joinpath(*parts)
