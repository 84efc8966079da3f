"""Whether a model may be released: results held against thresholds, and the exit status that follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

from pytest_ocg.errors import shown
from pytest_ocg.gate.checks import ROUNDING, BaselineRun, Check, checks, score_of, told_apart
from pytest_ocg.gate.thresholds import METRIC_RANGES, Limit, Selection, Thresholds, is_number
from pytest_ocg.results.comparability import (
    dig,
    error_problems,
    run_problems,
    run_signature,
    selection_problems,
    signature_problems,
)

_REPLY_SHARES = ("coverage_unordered", "coverage_ordered", "diverse_rate", "distinct2")


UNUSED_BASELINE = "no limit counts from the baseline run; add max_drop or max_rise to a metric of the thresholds"


class Status(StrEnum):
    """What the gate says about one model."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_EVALUATED = "not_evaluated"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says about one row of results, and why.

    `name` is what the line calls it: the model, with condition and shots where the run had several of its rows judged.
    `checks` are all bounds that were held against the row.
    """

    model: str
    status: Status
    reasons: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    name: str = ""
    condition: str | None = None
    shots: int | None = None

    @property
    def broken(self) -> tuple[Check, ...]:
        """The bounds that do not hold."""
        return tuple(check for check in self.checks if not check.holds)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of bounds that hold: how large a drop would have been seen, or was taken for noise."""
        return tuple(str(check) for check in self.checks if check.holds and check.fall is not None)

    def line(self) -> str:
        """The verdict on one line, `gate: FAILED smollm2-135m coverage_ordered 21.4 [20.1, 22.8] under 23.0`."""
        said = "; ".join(self.reasons)
        said = f"({said})" if self.status is Status.PASSED else said
        name = "".join(letter if letter.isprintable() else "?" for letter in (self.name or self.model)[:200])
        return f"gate: {self.status.upper().replace('_', ' ')} {name} {said}"

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain data, as `results.json` keeps it."""
        return {
            "model": self.model,
            "name": self.name or self.model,
            "condition": self.condition,
            "shots": self.shots,
            "status": self.status.value,
            "reasons": list(self.reasons),
            "checks": [check.as_json() for check in self.checks],
        }


def judge(
    results: Mapping[str, Any], thresholds: Mapping[str, Thresholds], baseline: BaselineRun | None = None
) -> tuple[Verdict, ...]:
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
            reasons = ("no thresholds for this model; take them with --ocg-write-thresholds",)
            verdicts.append(Verdict(model, Status.NOT_EVALUATED, reasons))
            continue
        limits = thresholds[model]
        concerned = [row for row in own if limits.concerns(row)]
        judged = [
            row for row in own if row in concerned or not concerned or any(error_problems(row, limits.max_error_share))
        ]
        for row in judged:
            verdict = evaluate(results, row, limits, baseline)
            name = f"{model} {row.get('condition')} {row.get('shots')}-shot" if len(judged) > 1 else model
            condition, shots = row.get("condition"), row.get("shots")
            verdicts.append(
                replace(
                    verdict,
                    name=name,
                    condition=condition if isinstance(condition, str) else None,
                    shots=shots if type(shots) is int else None,
                )
            )
    return tuple(verdicts)


def evaluate(
    results: Mapping[str, Any], row: Mapping[str, Any], thresholds: Thresholds, baseline: BaselineRun | None = None
) -> Verdict:
    """The verdict on one row of `results` (schema 1) by the selections it has all cases of; exactly at a limit holds.

    A broken limit fails. What cannot be judged (a run of no selection, another signature, errors over the budget, a
    metric that was not computed, a baseline that is not comparable) is not evaluated, and the reasons name what was
    measured and what was wanted.
    """
    model = str(row.get("model"))
    fitting = [one for one in thresholds.selections if not any(selection_problems(results, row, one))]
    problems = [
        *(() if fitting else _no_selection(results, row, thresholds)),
        *error_problems(row, thresholds.max_error_share),
        *signature_problems(results, row, thresholds),
    ]
    if problems:
        return Verdict(model, Status.NOT_EVALUATED, tuple(dict.fromkeys(problems)))
    found: list[Check] = []
    for selection in fitting:
        for limit in selection.limits:
            checked, told = _held(row, selection, limit, baseline)
            found += checked
            problems += told
    broken = [str(check) for check in found if not check.holds]
    if broken or problems:
        status = Status.FAILED if broken else Status.NOT_EVALUATED
        return Verdict(model, status, (*broken, *dict.fromkeys(problems)), tuple(found))
    held = "1 limit holds" if len(found) == 1 else f"{len(found)} limits hold"
    if len(thresholds.selections) > 1:
        held += f": {', '.join(selection.name for selection in fitting)}"
    return Verdict(model, Status.PASSED, (held,), tuple(found))


def counts_from_baseline(verdicts: Sequence[Verdict]) -> bool:
    """Whether a baseline makes a difference to any of the verdicts, or may have if more could have been judged."""
    return any(
        verdict.status is Status.NOT_EVALUATED or any(check.fall is not None for check in verdict.checks)
        for verdict in verdicts
    )


def _no_selection(results: Mapping[str, Any], row: Mapping[str, Any], thresholds: Thresholds) -> Iterator[str]:
    """Why the run has the cases of no selection, and the options that run one."""
    if len(thresholds.selections) == 1:
        [only] = thresholds.selections
        yield from selection_problems(results, row, only)
        if only.options:
            yield f"selection {only.name} is run with {only.options}"
        return
    sets, known = run_signature(results, row)["sets"], ", ".join(map(str, thresholds.selections))
    yield f"no selection of {thresholds.path} has these cases, of sets {shown(sets)}; there are {known}"
    yield from run_problems(results, row)


def _held(
    row: Mapping[str, Any], selection: Selection, limit: Limit, baseline: BaselineRun | None
) -> tuple[list[Check], list[str]]:
    """The checks of a limit, and why what is missing of them cannot be made."""
    pattern = selection.pattern
    score = score_of(row, pattern, limit.metric)
    name = limit.metric if pattern is None else f"{pattern} {limit.metric}"
    problem = _problem(score, name, limit)
    if problem is not None:
        return [], [problem]
    difference = None if baseline is None else baseline.difference(row, limit.metric)
    found = list(checks(name, score, limit, difference, has_run=baseline is not None))
    problems = []
    if baseline is not None and len(found) < len(limit.bounds()):
        problems.append(baseline.problem(row, limit.metric))
    problems += filter(None, (_lifted_by_errors(row, limit.metric, check) for check in found if check.holds))
    return found, problems


def _problem(measured: object, name: str, limit: Limit) -> str | None:
    value, signature = dig(measured, "value"), dig(measured, "signature")
    low, high = METRIC_RANGES[limit.metric]
    if value is None or dig(measured, "n") == 0:
        return f"{name} was not computed ({shown(dig(measured, 'reason') or 'no reason given')})"
    if not is_number(value) or not low - ROUNDING <= value <= high + ROUNDING:
        return f"{name} is {shown(value)}, which is no number from {low:g} to {high:g}"
    if limit.signature is not None and signature != limit.signature:
        return (
            f"{name} was measured as {shown(signature)} but its limit is for {shown(limit.signature)}; "
            "renew the baseline with --ocg-write-thresholds"
        )
    return None


def _lifted_by_errors(row: Mapping[str, Any], metric: str, check: Check) -> str | None:
    """Why a floor that holds cannot be trusted: it would not, had the errors been misses."""
    floor = check.limit if check.bound == "min" else None
    if check.fall is not None and check.bound == "max_drop":
        floor = check.fall.baseline - check.limit
    strict = _with_errors_as_misses(row, metric, check.value)
    if floor is None or check.value < floor - ROUNDING or strict >= floor - ROUNDING:
        return None
    shown_value, shown_strict = told_apart(check.value, strict)
    return (
        f"{check.name} {shown_value} holds {round(floor, 6)} only because {row['counts']['error']:,} errors "
        f"are left out ({shown_strict} with them as misses)"
    )


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


OK, TESTS_FAILED, GATE_NOT_EVALUATED = 0, 1, 10


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
