"""What the numbers of a row were made with: equal signatures compare, others do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_ocg.errors import ResultsError, quote
from pytest_ocg.results.schema import Results, Row

SIGNATURE_KEYS = (
    "dataset", "dataset_sha256", "templates_sha256", "matcher", "quantization", "templates", "condition", "shots",
    "sets",
)  # fmt: skip

_OF_ONE_TABLE = ("dataset_sha256", "templates_sha256", "matcher", "sets", "templates")


def run_signature(results: Results, row: Row) -> dict[str, Any]:
    """What `row` was made with, by SIGNATURE_KEYS; None for what the results do not say."""
    return {
        "dataset": results.dataset.name,
        "dataset_sha256": results.dataset.sha256,
        "templates_sha256": results.templates_sha256,
        "matcher": results.matcher,
        "quantization": row.identity.get("quantization"),
        "templates": list(results.selection.templates),
        "condition": row.condition,
        "shots": row.shots,
        "sets": results.selection.sets or "all",
    }


def differing_keys(run: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """The SIGNATURE_KEYS in which a run's signature is not as wanted.

    What `wanted` does not have is left open, and so are the versions of a matcher of which it has the name alone.
    """
    for key in SIGNATURE_KEYS:
        if key not in wanted or (key == "dataset" and "dataset_sha256" in wanted):
            continue  # equal content is the same dataset, whatever its file is called
        is_name_alone = key == "matcher" and "|" not in str(wanted[key])
        if not _is_same(str(run[key]).partition("|")[0] if is_name_alone else run[key], wanted[key]):
            yield key


def comparable_rows(runs: Sequence[Results]) -> tuple[Row, ...]:
    """The rows of several `results.json`, in order, to be put into one table.

    Raises ResultsError where two runs differ in what makes numbers comparable, or hold the same row twice.
    """
    rows: dict[tuple[str, str, int], Row] = {}
    wanted: dict[str, Any] = {}
    for results in runs:
        for row in results.rows:
            found = run_signature(results, row)
            wanted = wanted or {key: found[key] for key in _OF_ONE_TABLE}
            for key in differing_keys(found, wanted):
                raise ResultsError(
                    f"{row.model!r} was run with {key} {quote(found[key])} and the first model with "
                    f"{quote(wanted[key])}, so they do not go into one table; run both alike"
                )
            if row.name in rows:
                raise ResultsError(
                    f"{row.model!r} comes twice with condition {row.condition!r} and {row.shots} shots; "
                    "leave one of the runs out, or put shards together with ocg merge"
                )
            rows[row.name] = row
    return tuple(rows.values())


def _is_same(run: object, wanted: object) -> bool:
    if isinstance(run, list) and isinstance(wanted, list):
        return sorted(run) == sorted(wanted)
    return type(run) is type(wanted) and run == wanted
