"""How a measured row becomes the text of a threshold file, new or renewed."""

from __future__ import annotations

import math
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from pytest_ocg.comparability import dig, error_problems, run_problems, run_signature, shown
from pytest_ocg.errors import ThresholdError
from pytest_ocg.gate import Status, evaluate
from pytest_ocg.thresholds import METRIC_RANGES, SCHEMA, is_number, parse_thresholds

_FIRST_LIMITS: Mapping[str, str] = MappingProxyType(
    {
        "coverage_ordered": "min",
        "ordered_rate": "min",
        "diverse_rate": "min",
        "coverage_unordered": "min",
        "pbleu": "max",
    }
)
_IDENTITY_KEYS = ("backend", "revision", "dtype")


def render_thresholds(
    text: str | None, path: Path, results: Mapping[str, Any], row: Mapping[str, Any], margin: float
) -> str:
    """The text of a threshold file that `row` holds with `margin` to spare.

    Floors lie `margin` points under the value (but never under half of it), ceilings `margin` points over it, or 5 %
    per point of margin for perplexity; floors are rounded down, ceilings up, to one decimal.

    `text` is the file as it is, None for a new one. New files limit coverage, ordered rate, diverse rate and pBLEU as
    far as they were measured. In a file that is there, the limits and the signature keys it has are renewed and none is
    added, so that what was left open by hand stays open; one without a signature gets one.
    """
    if not is_number(margin) or margin < 0:
        raise ThresholdError(f"margin is {margin!r}; it must be a number of per cent points, 0 or more")
    problems = [*run_problems(results, row), *error_problems(row, 0.0)]
    if problems:
        raise ThresholdError(
            f"{path}: thresholds of {shown(row.get('model'))} are not written, for they need a whole "
            f"run without errors: {'; '.join(problems)}"
        )
    if text is None:
        document = tomlkit.document()
        document.add(tomlkit.comment("Taken with --ocg-write-thresholds; thresholds/README.md explains each line."))
        document.add("schema", tomlkit.item(SCHEMA))
        document.add("model", tomlkit.item(_plain(str(row.get("model")))))
        document.add("max_error_share", tomlkit.item(0.0))
    else:
        before = parse_thresholds(text, path)
        if before.model != row.get("model"):
            raise ThresholdError(
                f"{path}: holds the thresholds of {before.model!r}, which a run of "
                f"{shown(row.get('model'))} does not renew; choose another file with --ocg-thresholds"
            )
        if not before.concerns(row):
            ours, theirs = (
                ", ".join(f"{key} {shown(of.get(key))}" for key in ("condition", "shots"))
                for of in (before.signature, row)
            )
            raise ThresholdError(
                f"{path}: holds the thresholds for {ours}, which a run with {theirs} does not renew; "
                "choose another file with --ocg-thresholds"
            )
        document = _parsed(text, path)
    _renew_signature(document, results, row)
    _renew_metrics(document, path, row, margin)
    _renew_provenance(document, results, row)
    written = tomlkit.dumps(document)
    verdict = evaluate(results, row, parse_thresholds(written, path))
    if verdict.status is not Status.PASSED:
        raise ThresholdError(
            f"{path}: is left as it is, for the run would not hold its renewed thresholds: {'; '.join(verdict.reasons)}"
        )
    return written


def _renew_signature(document: tomlkit.TOMLDocument, results: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    is_new = "signature" not in document
    table = _child(document, "signature")
    for key, value in run_signature(results, row).items():
        is_sample = key == "sets" and value != "all"
        if value is not None and (is_sample or key in table or (is_new and key != "sets")):
            _put(table, key, value)


def _renew_metrics(document: tomlkit.TOMLDocument, path: Path, row: Mapping[str, Any], margin: float) -> None:
    is_new = "metrics" not in document
    metrics = _child(document, "metrics", is_super_table=True)
    for metric in _FIRST_LIMITS if is_new else list(metrics):
        measured = dig(row, "metrics", metric)
        value = dig(measured, "value")
        if not is_number(value):
            if is_new:
                continue
            raise ThresholdError(
                f"{path}: has limits on {metric}, which this run did not compute "
                f"({shown(dig(measured, 'reason') or 'no reason given')}); run with "
                f"--ocg-metrics all, or take metrics.{metric} out"
            )
        fresh_table = metric not in metrics
        table = _child(metrics, metric)
        for bound in (_FIRST_LIMITS[metric],) if fresh_table else ("min", "max"):
            if fresh_table or bound in table:
                _put(table, bound, _limit(metric, bound, float(value), margin))
        _put(table, "measured", round(float(value), 6))
        signature = dig(measured, "signature")
        if isinstance(signature, str) and (fresh_table or "signature" in table):
            _put(table, "signature", signature)
    if not len(metrics):
        raise ThresholdError(
            f"{path}: thresholds are not written, for this run computed none of "
            f"{', '.join(_FIRST_LIMITS)}; run with --ocg-metrics cheap"
        )


def _renew_provenance(document: tomlkit.TOMLDocument, results: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    table = _child(document, "provenance")
    facts = {
        "measured": dig(results, "run", "started"),
        "replies": dig(row, "counts", "planned"),
        **{key: dig(row, "identity", key) for key in _IDENTITY_KEYS},
        "python": dig(results, "run", "python"),
    }
    for key, value in facts.items():
        if isinstance(value, str | int | float):
            _put(table, key, value)
    versions = dig(results, "run", "versions")
    if isinstance(versions, Mapping):
        if not isinstance(table.get("versions"), Mapping):
            table["versions"] = tomlkit.inline_table()
        known: MutableMapping[str, Any] = table["versions"]
        texts = {_plain(str(name)): version for name, version in versions.items() if isinstance(version, str)}
        for name in [name for name in known if name not in texts]:
            del known[name]
        for name, version in texts.items():
            _put(known, name, version)


def _limit(metric: str, bound: str, value: float, margin: float) -> float:
    low, high = METRIC_RANGES[metric]
    distance = abs(value) * 0.05 * margin if metric == "perplexity" else margin
    if bound == "min":
        floor = value - (min(distance, value / 2) if value > 0 else distance)
        return max(low, math.floor(round(floor * 10, 9)) / 10)
    return min(high, math.ceil(round((value + distance) * 10, 9)) / 10)


def _parsed(text: str, path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except (TOMLKitError, RecursionError) as error:
        raise ThresholdError(
            f"{path}: cannot be edited in place ({error}); write it as in thresholds/README.md, or "
            "move it away to have a new one written"
        ) from error


def _child(parent: MutableMapping[str, Any], key: str, *, is_super_table: bool = False) -> MutableMapping[str, Any]:
    if key not in parent:
        parent[key] = tomlkit.table(is_super_table)
    child: MutableMapping[str, Any] = parent[key]
    return child


def _put(table: MutableMapping[str, Any], key: str, value: object) -> None:
    if key in table and table[key] == value:
        return
    body = table.value.body if key not in table and isinstance(table, Table) else []
    end = len(body)
    while end and body[end - 1][0] is None:
        end -= 1
    next_comments = body[end:]  # blank lines and comments before the next table, which a new key must not part from it
    del body[end:]
    table[key] = _plain(value)
    body.extend(next_comments)


def _plain(value: object) -> Any:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
