"""Results and records as typed nouns, from the plain data that a test is about; what is left out has a usual value."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from pytest_ocg.results.files import read_results
from pytest_ocg.results.rows import RunRow, run_rows
from pytest_ocg.results.schema import SCHEMA, MetricScore, Results
from pytest_ocg.run.record import CaseRecord, read_record

COUNTS = ("planned", "selected", "hit", "miss", "error", "not_run", "cached", "echo", "truncated")
TOKENS = ("prompt_tokens", "completion_tokens", "new_prompt_tokens", "new_completion_tokens", "uncounted")
SCORE = {
    "value": None, "n": 1, "signature": None, "reason": None, "interval": None, "standard_error": None, "sets": 0,
    "interval_reason": None,
}  # fmt: skip
PATTERN = ("coverage_unordered", "coverage_ordered", "ordered_rate", "diverse_rate")
RESULTS: dict[str, Any] = {
    "schema": SCHEMA,
    "run": {"started": "2026-11-30T10:00:00+00:00", "seconds": 1.0, "versions": {}, "python": "3.11.7"},
    "dataset": {"name": "everyday", "sha256": "ab" * 32, "sets": 200, "dropped": 0},
    "templates_sha256": "cd" * 32,
    "matcher": "inflection",
    "seed": 0,
    "selection": {
        "sets": None, "shard": None, "whole": None, "templates": [0], "conditions": ["ordered"], "shots": 0,
        "planned": 0, "selected": 0, "run": 0, "complete": True, "cut": None,
    },
    "rows": [],
}  # fmt: skip
RECORD = {
    "id": "m-ordered-t0-NN-cs000-a_b", "model": "m", "condition": "ordered", "shots": 0, "template": 0, "set": "cs000",
    "pattern": "NN", "concepts": ["a", "b"], "outcome": "hit", "finish_reason": "stop", "prompt_tokens": None,
    "completion_tokens": None, "cached": False, "made_by": "m",
}  # fmt: skip
REPLY = {
    "reply": "a b", "covered": True, "in_order": True, "missing": [], "order_break": None, "positions": [[0], [2]],
    "echo": False,
}  # fmt: skip
ERROR = {"reply": None, "error": "timeout", "detail": "nothing came"}


def full_results(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a `results.json` in which whatever `plain` leaves out has a usual value."""
    whole = _filled(plain, RESULTS)
    whole["rows"] = [full_row(row) for row in whole["rows"]]
    for verdict in whole.get("gate", {}).get("verdicts", ()):
        for key, value in (("name", verdict["model"]), ("condition", None), ("shots", None)):
            verdict.setdefault(key, value)
    return whole


def full_row(plain: Mapping[str, Any]) -> dict[str, Any]:
    """A row in which whatever `plain` leaves out has a usual value."""
    row = _filled(
        plain,
        {
            "model": "m", "condition": "ordered", "shots": 0, "published_as": None, "identity": {}, "patterns": {},
            "counts": {**dict.fromkeys(COUNTS, 0), "errors": {}},
            "usage": {**dict.fromkeys(TOKENS, 0), "cost_dollars": None, "new_cost_dollars": None},
            "metrics": {}, "by_template": {}, "statistics": {}, "by_pattern": {}, "made_by": [],
        },
    )  # fmt: skip
    row["metrics"] = {name: {**SCORE, **score} for name, score in row["metrics"].items()}
    row["by_pattern"] = {
        pattern: {"scored": 1, **dict.fromkeys(PATTERN), **scores} for pattern, scores in row["by_pattern"].items()
    }
    return row


def results_of(plain: Mapping[str, Any]) -> Results:
    """The results that such a file is read as; lone surrogates and the like included."""
    return read_results(json.dumps(full_results(plain)).encode("ascii"), "results file 'made'")


def rows_of(plain: Mapping[str, Any]) -> tuple[RunRow, ...]:
    """The rows of such results, ready to be judged."""
    return run_rows(results_of(plain))


def score_of(value: float | None, **facts: Any) -> MetricScore:
    """A score of a row."""
    return msgspec.convert({**SCORE, "value": value, **facts}, MetricScore)


def full_record(**facts: Any) -> dict[str, Any]:
    """An object of `generations.jsonl` in which whatever is left out has a usual value."""
    rest = ERROR if facts.get("outcome") == "error" else REPLY
    return copy.deepcopy({**RECORD, **rest, **facts})


def record_of(**facts: Any) -> CaseRecord:
    """The record that such an object is read as."""
    return read_record(json.dumps(full_record(**facts)))


def _filled(plain: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """`plain` with what it lacks of `usual`, one level of mappings deep."""
    whole = copy.deepcopy({**usual, **plain})
    for key, value in usual.items():
        if isinstance(value, dict) and isinstance(plain.get(key), Mapping):
            whole[key] = {**copy.deepcopy(value), **copy.deepcopy(dict(plain[key]))}
    return whole
