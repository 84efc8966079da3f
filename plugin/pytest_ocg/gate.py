"""Whether a model may be released: results held against thresholds, by pure functions of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from pytest_ocg.comparability import dig, error_problems, run_problems, shown, signature_problems
from pytest_ocg.thresholds import METRIC_RANGES, Limit, Thresholds, is_number

OK, TESTS_FAILED, GATE_NOT_EVALUATED = 0, 1, 10

_ROUNDING = 1e-9
_REPLY_SHARES = ("coverage_unordered", "coverage_ordered", "diverse_rate", "distinct2")


class Status(StrEnum):
    """What the gate says about one model."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_EVALUATED = "not_evaluated"


@dataclass(frozen=True, slots=True)
class Broken:
    """A limit that does not hold: the value measured, and the `min` or `max` it had to keep."""

    metric: str
    value: float
    bound: Literal["min", "max"]
    limit: float

    def __str__(self) -> str:
        decimals = len(repr(self.limit).partition(".")[2])
        value, limit = _told_apart(self.value, self.limit, at_least=max(1, min(decimals, 6)))
        return f"{self.metric} {value} {'under' if self.bound == 'min' else 'over'} {limit}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says about one model, and why.

    `name` is what the line calls it: the model, with condition and shots where the run had several of its rows judged.
    """

    model: str
    status: Status
    reasons: tuple[str, ...] = ()
    broken: tuple[Broken, ...] = ()
    name: str = ""

    def line(self) -> str:
        """The verdict on one line, `gate: FAILED smollm2-135m coverage_ordered 21.4 under 23.0`."""
        said = "; ".join(self.reasons)
        said = f"({said})" if self.status is Status.PASSED else said
        name = "".join(letter if letter.isprintable() else "?" for letter in (self.name or self.model)[:200])
        return f"gate: {self.status.upper().replace('_', ' ')} {name} {said}"


def judge(results: Mapping[str, Any], thresholds: Mapping[str, Thresholds]) -> tuple[Verdict, ...]:
    """The verdicts on a whole run, model after model; `thresholds` are by model, absent where there are none.

    A row whose condition or shots a model's thresholds do not speak of is left out where another row of the model is
    judged, unless its own requests failed.
    """
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in results["rows"]:
        rows.setdefault(str(row.get("model")), []).append(row)
    verdicts: list[Verdict] = []
    for model, own in rows.items():
        if model not in thresholds:
            verdicts.append(
                Verdict(
                    model,
                    Status.NOT_EVALUATED,
                    ("no thresholds for this model; take them with --ocg-write-thresholds",),
                )
            )
            continue
        limits = thresholds[model]
        concerned = [row for row in own if limits.concerns(row)]
        judged = [
            row for row in own if row in concerned or not concerned or any(error_problems(row, limits.max_error_share))
        ]
        for row in judged:
            verdict = evaluate(results, row, limits)
            name = f"{model} {row.get('condition')} {row.get('shots')}-shot" if len(judged) > 1 else model
            verdicts.append(Verdict(model, verdict.status, verdict.reasons, verdict.broken, name))
    return tuple(verdicts)


def evaluate(results: Mapping[str, Any], row: Mapping[str, Any], thresholds: Thresholds) -> Verdict:
    """The verdict on one row of `results` (schema 1); exactly at a limit holds.

    A broken limit fails. What cannot be judged (a partial run, another signature, errors over the budget, a metric that
    was not computed) is not evaluated, and the reasons name what was measured and what was wanted.
    """
    model = str(row.get("model"))
    problems = [
        *run_problems(results, row),
        *error_problems(row, thresholds.max_error_share),
        *signature_problems(results, row, thresholds),
    ]
    if problems:
        return Verdict(model, Status.NOT_EVALUATED, tuple(dict.fromkeys(problems)))
    broken: list[Broken] = []
    for limit in thresholds.limits:
        found = _problem(row, limit) or _broken(row, limit)
        if isinstance(found, Broken):
            broken.append(found)
        elif found is not None:
            problems.append(found)
    if broken or problems:
        status = Status.FAILED if broken else Status.NOT_EVALUATED
        return Verdict(model, status, (*map(str, broken), *problems), tuple(broken))
    held = sum((limit.minimum is not None) + (limit.maximum is not None) for limit in thresholds.limits)
    return Verdict(model, Status.PASSED, (f"{held} limit holds" if held == 1 else f"{held} limits hold",))


def exit_status(
    verdicts: Sequence[Verdict], *, mode: Literal["auto", "require", "off"], default: int, only_misses: bool = True
) -> int:
    """The exit status of a run whose own status is `default`; anything but OK (0) and TESTS_FAILED (1) is kept.

    A failed verdict gives 1. All passed gives 0, which pardons misses and nothing else: pass `only_misses=False` where
    a test outside the judged rows failed. Otherwise the status is `default`, or 10 in mode `require`, also for no
    verdict at all.
    """
    if mode == "off" or default not in (OK, TESTS_FAILED):
        return default
    found = {verdict.status for verdict in verdicts}
    if Status.FAILED in found:
        return TESTS_FAILED
    if found == {Status.PASSED}:
        return OK if only_misses else default
    return GATE_NOT_EVALUATED if mode == "require" else default


def default_status(results: Mapping[str, Any]) -> int:
    """The status pytest itself gave such a run: 1 unless it ran to its end, something hit, and nothing else was."""
    rows = results["rows"]
    counts = [[dig(row, "counts", key) for key in ("hit", "miss", "error")] for row in rows]
    clean = all(is_number(hit) and hit > 0 and miss == 0 and error == 0 for hit, miss, error in counts)
    return OK if rows and clean and dig(results, "selection", "cut") is None else TESTS_FAILED


def _problem(row: Mapping[str, Any], limit: Limit) -> str | None:
    measured = dig(row, "metrics", limit.metric)
    value, signature = dig(measured, "value"), dig(measured, "signature")
    low, high = METRIC_RANGES[limit.metric]
    if value is None or dig(measured, "n") == 0:
        return f"{limit.metric} was not computed ({shown(dig(measured, 'reason') or 'no reason given')})"
    if not is_number(value) or not low - _ROUNDING <= value <= high + _ROUNDING:
        return f"{limit.metric} is {shown(value)}, which is no number from {low:g} to {high:g}"
    if limit.signature is not None and signature != limit.signature:
        return (
            f"{limit.metric} was measured as {shown(signature)} but its limit is for {shown(limit.signature)}; "
            "renew the baseline with --ocg-write-thresholds"
        )
    return None


def _broken(row: Mapping[str, Any], limit: Limit) -> Broken | str | None:
    value = float(row["metrics"][limit.metric]["value"])
    if limit.minimum is not None and value < limit.minimum - _ROUNDING:
        return Broken(limit.metric, value, "min", limit.minimum)
    if limit.maximum is not None and value > limit.maximum + _ROUNDING:
        return Broken(limit.metric, value, "max", limit.maximum)
    strict = _with_errors_as_misses(row, limit.metric, value)
    if limit.minimum is not None and strict < limit.minimum - _ROUNDING:
        shown_value, shown_strict = _told_apart(value, strict)
        return (
            f"{limit.metric} {shown_value} holds {limit.minimum} only because {row['counts']['error']:,} errors "
            f"are left out ({shown_strict} with them as misses)"
        )
    return None


def _with_errors_as_misses(row: Mapping[str, Any], metric: str, value: float) -> float:
    """The value had the errors been the worst of replies, spread evenly over the templates."""
    error = row["counts"]["error"]
    scored = row["counts"]["hit"] + row["counts"]["miss"]
    covered = dig(row, "metrics", "coverage_unordered", "value")
    if metric in _REPLY_SHARES:
        return float(value * scored / (scored + error))
    if metric == "ordered_rate" and error and is_number(covered) and covered > 0:
        return float(value * covered * scored / (covered * scored + 100 * error))
    return value


def _told_apart(one: float, other: float, at_least: int = 1) -> tuple[str, str]:
    for digits in range(at_least, 7):
        texts = f"{one:.{digits}f}", f"{other:.{digits}f}"
        if texts[0] != texts[1]:
            return texts
    return repr(one), repr(other)
