"""Opens the cache while other processes open it too, and renames a damaged file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pytest_ocg.errors import CacheError
from pytest_ocg.run.cache.schema import (
    BUSY_SECONDS,
    Damaged,
    cache_error,
    create_database,
    is_damage,
    open_valid,
    retry_while_locked,
)

# 9p is left out: it is the root of many containers, where all processes run in one kernel. If it cannot map shared
# memory, SQLite reports it.
_NETWORK = frozenset(
    {
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "fhgfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs3",
        "nfs4",
        "orangefs",
        "panfs",
        "pvfs2",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "wekafs",
        "fuse.ceph",
        "fuse.ceph-fuse",
        "fuse.cvmfs",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.goofys",
        "fuse.juicefs",
        "fuse.mount-s3",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.seaweedfs",
        "fuse.smbnetfs",
        "fuse.sshfs",
    }
)


def network_file_system(path: Path) -> str | None:
    """The kind of network file system that holds `path` (`nfs4`, `lustre`), or None if it is local or unknown."""
    import psutil

    resolved = path.resolve()
    if str(resolved).startswith("\\\\"):
        return "smb"
    try:
        partitions = psutil.disk_partitions(all=True)
    except OSError:
        return None
    kinds: dict[str, str] = {one.mountpoint: one.fstype for one in partitions}  # a later mount hides an earlier one
    kind = next((kinds[str(folder)] for folder in (resolved, *resolved.parents) if str(folder) in kinds), None)
    return kind if kind in _NETWORK else None


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A connection and the inode of its file: later another file may be at the same path."""

    connection: sqlite3.Connection
    inode: int | None


def open_database(path: Path, notice: Callable[[str], None], damaged_inode: int | None = None) -> OpenFile:
    """The cache at `path`; a missing file is created, and a damaged one is renamed and replaced.

    `damaged_inode` is the inode of a file whose damage was found during use. Raises CacheError.
    """
    kind = network_file_system(path.parent)
    if kind is not None:
        raise CacheError(
            f"{path}: the reply cache cannot be on a network file system ({kind!r}), where processes cannot share it "
            "safely; pass --ocg-cache DIR with a folder on a local disk"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _open_existing(path, damaged_inode) or _create_or_replace(path, notice, damaged_inode)
    except OSError as error:
        raise CacheError(f"{path}: the reply cache cannot be created there ({error}); pass --ocg-cache DIR") from error
    except sqlite3.OperationalError as error:
        raise cache_error(path, error) from error


@contextmanager
def opening_lock(path: Path, exclusive: bool = False) -> Iterator[None]:
    """The lock around opening and closing (shared) and around creating and renaming the file (exclusive).

    SQLite finds the log of a database by its path, and deletes it by its path on closing. If the file were renamed in
    between, it would use or delete the log of another file. The system frees the lock of a killed process.
    """
    lock_path = path.with_suffix(".lock")
    with closing(sqlite3.connect(lock_path, timeout=BUSY_SECONDS, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE" if exclusive else "BEGIN")
            lock.execute("SELECT 1 FROM sqlite_master").fetchall()
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                raise CacheError(f"{lock_path}: the lock file of the cache is damaged; delete it") from error
            raise
        yield


def _open_existing(path: Path, damaged_inode: int | None) -> OpenFile | None:
    with opening_lock(path):
        try:
            connection = None if _has_inode(path, damaged_inode) else retry_while_locked(lambda: open_valid(path))
        except Damaged:
            return None
        return OpenFile(connection, inode(path)) if connection else None


def _create_or_replace(path: Path, notice: Callable[[str], None], damaged_inode: int | None) -> OpenFile:
    with opening_lock(path, exclusive=True):
        try:
            if _has_inode(path, damaged_inode):
                raise Damaged("it could not be read during the run")
            return OpenFile(retry_while_locked(lambda: open_valid(path) or create_database(path)), inode(path))
        except Damaged as damage:
            reason = str(damage)
        renamed = _rename_damaged(path)
        new = OpenFile(retry_while_locked(lambda: create_database(path)), inode(path))
    notice(
        f"{path}: the reply cache cannot be used ({reason}); it was renamed to {renamed.name!r}, a new one was created"
    )
    return new


def _has_inode(path: Path, damaged_inode: int | None) -> bool:
    return damaged_inode is not None and inode(path) == damaged_inode


def inode(path: Path) -> int | None:
    """The inode number, which differs from that of a later file at the same path; None if there is no file."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _rename_damaged(path: Path) -> Path:
    stamp = f"{path.name}.damaged-{datetime.now():%Y%m%d-%H%M%S}"
    target, count = path.with_name(stamp), 1
    while target.exists():
        count += 1
        target = path.with_name(f"{stamp}-{count}")
    for suffix in ("-wal", "-shm", ""):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(target.with_name(target.name + suffix))
    return target
