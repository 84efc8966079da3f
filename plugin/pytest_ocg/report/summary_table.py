"""The summary table as lines of text, from the content of `results.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_ocg.inputs.published import PAPER_SETS, PAPER_SHA256, PAPER_TEMPLATES, ModelRow, load_published
from pytest_ocg.report.markup import number

COLUMNS: Mapping[str, str] = {
    "coverage_unordered": "coverage\nw/o order",
    "coverage_ordered": "coverage\nw/ order",
    "ordered_rate": "ordered\nrate",
    "pbleu": "pBLEU",
    "pbleurt": "pBLEURT",
    "distinct2": "distinct",
    "distinct2_pooled": "distinct\n(pooled)",
    "diverse_rate": "diverse\nrate",
    "perplexity": "perplexity",
}
WORRYING_TRUNCATION = 0.05


def render_table(results: Mapping[str, Any], *, with_intervals: bool = False) -> list[str]:
    """One line per model and condition, the deltas to `original` and the published numbers under it, and footnotes.

    A metric that no row has leaves no column, only a footnote that says why. `with_intervals` adds a line of 95 %
    intervals over concept sets.
    """
    rows = results["rows"]
    columns = titles_of(rows)
    names = list(columns)
    lines = []
    for row in rows:
        lines.append([row["model"], row["condition"], *(number(_value(row, name)) for name in names)])
        if with_intervals:
            lines.append(["", "95 % interval", *(interval_cell(row["metrics"].get(name)) for name in names)])
        if "delta_vs_original" in row:
            deltas = row["delta_vs_original"]
            lines.append(["", "- original", *(number(deltas.get(name), "+.2f") for name in names)])
        published = published_values(results, row)
        if published is not None:
            lines.append(["", "published", *(number(published.get(name)) for name in names)])
    titles = ["model", "condition", *columns.values()]
    unbounded = interval_footnotes(results) if with_intervals else ()
    return [*render_grid(titles, lines, left=2), *footnotes(results), *unbounded]


def titles_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The title of each metric that any row has a value of, the shipped ones first."""
    names = dict.fromkeys((*COLUMNS, *(name for row in rows for name in row["metrics"])))
    return {name: COLUMNS.get(name, name) for name in names if any(_value(row, name) is not None for row in rows)}


def render_grid(titles: Sequence[str], lines: Sequence[Sequence[str]], *, left: int) -> list[str]:
    """The lines under titles of one or two lines each; the first `left` columns flush left, the others right."""
    from tabulate import tabulate

    above = [title.rpartition("\n")[0] for title in titles]
    below = [title.rpartition("\n")[2] for title in titles]
    heads = [above, below] if any(above) else [below]
    grid = [*heads, *lines]
    rule = ["-" * max(len(line[column]) for line in grid) for column in range(len(titles))]
    alignment = ["left" if column < left else "right" for column in range(len(titles))]
    table: str = tabulate([*heads, rule, *lines], tablefmt="plain", colalign=alignment, disable_numparse=True)
    return table.splitlines()


def footnotes(results: Mapping[str, Any]) -> Iterator[str]:
    """Why a metric has no value, each reason once."""
    reasons: dict[str, list[str]] = {}
    for row in results["rows"]:
        for name, score in row["metrics"].items():
            if score["value"] is None:
                where = reasons.setdefault(score["reason"], [])
                label = COLUMNS.get(name, name).replace("\n", " ")
                if label not in where:
                    where.append(label)
    for reason, labels in reasons.items():
        yield f"-: {', '.join(labels)}: {reason}"


def interval_footnotes(results: Mapping[str, Any]) -> Iterator[str]:
    """Why a metric that has a value has no interval, each reason once."""
    reasons: dict[str, list[str]] = {}
    for row in results["rows"]:
        for name, title in titles_of([row]).items():
            reason = row["metrics"][name].get("interval_reason")
            if reason:
                reasons.setdefault(reason, []).append(title.replace("\n", " "))
    for reason, labels in reasons.items():
        yield f"no interval: {', '.join(dict.fromkeys(labels))}: {reason}"


def interval_cell(score: Mapping[str, Any] | None) -> str:
    """The 95 % interval of a score, `[20.1, 22.8]`, a dash where there is none."""
    interval = None if score is None else score.get("interval")
    return "-" if interval is None else f"[{interval['low']:.1f}, {interval['high']:.1f}]"


def counts_line(row: Mapping[str, Any]) -> str:
    """How many cases there were and what became of them."""
    counts = row["counts"]
    done = counts["hit"] + counts["miss"] + counts["error"]
    parts = [f"{counts['hit']:,} hit, {counts['miss']:,} missed, {counts['error']:,} without a reply"]
    if counts["errors"]:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in counts["errors"].items())
        parts[0] += f" ({kinds})"
    if counts["not_run"]:
        parts.append(f"{counts['not_run']:,} not run")
    if counts["selected"] < counts["planned"]:
        parts.append(f"{counts['selected']:,} of {counts['planned']:,} selected")
    parts.append(f"{counts['cached']:,} from the cache")
    if counts["echo"]:
        parts.append(f"{counts['echo']:,} repeat the bare list of words")
    if counts["truncated"]:
        parts.append(f"{counts['truncated']:,} cut off at the cap of new tokens")
    return f"{row['model']} {row['condition']}: {done:,} cases: {'; '.join(parts)}"


def truncation_notes(results: Mapping[str, Any]) -> Iterator[str]:
    """A warning for each row of which more than one reply in twenty was cut off at the cap of new tokens."""
    for row in results["rows"]:
        counts = row["counts"]
        done = counts["hit"] + counts["miss"] + counts["error"]
        share = counts["truncated"] / done if done else 0.0
        if share > WORRYING_TRUNCATION:
            yield (
                f"{row['model']} {row['condition']}: {share:.1%} of the replies were cut off at the cap of new tokens; "
                "raise it with --ocg-max-new-tokens"
            )


def usage_line(row: Mapping[str, Any]) -> str | None:
    """What a hosted model's replies took in tokens and money; None for any other model."""
    usage = row["usage"]
    if row["identity"].get("backend") != "openai":
        return None
    told = f"{usage['prompt_tokens']:,} tokens in, {usage['completion_tokens']:,} out"
    if usage["uncounted"]:
        told += f" ({usage['uncounted']:,} replies without a count)"
    cost, new_cost = usage["cost_dollars"], usage["new_cost_dollars"]
    costs = "cost unknown" if cost is None else f"${cost:,.2f}, of which ${new_cost:,.2f} for replies of this run"
    return f"{row['model']} {row['condition']}: {told}; {costs}"


def recipe_line(results: Mapping[str, Any]) -> str:
    """What the numbers were measured on and with."""
    dataset, selection = results["dataset"], results["selection"]
    sample = f" (sample {selection['sets']})" if selection["sets"] else ""
    shard = f", shard {selection['shard']}" if selection["shard"] else ""
    templates = ",".join(map(str, selection["templates"]))
    return (
        f"{dataset['name']} {dataset['sha256'][:8]}{sample}{shard}, templates {templates}, {selection['shots']}-shot, "
        f"matcher {results['matcher']}"
    )


def made_by_line(row: Mapping[str, Any]) -> str | None:
    """How the replies of a row were made; None where there are none."""
    told = []
    for source in row["made_by"]:
        facts = [source.get(key) for key in ("source", "revision", "dtype", "device")]
        quantization, size = source.get("quantization"), source.get("batch_size")
        facts += [quantization if quantization not in (None, "none") else None, f"batch {size}" if size else None]
        told.append(", ".join(str(fact) for fact in facts if fact))
    different = [text for text in dict.fromkeys(told) if text]
    return f"{row['model']}: {' | '.join(different)}" if different else None


def published_values(results: Mapping[str, Any], row: Mapping[str, Any]) -> Mapping[str, float | None] | None:
    """The paper's numbers for the row, None where the paper has none or the run is not what the paper ran.

    Comparable is all six templates over all 192 sets of commongen-lite, without sample, zero-shot (Table 1) or one-shot
    (Table 4, condition `ordered`), with the inflection matcher.
    """
    selection = results["selection"]
    is_paper_run = (
        results["dataset"]["sets"] == PAPER_SETS
        and results["dataset"]["sha256"] == PAPER_SHA256
        and selection["sets"] is None
        and selection["complete"]
        and selection["shard"] is None
        and len(selection["templates"]) == PAPER_TEMPLATES
        and results["matcher"].startswith("inflection")
    )
    if not is_paper_run or row.get("published_as") is None:
        return None
    published = load_published()
    table: Mapping[str, ModelRow] = published.table1 if row["shots"] == 0 else published.table4
    found = table.get(row["published_as"])
    if found is None or row["shots"] > 1:
        return None
    if row["condition"] == "ordered":
        return found.values
    return found.baseline() if row["shots"] == 0 else None


def _value(row: Mapping[str, Any], name: str) -> float | None:
    value: float | None = row["metrics"].get(name, {}).get("value")
    return value
