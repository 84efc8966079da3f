"""Which file system a path lies on, as far as it decides whether processes can share a database there."""

from __future__ import annotations

import re
from pathlib import Path

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
_MOUNTS = Path("/proc/self/mountinfo")


def network_file_system(path: Path) -> str | None:
    """The kind of network file system that holds `path` (`nfs4`, `lustre`), or None where it is local or unknown."""
    resolved = path.resolve()
    if str(resolved).startswith("\\\\"):
        return "smb"
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    kind = mounted_kind(resolved, mounts)
    return kind if kind in _NETWORK else None


def mounted_kind(path: Path, mountinfo: str) -> str | None:
    """The file system type at `path` by the text of a `mountinfo` file: of the deepest mount, the last made there."""
    kind, depth = None, 0
    for line in mountinfo.splitlines():
        before, separator, after = line.partition(" - ")
        fields, tail = before.split(" "), after.split(" ")
        if not separator or len(fields) < 5:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4]))
        if len(point.parts) >= depth and path.is_relative_to(point):
            kind, depth = tail[0], len(point.parts)
    return kind
