"""Distribution under xdist: batches stay whole, models follow one another, each worker has its own GPUs or cores."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadFileScheduling, LoadGroupScheduling, LoadScopeScheduling

from pytest_ocg.backends.huggingface.devices import visible_gpus
from pytest_ocg.inputs.cases import cut_batches
from pytest_ocg.session.benchmark import Benchmark
from pytest_ocg.session.keys import STOP_REASON, WORKER_INPUT
from pytest_ocg.session.scoreboard import Scoreboard

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.workermanage import WorkerController


GPU_VARIABLE = "CUDA_VISIBLE_DEVICES"
THREAD_VARIABLE = "OMP_NUM_THREADS"
WAIT_VARIABLE = "OMP_WAIT_POLICY"


def set_wait_policy(environment: MutableMapping[str, str]) -> None:
    """Set OMP_WAIT_POLICY to PASSIVE, so that waiting threads sleep; a value that the caller set stays.

    On a busy machine spinning threads made generation 5 times slower. OpenMP reads the variable when torch is imported.
    """
    environment.setdefault(WAIT_VARIABLE, "PASSIVE")


def workers_for(gpus: Sequence[str], per_worker: int) -> int:
    """The number of workers for `-n auto`: each has `per_worker` GPUs; one worker on a machine without GPUs."""
    return max(1, len(gpus) // per_worker)


def worker_gpus(gpus: Sequence[str], worker: int, per_worker: int) -> tuple[str, ...]:
    """The GPUs of worker number `worker`, assigned in turn; empty on a machine without GPUs."""
    if not gpus:
        return ()
    return tuple(dict.fromkeys(gpus[(worker * per_worker + place) % len(gpus)] for place in range(per_worker)))


def set_worker_resources(
    environment: MutableMapping[str, str],
    gpus: Sequence[str],
    *,
    worker: int,
    workers: int,
    per_worker: int,
    cores: int,
) -> None:
    """Set a worker's GPUs in its environment; torch reads them when it is imported.

    Without GPUs the cores are divided between the workers; a number of threads that the caller set stays.
    """
    if gpus:
        environment[GPU_VARIABLE] = ",".join(worker_gpus(gpus, worker, per_worker))
    else:
        environment.setdefault(THREAD_VARIABLE, str(max(1, cores // workers)))


_BRACKETS = re.compile(r"\[(.*)\]$", re.DOTALL)


def is_distributed(config: pytest.Config) -> bool:
    """Whether xdist will run the tests in workers."""
    return not config.option.collectonly and config.getoption("dist", "no") != "no"


def tolerate_dead_worker(node: WorkerController) -> None:
    """Do not raise if a command cannot be sent because the worker has died.

    A worker may die just before xdist sends it tests or asks it for some. xdist ended the run with an internal error
    then; without one it is told of the death next, and assigns the tests of this worker to others.
    """
    send = node.sendcommand

    def send_if_alive(name: str, **arguments: object) -> None:
        with suppress(OSError):
            send(name, **arguments)

    node.sendcommand = send_if_alive


def read_worker_input(config: pytest.Config, benchmark: Benchmark) -> None:
    """Read, in a worker, the model checks that the controller sent, and set the GPUs or cores of this worker."""
    worker_input = config.workerinput  # type: ignore[attr-defined] # set by xdist
    checked = worker_input[WORKER_INPUT]
    set_worker_resources(
        os.environ,
        visible_gpus(),
        worker=int(str(worker_input["workerid"]).removeprefix("gw")),
        workers=worker_input["workercount"],
        per_worker=benchmark.options.gpus_per_worker,
        cores=os.cpu_count() or 1,
    )
    benchmark.identities.update(checked["identities"])
    benchmark.batch_sizes.update(checked["batch_sizes"])


class Distribution:
    """The hooks of a controller with workers."""

    def __init__(self, benchmark: Benchmark, scoreboard: Scoreboard) -> None:
        self._benchmark = benchmark
        self._scoreboard = scoreboard

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: WorkerController) -> None:
        """Send the checks to the worker, so that it does not ask the hub again."""
        tolerate_dead_worker(node)
        node.workerinput[WORKER_INPUT] = {
            "identities": {model: dict(identity) for model, identity in self._benchmark.identities.items()},
            "batch_sizes": dict(self._benchmark.batch_sizes),
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
        """The scheduler: for plain `-n` one that keeps batches whole, otherwise the one that `--dist` names."""
        by_scope = {"loadscope": ScopeScheduling, "loadfile": FileScheduling, "loadgroup": GroupScheduling}
        chosen = config.getoption("dist")
        if chosen == "load":
            return BatchScheduling(config, log, self.scopes)
        return by_scope[chosen](config, log) if chosen in by_scope else None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Record the cases that are left after selection; all workers collect the same cases."""
        chosen = {self.case_id(nodeid) for nodeid in ids}
        self._scoreboard.select(case for case in self._benchmark.plan.cases if case.id in chosen)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: WorkerController) -> None:
        """Report why a worker stopped."""
        reason = getattr(node, "workeroutput", {}).get(STOP_REASON)
        if reason is not None:
            self._benchmark.notice(reason)

    def case_id(self, nodeid: str) -> str | None:
        """The id of the case in a test's node id, None if it has none; ids of other parameters may surround it."""
        found = _BRACKETS.search(nodeid)
        if found is None:
            return None
        text, known = found.group(1), self._benchmark.planned_ids
        if text in known:
            return text
        parts = text.split("-")
        spans = ("-".join(parts[start:end]) for start in range(len(parts)) for end in range(len(parts), start, -1))
        return next((span for span in spans if span in known), None)

    def scopes(self, nodeids: Sequence[str]) -> dict[str, str]:
        """The batch of each node id; a test without a case belongs to a batch of its file."""
        case_ids = {nodeid: self.case_id(nodeid) for nodeid in nodeids}
        chosen = set(case_ids.values())
        cases = [case for case in self._benchmark.plan.cases if case.id in chosen]
        batches = cut_batches(cases, self._benchmark.batch_sizes)
        batch_of = {case.id: f"batch {batch.number}" for batch in batches for case in batch.cases}
        return {
            nodeid: nodeid.partition("::")[0] if case_id is None else batch_of[case_id]
            for nodeid, case_id in case_ids.items()
        }


class ScopeScheduling(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """xdist's scheduling by scope; finished tests are removed.

    After each test the base class counts the tests that a worker still has: it walks all that the worker ever had, and
    searches each test in a list. Over 27,648 tests the run waits for both. If a worker crashes, the base class also
    assigns its finished scopes again; no test of them ever ends, and the run hangs.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._positions: dict[str, int] = {}

    def schedule(self) -> None:
        """Assign scopes in the order of collection, so that a worker changes models as rarely as possible."""
        if self.collection is None and self.registered_collections:
            nodeids = next(iter(self.registered_collections.values()))
            self._positions = {nodeid: position for position, nodeid in enumerate(nodeids)}
            self.config.option.loadscopereorder = False
        super().schedule()

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Remove a finished test, and its scope if no test of it is left."""
        nodeid = self.registered_collections[node][item_index]
        scope = self._split_scope(nodeid)
        unit = self.assigned_work[node][scope]
        unit.pop(nodeid, None)
        if not unit:
            del self.assigned_work[node][scope]
        self._reschedule(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Assign the work of a crashed worker to the others, except the test in which it crashed, which is returned."""
        workload: dict[str, dict[str, bool]] = self.assigned_work.pop(node)
        if not workload:
            return None
        first_unit = next(iter(workload.values()))
        crashed = next(iter(first_unit))
        del first_unit[crashed]
        self.workqueue.update({scope: unit for scope, unit in workload.items() if unit})
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed

    def _assign_work_unit(self, node: WorkerController) -> None:
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[scope] = unit
        node.send_runtest_some([self._positions[nodeid] for nodeid in unit])

    def _pending_of(self, workload: dict[str, Any]) -> int:
        return sum(map(len, workload.values()))


class GroupScheduling(ScopeScheduling, LoadGroupScheduling):  # type: ignore[misc] # xdist has no types
    """`--dist loadgroup`; finished tests are removed."""


class FileScheduling(ScopeScheduling, LoadFileScheduling):  # type: ignore[misc] # xdist has no types
    """`--dist loadfile`; finished tests are removed."""


class BatchScheduling(ScopeScheduling):
    """Scheduling with a batch as the scope; the benchmark uses it for plain `-n`."""

    def __init__(
        self, config: pytest.Config, log: Producer | None, scopes: Callable[[Sequence[str]], dict[str, str]]
    ) -> None:
        super().__init__(config, log)
        self._find_scopes = scopes
        self._scopes: dict[str, str] = {}

    def schedule(self) -> None:
        """Find the batches when collection is complete, then assign them."""
        if self.collection is None and self.registered_collections:
            self._scopes = self._find_scopes(next(iter(self.registered_collections.values())))
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self._scopes[nodeid]
