"""Under xdist: batches stay whole, models come one after the other, and each worker gets its share of the machine."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, MutableMapping, Sequence
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


_BRACKETS = re.compile(r"\[(.*)\]$", re.DOTALL)


def is_distributed(config: pytest.Config) -> bool:
    """Whether xdist will run the tests in workers."""
    return not config.option.collectonly and config.getoption("dist", "no") != "no"


def read_worker_input(config: pytest.Config, benchmark: Benchmark) -> None:
    """Take over, in a worker, what the controller found out about the models, and its share of the machine."""
    worker_input = config.workerinput  # type: ignore[attr-defined] # set by xdist
    told = worker_input[WORKER_INPUT]
    take_share(
        os.environ,
        visible_gpus(),
        worker=int(str(worker_input["workerid"]).removeprefix("gw")),
        workers=worker_input["workercount"],
        per_worker=benchmark.options.gpus_per_worker,
        cores=os.cpu_count() or 1,
    )
    benchmark.identities.update(told["identities"])
    benchmark.batch_sizes.update(told["batch_sizes"])


class Distribution:
    """Hooks of a controller that has workers."""

    def __init__(self, benchmark: Benchmark, scoreboard: Scoreboard) -> None:
        self._benchmark = benchmark
        self._scoreboard = scoreboard

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: WorkerController) -> None:
        """Tell the worker what was checked, so that it asks no hub again."""
        node.workerinput[WORKER_INPUT] = {
            "identities": {model: dict(identity) for model, identity in self._benchmark.identities.items()},
            "batch_sizes": dict(self._benchmark.batch_sizes),
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
        """Keep batches whole under plain `-n`; a `--dist` of the user's own choice stays what it is."""
        by_scope = {"loadscope": ForgetfulScheduling, "loadfile": FileScheduling, "loadgroup": GroupScheduling}
        chosen = config.getoption("dist")
        if chosen == "load":
            return BatchScheduling(config, log, self.scopes)
        return by_scope[chosen](config, log) if chosen in by_scope else None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note which cases are left after selection; all workers collect the same."""
        chosen = {self.case_id(nodeid) for nodeid in ids}
        self._scoreboard.select(case for case in self._benchmark.plan.cases if case.id in chosen)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: WorkerController) -> None:
        """Tell why a worker gave up."""
        reason = getattr(node, "workeroutput", {}).get(STOP_REASON)
        if reason is not None:
            self._benchmark.notice(reason)

    def case_id(self, nodeid: str) -> str | None:
        """The case in a test's node id, None where it tests none; the id may stand among other parameters'."""
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
        """For each node id the batch it belongs to; any other test is a batch of its own file."""
        case_ids = {nodeid: self.case_id(nodeid) for nodeid in nodeids}
        chosen = set(case_ids.values())
        cases = [case for case in self._benchmark.plan.cases if case.id in chosen]
        batches = cut_batches(cases, self._benchmark.batch_sizes)
        batch_of = {case.id: f"batch {batch.number}" for batch in batches for case in batch.cases}
        return {
            nodeid: nodeid.partition("::")[0] if case_id is None else batch_of[case_id]
            for nodeid, case_id in case_ids.items()
        }


class ForgetfulScheduling(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """xdist's scheduling by scope, with finished tests forgotten.

    The base counts the tests a worker still has by walking all it ever had, at each finished test, and looks each test
    up by its position in a list; over 27,648 tests both are what the run waits for. After a worker's death the base
    hands out its finished scopes as well, of which no test ever ends, and the run hangs.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._places: dict[str, int] = {}

    def schedule(self) -> None:
        """Hand out scopes in the order of collection, so that a worker changes models as rarely as can be."""
        if self.collection is None and self.registered_collections:
            nodeids = next(iter(self.registered_collections.values()))
            self._places = {nodeid: place for place, nodeid in enumerate(nodeids)}
            self.config.option.loadscopereorder = False
        super().schedule()

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forget a finished test, and its scope with its last one."""
        nodeid = self.registered_collections[node][item_index]
        scope = self._split_scope(nodeid)
        unit = self.assigned_work[node][scope]
        unit.pop(nodeid, None)
        if not unit:
            del self.assigned_work[node][scope]
        self._reschedule(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Give the work of a lost worker to the others, but for the test it died in."""
        workload: dict[str, dict[str, bool]] = self.assigned_work.pop(node)
        if not workload:
            return None
        first_unit = next(iter(workload.values()))
        lost = next(iter(first_unit))
        del first_unit[lost]
        self.workqueue.update({scope: unit for scope, unit in workload.items() if unit})
        for other in self.assigned_work:
            self._reschedule(other)
        return lost

    def _assign_work_unit(self, node: WorkerController) -> None:
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[scope] = unit
        node.send_runtest_some([self._places[nodeid] for nodeid in unit])

    def _pending_of(self, workload: dict[str, Any]) -> int:
        return sum(map(len, workload.values()))


class GroupScheduling(ForgetfulScheduling, LoadGroupScheduling):  # type: ignore[misc] # xdist has no types
    """`--dist loadgroup`, with finished tests forgotten."""


class FileScheduling(ForgetfulScheduling, LoadFileScheduling):  # type: ignore[misc] # xdist has no types
    """`--dist loadfile`, with finished tests forgotten."""


class BatchScheduling(ForgetfulScheduling):
    """Scheduling with a batch as the scope; what plain `-n` means for the benchmark."""

    def __init__(
        self, config: pytest.Config, log: Producer | None, scopes: Callable[[Sequence[str]], dict[str, str]]
    ) -> None:
        super().__init__(config, log)
        self._find_scopes = scopes
        self._scopes: dict[str, str] = {}

    def schedule(self) -> None:
        """Find the batches, once collection is complete, then hand them out."""
        if self.collection is None and self.registered_collections:
            self._scopes = self._find_scopes(next(iter(self.registered_collections.values())))
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self._scopes[nodeid]
