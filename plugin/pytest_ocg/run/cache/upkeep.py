"""What the cache holds, by model, and forgetting some of it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime

from pytest_ocg.run.cache.keys import text_digest
from pytest_ocg.run.cache.payload import generation_from


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What is remembered of one model, under the name it was run by.

    `provenances` counts the different ways its replies were made. `payload_bytes` leaves out the database's own
    overhead. `first_stored` and `last_stored` are UTC, ISO 8601.
    """

    model: str
    replies: int
    provenances: int
    payload_bytes: int
    first_stored: str
    last_stored: str


def usage(connection: sqlite3.Connection, model: str | None = None, before: datetime | None = None) -> list[ModelUsage]:
    """What is remembered, a model a row, sorted by name; of `model` only, stored before `before` only."""
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


def forget(connection: sqlite3.Connection, model: str | None, before: datetime | None) -> int:
    """How many replies were deleted; provenances and analyses that no reply is left for go with them.

    Scores do not say what they are of, so they go when no reply at all is left. To be called in a transaction.
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
        _forget_orphaned_analyses(connection)
    return deleted


def _forget_orphaned_analyses(connection: sqlite3.Connection) -> None:
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
