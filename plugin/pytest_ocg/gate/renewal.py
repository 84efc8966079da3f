"""How a measured row becomes the text of a threshold file, new or renewed."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Table

from pytest_ocg.errors import ThresholdError, shown
from pytest_ocg.gate.checks import score_of
from pytest_ocg.gate.judge import Status, evaluate
from pytest_ocg.gate.parsing import parse_thresholds
from pytest_ocg.gate.thresholds import FIRST_LIMITS, GUIDE, SCHEMA, Thresholds, is_number, limit_from
from pytest_ocg.results.comparability import (
    differing_keys,
    dig,
    error_problems,
    run_problems,
    run_signature,
    selection_problems,
)

_IDENTITY_KEYS = ("backend", "revision", "dtype")


def render_thresholds(
    text: str | None,
    path: Path,
    results: Mapping[str, Any],
    row: Mapping[str, Any],
    margin: float,
    max_drop: float | None = None,
) -> str:
    """The text of a threshold file that `row` holds with `margin` to spare.

    Floors lie `margin` points under the value (but never under half of it), ceilings `margin` points over it, or 5 %
    per point of margin for perplexity; floors are rounded down, ceilings up, to one decimal. With `max_drop` new limits
    are on the distance from the baseline instead.

    `text` is the file as it is, None for a new one. A new selection limits coverage, ordered rate, diverse rate and
    pBLEU as far as they were measured. In a file that is there, the selections that the run has all cases of are
    renewed: the baselines, floors and ceilings they have, and the signature keys. None is added, so that what was left
    open by hand stays open; a file without a signature gets one, and a run of another sample a selection of its own.
    """
    for name, points in (("margin", margin), ("max_drop", 0.0 if max_drop is None else max_drop)):
        if not is_number(points) or points < 0:
            raise ThresholdError(f"{name} is {points!r}; it must be a number of per cent points, 0 or more")
    problems = [*run_problems(results, row), *error_problems(row, 0.0)]
    if problems:
        raise ThresholdError(
            f"{path}: thresholds of {shown(row.get('model'))} are not written, for they need a whole "
            f"run without errors: {'; '.join(problems)}"
        )
    renewed: list[str] = []
    if text is None:
        document = tomlkit.document()
        document.add(tomlkit.comment(f"Taken with --ocg-write-thresholds; {GUIDE} explains each line."))
        document.add("schema", tomlkit.item(SCHEMA))
        document.add("model", tomlkit.item(_plain(str(row.get("model")))))
        document.add("max_error_share", tomlkit.item(0.0))
    else:
        before = parse_thresholds(text, path)
        if before.model not in (None, row.get("model")):
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
        renewed = _renewed(before, results, row)
        document = _parsed(text, path)
        if "origin" in document:
            _put(document, "origin", "measured")
    _renew_signature(document, results, row)
    selections = _child(document, "selection", is_super_table=True)
    sets = run_signature(results, row)["sets"]
    for name in renewed or [_new_selection(selections, str(sets))]:
        _renew_metrics(selections[name], f"{path}: selection.{name}", row, margin, max_drop)
        _renew_provenance(selections[name], results, row)
    written = tomlkit.dumps(document)
    try:
        thresholds = parse_thresholds(written, path)
    except ThresholdError as error:
        raise _not_editable(path, error) from error
    verdict = evaluate(results, row, thresholds)
    if verdict.status is not Status.PASSED:
        raise ThresholdError(
            f"{path}: is left as it is, for the run would not hold its renewed thresholds: {'; '.join(verdict.reasons)}"
        )
    return written


def _renewed(before: Thresholds, results: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    """The names of the selections that the run has all cases of.

    Raises ThresholdError where a signature that others need as it is would have to change.
    """
    names = [one.name for one in before.selections if not any(selection_problems(results, row, one))]
    others = [one.name for one in before.selections if one.name not in names]
    run = run_signature(results, row)
    differing = list(differing_keys(run, before.signature))
    if others and differing:
        told = ", ".join(f"{key} is {shown(before.signature[key])} and {shown(run[key])} now" for key in differing)
        raise ThresholdError(
            f"{before.path}: is left as it is, for {told}, which the selections {', '.join(others)} were not measured "
            "with; take them out, or write to another file with --ocg-thresholds"
        )
    return names


def _new_selection(selections: MutableMapping[str, Any], sets: str) -> str:
    """The name of a new selection of these sets, which is in `selections` now."""
    name = "full" if sets == "all" else "smoke"
    if name in selections:
        name = f"sets-{sets.replace(':', '-')}"
    _child(selections, name)
    if sets != "all":
        selections[name]["sets"] = sets
    return name


def _renew_signature(document: tomlkit.TOMLDocument, results: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    is_new = "signature" not in document
    table = _child(document, "signature")
    for key, value in run_signature(results, row).items():
        if value is not None and key != "sets" and (key in table or is_new):
            _put(table, key, value)


def _renew_metrics(
    selection: MutableMapping[str, Any], place: str, row: Mapping[str, Any], margin: float, max_drop: float | None
) -> None:
    is_new = "metrics" not in selection
    metrics = _child(selection, "metrics", is_super_table=True)
    for metric in FIRST_LIMITS if is_new else list(metrics):
        measured = score_of(row, selection.get("pattern"), metric)
        value = dig(measured, "value")
        if not is_number(value):
            if is_new:
                continue
            raise ThresholdError(
                f"{place} has limits on {metric}, which this run did not compute "
                f"({shown(dig(measured, 'reason') or 'no reason given')}); run with "
                f"--ocg-metrics all, or take metrics.{metric} out"
            )
        table = _child(metrics, metric)
        if is_new and max_drop is not None:
            _put(table, "max_drop" if FIRST_LIMITS[metric] == "min" else "max_rise", float(max_drop))
        elif is_new:
            table[FIRST_LIMITS[metric]] = 0.0
        for bound in ("min", "max"):
            if bound in table:
                _put(table, bound, limit_from(metric, bound, float(value), margin))
        if is_new or "baseline" in table:
            _put(table, "baseline", round(float(value), 6))
        signature = dig(measured, "signature")
        if isinstance(signature, str) and (is_new or "signature" in table):
            _put(table, "signature", signature)
    if not len(metrics):
        raise ThresholdError(
            f"{place}: thresholds are not written, for this run computed none of "
            f"{', '.join(FIRST_LIMITS)}; run with --ocg-metrics cheap"
        )


def _renew_provenance(selection: MutableMapping[str, Any], results: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    table = _child(selection, "provenance")
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


def _parsed(text: str, path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except (TOMLKitError, RecursionError) as error:
        raise _not_editable(path, error) from error


def _not_editable(path: Path, error: Exception) -> ThresholdError:
    return ThresholdError(
        f"{path}: cannot be edited in place ({error}); write it as in {GUIDE}, or move it away "
        "to have a new one written"
    )


def _child(parent: MutableMapping[str, Any], key: str, *, is_super_table: bool = False) -> MutableMapping[str, Any]:
    if key not in parent:
        parent[key] = tomlkit.inline_table() if isinstance(parent, InlineTable) else tomlkit.table(is_super_table)
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
