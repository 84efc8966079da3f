"""The comparison of two runs, as lines for a terminal and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_ocg.errors import counted, printable
from pytest_ocg.metrics import catalogue
from pytest_ocg.report.markup import code, collapsible, number, render_grid, table
from pytest_ocg.results.case_changes import CaseChanges, ChangedSet
from pytest_ocg.results.comparison import Comparison, RowComparison
from pytest_ocg.statistics.differences import Difference

_TITLES = ("metric", "old", "new", "difference", "95 % interval", "p", "p (Holm)", "detectable\ndrop")


def render_comparison(comparison: Comparison) -> list[str]:
    """For each row a table of the metrics, the changes of its cases, and the sets that changed most."""
    lines = [f"old: {printable(str(comparison.old))}", f"new: {printable(str(comparison.new))}"]
    for row in comparison.rows:
        lines += ["", _title(row), "", *render_grid(_TITLES, [_cells(one) for one in _in_order(row)], left=1)]
        lines += ["", *_missing(row), *_case_lines(row.cases), *(f"note: {printable(note)}" for note in row.notes)]
        if row.cases.most_changed:
            lines += ["", "concept sets that changed most:"]
        for changed in row.cases.most_changed:
            lines += ["", _hits(changed), *(f"  {printable(line)}" for line in _example(changed))]
    return [*lines, *(f"note: {printable(note)}" for note in comparison.notes)]


def render_comparison_markdown(comparison: Comparison) -> str:
    """The same as Markdown, with the sets collapsed; text from the runs is never read as markup."""
    lines = ["## Ordered CommonGen: two runs compared", ""]
    lines += [f"- old: {code(str(comparison.old))}", f"- new: {code(str(comparison.new))}", ""]
    titles = [title.replace("\n", " ") for title in _TITLES]
    for row in comparison.rows:
        cells = [[code(first), *others] for first, *others in map(_cells, _in_order(row))]
        lines += [f"### {code(_title(row))}", "", *table(titles, cells)]
        lines += [f"- {code(line)}" for line in (*_missing(row), *_case_lines(row.cases), *row.notes)]
        if row.cases.most_changed:
            lines += ["", *collapsible("Concept sets that changed most", _set_lines(row))]
    return "\n".join([*lines, *(f"- {code(note)}" for note in comparison.notes)]).rstrip("\n") + "\n"


def _title(row: RowComparison) -> str:
    models = dict.fromkeys(printable(model) for model in (row.old_model, row.new_model))
    sets = counted(row.sets, "concept set")
    templates = ",".join(map(str, row.templates))
    return (
        f"{' -> '.join(models)} {printable(row.condition)}: {sets}, templates {templates}, {row.shots}-shot; "
        "paired by concept set"
    )


def _in_order(row: RowComparison) -> list[Difference]:
    places = {name: place for place, name in enumerate(catalogue.METRICS)}
    return sorted(row.differences, key=lambda one: places.get(one.metric, len(places)))


def _cells(one: Difference) -> list[str]:
    interval = "-" if one.bounds is None else f"{one.bounds.low:+.2f} to {one.bounds.high:+.2f}"
    return [
        _label(one),
        number(one.old),
        number(one.new),
        number(one.difference, "+.2f"),
        interval,
        _p(one.p),
        _p(one.p_holm),
        number(one.smallest),
    ]


def _label(one: Difference) -> str:
    return printable(catalogue.label_of(one.metric))


def _p(value: float | None) -> str:
    return "<0.0001" if value is not None and value < 0.0001 else number(value, ".4f")


def _missing(row: RowComparison) -> list[str]:
    """The reasons for missing values and intervals, each reason once."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in _in_order(row):
        if one.reason:
            what = "no value" if one.difference is None else "no interval"
            reasons.setdefault((what, one.reason), []).append(_label(one))
    return [f"{what}: {', '.join(labels)}: {reason}" for (what, reason), labels in reasons.items()]


def _case_lines(cases: CaseChanges) -> Iterator[str]:
    yield (
        f"cases: {cases.hit_to_miss:,} hit to miss, {cases.miss_to_hit:,} miss to hit, {cases.both_hit:,} hit in both, "
        f"{cases.both_miss:,} missed in both, {cases.without_reply:,} without a reply in one or both"
    )
    yield (
        f"concept sets: {cases.sets_rose} with more hits, {cases.sets_fell} with fewer, {cases.sets_same} with as "
        f"many; McNemar's exact p {_p(cases.p)}"
    )


def _hits(changed: ChangedSet) -> str:
    return printable(
        f"{changed.concepts}: {changed.old_hits} to {changed.new_hits} hits of {changed.judged} "
        f"({changed.hit_to_miss} lost, {changed.miss_to_hit} gained)"
    )


def _example(changed: ChangedSet) -> Iterator[str]:
    example = changed.example
    yield f"asked by template {example.template}: {' '.join(example.asked)}"
    yield f"old, {example.old_outcome}: {example.old_reply}"
    yield f"new, {example.new_outcome}: {example.new_reply}"


def _set_lines(row: RowComparison) -> Iterator[str]:
    for changed in row.cases.most_changed:
        yield f"- {code(_hits(changed))}"
        yield from (f"  - {code(line)}" for line in _example(changed))
    yield ""
