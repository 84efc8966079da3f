"""The run that a gate counts drops from, as far as the run to be judged can be compared with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ocg.errors import CompareError, ResultsError
from pytest_ocg.results.comparability import shown
from pytest_ocg.results.comparison import RowComparison, compare
from pytest_ocg.results.files import Run
from pytest_ocg.statistics.paired import Difference


@dataclass(frozen=True, slots=True)
class BaselineRun:
    """The comparison with a baseline, row by row; `refusal` is why there is none."""

    path: Path
    rows: tuple[RowComparison, ...] = ()
    refusal: str = ""

    def difference(self, row: Mapping[str, Any], metric: str) -> Difference | None:
        """How the metric of a results row differs from the baseline's, None where that is not known."""
        found = (one for compared in self._compared(row) for one in compared.differences if one.metric == metric)
        return next(found, None)

    def problem(self, row: Mapping[str, Any], name: str) -> str:
        """Why a metric cannot be held against the baseline."""
        if self.refusal:
            return f"the baseline run cannot be counted from, for `ocg compare` refuses it: {self.refusal}"
        missing = name if self._compared(row) else f"row of {shown(row.get('model'))} {shown(row.get('condition'))}"
        return f"the baseline run {str(self.path)!r} has no {missing}"

    def _compared(self, row: Mapping[str, Any]) -> list[RowComparison]:
        key = (row.get("model"), row.get("condition"))
        return [compared for compared in self.rows if (compared.new_model, compared.condition) == key]


def hold_against(baseline: Run, run: Run) -> BaselineRun:
    """The run compared with the baseline, paired by concept set (`ocg compare`)."""
    try:
        return BaselineRun(baseline.path, compare(baseline, run).rows)
    except (CompareError, ResultsError) as error:
        return BaselineRun(baseline.path, refusal=str(error))
