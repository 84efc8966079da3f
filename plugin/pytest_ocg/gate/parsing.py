"""The text of a threshold file, checked once and returned as Thresholds."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_ocg.errors import ThresholdError, did_you_mean
from pytest_ocg.gate.thresholds import GUIDE, SCHEMA, Limit, Origin, Selection, Thresholds, is_number
from pytest_ocg.inputs.files import parse_toml
from pytest_ocg.inputs.models import id_name
from pytest_ocg.inputs.prompts import CONDITIONS
from pytest_ocg.metrics import catalogue
from pytest_ocg.metrics.catalogue import PER_CENT
from pytest_ocg.results.signature import SIGNATURE_KEYS

_TOP_KEYS = ("schema", "model", "origin", "max_error_share", "signature", "selection")
_SELECTION_KEYS = ("sets", "pattern", "metrics", "provenance")
_LIMIT_KEYS = ("min", "max", "max_drop", "max_rise", "baseline", "strict", "signature")
_SIGNATURE_KEYS = tuple(key for key in SIGNATURE_KEYS if key != "sets")
_TEXT_KEYS = ("dataset", "dataset_sha256", "templates_sha256", "matcher", "quantization")
_ORIGINS: Mapping[str, Origin] = MappingProxyType({"measured": "measured", "published": "published"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SETS = re.compile(r"all|[1-9][0-9]{0,8}(:[0-9]{1,18})?")
_PATTERN = re.compile(r"[NV]{2,8}")
_EXAMPLE = "[selection.full.metrics.coverage_ordered] with min = 20.0"


def parse_thresholds(text: str, path: Path) -> Thresholds:
    """The thresholds in `text`, checked; messages name the file by `path`.

    Raises ThresholdError, naming file, key and value.
    """
    table = parse_toml(text, str(path), ThresholdError, f"; see {GUIDE}")
    schema = table.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        raise ThresholdError(f"{path}: schema is {schema!r}, but this version reads {SCHEMA}; write schema = {SCHEMA}")
    _check_keys(path, "", table, _TOP_KEYS)
    share = _number(
        path,
        "max_error_share",
        table.get("max_error_share", 0.0),
        (0.0, 1.0),
        "it is a share: 0.05 allows 5 % errors",
    )
    origin = table.get("origin", "measured")
    if not isinstance(origin, str) or origin not in _ORIGINS:
        raise ThresholdError(f"{path}: origin is {origin!r}; it must be {' or '.join(map(repr, _ORIGINS))}")
    return Thresholds(
        path=path,
        model=id_name(_text(path, "model", table["model"])) if "model" in table else None,
        max_error_share=share,
        signature=_signature(path, _table(path, "signature", table.get("signature", {}))),
        selections=_selections(path, _table(path, "selection", table.get("selection", {}))),
        origin=_ORIGINS[origin],
    )


def _selections(path: Path, tables: Mapping[str, Any]) -> tuple[Selection, ...]:
    if not tables:
        raise ThresholdError(f"{path}: there is no selection, so there is no limit; add a table such as {_EXAMPLE}")
    chosen: dict[tuple[str, str | None], str] = {}
    selections = []
    for name, table in tables.items():
        where = f"selection.{name}"
        if not _NAME.fullmatch(name):
            raise ThresholdError(
                f"{path}: selection {name!r} has a name that is not allowed; use at most 64 letters, digits, - and _, "
                "and begin with a letter or digit"
            )
        selection = _selection(path, name, _table(path, where, table))
        twin = chosen.setdefault((selection.sets, selection.pattern), name)
        if twin != name:
            raise ThresholdError(
                f"{path}: {where} has the same cases as selection.{twin} ({selection.options or 'all concept sets'}); "
                "put all limits into one of them"
            )
        selections.append(selection)
    return tuple(selections)


def _selection(path: Path, name: str, table: Mapping[str, Any]) -> Selection:
    where = f"selection.{name}"
    _check_keys(path, f"{where}.", table, _SELECTION_KEYS)
    _table(path, f"{where}.provenance", table.get("provenance", {}))
    sets, pattern = table.get("sets", "all"), table.get("pattern")
    if not isinstance(sets, str) or not _SETS.fullmatch(sets):
        raise ThresholdError(f"{path}: {where}.sets is {sets!r}; it must be 'all' or 'N:SEED', such as '4:0'")
    if "pattern" in table and not (isinstance(pattern, str) and _PATTERN.fullmatch(pattern)):
        raise ThresholdError(
            f"{path}: {where}.pattern is {pattern!r}; it must be tags N and V in the order asked for, such as 'NVVN'"
        )
    limits = _limits(path, where, _table(path, f"{where}.metrics", table.get("metrics", {})))
    if pattern is not None:
        _check_pattern_limits(path, where, limits)
    return Selection(name, limits, sets if sets == "all" or ":" in sets else f"{sets}:0", pattern)


def _check_pattern_limits(path: Path, where: str, limits: tuple[Limit, ...]) -> None:
    known = [name for name, facts in catalogue.METRICS.items() if facts.has_pattern_limit]
    for limit in limits:
        if limit.metric not in known:
            raise ThresholdError(
                f"{path}: {where} has limits on {limit.metric!r}, which is not measured by pattern; "
                f"limits are possible on {', '.join(known)}"
            )
        for bound in limit.bounds():
            if bound in ("max_drop", "max_rise"):
                raise ThresholdError(
                    f"{path}: {where}.metrics.{limit.metric}.{bound} needs an interval, but a single pattern has "
                    "none; write min or max instead"
                )


def _limits(path: Path, where: str, metrics: Mapping[str, Any]) -> tuple[Limit, ...]:
    if not metrics:
        raise ThresholdError(
            f"{path}: {where}.metrics is {dict(metrics)!r}, so there is no limit; add a table such as {_EXAMPLE}"
        )
    _check_keys(path, f"{where}.metrics.", metrics, tuple(catalogue.METRICS), noun="metric")
    return tuple(
        _limit(path, f"{where}.metrics.{metric}", metric, _table(path, f"{where}.metrics.{metric}", table))
        for metric, table in metrics.items()
    )


def _limit(path: Path, where: str, metric: str, table: Mapping[str, Any]) -> Limit:
    allowed = (catalogue.METRICS[metric].low, catalogue.METRICS[metric].high)
    _check_keys(path, f"{where}.", table, _LIMIT_KEYS)
    hint = "write 75 for 75 %" if allowed == PER_CENT else f"{metric} is always in this range"
    minimum, maximum, baseline = (
        _number(path, f"{where}.{key}", table[key], allowed, hint) if key in table else None
        for key in ("min", "max", "baseline")
    )
    span = (0.0, allowed[1] - allowed[0])
    drop, rise = (
        _number(path, f"{where}.{key}", table[key], span, f"it is a distance from baseline, in the unit of {metric}")
        if key in table
        else None
        for key in ("max_drop", "max_rise")
    )
    strict = table.get("strict", False)
    if not isinstance(strict, bool):
        raise ThresholdError(f"{path}: {where}.strict is {strict!r}; it must be true or false")
    signature = _text(path, f"{where}.signature", table["signature"]) if "signature" in table else None
    limit = Limit(metric, minimum, maximum, signature, baseline, drop, rise, strict)
    _check_bounds(path, where, limit, table)
    return limit


def _check_bounds(path: Path, where: str, limit: Limit, table: Mapping[str, Any]) -> None:
    if not limit.bounds():
        raise ThresholdError(
            f"{path}: {where} has none of min, max, max_drop and max_rise, so there is no limit; add one, or remove "
            f"the table {dict(table)!r}"
        )
    if limit.minimum is not None and limit.maximum is not None and limit.minimum > limit.maximum:
        raise ThresholdError(
            f"{path}: {where}.min is {limit.minimum!r}, over {where}.max {limit.maximum!r}, so no value can hold "
            "both; lower min or raise max"
        )
    relative = [bound for bound in limit.bounds() if bound in ("max_drop", "max_rise")]
    if relative and limit.baseline is None:
        raise ThresholdError(f"{path}: {where}.{relative[0]} needs a baseline; add one, such as baseline = 21.4")
    if limit.strict and not relative:
        raise ThresholdError(f"{path}: {where}.strict has no effect without max_drop and max_rise; remove it")


def _signature(path: Path, table: Mapping[str, Any]) -> Mapping[str, Any]:
    _check_keys(path, "signature.", table, _SIGNATURE_KEYS)
    for key in _TEXT_KEYS:
        if key in table:
            _text(path, f"signature.{key}", table[key])
    checks = {
        "templates": (_is_id_list, "a list of different template numbers, such as [0, 1, 2]"),
        "condition": (lambda value: value in CONDITIONS, " or ".join(map(repr, CONDITIONS))),
        "shots": (_is_count, "a whole number, 0 or more"),
    }
    for key, (is_valid, wanted) in checks.items():
        if key in table and not is_valid(table[key]):
            raise ThresholdError(f"{path}: signature.{key} is {table[key]!r}; it must be {wanted}, or left out")
    return MappingProxyType(dict(table))


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_id_list(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_count, value)) and len(set(value)) == len(value)


def _check_keys(path: Path, prefix: str, table: Mapping[str, Any], known: Collection[str], noun: str = "key") -> None:
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known) or f"; known {noun}s are {', '.join(known)}"
            raise ThresholdError(f"{path}: unknown {noun} {prefix + key!r}{hint}")


def _table(path: Path, key: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ThresholdError(f"{path}: {key} is {value!r}, not a table; write it as [{key}]")
    return value


def _text(path: Path, key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ThresholdError(f"{path}: {key} is {value!r}; it must be a text in quotes, and not empty")
    return value


def _number(path: Path, key: str, value: object, allowed: tuple[float, float], hint: str) -> float:
    if not isinstance(value, int | float) or not is_number(value):
        raise ThresholdError(f"{path}: {key} is {value!r}; it must be a finite number without quotes")
    low, high = allowed
    if not low <= value <= high:
        raise ThresholdError(f"{path}: {key} is {value!r}, outside {low:g} to {high:g}; {hint}")
    return float(value)
