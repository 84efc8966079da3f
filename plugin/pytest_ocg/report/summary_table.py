"""The summary table as lines of text, the tables by template and pattern, and a few misses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest

from pytest_ocg.errors import counted, printable
from pytest_ocg.inputs.published import PAPER_SETS, PAPER_SHA256, PAPER_TEMPLATES, ModelRow, load_published
from pytest_ocg.metrics import catalogue
from pytest_ocg.report.markup import number, render_grid
from pytest_ocg.results.schema import MetricScore, Results, Row
from pytest_ocg.run.record import (
    CaseRecord,
    ErrorRecord,
    Outcome,
    ReplyRecord,
    describe,
    model_and_pattern,
    read_record,
)

_MAX_TRUNCATED_SHARE = 0.05


def render_table(results: Results, *, with_intervals: bool = False) -> list[str]:
    """One line per model and condition, with deltas to `original` and published numbers below it, and footnotes.

    A metric without a value in any row has no column, but a footnote with the reason. `with_intervals` adds a line of
    95 % intervals over concept sets.
    """
    rows = results.rows
    columns = titles_of(rows)
    names = list(columns)
    lines = []
    for row in rows:
        lines.append([row.model, row.condition, *(number(row.value(name)) for name in names)])
        if with_intervals:
            lines.append(["", "95 % interval", *(interval_cell(row.metrics.get(name)) for name in names)])
        if row.delta_vs_original is not None:
            deltas = row.delta_vs_original
            lines.append(["", "- original", *(number(deltas.get(name), "+.2f") for name in names)])
        published = published_values(results, row)
        if published is not None:
            lines.append(["", "published", *(number(published.get(name)) for name in names)])
    titles = ["model", "condition", *columns.values()]
    unbounded = interval_footnotes(results) if with_intervals else ()
    return [*render_grid(titles, lines, left=2), *footnotes(row.metrics for row in rows), *unbounded]


def titles_of(rows: Sequence[Row]) -> dict[str, str]:
    """The title of each metric that has a value in any row, the shipped metrics first."""
    names = dict.fromkeys((*catalogue.METRICS, *(name for row in rows for name in row.metrics)))
    return {name: catalogue.title_of(name) for name in names if any(row.value(name) is not None for row in rows)}


def footnotes(metrics: Iterable[Mapping[str, MetricScore]]) -> Iterator[str]:
    """The reasons why metrics have no value in one of these rows, each reason once."""
    reasons: dict[str | None, list[str]] = {}
    for scores in metrics:
        for name, score in scores.items():
            if score.value is None:
                labels = reasons.setdefault(score.reason, [])
                label = catalogue.label_of(name)
                if label not in labels:
                    labels.append(label)
    for reason, labels in reasons.items():
        yield f"no value: {', '.join(labels)}: {reason}"


def interval_footnotes(results: Results) -> Iterator[str]:
    """The reasons why metrics with a value have no interval, each reason once."""
    reasons: dict[str, list[str]] = {}
    for row in results.rows:
        for name, title in titles_of([row]).items():
            reason = row.metrics[name].interval_reason
            if reason:
                reasons.setdefault(reason, []).append(title.replace("\n", " "))
    for reason, labels in reasons.items():
        yield f"no interval: {', '.join(dict.fromkeys(labels))}: {reason}"


def interval_cell(score: MetricScore | None) -> str:
    """The 95 % interval of a score, `[20.1, 22.8]`; a dash without one."""
    interval = None if score is None else score.interval
    return "-" if interval is None else f"[{interval.low:.1f}, {interval.high:.1f}]"


def counts_line(row: Row) -> str:
    """The number of cases with each outcome."""
    counts = row.counts
    parts = [f"{counts.hit:,} hit, {counts.miss:,} missed, {counts.error:,} without a reply"]
    if counts.errors:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in counts.errors.items())
        parts[0] += f" ({kinds})"
    if counts.not_run:
        parts.append(f"{counts.not_run:,} not run")
    if counts.selected < counts.planned:
        parts.append(f"{counts.selected:,} of {counts.planned:,} selected")
    parts.append(f"{counts.cached:,} from the cache")
    if counts.echo:
        parts.append(f"{counts.echo:,} {'repeats' if counts.echo == 1 else 'repeat'} the word list")
    if counts.truncated:
        parts.append(f"{counts.truncated:,} cut off at the token limit")
    return f"{row.model} {row.condition}: {counted(counts.done, 'case')}: {'; '.join(parts)}"


def truncation_notes(results: Results) -> Iterator[str]:
    """A warning for each row with more than 5 % of its replies cut off at the token limit."""
    for row in results.rows:
        counts = row.counts
        share = counts.truncated / counts.done if counts.done else 0.0
        if share > _MAX_TRUNCATED_SHARE:
            yield (
                f"{row.model} {row.condition}: {share:.1%} of the replies were cut off at the token limit; "
                "raise it with --ocg-max-new-tokens"
            )


def usage_line(row: Row) -> str | None:
    """The tokens and the cost of a hosted model's replies; None for any other model."""
    usage = row.usage
    if row.identity.get("backend") != "openai":
        return None
    tokens = f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out"
    if usage.uncounted:
        tokens += f" ({counted(usage.uncounted, 'reply')} without a count)"
    cost, new_cost = usage.cost_dollars, usage.new_cost_dollars
    costs = (
        "cost unknown"
        if cost is None or new_cost is None
        else f"${cost:,.2f}, of which ${new_cost:,.2f} for replies of this run"
    )
    return f"{row.model} {row.condition}: {tokens}; {costs}"


def recipe_line(results: Results) -> str:
    """The dataset, templates, number of shots and matcher of a run."""
    dataset, selection = results.dataset, results.selection
    sample = f" (sample {selection.sets})" if selection.sets else ""
    shard = f", shard {selection.shard}" if selection.shard else ""
    templates = ",".join(map(str, selection.templates))
    return (
        f"{dataset.name} {dataset.sha256[:8]}{sample}{shard}, templates {templates}, {selection.shots}-shot, "
        f"matcher {results.matcher}"
    )


def made_by_line(row: Row) -> str | None:
    """How the replies of a row were made; None without replies."""
    descriptions = []
    for source in row.made_by:
        facts = [source.get(key) for key in ("source", "revision", "dtype", "device")]
        quantization, size = source.get("quantization"), source.get("batch_size")
        facts += [quantization if quantization not in (None, "none") else None, f"batch {size}" if size else None]
        descriptions.append(", ".join(str(fact) for fact in facts if fact))
    different = [text for text in dict.fromkeys(descriptions) if text]
    return f"{row.model}: {' | '.join(different)}" if different else None


def published_values(results: Results, row: Row) -> Mapping[str, float | None] | None:
    """The paper's numbers for the row; None if the paper has none or ran something else.

    A run is comparable if it has all six templates, all 192 sets of commongen-lite, no sample, and the inflection
    matcher. Zero-shot is compared with Table 1, one-shot in condition `ordered` with Table 4.
    """
    selection = results.selection
    is_paper_run = (
        results.dataset.sets == PAPER_SETS
        and results.dataset.sha256 == PAPER_SHA256
        and selection.sets is None
        and selection.complete
        and selection.shard is None
        and len(selection.templates) == PAPER_TEMPLATES
        and results.matcher.startswith("inflection")
    )
    if not is_paper_run or row.published_as is None:
        return None
    published = load_published()
    table: Mapping[str, ModelRow] = published.table1 if row.shots == 0 else published.table4
    found = table.get(row.published_as)
    if found is None or row.shots > 1:
        return None
    if row.condition == "ordered":
        return found.values
    return found.baseline() if row.shots == 0 else None


def render_breakdown(results: Results) -> Iterator[str]:
    """For each row, a table with a line per template (Table 3) and one with a line per pattern asked for (Table 2)."""
    metrics = catalogue.pattern_metrics()
    for row in results.rows:
        name = f"{row.model} {row.condition}"
        titles = titles_of([row])
        lines = [[f"t{template}", *_cells(scores, list(titles))] for template, scores in row.by_template.items()]
        yield from ("", f"{name}, by template", *render_grid(["template", *titles.values()], lines, left=1))
        lines = [
            [pattern, f"{row.by_pattern[pattern].scored:,}", *_cells(values, metrics)]
            for pattern, values in row.pattern_values().items()
        ]
        heads = ["pattern", "replies", *map(catalogue.title_of, metrics)]
        yield from ("", f"{name}, by pattern asked for", *render_grid(heads, lines, left=1))


def row_line(row: Row) -> str:
    """A row in one line: its cases and each metric with a value."""
    counts = row.counts
    scores = [f"{catalogue.label_of(name)} {number(row.value(name))}" for name in titles_of([row])]
    outcomes = f"{counts.hit:,} hit, {counts.miss:,} missed, {counts.error:,} without a reply"
    return "; ".join([f"{row.model} {row.condition}: {outcomes}", *scores])


def _cells(scores: Mapping[str, float | None], names: Sequence[str]) -> list[str]:
    return [number(scores.get(name)) for name in names]


def shown_cases(lines: Iterable[str], outcome: Outcome, number: int) -> list[str]:
    """Up to `number` cases with this outcome, one line each, in turn from each model and part-of-speech pattern."""
    by_pattern: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for line in lines:
        asked = model_and_pattern(line, outcome)
        if asked is not None:
            of_pattern = by_pattern[asked]
            if len(of_pattern) < number:
                of_pattern.append(case_line(read_record(line)))
    in_turn = chain.from_iterable(zip_longest(*by_pattern.values()))
    return [text for text in in_turn if text is not None][:number]


def case_line(record: CaseRecord) -> str:
    """The outcome of a case on one line, with its template and pattern."""
    if isinstance(record, ErrorRecord):
        outcome = f"{record.error}: {printable(record.detail)} | asked: {' '.join(record.concepts)}"
    else:
        assert isinstance(record, ReplyRecord)
        outcome = describe(record.concepts, record.missing, record.order_break, record.reply)
    return f"{record.model} t{record.template} {record.pattern}: {outcome}"
