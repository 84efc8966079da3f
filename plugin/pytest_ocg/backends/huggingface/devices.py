"""The device and number format for a model, chosen without importing torch."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_ocg.errors import OptionError

FIRST_BFLOAT16_CAPABILITY = 8.0

_DTYPES = {
    "float32": ("float32", "fp32", "float"),
    "float16": ("float16", "fp16", "half"),
    "bfloat16": ("bfloat16", "bf16"),
}
_DEVICE = re.compile(r"cpu|mps|cuda(:\d+)?")
_GPU_NODE = re.compile(r"nvidia\d+")
_QUERY_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Device:
    """The device of a model: its `name` in torch, and the number format of the computation."""

    name: str
    dtype: str
    is_automatic: bool

    @property
    def kind(self) -> str:
        """`cpu`, `cuda` or `mps`."""
        return self.name.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory for one model: of `gpus` GPUs together, or of the machine if `gpus` is 0."""

    total_bytes: int
    gpus: int


def plan_device(device: str, dtype: str, *, environment: Mapping[str, str] | None = None) -> Device:
    """The device and number format for the two options; `auto` chooses by the machine.

    Raises OptionError for an unknown name.
    """
    if device != "auto" and not _DEVICE.fullmatch(device):
        raise OptionError(f"device {device!r} is not known; use auto, cpu, cuda, cuda:N or mps")
    name = automatic_device(environment) if device == "auto" else device
    planned = dtype_named(dtype) if dtype != "auto" else automatic_dtype(name.partition(":")[0])
    return Device(name, planned, device == "auto")


def automatic_device(environment: Mapping[str, str] | None = None) -> str:
    """`cuda` if a GPU is visible, else `mps` on Apple silicon, else `cpu`."""
    if visible_gpus(environment):
        return "cuda"
    return "mps" if (platform.system(), platform.machine()) == ("Darwin", "arm64") else "cpu"


def automatic_dtype(kind: str) -> str:
    """float32 on a CPU, bfloat16 on an accelerator, float16 on a GPU without bfloat16."""
    if kind == "cpu":
        return "float32"
    capabilities = gpu_capabilities() if kind == "cuda" else ()
    return "float16" if any(found < FIRST_BFLOAT16_CAPABILITY for found in capabilities) else "bfloat16"


def dtype_named(name: str) -> str:
    """torch's name of a number format, for this name or a common short one; raises OptionError for any other."""
    for dtype, names in _DTYPES.items():
        if name.removeprefix("torch.").lower() in names:
            return dtype
    raise OptionError(f"dtype {name!r} is not known; use auto, {', '.join(_DTYPES)}")


def visible_gpus(environment: Mapping[str, str] | None = None, *, nodes: Path = Path("/dev")) -> tuple[str, ...]:
    """The GPUs that this process may use, each in the form for `CUDA_VISIBLE_DEVICES`: an index or a UUID.

    `CUDA_VISIBLE_DEVICES` is read as CUDA reads it: an empty value means no GPU, and the list ends at the first entry
    that is not a GPU.
    """
    present = _present_gpus(nodes)
    selected = (os.environ if environment is None else environment).get("CUDA_VISIBLE_DEVICES")
    if selected is None or not present:
        return present
    visible: list[str] = []
    for entry in selected.split(","):
        name = entry.strip()
        if not (name.startswith(("GPU-", "MIG-")) or name in present) or name in visible:
            break
        visible.append(name)
    return tuple(visible)


def available_bytes(
    machine: Path = Path("/proc/meminfo"), container: Path = Path("/sys/fs/cgroup/memory.max")
) -> int | None:
    """The available memory of this machine or its container, whichever is less; None if both are unknown."""
    limit = container.read_text(encoding="ascii").strip() if container.is_file() else "max"
    if machine.is_file():
        found = re.search(r"^MemAvailable:\s+(\d+) kB$", machine.read_text(encoding="ascii"), re.MULTILINE)
        available = None if found is None else int(found[1]) << 10
    else:
        available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else None
    known = [size for size in (available, int(limit) if limit.isdecimal() else None) if size is not None]
    return min(known, default=None)


def gpu_capabilities() -> tuple[float, ...]:
    """The compute capability of each GPU by `nvidia-smi`; empty if it is not installed or reports none."""
    lines = _query_driver("--query-gpu=compute_cap", "--format=csv,noheader")
    return tuple(float(line) for line in lines if re.fullmatch(r"\d+\.\d+", line))


def memory_of(
    device: Device, gpus: int | None = None, *, environment: Mapping[str, str] | None = None
) -> Memory | None:
    """The memory on a device, None if it is unknown; does not initialise CUDA.

    For GPUs it is their total memory: of the `gpus` largest visible ones, or of all visible ones. For other devices it
    is the memory that is available now.
    """
    if device.kind != "cuda":
        available = available_bytes()
        return None if available is None else Memory(available, 0)
    visible = visible_gpus(environment)
    _, _, number = device.name.partition(":")
    sizes = _gpu_bytes(visible[int(number) :][:1] if number else visible)
    if not sizes:
        return None
    assigned = sorted(sizes, reverse=True)[: len(sizes) if gpus is None else gpus]
    return Memory(sum(assigned), len(assigned))


def _gpu_bytes(gpus: Sequence[str]) -> list[int]:
    """The memory of each of these GPUs by `nvidia-smi`; empty if it does not report all of them."""
    sizes: dict[str, int] = {}
    for line in _query_driver("--query-gpu=index,uuid,memory.total", "--format=csv,noheader,nounits"):
        if fields := re.fullmatch(r"(\d+), (\S+), (\d+)", line):
            sizes[fields[1]] = sizes[fields[2]] = int(fields[3]) << 20
    found = [
        size
        for gpu in gpus
        for name, size in sizes.items()
        if name == gpu or (gpu.startswith("GPU-") and name.startswith(gpu))
    ]
    return found if len(found) == len(gpus) else []


def _present_gpus(nodes: Path) -> tuple[str, ...]:
    if nodes.is_dir():
        count = sum(1 for node in nodes.glob("nvidia*") if _GPU_NODE.fullmatch(node.name))
        if count or not (nodes / "dxg").exists():
            return tuple(map(str, range(count)))
    return tuple(str(place) for place, _ in enumerate(_query_driver("--query-gpu=uuid", "--format=csv,noheader")))


def _query_driver(*arguments: str) -> list[str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    try:
        answer = subprocess.run(  # the driver's own program, found on PATH
            [program, *arguments], capture_output=True, text=True, timeout=_QUERY_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.strip() for line in answer.stdout.splitlines() if line.strip()] if answer.returncode == 0 else []
