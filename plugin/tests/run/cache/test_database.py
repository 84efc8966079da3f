"""The open cache: damage found during use, a deleted file, a full disk."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from pytest_ocg.backends.base import Generation
from pytest_ocg.errors import CacheError
from pytest_ocg.run.cache import schema as cache_schema
from pytest_ocg.run.cache.cache import FILE_NAME, Cache
from pytest_ocg.run.cache.database import generation_from

ROWS = 2000
KEYS = [f"key {row}" for row in range(ROWS)]


def fill(cache, prefix="key", rows=ROWS, length=200):
    batch = [(f"{prefix} {row}", Generation(f"{row} " * length)) for row in range(rows)]
    cache.add_replies(batch, model="m", provenance={})


def torn(path):
    content = bytearray(path.read_bytes())
    content[4096 * 20 : 4096 * 400] = b"\xa5" * (4096 * 380)
    path.write_bytes(content)


def execute(path, statement):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.fixture
def path(tmp_path):
    with Cache.open(tmp_path, pytest.fail) as cache:
        fill(cache)
    return tmp_path / FILE_NAME


@pytest.mark.parametrize(
    "use",
    [
        lambda cache: cache.replies(KEYS),
        lambda cache: fill(cache),
        lambda cache: cache.prune("x", None),
        lambda cache: cache.usage(),
    ],
    ids=["read", "write", "prune", "usage"],
)
def test_damage_found_during_use_renames_the_file_and_the_run_continues(monkeypatch, path, use):
    torn(path)
    content = path.read_bytes()
    monkeypatch.setattr(cache_schema, "CHECKED_BYTES", 0)
    notices = []
    with Cache.open(path.parent, notices.append) as cache:
        assert notices == []
        use(cache)
        assert ["(it could not be read during the run)" in notice for notice in notices] == [True]
        fill(cache)
        assert len(cache.replies(KEYS)) == ROWS
    [aside] = path.parent.glob("*.damaged-*[0-9]")
    assert aside.read_bytes() == content


@pytest.mark.parametrize(
    ("damage", "use"),
    [
        ("UPDATE replies SET payload = '{\"text\":' WHERE key = 'key 7'", lambda cache: cache.replies(KEYS)),
        ("UPDATE replies SET payload = '[]' WHERE key = 'key 7'", lambda cache: cache.replies(KEYS)),
        ("UPDATE replies SET payload = '{\"text\":null}' WHERE key = 'key 7'", lambda cache: cache.replies(KEYS)),
        ("UPDATE replies SET payload = '{\"words\":1}' WHERE key = 'key 7'", lambda cache: cache.replies(KEYS)),
        ("UPDATE analyses SET packed = x'00'", lambda cache: cache.analyses("s", ["t"])),
        ("UPDATE analyses SET packed = 'text'", lambda cache: cache.analyses("s", ["t"])),
    ],
)
def test_invalid_content_counts_as_damage(path, damage, use):
    notices = []
    with Cache.open(path.parent, notices.append) as cache:
        cache.add_analyses("s", {"t": "packed"})
        execute(path, damage)
        assert use(cache) == {}
        assert len(notices) == 1


def test_a_cache_that_another_process_has_renamed_is_replaced_by_the_new_one(monkeypatch, path):
    monkeypatch.setattr(cache_schema, "CHECKED_BYTES", 0)
    notices = []
    with Cache.open(path.parent, notices.append) as one, Cache.open(path.parent, notices.append) as other:
        torn(path)
        assert one.replies(KEYS) == {}
        fill(one, "after", rows=3)
        fill(other, "other", rows=3)
        assert other.replies(["after 1", "other 1"]).keys() == {"after 1", "other 1"}
        assert one.replies(["after 1", "other 1"]).keys() == {"after 1", "other 1"}
    assert len(notices) == 1


def test_a_cache_deleted_in_use_is_made_again(path):
    with Cache.open(path.parent, pytest.fail) as cache:
        for part in path.parent.iterdir():
            part.unlink()
        path.parent.rmdir()
        assert cache.replies(KEYS) == {}
        fill(cache, rows=3)
    with Cache.open(path.parent, pytest.fail) as cache:
        assert len(cache.replies(KEYS)) == 3


def test_a_full_disk_stops_with_a_message_and_leaves_what_was_there(path):
    with Cache.open(path.parent, pytest.fail) as cache:
        cache.file.read(lambda connection: connection.execute("PRAGMA max_page_count = 1").fetchone())
        with pytest.raises(CacheError) as caught:
            fill(cache, "too many")
        assert str(caught.value) == (
            f"{path}: the disk is full; this batch was not stored, but all earlier ones can be read; "
            "free some space or pass --ocg-cache DIR with another folder"
        )
        assert len(cache.replies(KEYS)) == ROWS
    with Cache.open(path.parent, pytest.fail) as cache:
        assert cache.replies([f"too many {row}" for row in range(ROWS)]) == {}
        assert len(cache.replies(KEYS)) == ROWS
        fill(cache, "space again", rows=3)


def test_a_cache_that_may_only_be_read_is_named_when_written(path):
    with Cache.open(path.parent, pytest.fail) as cache:
        cache.file.read(lambda connection: connection.execute("PRAGMA query_only = ON"))
        with pytest.raises(CacheError, match=r"cannot be opened for writing \(attempt to write a readonly database\)"):
            fill(cache, "new")
        assert len(cache.replies(KEYS)) == ROWS


@pytest.mark.parametrize("count", ["-1", "12.0", "true", '"12"', "10000000000000"])
def test_a_stored_reply_with_an_impossible_count_is_kept_without_it(count):
    payload = f'{{"text":"A dog.","prompt_tokens":{count},"completion_tokens":5,"finish_reason":7}}'
    assert generation_from(payload) == Generation("A dog.", finish_reason="7", completion_tokens=5)
