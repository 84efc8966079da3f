"""Opening the file of the cache: new, valid, damaged, not accessible."""

from __future__ import annotations

import re
import shutil
import sqlite3
import warnings
from contextlib import closing
from types import SimpleNamespace

import pytest

from pytest_ocg.backends.base import Generation
from pytest_ocg.errors import CacheError
from pytest_ocg.run.cache import schema as cache_schema
from pytest_ocg.run.cache.cache import FILE_NAME, Cache

ROWS = 2000


@pytest.fixture
def path(tmp_path):
    """A closed cache of 2,000 replies, about 700 pages."""
    with Cache.open(tmp_path, pytest.fail) as cache:
        fill(cache)
    return tmp_path / FILE_NAME


def fill(cache, rows=ROWS):
    batch = [(f"key {row}", Generation(f"{row} " * 200)) for row in range(rows)]
    cache.add_replies(batch, model="m", provenance={})


def execute(path, statement):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def garbage(path):
    path.write_bytes(b"this was never a database\n" * 400)


def zeros(path):
    path.write_bytes(bytes(8192))


def one_byte(path):
    path.write_bytes(b"S")


def cut_in_half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def cut_in_the_header(path):
    path.write_bytes(path.read_bytes()[:60])


def torn_in_the_middle(path):
    content = bytearray(path.read_bytes())
    content[4096 * 20 : 4096 * 400] = b"\xa5" * (4096 * 380)
    path.write_bytes(content)


def torn_first_page(path):
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\xff" * 3996
    path.write_bytes(content)


def of_another_program(path):
    path.unlink()
    execute(path, "CREATE TABLE mine (x)")


def of_a_newer_release(path):
    execute(path, "PRAGMA user_version = 2")


def without_a_table(path):
    execute(path, "DROP TABLE analyses")


def without_tables(path):
    path.unlink()
    execute(path, "PRAGMA journal_mode = WAL")


DAMAGES = [
    (garbage, "file is not a database"),
    (zeros, "file is not a database"),
    (one_byte, "it has no tables; it may be a copy without its -wal file"),
    (cut_in_half, "database disk image is malformed"),
    (cut_in_the_header, "database disk image is malformed"),
    (torn_in_the_middle, "*** in database main ***"),
    (torn_first_page, "database disk image is malformed"),
    (of_another_program, "it is a database of another program, with application id 0"),
    (of_a_newer_release, "its schema version is 2, but this release reads 1"),
    (without_a_table, "the table 'analyses' is missing"),
    (without_tables, "it has no tables; it may be a copy without its -wal file"),
]


@pytest.mark.parametrize(("damage", "reason"), DAMAGES, ids=[damage.__name__ for damage, _ in DAMAGES])
def test_a_damaged_file_is_renamed_with_a_message_and_the_run_continues(path, damage, reason):
    damage(path)
    content, notices = path.read_bytes(), []
    with Cache.open(path.parent, notices.append) as cache:
        assert cache.replies(["key 1"]) == {}
        cache.add_replies([("key new", Generation("x"))], model="m", provenance={})
    [aside] = path.parent.glob("*.damaged-*")
    assert re.fullmatch(r"replies\.sqlite\.damaged-\d{8}-\d{6}", aside.name)
    assert aside.read_bytes() == content
    [notice] = notices
    assert notice.startswith(f"{path}: the reply cache cannot be used ({reason}")
    assert notice.endswith(f"); it was renamed to {aside.name!r}, a new one was created")
    with Cache.open(path.parent, pytest.fail) as cache:
        assert cache.replies(["key new"])


def test_a_log_without_its_database_is_renamed_too(path):
    path.write_bytes(b"")
    log = path.with_name("replies.sqlite-wal")
    log.write_bytes(b"what was not yet in the database")
    notices = []
    with Cache.open(path.parent, notices.append) as cache:
        fill(cache, 1)
    [aside] = path.parent.glob("*.damaged-*-wal")
    assert aside.read_bytes() == b"what was not yet in the database"
    assert "(it is empty or missing, but its -wal file exists)" in notices[0]


def test_a_copy_without_its_log_is_an_older_cache(tmp_path):
    (tmp_path / "copy").mkdir()
    with Cache.open(tmp_path, pytest.fail) as cache:
        fill(cache, 3)
        assert cache.path.with_name("replies.sqlite-wal").stat().st_size > 0
        shutil.copy(cache.path, tmp_path / "copy")
    with Cache.open(tmp_path / "copy", pytest.fail) as copy:
        assert copy.replies(["key 1"]) == {}
        fill(copy, 3)
        assert copy.replies(["key 1"])


def test_files_renamed_in_the_same_second_do_not_replace_each_other(path):
    for count in range(1, 4):
        path.write_text(f"damaged {count}" * 100)
        with Cache.open(path.parent, lambda notice: None):
            assert len(list(path.parent.glob("*.damaged-*"))) == count


def test_without_a_listener_a_damaged_file_is_a_warning(path):
    garbage(path)
    with pytest.warns(UserWarning, match="it was renamed to"):
        Cache.open(path.parent).close()


def test_a_valid_cache_opens_without_a_message(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Cache.open(path.parent) as cache:
            assert len(cache.replies([f"key {row}" for row in range(ROWS)])) == ROWS
    assert not list(path.parent.glob("*.damaged-*"))


def test_a_cache_put_together_again_by_hand_is_shared_like_any_other(path):
    execute(path, "PRAGMA journal_mode = DELETE")
    with Cache.open(path.parent, pytest.fail) as cache:
        assert cache.file.read(lambda connection: connection.execute("PRAGMA journal_mode").fetchone()) == ("wal",)
        assert cache.replies(["key 1"])


@pytest.mark.parametrize("kind", ["nfs4", "lustre", "cifs"])
def test_a_cache_on_a_network_file_system_is_refused_with_the_way_out(monkeypatch, tmp_path, kind):
    everything = SimpleNamespace(mountpoint=tmp_path.resolve().anchor, fstype=kind)
    monkeypatch.setattr("psutil.disk_partitions", lambda **_: [everything])
    with pytest.raises(CacheError) as caught:
        Cache.open(tmp_path / "cache", pytest.fail)
    assert str(caught.value) == (
        f"{tmp_path / 'cache' / FILE_NAME}: the reply cache cannot be on a network file system ({kind!r}), where "
        "processes cannot share it safely; pass --ocg-cache DIR with a folder on a local disk"
    )
    assert not (tmp_path / "cache").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        CacheError, match=r"file/cache/replies\.sqlite: the reply cache cannot be created there \(.*Not a"
    ):
        Cache.open(tmp_path / "file" / "cache", pytest.fail)


def test_a_folder_in_place_of_the_file_is_named(tmp_path):
    (tmp_path / FILE_NAME / "x").mkdir(parents=True)
    with pytest.raises(CacheError) as caught:
        Cache.open(tmp_path, pytest.fail)
    assert str(caught.value) == (
        f"{tmp_path / FILE_NAME}: the cache cannot be opened for writing (unable to open database file); "
        "make the folder writable or pass --ocg-cache DIR with another folder"
    )


def test_a_file_locked_for_too_long_is_named_and_not_renamed(monkeypatch, path):
    monkeypatch.setattr(cache_schema, "BUSY_SECONDS", 0.2)
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("PRAGMA journal_mode = DELETE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(CacheError, match=r"another process has locked the cache for 0 s \(.*; wait for it"):
            Cache.open(path.parent, pytest.fail)
    with Cache.open(path.parent, pytest.fail) as cache:
        assert cache.replies(["key 1"])


def test_a_damaged_lock_file_is_named(path):
    lock = path.with_name("replies.lock")
    lock.write_text("nonsense " * 100)
    with pytest.raises(CacheError) as caught:
        Cache.open(path.parent, pytest.fail)
    assert str(caught.value) == f"{lock}: the lock file of the cache is damaged; delete it"
    lock.unlink()
    Cache.open(path.parent, pytest.fail).close()
