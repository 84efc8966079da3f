"""What SQLite's errors mean for the cache: damage to set aside, or something the user can put right."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from pytest_ocg.errors import CacheError

BUSY_SECONDS = 60.0
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_CLOSED_TO_US = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)


class Damaged(Exception):
    """This file cannot serve as the cache; the text says why. Never leaves the cache's own modules."""


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite found the file itself broken, rather than busy, full or out of reach."""
    return _primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_locked(error: sqlite3.Error) -> bool:
    """Whether another process was in the way."""
    return _primary_code(error) in _LOCKED


def explained(path: Path, error: sqlite3.Error) -> CacheError:
    """The error to raise for what SQLite said, with the way out."""
    code = _primary_code(error)
    if code == sqlite3.SQLITE_FULL:
        said = "the disk is full; this batch was not stored, all earlier ones can still be read; free some space or"
    elif code in _LOCKED:
        said = f"another process has kept the cache locked for {BUSY_SECONDS:.0f} s ({error}); wait for it or"
    elif code in _CLOSED_TO_US:
        said = f"the cache cannot be opened for writing ({error}); make the folder writable or"
    elif code == sqlite3.SQLITE_IOERR:
        said = f"the disk fails or a quota is used up ({error}); this batch was not stored; see to it or"
    else:
        said = f"the cache cannot be used ({error});"
    return CacheError(f"{path}: {said} pass --ocg-cache DIR with another folder")


def _primary_code(error: sqlite3.Error) -> int | None:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
