"""The cache's open file: whole transactions, what is written in a row, and a new file where it proves damaged."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pytest_ocg.backends.base import Generation
from pytest_ocg.errors import CacheError
from pytest_ocg.run.cache.opening import at_the_door, inode, open_database
from pytest_ocg.run.cache.schema import Damaged, explained, is_damage, size_bytes

_DEFAULTS = {"detail": "", "finish_reason": "stop", "prompt_tokens": None, "completion_tokens": None}
_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True)


def payload_of(generation: Generation) -> str:
    """A reply as ASCII JSON, so that NUL and lone surrogates survive; what has its usual value is left out."""
    fields = {"text": generation.text} | {name: getattr(generation, name) for name in _DEFAULTS}
    return _JSON.encode({name: value for name, value in fields.items() if value != _DEFAULTS.get(name, ...)})


def generation_from(payload: str) -> Generation:
    """The reply `payload_of` wrote; raises Damaged where it wrote no such thing."""
    try:
        return Generation(**json.loads(payload))
    except (TypeError, ValueError) as error:
        raise Damaged(f"a stored reply reads {payload[:80]!r}") from error


def compressed(packed: str) -> bytes:
    """An analysis in about a third of its space."""
    return zlib.compress(packed.encode("utf-8", "surrogatepass"))


def decompressed(stored: bytes) -> str:
    """The analysis `compressed` wrote; raises Damaged where it wrote no such thing."""
    try:
        return zlib.decompress(stored).decode("utf-8", "surrogatepass")
    except (zlib.error, TypeError, ValueError) as error:
        raise Damaged("a stored analysis cannot be unpacked") from error


Result = TypeVar("Result")

_ATTEMPTS = 3
_KEYS_A_QUERY = 500


class CacheFile:
    """One connection to the cache's database; raises CacheError where the file cannot be used."""

    def __init__(self, path: Path, notice: Callable[[str], None]) -> None:
        self.path = path
        self._notice = notice
        self._open = open_database(path, notice)

    def read(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """What `work` returns; it may raise Damaged for content that makes no sense.

        A file that proves damaged is set aside and `work` is done again on the new one. A file that was deleted or set
        aside by another process is left for the one now in its place, or what is written would be lost with it.
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
                    raise explained(self.path, error) from error
                else:
                    raise
        raise CacheError(f"{self.path}: the cache keeps proving damaged; check the disk or pass --ocg-cache DIR")

    def write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """What `work` returns, all of its changes kept or, where it raises, none."""

        def transaction(connection: sqlite3.Connection) -> Result:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                return work(connection)

        return self.read(transaction)

    def shrink(self) -> None:
        """Give the space of what was deleted back to the disk."""
        self.read(lambda connection: connection.execute("VACUUM"))
        self.read(lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    def size_bytes(self) -> int:
        """What the database takes on disk, its write-ahead log included."""
        return sum(size_bytes(self.path.with_name(self.path.name + suffix)) for suffix in ("", "-wal"))

    def close(self) -> None:
        """Give the file back; closing twice does nothing."""
        try:
            with at_the_door(self.path):
                self._open.connection.close()
        except (sqlite3.OperationalError, CacheError):
            self._open.connection.close()

    def _reopen(self, distrusted: int | None) -> None:
        self.close()
        self._open = open_database(self.path, self._notice, distrusted)


def matching_rows(
    connection: sqlite3.Connection, query: str, fixed: Sequence[Any], keys: Sequence[Any]
) -> Iterator[Any]:
    """The rows of `query` for any number of keys; it takes `fixed` first and ends in `IN`, the list being added."""
    for start in range(0, len(keys), _KEYS_A_QUERY):
        part = keys[start : start + _KEYS_A_QUERY]
        yield from connection.execute(f"{query} ({','.join('?' * len(part))})", (*fixed, *part)).fetchall()
