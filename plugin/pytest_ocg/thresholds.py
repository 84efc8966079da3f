"""What a model must hold, and the checks a threshold file goes through at the door."""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_ocg.errors import ThresholdError

SCHEMA = 1

_PER_CENT = (0.0, 100.0)
METRIC_RANGES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "coverage_unordered": _PER_CENT,
        "coverage_ordered": _PER_CENT,
        "ordered_rate": _PER_CENT,
        "diverse_rate": _PER_CENT,
        "distinct2": _PER_CENT,
        "distinct2_pooled": _PER_CENT,
        "pbleu": _PER_CENT,
        "pbleurt": (-100.0, 200.0),  # BLEURT times 100 leaves 0 to 100 on either side
        "perplexity": (0.0, math.inf),
    }
)

_TOP_KEYS = ("schema", "model", "max_error_share", "signature", "metrics", "provenance")
_LIMIT_KEYS = ("min", "max", "signature", "measured")
_TEXT_KEYS = ("dataset", "dataset_sha256", "templates_sha256", "matcher", "quantization")
SIGNATURE_KEYS = (*_TEXT_KEYS, "templates", "condition", "shots", "sets")
_CONDITIONS = ("ordered", "original")
_SETS = re.compile(r"all|[1-9][0-9]{0,8}(:[0-9]{1,18})?")


@dataclass(frozen=True, slots=True)
class Limit:
    """A floor and a ceiling on one metric, in its own unit; either may be left open, and so may the signature."""

    metric: str
    minimum: float | None = None
    maximum: float | None = None
    signature: str | None = None
    measured: float | None = None


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What one model must hold, and the kind of run it was laid down for.

    `signature` maps SIGNATURE_KEYS to what a run must have been made with; a key that is absent is left open, but
    `sets` is always there: `all` unless the file says otherwise. `max_error_share` is 0 to 1.
    """

    path: Path
    model: str
    limits: tuple[Limit, ...]
    max_error_share: float = 0.0
    signature: Mapping[str, Any] = field(default_factory=lambda: {"sets": "all"})

    def concerns(self, row: Mapping[str, Any]) -> bool:
        """Whether a results row has the condition and the shots these thresholds were laid down for."""
        return all(self.signature.get(key, row.get(key)) == row.get(key) for key in ("condition", "shots"))


def is_number(value: object) -> bool:
    """Whether `value` is a finite int or float; a bool is not, nor is an int that no float can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e300 <= value <= 1e300


def parse_thresholds(text: str, path: Path) -> Thresholds:
    """The thresholds written in `text`, checked; `path` is what messages call it.

    Raises ThresholdError, naming file, key and value.
    """
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ThresholdError(f"{path}: is not valid TOML: {error}; see thresholds/README.md for the shape") from error
    schema = table.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        raise ThresholdError(f"{path}: schema is {schema!r}, this version reads {SCHEMA}; write schema = {SCHEMA}")
    _check_keys(path, "", table, _TOP_KEYS)
    _table(path, "provenance", table.get("provenance", {}))
    share = _number(
        path,
        "max_error_share",
        table.get("max_error_share", 0.0),
        (0.0, 1.0),
        "it is a share: 0.05 allows 5 % of errors",
    )
    return Thresholds(
        path=path,
        model=_text(path, "model", table.get("model")),
        max_error_share=share,
        signature=_signature(path, _table(path, "signature", table.get("signature", {}))),
        limits=_limits(path, _table(path, "metrics", table.get("metrics", {}))),
    )


def _limits(path: Path, metrics: Mapping[str, Any]) -> tuple[Limit, ...]:
    if not metrics:
        raise ThresholdError(
            f"{path}: metrics is {dict(metrics)!r}, so nothing is held; add a table such as "
            "[metrics.coverage_ordered] with min = 20.0"
        )
    _check_keys(path, "metrics.", metrics, tuple(METRIC_RANGES), noun="metric")
    return tuple(_limit(path, metric, _table(path, f"metrics.{metric}", table)) for metric, table in metrics.items())


def _limit(path: Path, metric: str, table: Mapping[str, Any]) -> Limit:
    where, allowed = f"metrics.{metric}", METRIC_RANGES[metric]
    _check_keys(path, f"{where}.", table, _LIMIT_KEYS)
    hint = "percentages are written as 75 for 75 %" if allowed == _PER_CENT else f"{metric} cannot be measured so"
    minimum, maximum, measured = (
        _number(path, f"{where}.{key}", table[key], allowed, hint) if key in table else None
        for key in ("min", "max", "measured")
    )
    if minimum is None and maximum is None:
        raise ThresholdError(
            f"{path}: {where} has neither min nor max, so nothing is held; add one, or remove the table {dict(table)!r}"
        )
    if minimum is not None and maximum is not None and minimum > maximum:
        raise ThresholdError(
            f"{path}: {where}.min is {minimum!r}, over {where}.max {maximum!r}; no run can hold "
            "both, so lower min or raise max"
        )
    signature = _text(path, f"{where}.signature", table["signature"]) if "signature" in table else None
    return Limit(metric, minimum, maximum, signature, measured)


def _signature(path: Path, table: Mapping[str, Any]) -> Mapping[str, Any]:
    _check_keys(path, "signature.", table, SIGNATURE_KEYS)
    for key in _TEXT_KEYS:
        if key in table:
            _text(path, f"signature.{key}", table[key])
    checks = {
        "templates": (_is_id_list, "a list of different template numbers, such as [0, 1, 2]"),
        "condition": (lambda value: value in _CONDITIONS, " or ".join(map(repr, _CONDITIONS))),
        "shots": (_is_count, "a whole number, 0 or more"),
        "sets": (lambda value: isinstance(value, str) and _SETS.fullmatch(value), "'all' or 'N:SEED', such as '4:0'"),
    }
    for key, (holds, wanted) in checks.items():
        if key in table and not holds(table[key]):
            raise ThresholdError(f"{path}: signature.{key} is {table[key]!r}; it must be {wanted}, or be left out")
    sets = table.get("sets", "all")
    return MappingProxyType({**table, "sets": sets if sets == "all" or ":" in sets else f"{sets}:0"})


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_id_list(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_count, value)) and len(set(value)) == len(value)


def _check_keys(path: Path, prefix: str, table: Mapping[str, Any], known: Collection[str], noun: str = "key") -> None:
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            way_out = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise ThresholdError(f"{path}: unknown {noun} {prefix + key!r}; {way_out}")


def _table(path: Path, key: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ThresholdError(f"{path}: {key} is {value!r}, not a table; write it as [{key}]")
    return value


def _text(path: Path, key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ThresholdError(f"{path}: {key} is {value!r}; it must be a text in quotes that is not empty")
    return value


def _number(path: Path, key: str, value: object, allowed: tuple[float, float], hint: str) -> float:
    if not isinstance(value, int | float) or not is_number(value):
        raise ThresholdError(f"{path}: {key} is {value!r}; it must be a finite number without quotes")
    low, high = allowed
    if not low <= value <= high:
        raise ThresholdError(f"{path}: {key} is {value!r}, outside {low:g} to {high:g}; {hint}")
    return float(value)
