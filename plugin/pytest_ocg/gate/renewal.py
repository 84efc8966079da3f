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
    """The text of a threshold file, and its thresholds."""

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
    """A threshold file whose limits are `margin` from the values of the measured row.

    Floors are `margin` points under the value (but at least half of it), ceilings `margin` points over it. For
    perplexity a point is 5 % of the value. Floors are rounded down, ceilings up, to one decimal. With `max_drop` new
    limits are on the distance from the baseline instead.

    `text` is the present text of the file, None for a new file. A new selection limits coverage, ordered rate, diverse
    rate and pBLEU if they were measured. In an existing file every selection of which the run has all cases gets new
    values for its baselines, floors, ceilings and signature keys. No limit is added, so what was removed by hand stays
    removed. A file without a signature gets one, and a run over another sample gets a new selection.
    """
    for name, points in (("margin", margin), ("max_drop", 0.0 if max_drop is None else max_drop)):
        if not is_number(points) or points < 0:
            raise ThresholdError(f"{name} is {points!r}; it must be a number of per cent points, 0 or more")
    row = measured.row
    problems = [*measured.problems, *error_problems(row.counts, 0.0)]
    if problems:
        raise ThresholdError(
            f"{path}: thresholds of {quote(row.model)} were not written, because they need a complete run without "
            f"errors: {'; '.join(problems)}"
        )
    renewed: list[str] = []
    if text is None:
        document = tomlkit.document()
        document.add(tomlkit.comment(f"Written with --ocg-write-thresholds. For each line, see {GUIDE}."))
        document.add("schema", tomlkit.item(SCHEMA))
        document.add("model", tomlkit.item(_plain(row.model)))
        document.add("max_error_share", tomlkit.item(0.0))
    else:
        before = parse_thresholds(text, path)
        if before.model not in (None, row.model):
            raise ThresholdError(
                f"{path} has the thresholds of {before.model!r}, which a run of {quote(row.model)} cannot renew; "
                "pass another file with --ocg-thresholds"
            )
        if not before.concerns(row):
            ours, theirs = (
                ", ".join(f"{key} {quote(of.get(key))}" for key in ("condition", "shots"))
                for of in (before.signature, measured.signature)
            )
            raise ThresholdError(
                f"{path} has the thresholds for {ours}, which a run with {theirs} cannot renew; "
                "pass another file with --ocg-thresholds"
            )
        renewed = _renewable_selections(before, measured)
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
            f"{path} was not changed, because the run would break its new thresholds: {'; '.join(verdict.reasons)}"
        )
    return Renewed(written, thresholds)


def _renewable_selections(before: Thresholds, measured: RunRow) -> list[str]:
    """The names of the selections of which the run has all cases.

    Raises ThresholdError if the signature would change and other selections were measured with the present one.
    """
    names = [one.name for one in before.selections if not any(selection_problems(measured, one))]
    others = [one.name for one in before.selections if one.name not in names]
    run = measured.signature
    differing = list(differing_keys(run, before.signature))
    if others and differing:
        changes = ", ".join(
            f"{key} is {quote(before.signature[key])} in the file and {quote(run[key])} in the run" for key in differing
        )
        raise ThresholdError(
            f"{before.path} was not changed, because {changes}, and this run does not renew the selections "
            f"{', '.join(others)} of the file; remove them, or write to another file with --ocg-thresholds"
        )
    return names


def _new_selection(selections: MutableMapping[str, Any], sets: str) -> str:
    """The name of a new selection of these sets, after it was added to `selections`."""
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
                f"--ocg-metrics all, or remove metrics.{metric}"
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
            f"{place}: thresholds were not written, because this run computed none of "
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
        f"{path} cannot be edited in place ({error}); write it as shown in {GUIDE}, or move it away and write a new one"
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
    next_comments = body[end:]  # blank lines and comments that belong to the next table; a new key goes before them
    del body[end:]
    table[key] = _plain(value)
    body.extend(next_comments)


def _plain(value: object) -> Any:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
