"""How a measured row becomes the text of a threshold file, new or renewed."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Table

from pytest_ocg.errors import ThresholdError, quote
from pytest_ocg.gate.checks import score_of
from pytest_ocg.gate.fitness import error_problems, selection_problems
from pytest_ocg.gate.judge import evaluate
from pytest_ocg.gate.parsing import parse_thresholds
from pytest_ocg.gate.thresholds import GUIDE, SCHEMA, Thresholds, is_number, limit_from
from pytest_ocg.metrics import catalogue
from pytest_ocg.results.rows import RunRow
from pytest_ocg.results.schema import Results, Row
from pytest_ocg.results.signature import differing_keys
from pytest_ocg.results.verdicts import Status

_IDENTITY_KEYS = ("backend", "revision", "dtype")


@dataclass(frozen=True, slots=True)
class Renewed:
    """The text of a threshold file, and what it says."""

    text: str
    thresholds: Thresholds


def render_thresholds(
    text: str | None,
    path: Path,
    results: Results,
    measured: RunRow,
    margin: float,
    max_drop: float | None = None,
) -> Renewed:
    """A threshold file that the measured row holds with `margin` to spare.

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
    row = measured.row
    problems = [*measured.problems, *error_problems(row.counts, 0.0)]
    if problems:
        raise ThresholdError(
            f"{path}: thresholds of {quote(row.model)} are not written, for they need a whole "
            f"run without errors: {'; '.join(problems)}"
        )
    renewed: list[str] = []
    if text is None:
        document = tomlkit.document()
        document.add(tomlkit.comment(f"Taken with --ocg-write-thresholds; {GUIDE} explains each line."))
        document.add("schema", tomlkit.item(SCHEMA))
        document.add("model", tomlkit.item(_plain(row.model)))
        document.add("max_error_share", tomlkit.item(0.0))
    else:
        before = parse_thresholds(text, path)
        if before.model not in (None, row.model):
            raise ThresholdError(
                f"{path}: holds the thresholds of {before.model!r}, which a run of "
                f"{quote(row.model)} does not renew; choose another file with --ocg-thresholds"
            )
        if not before.concerns(row):
            ours, theirs = (
                ", ".join(f"{key} {quote(of.get(key))}" for key in ("condition", "shots"))
                for of in (before.signature, measured.signature)
            )
            raise ThresholdError(
                f"{path}: holds the thresholds for {ours}, which a run with {theirs} does not renew; "
                "choose another file with --ocg-thresholds"
            )
        renewed = _renewed(before, measured)
        document = _parsed(text, path)
        if "origin" in document:
            _put(document, "origin", "measured")
    _renew_signature(document, measured.signature)
    selections = _child(document, "selection", is_super_table=True)
    sets = measured.signature["sets"]
    for name in renewed or [_new_selection(selections, str(sets))]:
        _renew_metrics(selections[name], f"{path}: selection.{name}", row, margin, max_drop)
        _renew_provenance(selections[name], results, row)
    written = tomlkit.dumps(document)
    try:
        thresholds = parse_thresholds(written, path)
    except ThresholdError as error:
        raise _not_editable(path, error) from error
    verdict = evaluate(measured, thresholds)
    if verdict.status is not Status.PASSED:
        raise ThresholdError(
            f"{path}: is left as it is, for the run would not hold its renewed thresholds: {'; '.join(verdict.reasons)}"
        )
    return Renewed(written, thresholds)


def _renewed(before: Thresholds, measured: RunRow) -> list[str]:
    """The names of the selections that the run has all cases of.

    Raises ThresholdError where a signature that others need as it is would have to change.
    """
    names = [one.name for one in before.selections if not any(selection_problems(measured, one))]
    others = [one.name for one in before.selections if one.name not in names]
    run = measured.signature
    differing = list(differing_keys(run, before.signature))
    if others and differing:
        told = ", ".join(f"{key} is {quote(before.signature[key])} and {quote(run[key])} now" for key in differing)
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


def _renew_signature(document: tomlkit.TOMLDocument, signature: Mapping[str, Any]) -> None:
    is_new = "signature" not in document
    table = _child(document, "signature")
    for key, value in signature.items():
        if value is not None and key != "sets" and (key in table or is_new):
            _put(table, key, value)


def _renew_metrics(
    selection: MutableMapping[str, Any], place: str, row: Row, margin: float, max_drop: float | None
) -> None:
    is_new = "metrics" not in selection
    metrics = _child(selection, "metrics", is_super_table=True)
    first_limits = catalogue.first_limits()
    for metric in first_limits if is_new else list(metrics):
        score = score_of(row, selection.get("pattern"), metric)
        if score is None or score.value is None:
            if is_new:
                continue
            raise ThresholdError(
                f"{place} has limits on {metric}, which this run did not compute "
                f"({quote((score and score.reason) or 'no reason given')}); run with "
                f"--ocg-metrics all, or take metrics.{metric} out"
            )
        table = _child(metrics, metric)
        if is_new and max_drop is not None:
            _put(table, "max_drop" if first_limits[metric] == "min" else "max_rise", float(max_drop))
        elif is_new:
            table[first_limits[metric]] = 0.0
        for bound in ("min", "max"):
            if bound in table:
                _put(table, bound, limit_from(metric, bound, score.value, margin))
        if is_new or "baseline" in table:
            _put(table, "baseline", round(score.value, 6))
        if score.signature is not None and (is_new or "signature" in table):
            _put(table, "signature", score.signature)
    if not len(metrics):
        raise ThresholdError(
            f"{place}: thresholds are not written, for this run computed none of "
            f"{', '.join(first_limits)}; run with --ocg-metrics cheap"
        )


def _renew_provenance(selection: MutableMapping[str, Any], results: Results, row: Row) -> None:
    table = _child(selection, "provenance")
    facts = {
        "measured": results.run.started,
        "replies": row.counts.planned,
        **{key: row.identity.get(key) for key in _IDENTITY_KEYS},
        "python": results.run.python,
    }
    for key, value in facts.items():
        if isinstance(value, str | int | float):
            _put(table, key, value)
    if not isinstance(table.get("versions"), Mapping):
        table["versions"] = tomlkit.inline_table()
    known: MutableMapping[str, Any] = table["versions"]
    texts = {_plain(name): version for name, version in results.run.versions.items() if version is not None}
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
