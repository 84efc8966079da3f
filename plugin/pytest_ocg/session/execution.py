"""The process that runs tests: it cuts the selected cases into batches and judges a case when its test needs it."""

from __future__ import annotations

import atexit
import gc
import json
from collections.abc import Sequence

import pytest

from pytest_ocg.errors import OcgError
from pytest_ocg.inputs.cases import Batch, Case, cut_batches
from pytest_ocg.run.cache.cache import Cache
from pytest_ocg.run.record import Miss, NoReply, Outcome, Record
from pytest_ocg.run.runner import BatchRun, Runner
from pytest_ocg.session.benchmark import Benchmark
from pytest_ocg.session.case_item import CaseItem, convert_items, passed_report, verdict_report
from pytest_ocg.session.keys import (
    BATCH_PROPERTY,
    CASE_FIXTURE,
    MISSED,
    NOTICE_PROPERTY,
    PROPERTY_PREFIX,
    RECORD_PROPERTY,
    STOP_REASON,
    VERDICT_PROPERTY,
)
from pytest_ocg.session.progress import Progress

STOPPED_BY_BACKEND = 2


def case_of(item: pytest.Item) -> Case | None:
    """The case that the item tests, None for a test without a case."""
    callspec = getattr(item, "callspec", None)
    return None if callspec is None else callspec.params.get(CASE_FIXTURE)


class Execution:
    """The hooks of the process that runs tests."""

    def __init__(self, benchmark: Benchmark, progress: Progress | None) -> None:
        self._benchmark = benchmark
        self._progress = progress
        self._selected: list[Case] = []
        self._runner: Runner | None = None
        self._cache: Cache | None = None
        self._reported_notices = 0
        self._has_generated = False
        self._has_frozen = False

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> object:
        """Disable the garbage collector during collection: collected items stay, and to search them again is slow."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return (yield)
        finally:
            self._freeze()
            if was_enabled:
                gc.enable()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Record the cases that are left after `-k`, `--lf` and `--deselect`."""
        self._selected = [case for case in map(case_of, session.items) if case is not None]
        if not session.config.option.collectonly:
            convert_items(session.items)

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport | None:
        """Report a miss or a missing reply in one line; only the setup report carries the record."""
        if call.when == "call" and item.user_properties:
            item.user_properties[:] = [
                entry for entry in item.user_properties if not entry[0].startswith(PROPERTY_PREFIX)
            ]
        if call.when == "collect":
            return None
        if call.excinfo is None:
            if not isinstance(item, CaseItem):
                return None
            missed = item.stash.get(MISSED, None) if call.when == "call" else None
            if missed is None:
                return passed_report(item, call)
            return verdict_report(item, call, missed, (VERDICT_PROPERTY, Outcome.MISS.value))
        if isinstance(call.excinfo.value, (Miss, NoReply)):
            verdict = Outcome.MISS if isinstance(call.excinfo.value, Miss) else Outcome.ERROR
            return verdict_report(item, call, str(call.excinfo.value), (VERDICT_PROPERTY, verdict.value))
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Free the model: a scoring model may need its memory."""
        if self._runner is not None:
            self._runner.close()

    def pytest_unconfigure(self) -> None:
        """Close the cache."""
        if self._cache is not None:
            self._cache.close()

    def unfreeze(self) -> None:
        """Return all objects to the garbage collector: the process may continue after this session."""
        if self._has_frozen:
            gc.unfreeze()
            atexit.register(gc.freeze)  # a process that ends does not search them for garbage

    def judged(self, item: pytest.Item, case: Case) -> Record:
        """The record of the case; the item's setup report carries it.

        Raises NoReply if the case has no reply, and ends the session if no further reply is possible.
        """
        try:
            record, ran = self._opened_runner().record(case)
        except OcgError as error:
            # xdist does not pass on why a worker exits
            getattr(self._benchmark.config, "workeroutput", {})[STOP_REASON] = str(error)
            pytest.exit(str(error), returncode=STOPPED_BY_BACKEND)
        item.user_properties.append((RECORD_PROPERTY, record.as_json()))
        if ran is not None:
            item.user_properties.append((BATCH_PROPERTY, _batch_json(ran)))
            self._freeze_reports(ran)
        notices = self._benchmark.notices
        if len(notices) > self._reported_notices:
            item.user_properties.append((NOTICE_PROPERTY, json.dumps(notices[self._reported_notices :])))
            self._reported_notices = len(notices)
        if record.outcome is Outcome.ERROR:
            raise NoReply(record.explain())
        return record

    def _opened_runner(self) -> Runner:
        if self._runner is None:
            self._cache = self._benchmark.open_cache()
            self._runner = Runner(
                self._benchmark.plan,
                batches_of(self._benchmark, self._selected),
                identities=self._benchmark.identities,
                cache=self._cache,
                open_backend=self._benchmark.open_backend,
                before_generating=self._before_generating,
            )
        return self._runner

    def _freeze_reports(self, ran: BatchRun) -> None:
        """Exclude the reports from garbage collection, as long as no model has generated and left garbage."""
        self._has_generated |= ran.generated > 0
        if not self._has_generated:
            self._freeze()

    def _freeze(self) -> None:
        gc.freeze()
        self._has_frozen = True

    def _before_generating(self, batch: Batch, prompts: int) -> None:
        if self._progress is not None:
            self._progress.begin(batch, prompts)


def batches_of(benchmark: Benchmark, selected: Sequence[Case]) -> list[Batch]:
    """The selected cases in batches, in the order of the plan; the order of the tests does not matter."""
    chosen = {case.id for case in selected}
    return cut_batches([case for case in benchmark.plan.cases if case.id in chosen], benchmark.batch_sizes)


def _batch_json(ran: BatchRun) -> str:
    return json.dumps(
        {
            "model": ran.model,
            "cases": ran.cases,
            "generated": ran.generated,
            "seconds": ran.seconds,
            "provenances": dict(ran.provenances),
        }
    )
