"""The cache of replies, analysed texts and scores."""

from __future__ import annotations

import json
import math
import sqlite3
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import platformdirs

from pytest_ocg.backends.base import Generation
from pytest_ocg.errors import CacheError
from pytest_ocg.run.cache.database import (
    CacheFile,
    compressed,
    decompressed,
    generation_from,
    matching_rows,
    payload_of,
)
from pytest_ocg.run.cache.keys import canonical_json, provenance_id, text_digest


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The cache entries of one model, by the name under which it was run.

    `provenances` is the number of different provenances of its replies. `payload_bytes` does not include the overhead
    of the database. `first_stored` and `last_stored` are UTC, ISO 8601.
    """

    model: str
    replies: int
    provenances: int
    payload_bytes: int
    first_stored: str
    last_stored: str


def usage(connection: sqlite3.Connection, model: str | None = None, before: datetime | None = None) -> list[ModelUsage]:
    """The usage of each model, sorted by name; only of `model`, only of replies stored before `before`."""
    condition, values = _condition(model, before)
    rows = connection.execute(
        "SELECT model, COUNT(*), COUNT(DISTINCT making), SUM(LENGTH(key) + LENGTH(payload)), MIN(stored_seconds), "
        f"MAX(stored_seconds) FROM replies JOIN makings ON makings.id = making WHERE {condition} "
        "GROUP BY model ORDER BY model",
        values,
    )
    return [
        ModelUsage(name, replies, provenances, payload_bytes, _moment(first), _moment(last))
        for name, replies, provenances, payload_bytes, first, last in rows
    ]


def delete_replies(connection: sqlite3.Connection, model: str | None, before: datetime | None) -> int:
    """Delete replies and return their number; provenances and analyses without a reply are deleted with them.

    Scores do not refer to replies, so they are deleted when the last reply is deleted. Call this in a transaction.
    """
    condition, values = _condition(model, before)
    deleted = connection.execute(
        f"DELETE FROM replies WHERE key IN (SELECT key FROM replies JOIN makings ON makings.id = making "
        f"WHERE {condition})",
        values,
    ).rowcount
    connection.execute("DELETE FROM makings WHERE id NOT IN (SELECT making FROM replies)")
    if connection.execute("SELECT 1 FROM replies LIMIT 1").fetchone() is None:
        for table in ("analyses", "scores", "signatures"):
            connection.execute(f"DELETE FROM {table}")
    else:
        _delete_unused_analyses(connection)
    return deleted


def _delete_unused_analyses(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TEMP TABLE kept (digest BLOB PRIMARY KEY) WITHOUT ROWID")
    payloads = connection.execute("SELECT payload FROM replies")
    connection.executemany(
        "INSERT OR IGNORE INTO kept VALUES (?)",
        ((text_digest(generation_from(payload).text or ""),) for [payload] in payloads),
    )
    connection.execute("DELETE FROM analyses WHERE digest NOT IN (SELECT digest FROM kept)")
    connection.execute("DROP TABLE kept")


def _condition(model: str | None, before: datetime | None) -> tuple[str, list[str | int]]:
    conditions, values = ["1"], list[str | int]()
    if model is not None:
        conditions.append("model = ?")
        values.append(model)
    if before is not None:
        conditions.append("stored_seconds < ?")
        values.append(int((before if before.tzinfo else before.replace(tzinfo=UTC)).timestamp()))
    return " AND ".join(conditions), values


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


FILE_NAME = "replies.sqlite"


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A cached reply and the id of its provenance."""

    generation: Generation
    made_by: str


def default_cache_directory() -> Path:
    """The default folder of the cache of this user."""
    return platformdirs.user_cache_path("pytest-ocg", appauthor=False)


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=2)


class Cache:
    """The results of earlier runs, shared by all processes of this machine; each process has one connection.

    Every method raises CacheError if the file cannot be used: disk full, locked for a minute, not accessible. A damaged
    file is renamed, never deleted, and reported through `notice`; a new file is then used.
    """

    def __init__(self, file: CacheFile) -> None:
        self.file = file

    @classmethod
    def open(cls, directory: Path, notice: Callable[[str], None] = _warn) -> Cache:
        """The cache in `directory`; both are created if they do not exist."""
        return cls(CacheFile(directory / FILE_NAME, notice))

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The path of the database."""
        return self.file.path

    def replies(self, keys: Sequence[str]) -> dict[str, StoredReply]:
        """The cached reply of each key that has one."""
        query = "SELECT key, made_by, payload FROM replies CROSS JOIN makings ON makings.id = making WHERE key IN"

        def read(connection: sqlite3.Connection) -> dict[str, StoredReply]:
            rows = matching_rows(connection, query, (), sorted(keys))  # the order in the table: takes half the time
            return {key: StoredReply(generation_from(payload), made_by) for key, made_by, payload in rows}

        return self.file.read(read)

    def has_replies(self, keys: Sequence[str]) -> bool:
        """Whether every key has a cached reply."""
        different = sorted(set(keys))
        query = "SELECT 1 FROM replies WHERE key IN"
        return self.file.read(
            lambda connection: sum(1 for _ in matching_rows(connection, query, (), different)) == len(different)
        )

    def add_replies(
        self,
        batch: Sequence[tuple[str, Generation]],
        *,
        model: str,
        provenance: Mapping[str, Any],
        replace: bool = False,
    ) -> str:
        """Store all replies of the batch, or none on an error, and return the id of `provenance`.

        Generations without a reply are not stored. A key that has a reply keeps it unless `replace`.
        """
        written = canonical_json(dict(provenance))
        made_by, now = provenance_id(written), int(time.time())
        payloads = [(key, payload_of(generation)) for key, generation in batch if generation.error is None]
        verb = "REPLACE" if replace else "IGNORE"

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR IGNORE INTO makings (model, made_by, provenance) VALUES (?, ?, ?)", (model, made_by, written)
            )
            [making] = connection.execute(
                "SELECT id FROM makings WHERE model = ? AND made_by = ?", (model, made_by)
            ).fetchone()
            connection.executemany(
                f"INSERT OR {verb} INTO replies (key, making, stored_seconds, payload) VALUES (?, ?, ?, ?)",
                [(key, making, now, payload) for key, payload in payloads],
            )

        self.file.write(write)
        return made_by

    def provenance(self, made_by: str) -> dict[str, Any]:
        """The provenance with this id, as it was passed to `add_replies`, read from JSON."""
        query = "SELECT provenance FROM makings WHERE made_by = ? LIMIT 1"
        row = self.file.read(lambda connection: connection.execute(query, (made_by,)).fetchone())
        if row is None:
            raise CacheError(
                f"{self.path}: there is no reply with the provenance {made_by!r}; it was pruned or is in another "
                "cache: run again, or pass --ocg-cache with that folder"
            )
        found: dict[str, Any] = json.loads(row[0])
        return found

    def analyses(self, signature: str, texts: Sequence[str]) -> dict[str, str]:
        """The packed analysis, made under `signature`, of each text that has one."""
        by_digest = {text_digest(text): text for text in texts}
        query = (
            "SELECT digest, packed FROM analyses "
            "WHERE signature = (SELECT id FROM signatures WHERE name = ?) AND digest IN"
        )

        def read(connection: sqlite3.Connection) -> dict[str, str]:
            rows = matching_rows(connection, query, (signature,), list(by_digest))
            return {by_digest[digest]: decompressed(packed) for digest, packed in rows}

        return self.file.read(read)

    def add_analyses(self, signature: str, analyses: Mapping[str, str]) -> None:
        """Store the packed analysis of each text, all or none."""
        self._add_signed(
            "INSERT OR IGNORE INTO analyses (signature, digest, packed) VALUES (?, ?, ?)",
            signature,
            [(text_digest(text), compressed(packed)) for text, packed in analyses.items()],
        )

    def scores(self, scorer: str, keys: Sequence[str]) -> dict[str, float]:
        """The score by `scorer` (its signature) of each key that has one."""
        by_digest = {text_digest(key): key for key in keys}
        query = (
            "SELECT digest, score FROM scores "
            "WHERE signature = (SELECT id FROM signatures WHERE name = ?) AND digest IN"
        )

        def read(connection: sqlite3.Connection) -> dict[str, float]:
            rows = matching_rows(connection, query, (scorer,), list(by_digest))
            return {by_digest[digest]: score for digest, score in rows}

        return self.file.read(read)

    def add_scores(self, scorer: str, scores: Mapping[str, float]) -> None:
        """Store the score of each key, all or none; raises CacheError for a score that is not a number."""
        for key, score in scores.items():
            if math.isnan(score):
                raise CacheError(
                    f"{self.path}: the score of {key!r} by {scorer!r} is {score!r}; omit texts without a score"
                )
        self._add_signed(
            "INSERT OR IGNORE INTO scores (signature, digest, score) VALUES (?, ?, ?)",
            scorer,
            [(text_digest(key), float(score)) for key, score in scores.items()],
        )

    def usage(self, model: str | None = None, before: datetime | None = None) -> list[ModelUsage]:
        """The usage of each model, sorted by name; with arguments, the part that `prune` would delete."""
        return self.file.read(lambda connection: usage(connection, model, before))

    def prune(self, model: str | None, before: datetime | None) -> int:
        """Delete the replies of `model` (None: all) stored before `before` (None: all; UTC), and return their number.

        Provenances and analyses without a reply are deleted with them, and the disk space is freed.
        """
        deleted = self.file.write(lambda connection: delete_replies(connection, model, before))
        self.file.shrink()
        return deleted

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self.file.close()

    def _add_signed(self, insert: str, name: str, rows: Sequence[tuple[bytes, bytes | float]]) -> None:
        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO signatures (name) VALUES (?)", (name,))
            [signature] = connection.execute("SELECT id FROM signatures WHERE name = ?", (name,)).fetchone()
            connection.executemany(insert, [(signature, *row) for row in rows])

        self.file.write(write)
