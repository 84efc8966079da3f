"""Opening the cache among other processes that do the same, and setting a damaged file aside."""

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
    created,
    explained,
    is_damage,
    patiently,
    sound_connection,
)

# 9p is not among these: it is the root of many containers, where all sharers are in one kernel. Where it cannot map
# shared memory SQLite says so itself.
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
    """The kind of network file system that holds `path` (`nfs4`, `lustre`), or None where it is local or unknown."""
    import psutil

    resolved = path.resolve()
    if str(resolved).startswith("\\\\"):
        return "smb"
    try:
        partitions = psutil.disk_partitions(all=True)
    except OSError:
        return None
    kinds: dict[str, str] = {one.mountpoint: one.fstype for one in partitions}  # of two at one place the later is seen
    kind = next((kinds[str(folder)] for folder in (resolved, *resolved.parents) if str(folder) in kinds), None)
    return kind if kind in _NETWORK else None


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A connection, and the inode of the file it is to: another file may come to lie at the path."""

    connection: sqlite3.Connection
    inode: int | None


def open_database(path: Path, notice: Callable[[str], None], distrusted: int | None = None) -> OpenFile:
    """The cache at `path`, which is made where there is none and set aside where it is damaged.

    `distrusted` is the inode of a file that proved damaged in use. Raises CacheError.
    """
    kind = network_file_system(path.parent)
    if kind is not None:
        raise CacheError(
            f"{path}: the reply cache cannot lie on a network file system ({kind!r}), where processes cannot share it "
            "safely; pass --ocg-cache DIR with a folder on a local disk"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _as_it_is(path, distrusted) or _made_good(path, notice, distrusted)
    except OSError as error:
        raise CacheError(f"{path}: the reply cache cannot be made there ({error}); pass --ocg-cache DIR") from error
    except sqlite3.OperationalError as error:
        raise explained(path, error) from error


@contextmanager
def at_the_door(path: Path, alone: bool = False) -> Iterator[None]:
    """Files are opened and closed by many at once, but made and set aside by one process and with all others away.

    SQLite finds a database's log by its path, and deletes it by its path on closing, so one that is moved in between
    would take another's log for its own. A killed holder's lock is freed by the system.
    """
    door = path.with_suffix(".lock")
    with closing(sqlite3.connect(door, timeout=BUSY_SECONDS, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE" if alone else "BEGIN")
            lock.execute("SELECT 1 FROM sqlite_master").fetchall()
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                raise CacheError(f"{door}: something was written over the cache's lock; delete the file") from error
            raise
        yield


def _as_it_is(path: Path, distrusted: int | None) -> OpenFile | None:
    with at_the_door(path):
        try:
            connection = None if _is(path, distrusted) else patiently(lambda: sound_connection(path))
        except Damaged:
            return None
        return OpenFile(connection, inode(path)) if connection else None


def _made_good(path: Path, notice: Callable[[str], None], distrusted: int | None) -> OpenFile:
    with at_the_door(path, alone=True):
        try:
            if _is(path, distrusted):
                raise Damaged("it proved unreadable in use")
            return OpenFile(patiently(lambda: sound_connection(path) or created(path)), inode(path))
        except Damaged as damage:
            reason = str(damage)
        aside = _set_aside(path)
        made = OpenFile(patiently(lambda: created(path)), inode(path))
    notice(f"{path}: this is no sound reply cache ({reason}); it was set aside as {aside.name!r} and a new one started")
    return made


def _is(path: Path, distrusted: int | None) -> bool:
    return distrusted is not None and inode(path) == distrusted


def inode(path: Path) -> int | None:
    """The number that tells this file from another later at the same path, None where there is none."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _set_aside(path: Path) -> Path:
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
