"""How the numbers of a row were made: only rows with equal signatures can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_ocg.errors import ResultsError, counted, quote
from pytest_ocg.results.schema import Results, Row

SIGNATURE_KEYS = (
    "dataset", "dataset_sha256", "templates_sha256", "matcher", "quantization", "templates", "condition", "shots",
    "sets",
)  # fmt: skip

_OF_ONE_TABLE = ("dataset_sha256", "templates_sha256", "matcher", "sets", "templates")


def run_signature(results: Results, row: Row) -> dict[str, Any]:
    """How `row` was made, by SIGNATURE_KEYS; None for a key that the results do not have."""
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
    """The SIGNATURE_KEYS in which a run's signature differs from `wanted`.

    A key that `wanted` does not have is not compared, and neither are the versions of a matcher if it has only a name.
    """
    for key in SIGNATURE_KEYS:
        if key not in wanted or (key == "dataset" and "dataset_sha256" in wanted):
            continue  # equal content is the same dataset, also under another name
        is_name_only = key == "matcher" and "|" not in str(wanted[key])
        if not _is_same(str(run[key]).partition("|")[0] if is_name_only else run[key], wanted[key]):
            yield key


def comparable_rows(runs: Sequence[Results]) -> tuple[Row, ...]:
    """The rows of several `results.json` for one table, in order.

    Raises ResultsError if the numbers of two runs cannot be compared, or if a row occurs twice.
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
                    f"{quote(wanted[key])}, so they cannot be in one table; run both with the same options"
                )
            if row.name in rows:
                raise ResultsError(
                    f"{row.model!r} occurs twice with condition {row.condition!r} and {counted(row.shots, 'shot')}; "
                    "leave one of the runs out, or merge shards with ocg merge"
                )
            rows[row.name] = row
    return tuple(rows.values())


def _is_same(run: object, wanted: object) -> bool:
    if isinstance(run, list) and isinstance(wanted, list):
        return sorted(run) == sorted(wanted)
    return type(run) is type(wanted) and run == wanted
