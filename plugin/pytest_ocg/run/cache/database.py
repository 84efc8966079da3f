"""The open database of the cache: transactions, the format of rows, and a new file if this one is damaged."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pytest_ocg.backends.base import Generation, is_count
from pytest_ocg.errors import CacheError
from pytest_ocg.run.cache.opening import inode, open_database, opening_lock
from pytest_ocg.run.cache.schema import Damaged, cache_error, is_damage, size_bytes

_DEFAULTS = {"detail": "", "finish_reason": "stop", "prompt_tokens": None, "completion_tokens": None}
_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True)


def payload_of(generation: Generation) -> str:
    """A reply as ASCII JSON, which can hold NUL and lone surrogates; fields with their default value are left out."""
    fields = {"text": generation.text} | {name: getattr(generation, name) for name in _DEFAULTS}
    return _JSON.encode({name: value for name, value in fields.items() if value != _DEFAULTS.get(name, ...)})


def generation_from(payload: str) -> Generation:
    """The reply in a payload from `payload_of`; raises Damaged for any other text."""
    try:
        fields = json.loads(payload)
        for name in ("prompt_tokens", "completion_tokens"):
            if name in fields and not is_count(fields[name]):
                fields[name] = None  # a count that cannot be right; the reply is kept
        if "finish_reason" in fields:
            fields["finish_reason"] = str(fields["finish_reason"])
        return Generation(**fields)
    except (TypeError, ValueError) as error:
        raise Damaged(f"a stored reply cannot be read: {payload[:80]!r}") from error


def compressed(packed: str) -> bytes:
    """The compressed analysis, about a third of its size."""
    return zlib.compress(packed.encode("utf-8", "surrogatepass"))


def decompressed(stored: bytes) -> str:
    """The analysis in bytes from `compressed`; raises Damaged for any other bytes."""
    try:
        return zlib.decompress(stored).decode("utf-8", "surrogatepass")
    except (zlib.error, TypeError, ValueError) as error:
        raise Damaged("a stored analysis cannot be decompressed") from error


Result = TypeVar("Result")

_ATTEMPTS = 3
_KEYS_A_QUERY = 500


class CacheFile:
    """One connection to the database of the cache; raises CacheError if the file cannot be used."""

    def __init__(self, path: Path, notice: Callable[[str], None]) -> None:
        self.path = path
        self._notice = notice
        self._open = open_database(path, notice)

    def read(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """The result of `work`, which may raise Damaged for invalid content.

        A damaged file is renamed, and `work` is called again with the new file. If another process deleted or renamed
        the file, the file that is now at the path is opened, because anything written to the old one would be lost.
        """
        for _ in range(_ATTEMPTS):
            if inode(self.path) != self._open.inode:
                self._reopen(None)
            try:
                return work(self._open.connection)
            except Damaged:
                self._reopen(self._open.inode)
            except sqlite3.DatabaseError as error:
                if is_damage(error):
                    self._reopen(self._open.inode)
                elif isinstance(error, sqlite3.OperationalError):
                    raise cache_error(self.path, error) from error
                else:
                    raise
        raise CacheError(
            f"{self.path}: the cache was damaged {_ATTEMPTS} times in a row; check the disk or pass --ocg-cache DIR"
        )

    def write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """The result of `work`, with all of its changes stored, or none if it raises."""

        def transaction(connection: sqlite3.Connection) -> Result:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                return work(connection)

        return self.read(transaction)

    def shrink(self) -> None:
        """Free the disk space of deleted rows."""
        self.read(lambda connection: connection.execute("VACUUM"))
        self.read(lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    def size_bytes(self) -> int:
        """The size of the database on disk, with its write-ahead log."""
        return sum(size_bytes(self.path.with_name(self.path.name + suffix)) for suffix in ("", "-wal"))

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        try:
            with opening_lock(self.path):
                self._open.connection.close()
        except (sqlite3.OperationalError, CacheError):
            self._open.connection.close()

    def _reopen(self, damaged_inode: int | None) -> None:
        self.close()
        self._open = open_database(self.path, self._notice, damaged_inode)


def matching_rows(
    connection: sqlite3.Connection, query: str, fixed: Sequence[Any], keys: Sequence[Any]
) -> Iterator[Any]:
    """The rows of `query` for any number of keys; its parameters start with `fixed`, and it ends in `IN`."""
    for start in range(0, len(keys), _KEYS_A_QUERY):
        part = keys[start : start + _KEYS_A_QUERY]
        yield from connection.execute(f"{query} ({','.join('?' * len(part))})", (*fixed, *part)).fetchall()
