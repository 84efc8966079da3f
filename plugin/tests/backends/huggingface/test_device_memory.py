from __future__ import annotations

import pytest

from pytest_ocg.backends.huggingface import devices
from pytest_ocg.backends.huggingface.devices import Device, Memory, available_bytes, memory_of

MIB = 1 << 20
FOUR = (
    "0, GPU-8932f937-d72c, 81559",
    "1, GPU-45cbf7b3-f919, 81559",
    "2, GPU-1111aaaa-0000, 24564",
    "3, GPU-2222bbbb-0000, 24564",
)


@pytest.mark.parametrize(
    ("device", "gpus", "visible", "memory"),
    [
        ("cuda", None, ("0", "1", "2", "3"), Memory((2 * 81559 + 2 * 24564) * MIB, 4)),
        ("cuda", 1, ("0", "1", "2", "3"), Memory(81559 * MIB, 1)),
        ("cuda", 3, ("3", "0", "1"), Memory((2 * 81559 + 24564) * MIB, 3)),
        ("cuda", 8, ("2", "3"), Memory(2 * 24564 * MIB, 2)),
        ("cuda", None, ("GPU-8932f937",), Memory(81559 * MIB, 1)),
        ("cuda:1", None, ("0", "2"), Memory(24564 * MIB, 1)),
        ("cuda:7", None, ("0", "2"), None),
        ("cuda", None, (), None),
        ("cuda", None, ("0", "7"), None),
        ("cuda", None, ("MIG-GPU-1/2/3",), None),
    ],
)
def test_the_memory_of_gpus_is_that_of_the_gpus_a_model_gets(device, gpus, visible, memory, monkeypatch):
    monkeypatch.setattr(devices, "_query_driver", lambda *arguments: list(FOUR))
    monkeypatch.setattr(devices, "visible_gpus", lambda environment: visible)
    assert memory_of(Device(device, "bfloat16", True), gpus) == memory


@pytest.mark.parametrize("lines", [[], ["0, GPU-1, [N/A]"], ["No devices were found"]])
def test_without_a_number_from_the_driver_memory_is_unknown(lines, monkeypatch):
    monkeypatch.setattr(devices, "_query_driver", lambda *arguments: lines)
    monkeypatch.setattr(devices, "visible_gpus", lambda environment: ("0",))
    assert memory_of(Device("cuda", "bfloat16", True)) is None


@pytest.mark.parametrize(
    ("machine", "container", "available"),
    [
        ("MemTotal:  999 kB\nMemAvailable:   100 kB\nSwapFree: 5 kB\n", None, 102_400),
        ("MemAvailable:   100 kB\n", "max\n", 102_400),
        ("MemAvailable:   100 kB\n", "51200\n", 51_200),
        ("MemAvailable:   100 kB\n", "409600\n", 102_400),
        ("MemTotal:  999 kB\n", "51200\n", 51_200),
        ("MemTotal:  999 kB\n", None, None),
    ],
)
def test_the_memory_of_a_machine_is_what_it_and_its_container_have_available(machine, container, available, tmp_path):
    (tmp_path / "meminfo").write_text(machine)
    if container is not None:
        (tmp_path / "memory.max").write_text(container)
    assert available_bytes(tmp_path / "meminfo", tmp_path / "memory.max") == available


def test_a_machine_without_meminfo_has_all_its_pages(tmp_path, monkeypatch):
    pages = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(devices.os, "sysconf", pages.__getitem__)
    assert available_bytes(tmp_path / "meminfo", tmp_path / "memory.max") == 4_096_000


@pytest.mark.parametrize(("available", "memory"), [(4096, Memory(4096, 0)), (None, None)])
def test_without_a_gpu_memory_is_the_machines(available, memory, monkeypatch):
    monkeypatch.setattr(devices, "available_bytes", lambda: available)
    assert memory_of(Device("cpu", "float32", True), 2) == memory
