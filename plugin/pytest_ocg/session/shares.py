"""What of this machine each worker gets: its GPUs out of the caller's own, or its part of the cores."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

GPU_VARIABLE = "CUDA_VISIBLE_DEVICES"
THREAD_VARIABLE = "OMP_NUM_THREADS"
WAIT_VARIABLE = "OMP_WAIT_POLICY"


def wait_asleep(environment: MutableMapping[str, str]) -> None:
    """Let threads that wait for each other sleep, unless the caller has decided.

    They spin otherwise; on a machine that does anything else besides, generation was then seen to take five times as
    long. Read by OpenMP when torch is imported.
    """
    environment.setdefault(WAIT_VARIABLE, "PASSIVE")


def workers_for(gpus: Sequence[str], per_worker: int) -> int:
    """How many workers `-n auto` means: as many as get `per_worker` GPUs each, one on a machine without."""
    return max(1, len(gpus) // per_worker)


def dealt(gpus: Sequence[str], worker: int, per_worker: int) -> tuple[str, ...]:
    """The GPUs of worker number `worker`, dealt round robin; none where there are none."""
    if not gpus:
        return ()
    return tuple(dict.fromkeys(gpus[(worker * per_worker + place) % len(gpus)] for place in range(per_worker)))


def take_share(
    environment: MutableMapping[str, str],
    gpus: Sequence[str],
    *,
    worker: int,
    workers: int,
    per_worker: int,
    cores: int,
) -> None:
    """Write a worker's share into its environment, where torch reads it when it is imported.

    Without GPUs the cores are divided, unless the caller has set the number of threads.
    """
    if gpus:
        environment[GPU_VARIABLE] = ",".join(dealt(gpus, worker, per_worker))
    else:
        environment.setdefault(THREAD_VARIABLE, str(max(1, cores // workers)))
