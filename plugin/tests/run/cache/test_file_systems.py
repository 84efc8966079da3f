from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from pytest_ocg.run.cache.opening import network_file_system

MOUNTS = r"""/dev/vda / ext4 rw,relatime 0 0
server:/home {root}/home nfs4 rw,vers=4.2 0 0
/dev/sdb {root}/home/ann/scratch xfs rw 0 0
//server/share {root}/mnt/my\040share cifs rw 0 0
systemd-1 {root}/data autofs rw 0 0
server@tcp:/data {root}/data lustre rw 0 0
server:/old {root}/old nfs rw 0 0
tmpfs {root}/old tmpfs rw 0 0
ann@host: {root}/mnt/remote fuse.sshfs rw,user_id=0 0 0
server:/tab {root}/mnt/tab\011here nfs rw 0 0
a broken line
"""


@pytest.fixture
def mounted(monkeypatch):
    """Has psutil report these file systems, each by the folder it is mounted at, in the order they were mounted."""

    def mount(*partitions):
        reported = [SimpleNamespace(mountpoint=str(point), fstype=kind) for point, kind in partitions]
        monkeypatch.setattr("psutil.disk_partitions", lambda **_: reported)

    return mount


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not list mounts in /proc")
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("tmp/x", None),
        ("home", "nfs4"),
        ("home/ann/cache", "nfs4"),
        ("home/ann/scratch/cache", None),
        ("home/ann/scratchy", "nfs4"),
        ("homeless", None),
        ("mnt/my share/deep/er", "cifs"),
        ("data/x", "lustre"),
        ("old/x", None),
        ("mnt/remote/x", "fuse.sshfs"),
        ("mnt/tab\there", "nfs"),
    ],
)
def test_a_path_is_of_its_deepest_and_latest_mount(monkeypatch, tmp_path, path, kind):
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "mounts").write_text(MOUNTS.format(root=tmp_path.resolve()), encoding="ascii")
    monkeypatch.setattr("psutil.PROCFS_PATH", str(tmp_path))
    assert network_file_system(tmp_path / path) == kind


def test_a_path_without_a_mount_has_no_kind(mounted, tmp_path):
    mounted((tmp_path / "elsewhere", "nfs"))
    assert network_file_system(tmp_path / "x") is None


@pytest.mark.parametrize(
    ("kind", "is_network"),
    [
        ("nfs", True),
        ("nfs4", True),
        ("cifs", True),
        ("smb3", True),
        ("lustre", True),
        ("gpfs", True),
        ("beegfs", True),
        ("ceph", True),
        ("fuse.sshfs", True),
        ("fuse.glusterfs", True),
        ("fuse.rclone", True),
        ("ext4", False),
        ("xfs", False),
        ("btrfs", False),
        ("tmpfs", False),
        ("overlay", False),
        ("9p", False),
        ("fuseblk", False),
        ("fuse.bindfs", False),
    ],
)
def test_network_file_systems_are_distinguished_from_local_ones(mounted, tmp_path, kind, is_network):
    mounted((tmp_path.resolve().anchor, kind))
    assert network_file_system(tmp_path / "not" / "there") == (kind if is_network else None)


def test_a_link_is_judged_by_where_it_leads(mounted, tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far")
    mounted((tmp_path.resolve().anchor, "ext4"), (tmp_path.resolve() / "far", "nfs"))
    assert network_file_system(tmp_path / "near" / "cache") == "nfs"


def test_where_mounts_cannot_be_listed_nothing_is_assumed(monkeypatch, tmp_path):
    def unreadable(**_):
        raise PermissionError(13, "Permission denied", "/proc/self/mounts")

    monkeypatch.setattr("psutil.disk_partitions", unreadable)
    assert network_file_system(tmp_path) is None


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not list mounts in /proc")
def test_where_there_is_no_list_of_mounts_nothing_is_assumed(monkeypatch, tmp_path):
    monkeypatch.setattr("psutil.PROCFS_PATH", str(tmp_path / "missing"))
    assert network_file_system(tmp_path) is None
