from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ocg.run.cache import opening as file_systems
from pytest_ocg.run.cache.opening import mounted_kind, network_file_system

MOUNTS = r"""27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 27 0:30 / /home rw,relatime shared:1 master:2 - nfs4 server:/home rw,vers=4.2
31 30 0:31 / /home/ann/scratch rw - xfs /dev/sdb rw
32 27 0:32 / /mnt/my\040share rw shared:3 - cifs //server/share rw
33 27 0:33 / /data rw - autofs systemd-1 rw
34 27 0:33 / /data rw - lustre server@tcp:/data rw
35 27 0:35 / /mnt/remote rw - fuse.sshfs ann@host: rw
36 27 0:36 / /mnt/tab\011here rw - 9p share rw
a broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/tmp/x", "ext4"),
        ("/home", "nfs4"),
        ("/home/ann/cache", "nfs4"),
        ("/home/ann/scratch/cache", "xfs"),
        ("/home/ann/scratchy", "nfs4"),
        ("/homeless", "ext4"),
        ("/mnt/my share/deep/er", "cifs"),
        ("/data/x", "lustre"),
        ("/mnt/remote/x", "fuse.sshfs"),
        ("/mnt/tab\there", "9p"),
    ],
)
def test_a_path_is_of_its_deepest_and_latest_mount(path, kind):
    assert mounted_kind(Path(path), MOUNTS) == kind


@pytest.mark.parametrize("text", ["", "nonsense", "1 2 3 - ext4", "27 1 254:0 / /elsewhere rw - ext4 /dev/vda rw"])
def test_a_path_without_a_mount_has_no_kind(text):
    assert mounted_kind(Path("/tmp/x"), text) is None


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
def test_network_file_systems_are_told_from_local_ones(monkeypatch, tmp_path, kind, is_network):
    (tmp_path / "mountinfo").write_text(f"27 1 254:0 / / rw - {kind} /dev/vda rw\n")
    monkeypatch.setattr(file_systems, "_MOUNTS", tmp_path / "mountinfo")
    assert network_file_system(tmp_path / "not" / "there") == (kind if is_network else None)


def test_a_link_is_judged_by_where_it_leads(monkeypatch, tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far")
    root = tmp_path.resolve()
    (tmp_path / "mountinfo").write_text(f"1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / {root}/far rw - nfs b rw\n")
    monkeypatch.setattr(file_systems, "_MOUNTS", tmp_path / "mountinfo")
    assert network_file_system(tmp_path / "near" / "cache") == "nfs"


def test_where_mounts_cannot_be_listed_nothing_is_assumed(monkeypatch, tmp_path):
    monkeypatch.setattr(file_systems, "_MOUNTS", tmp_path / "missing")
    assert network_file_system(tmp_path) is None
