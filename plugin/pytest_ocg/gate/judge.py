"""Whether a model may be released: the verdicts on results, and the exit status that follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_ocg.errors import counted, quote
from pytest_ocg.gate.checks import ROUNDING, BaselineRun, checks, distinct_texts, score_of
from pytest_ocg.gate.fitness import error_problems, selection_problems, signature_problems
from pytest_ocg.gate.thresholds import Limit, Selection, Thresholds
from pytest_ocg.inputs.settings import GateMode
from pytest_ocg.metrics import catalogue
from pytest_ocg.results.rows import RunRow
from pytest_ocg.results.schema import MetricScore, Results, Row
from pytest_ocg.results.verdicts import Check, Status, Verdict

OK, TESTS_FAILED, GATE_NOT_EVALUATED = 0, 1, 10
UNUSED_BASELINE = "no limit uses the baseline run; add max_drop or max_rise to a metric in the thresholds"


def judge(
    rows: Sequence[RunRow], thresholds: Mapping[str, Thresholds], baseline: BaselineRun | None = None
) -> tuple[Verdict, ...]:
    """The verdicts on the rows of a run, model after model; `thresholds` has an entry for each model with a file.

    A row with another condition or number of shots than a model's thresholds is left out if another row of the model
    is judged, unless requests of the row failed.
    """
    by_model: dict[str, list[RunRow]] = {}
    for one in rows:
        by_model.setdefault(one.row.model, []).append(one)
    verdicts: list[Verdict] = []
    for model, own in by_model.items():
        if model not in thresholds:
            reasons = ("no thresholds for this model; write them with --ocg-write-thresholds",)
            verdicts.append(Verdict(model=model, name=model, status=Status.NOT_EVALUATED, reasons=reasons))
            continue
        limits = thresholds[model]
        concerned = any(limits.concerns(one.row) for one in own)
        judged = [
            one
            for one in own
            if not concerned or limits.concerns(one.row) or any(error_problems(one.row.counts, limits.max_error_share))
        ]
        for one in judged:
            name = f"{model} {one.row.condition} {one.row.shots}-shot" if len(judged) > 1 else model
            verdicts.append(evaluate(one, limits, baseline, name=name))
    return tuple(verdicts)


def evaluate(judged: RunRow, thresholds: Thresholds, baseline: BaselineRun | None = None, *, name: str = "") -> Verdict:
    """The verdict on one row by the selections whose cases it has; a value exactly at its limit holds.

    A broken limit fails. A row that cannot be judged (cases of no selection, another signature, too many errors, a
    metric that was not computed, a baseline that is not comparable) is not evaluated; the reasons name the value found
    and the value expected.
    """
    row = judged.row

    def verdict(status: Status, reasons: Sequence[str], found: Sequence[Check] = ()) -> Verdict:
        return Verdict(
            model=row.model,
            name=name or row.model,
            condition=row.condition,
            shots=row.shots,
            status=status,
            reasons=tuple(reasons),
            checks=tuple(found),
        )

    fitting = [one for one in thresholds.selections if not any(selection_problems(judged, one))]
    problems = [
        *(() if fitting else _no_selection(judged, thresholds)),
        *error_problems(row.counts, thresholds.max_error_share),
        *signature_problems(judged, thresholds),
    ]
    if problems:
        return verdict(Status.NOT_EVALUATED, tuple(dict.fromkeys(problems)))
    found: list[Check] = []
    for selection in fitting:
        for limit in selection.limits:
            checked, reasons = _checked_limit(row, selection, limit, baseline)
            found += checked
            problems += reasons
    broken = [check.says for check in found if not check.holds]
    if broken or problems:
        status = Status.FAILED if broken else Status.NOT_EVALUATED
        return verdict(status, (*broken, *dict.fromkeys(problems)), found)
    held = f"{counted(len(found), 'limit')} {'holds' if len(found) == 1 else 'hold'}"
    if len(thresholds.selections) > 1:
        held += f": {', '.join(selection.name for selection in fitting)}"
    return verdict(Status.PASSED, (held,), found)


def _no_selection(judged: RunRow, thresholds: Thresholds) -> Iterator[str]:
    """Why the cases of the run fit no selection, and the options that run one."""
    if len(thresholds.selections) == 1:
        [only] = thresholds.selections
        yield from selection_problems(judged, only)
        if only.options:
            yield f"to run selection {only.name}, use {only.options}"
        return
    sets, known = judged.signature["sets"], ", ".join(map(str, thresholds.selections))
    yield f"this run (sets {quote(sets)}) matches no selection of {thresholds.path}; its selections are {known}"
    yield from judged.problems


def _checked_limit(
    row: Row, selection: Selection, limit: Limit, baseline: BaselineRun | None
) -> tuple[list[Check], list[str]]:
    """The checks of a limit, and why the other checks are not possible."""
    pattern = selection.pattern
    score = score_of(row, pattern, limit.metric)
    name = limit.metric if pattern is None else f"{pattern} {limit.metric}"
    problem = _problem(score, name, limit)
    if score is None or problem is not None:
        return [], [problem or ""]
    difference = None if baseline is None else baseline.difference(row, limit.metric)
    found = list(checks(name, score, limit, difference, has_run=baseline is not None))
    problems = []
    if baseline is not None and len(found) < len(limit.bounds()):
        problems.append(baseline.problem(row, limit.metric))
    problems += filter(None, (_error_doubt(row, limit.metric, check) for check in found if check.holds))
    return found, problems


def _problem(score: MetricScore | None, name: str, limit: Limit) -> str | None:
    facts = catalogue.METRICS[limit.metric]
    if score is None or score.value is None or score.n == 0:
        reason = None if score is None else score.reason
        return f"{name} was not computed ({quote(reason or 'no reason given')})"
    if not facts.low - ROUNDING <= score.value <= facts.high + ROUNDING:
        return f"{name} is {quote(score.value)}, which is not a number from {facts.low:g} to {facts.high:g}"
    if limit.signature is not None and score.signature != limit.signature:
        return (
            f"{name} was measured as {quote(score.signature)} but its limit is for {quote(limit.signature)}; "
            "renew the baseline with --ocg-write-thresholds"
        )
    return None


def _error_doubt(row: Row, metric: str, check: Check) -> str | None:
    """Why a floor that holds cannot be trusted: it would be broken if the errors were misses."""
    floor = check.limit if check.bound == "min" else None
    if check.fall is not None and check.bound == "max_drop":
        floor = check.fall.baseline - check.limit
    strict = _with_errors_as_misses(row, metric, check.value)
    if floor is None or check.value < floor - ROUNDING or strict >= floor - ROUNDING:
        return None
    shown_value, shown_strict = distinct_texts(check.value, strict)
    return (
        f"{check.metric} {shown_value} reaches {round(floor, 6)} only without its "
        f"{counted(row.counts.error, 'error')}; with errors counted as misses it is {shown_strict}"
    )


def _with_errors_as_misses(row: Row, metric: str, value: float) -> float:
    """The value if each error were the worst possible reply, spread evenly over the templates."""
    error, scored = row.counts.error, row.counts.scored
    covered = row.value("coverage_unordered")
    if catalogue.METRICS[metric].is_share_of_replies:
        return value * scored / (scored + error)
    if metric == "ordered_rate" and error and covered is not None and covered > 0:
        return value * covered * scored / (covered * scored + 100 * error)
    return value


def exit_status(verdicts: Sequence[Verdict], *, mode: GateMode, default: int, only_misses: bool = True) -> int:
    """The exit status of a run whose own status is `default`; anything but OK (0) and TESTS_FAILED (1) is kept.

    A failed verdict gives 1. If all passed, the status is 0, even with misses; pass `only_misses=False` if another test
    failed too. Otherwise the status is `default`, or 10 in mode `require`, also if there are no verdicts.
    """
    if mode == "off" or default not in (OK, TESTS_FAILED):
        return default
    found = {verdict.status for verdict in verdicts}
    if Status.FAILED in found:
        return TESTS_FAILED
    if found == {Status.PASSED}:
        return OK if only_misses else default
    return GATE_NOT_EVALUATED if mode == "require" else default


def default_status(results: Results) -> int:
    """The status that pytest itself gave such a run: 0 if it was not cut and all its rows have only hits, else 1."""
    counts = [row.counts for row in results.rows]
    clean = all(one.hit > 0 and one.miss == 0 and one.error == 0 for one in counts)
    return OK if counts and clean and results.selection.cut is None else TESTS_FAILED
