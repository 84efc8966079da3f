"""The keys that parts of a session share: in pytest's stashes, in reports, and between processes."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Literal, Protocol

import pytest

if TYPE_CHECKING:
    import pluggy

    from pytest_ocg.inputs.cases import Case
    from pytest_ocg.run.record import Record
    from pytest_ocg.session.benchmark import Benchmark


class Judging(Protocol):
    """The part of `session.execution.Execution` that a test item needs."""

    def judged(self, item: pytest.Item, case: Case) -> Record:
        """The record of the case."""
        ...


CASE_FIXTURE = "ocg_case"
GENERATION_FIXTURE = "ocg_generation"

# In the stash of config.
BENCHMARK: pytest.StashKey[Benchmark] = pytest.StashKey()
EXECUTION: pytest.StashKey[Judging] = pytest.StashKey()

# In the stash of a module or an item: values that would be computed again for each of 27,648 items.
Location = tuple[PathLike[str] | str, int | None]
Keywords = dict[str, Literal[1]]
LOCATIONS: pytest.StashKey[dict[str, Location]] = pytest.StashKey()
KEYWORDS: pytest.StashKey[Keywords] = pytest.StashKey()
OWN_KEYWORDS: pytest.StashKey[tuple[int, Keywords]] = pytest.StashKey()
MISSED: pytest.StashKey[str] = pytest.StashKey()
IHOOK: pytest.StashKey[pluggy.HookRelay] = pytest.StashKey()

# In `user_properties` of a report, all with the same prefix.
PROPERTY_PREFIX = "ocg_"
BATCH_PROPERTY = "ocg_batch"
NOTICE_PROPERTY = "ocg_notice"
RECORD_PROPERTY = "ocg_record"
VERDICT_PROPERTY = "ocg_verdict"

# Between the controller and its workers.
WORKER_INPUT = "ocg"
STOP_REASON = "ocg_stop_reason"
