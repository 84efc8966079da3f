"""The controller: it collects the records from reports, computes the results, writes files and sets the exit status."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from pytest_ocg.inputs.cases import Case
from pytest_ocg.run.record import line_id
from pytest_ocg.session.benchmark import Benchmark
from pytest_ocg.session.execution import case_of
from pytest_ocg.session.finish import Finished, Reported, finish
from pytest_ocg.session.keys import BATCH_PROPERTY, NOTICE_PROPERTY, PROPERTY_PREFIX, RECORD_PROPERTY, VERDICT_PROPERTY
from pytest_ocg.session.progress import Progress

MISSED = ("missed", "m", ("MISSED", {"yellow": True}))
UNANSWERED = ("unanswered", "E", ("UNANSWERED", {"red": True}))
STATUSES = {"miss": MISSED, "error": UNANSWERED}


class Scoreboard:
    """The hooks of the process that the user started."""

    def __init__(self, benchmark: Benchmark, progress: Progress) -> None:
        self._benchmark = benchmark
        self._progress = progress
        self._started = time.time()
        self._lines: dict[str, str] = {}
        self._provenances: dict[str, Any] = {}
        self._selected: frozenset[str] | None = None
        self._finished: Finished | None = None
        self._only_misses = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """If this process collects, record the cases that are left after selection."""
        self.select(case for case in map(case_of, session.items) if case is not None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remove the record from the report that carries it, and keep it."""
        if not report.user_properties and report.passed:
            return
        carried = [entry for entry in report.user_properties if entry[0].startswith(PROPERTY_PREFIX)]
        if report.failed and (VERDICT_PROPERTY, "miss") not in carried:
            self._only_misses &= (VERDICT_PROPERTY, "error") in carried
        if not carried:
            return
        report.user_properties = [entry for entry in report.user_properties if not entry[0].startswith(PROPERTY_PREFIX)]
        for name, value in carried:
            if name == RECORD_PROPERTY:
                self._lines[line_id(str(value))] = str(value)
            elif name == BATCH_PROPERTY:
                self._take_batch(json.loads(str(value)))
            elif name == NOTICE_PROPERTY:
                for notice in json.loads(str(value)):
                    self._benchmark.notice(notice)
            elif report.failed:  # pytest itself reports an expected failure
                report.ocg_status = STATUSES[str(value)]  # type: ignore[attr-defined] # pytest marks xfail in the same way

    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """The status of a miss or a missing reply; pytest would list each `failed` test again at the end."""
        return getattr(report, "ocg_status", None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Compute the results, write the files, apply the thresholds."""
        if session.config.option.collectonly or not self._selected:
            return
        reported = Reported(
            lines=self._lines,
            provenances=self._provenances,
            selected=self._selected,
            started=self._started,
            seconds=time.time() - self._started,
            cut=_cut(session, exitstatus),
            only_misses=self._only_misses,
        )
        self._finished = finish(self._benchmark, reported, exitstatus, self._progress.scored)
        session.exitstatus = self._finished.exit_status

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table and the verdict."""
        if self._finished is not None:
            from pytest_ocg.session.terminal import print_summary

            print_summary(terminalreporter, self._finished, self._benchmark)

    def select(self, cases: Iterable[Case]) -> None:
        """Set the cases that will run; they are known after collection, here or in a worker."""
        chosen = list(cases)
        self._selected = frozenset(case.id for case in chosen)
        by_model = Counter(case.model for case in {case.id: case for case in chosen}.values())
        self._progress.expect(by_model, self._benchmark.forecasts)

    def _take_batch(self, ran: dict[str, Any]) -> None:
        self._provenances.update(ran.pop("provenances"))
        self._progress.end(ran)


def _cut(session: pytest.Session, exitstatus: int) -> str | None:
    reasons: Sequence[str] = [str(reason) for reason in (session.shouldfail, session.shouldstop) if reason]
    if reasons:
        return reasons[0]
    return "interrupted" if exitstatus == pytest.ExitCode.INTERRUPTED else None
