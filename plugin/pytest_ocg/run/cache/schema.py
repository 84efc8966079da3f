"""The SQLite file of the cache: its tables, its creation, and the meaning of SQLite errors."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pytest_ocg.errors import CacheError

BUSY_SECONDS = 60.0
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_NO_ACCESS = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)


class Damaged(Exception):
    """The file cannot be used as the cache; the text is the reason. Only the modules of the cache see this error."""


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite reports that the file is damaged, and not that it is busy, full or not accessible."""
    return _primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_locked(error: sqlite3.Error) -> bool:
    """Whether another process has locked the file."""
    return _primary_code(error) in _LOCKED


def cache_error(path: Path, error: sqlite3.Error) -> CacheError:
    """The CacheError for an error of SQLite; its message says what to do."""
    code = _primary_code(error)
    if code == sqlite3.SQLITE_FULL:
        problem = "the disk is full; this batch was not stored, but all earlier ones can be read; free some space or"
    elif code in _LOCKED:
        problem = f"another process has locked the cache for {BUSY_SECONDS:.0f} s ({error}); wait for it or"
    elif code in _NO_ACCESS:
        problem = f"the cache cannot be opened for writing ({error}); make the folder writable or"
    elif code == sqlite3.SQLITE_IOERR:
        problem = f"the disk failed or its quota is used up ({error}); this batch was not stored; check the disk or"
    else:
        problem = f"the cache cannot be used ({error});"
    return CacheError(f"{path}: {problem} pass --ocg-cache DIR with another folder")


def _primary_code(error: sqlite3.Error) -> int | None:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


Result = TypeVar("Result")

APPLICATION_ID = 0x4F434731
SCHEMA_VERSION = 1
# A check reads the whole file, about one gigabyte per second; damage in a larger file is found when it is read.
CHECKED_BYTES = 256 * 1024 * 1024
_TABLES = {
    "makings": "(id INTEGER PRIMARY KEY, model TEXT NOT NULL, made_by TEXT NOT NULL, provenance TEXT NOT NULL, "
    "UNIQUE (model, made_by))",
    "replies": "(key TEXT PRIMARY KEY, making INTEGER NOT NULL, stored_seconds INTEGER NOT NULL, "
    "payload TEXT NOT NULL) WITHOUT ROWID",
    "signatures": "(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "analyses": "(signature INTEGER NOT NULL, digest BLOB NOT NULL, packed BLOB NOT NULL, "
    "PRIMARY KEY (signature, digest))",
    "scores": "(signature INTEGER NOT NULL, digest BLOB NOT NULL, score REAL NOT NULL, "
    "PRIMARY KEY (signature, digest)) WITHOUT ROWID",
}


def retry_while_locked(attempt: Callable[[], Result]) -> Result:
    """The result of `attempt`, called again while the file is locked: some lock errors come before the timeout."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            if not is_locked(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def open_valid(path: Path) -> sqlite3.Connection | None:
    """A connection to a valid cache, None if there is no file yet; raises Damaged."""
    if size_bytes(path) == 0:
        if size_bytes(path.with_name(path.name + "-wal")) > 0:
            raise Damaged("it is empty or missing, but its -wal file exists")
        return None
    try:
        connection = _connect(path)
        with _closed_on_error(connection):
            _check(connection, path)
            _enable_wal(connection, path)
        return connection
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            raise Damaged(str(error)) from error
        raise


def _check(connection: sqlite3.Connection, path: Path) -> None:
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    tables = {name for [name] in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        raise Damaged("it has no tables; it may be a copy without its -wal file")
    if application != APPLICATION_ID:
        raise Damaged(f"it is a database of another program, with application id {application!r}")
    if version != SCHEMA_VERSION:
        raise Damaged(f"its schema version is {version!r}, but this release reads {SCHEMA_VERSION!r}")
    if missing := sorted(_TABLES.keys() - tables):
        raise Damaged(f"the table {missing[0]!r} is missing")
    if path.stat().st_size <= CHECKED_BYTES:
        [found] = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise Damaged(" ".join(found.split()))


def create_database(path: Path) -> sqlite3.Connection:
    """A connection to a new cache at `path`."""
    connection = _connect(path)
    with _closed_on_error(connection):
        _enable_wal(connection, path)
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            for table, columns in _TABLES.items():
                connection.execute(f"CREATE TABLE IF NOT EXISTS {table} {columns}")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        # This makes a copy of the main file alone a valid cache too.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return connection


def _enable_wal(connection: sqlite3.Connection, path: Path) -> None:
    [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise CacheError(
            f"{path}: the file system does not let processes share memory (journal mode {mode!r} instead of 'wal'); "
            "pass --ocg-cache DIR with a folder on a local disk"
        )


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    with _closed_on_error(connection):
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA cache_size = -16000")
    return connection


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def size_bytes(path: Path) -> int:
    """The size of a file, 0 if it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
