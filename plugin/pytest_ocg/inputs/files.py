"""Files of the package or of the user: their paths, checks before reading, and TOML."""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_ocg.errors import OcgError, did_you_mean

_PACKAGE = Path(__file__).parents[1]
_CHECKOUT = _PACKAGE.parent.parent


def resource(*parts: str) -> Path:
    """The path of a data file of the package, `resource("fixtures", "models.toml")`; it need not exist."""
    packaged = _PACKAGE.joinpath(*parts)
    return packaged if (_PACKAGE / parts[0]).is_dir() else _CHECKOUT.joinpath(*parts)


def check_file(path: Path, name: str, limit_bytes: int, error: type[OcgError], hint: str) -> None:
    """Raise `error` if the path is not a regular file, or the file is larger than `limit_bytes`.

    `name` is the name in messages: `results file 'x'`. `hint` says which file to pass instead.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError) as cause:
        raise error(f"{name} does not exist; {hint}") from cause
    except (OSError, ValueError) as cause:
        raise error(_unreadable(name, cause)) from cause
    if not stat.S_ISREG(status.st_mode):
        raise error(f"{name} is {'a folder' if stat.S_ISDIR(status.st_mode) else 'not a regular file'}; {hint}")
    if status.st_size > limit_bytes:
        raise error(f"{name} is too large: {status.st_size:,} bytes, the limit is {limit_bytes:,}; {hint}")


def read_bytes(path: Path, name: str, limit_bytes: int, error: type[OcgError], hint: str) -> bytes:
    """The content of a file from the user; raises `error` as `check_file` does, and if the file cannot be read."""
    check_file(path, name, limit_bytes, error, hint)
    try:
        return path.read_bytes()
    except OSError as cause:
        raise error(_unreadable(name, cause)) from cause


def _unreadable(name: str, cause: OSError | ValueError) -> str:
    return f"{name} cannot be read ({getattr(cause, 'strerror', None) or cause}); check the path and its permissions"


def read_toml(path: Path, error: type[OcgError]) -> dict[str, Any]:
    """The content of a TOML file; raises `error`, which names the file, if it is unreadable or not TOML in UTF-8."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as cause:
        raise error(f"{path} cannot be read: {cause.strerror or cause}") from cause
    except UnicodeDecodeError as cause:
        raise error(f"{path} is not UTF-8 text: byte {cause.start} is {cause.object[cause.start]:#04x}") from cause
    return parse_toml(text, str(path), error)


def parse_toml(text: str, place: str, error: type[OcgError], hint: str = "") -> dict[str, Any]:
    """The content of a TOML text; raises `error`, which names `place` and ends in `hint`, if it is not valid TOML."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as cause:
        raise error(f"{place} is not valid TOML: {cause}{hint}") from cause


def check_keys(
    table: object, known: Iterable[str], required: Iterable[str], place: str, error: type[OcgError]
) -> Mapping[str, Any]:
    """The table; raises `error` if it is not a table, has an unknown key (names a similar one) or misses a key."""
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
    """The string under the key; raises `error` if it is not a string or is only white space."""
    value = table[key]
    if not isinstance(value, str) or not value.strip():
        raise error(f"{place}: {key} must be a string that is not blank, not {value!r}")
    return value
