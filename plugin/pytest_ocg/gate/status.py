"""The exit status that follows from the verdicts on a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pytest_ocg.gate.judge import Status, Verdict
from pytest_ocg.gate.thresholds import is_number
from pytest_ocg.results.comparability import dig

OK, TESTS_FAILED, GATE_NOT_EVALUATED = 0, 1, 10


def exit_status(
    verdicts: Sequence[Verdict], *, mode: Literal["auto", "require", "off"], default: int, only_misses: bool = True
) -> int:
    """The exit status of a run whose own status is `default`; anything but OK (0) and TESTS_FAILED (1) is kept.

    A failed verdict gives 1. All passed gives 0, which pardons misses and nothing else: pass `only_misses=False` where
    a test outside the judged rows failed. Otherwise the status is `default`, or 10 in mode `require`, also for no
    verdict at all.
    """
    if mode == "off" or default not in (OK, TESTS_FAILED):
        return default
    found = {verdict.status for verdict in verdicts}
    if Status.FAILED in found:
        return TESTS_FAILED
    if found == {Status.PASSED}:
        return OK if only_misses else default
    return GATE_NOT_EVALUATED if mode == "require" else default


def default_status(results: Mapping[str, Any]) -> int:
    """The status pytest itself gave such a run: 1 unless it ran to its end, something hit, and nothing else was."""
    rows = results["rows"]
    counts = [[dig(row, "counts", key) for key in ("hit", "miss", "error")] for row in rows]
    clean = all(is_number(hit) and hit > 0 and miss == 0 and error == 0 for hit, miss, error in counts)
    return OK if rows and clean and dig(results, "selection", "cut") is None else TESTS_FAILED
