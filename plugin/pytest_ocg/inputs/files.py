"""Files that come with the package or from a user: where shipped data lies, and TOML read once and checked."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_ocg.errors import OcgError, did_you_mean

_PACKAGE = Path(__file__).parents[1]
_CHECKOUT = _PACKAGE.parent.parent


def resource(*parts: str) -> Path:
    """The path of shipped data, `resource("fixtures", "models.toml")`, whether or not it exists."""
    packaged = _PACKAGE.joinpath(*parts)
    return packaged if (_PACKAGE / parts[0]).is_dir() else _CHECKOUT.joinpath(*parts)


def read_toml(path: Path, error: type[OcgError]) -> dict[str, Any]:
    """The file's content; raises `error` naming the file where it cannot be read or is not TOML in UTF-8."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as cause:
        raise error(f"{path}: cannot be read: {cause.strerror or cause}") from cause
    except UnicodeDecodeError as cause:
        raise error(f"{path}: is not UTF-8 text: byte {cause.start} is {cause.object[cause.start]:#04x}") from cause
    except (ValueError, RecursionError) as cause:
        raise error(f"{path}: is not valid TOML: {cause}") from cause


def check_keys(
    table: object, known: Iterable[str], required: Iterable[str], place: str, error: type[OcgError]
) -> Mapping[str, Any]:
    """The table; raises `error` where it is no table, has an unknown key (with the nearest one) or lacks a key."""
    known = tuple(known)
    if not isinstance(table, dict):
        raise error(f"{place}: must be a table, not {table!r}")
    for key in table:
        if key not in known:
            raise error(f"{place}: unknown key {key!r}{did_you_mean(key, known)} (known keys: {', '.join(known)})")
    for key in required:
        if key not in table:
            raise error(f"{place}: the key {key!r} is missing")
    return table


def text_value(table: Mapping[str, Any], key: str, place: str, error: type[OcgError]) -> str:
    """The string under the key; raises `error` where it is no string or nothing but white space."""
    value = table[key]
    if not isinstance(value, str) or not value.strip():
        raise error(f"{place}: {key} must be a string that is not blank, not {value!r}")
    return value
