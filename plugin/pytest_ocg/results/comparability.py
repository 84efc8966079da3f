"""Whether a run can be judged by thresholds at all: it is whole, it has replies, and it was made as they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_ocg.errors import shown
from pytest_ocg.gate.thresholds import SIGNATURE_KEYS, Selection, Thresholds

_RENEW = "run as the thresholds were taken, or renew them with --ocg-write-thresholds"


def dig(value: object, *keys: str) -> Any:
    """What lies under `keys` in nested mappings, None where the way there is broken off."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def run_signature(results: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """What `row` was made with, by SIGNATURE_KEYS; None for what the results do not say."""
    selection = dig(results, "selection")
    templates = dig(selection, "templates")
    return {
        "dataset": dig(results, "dataset", "name"),
        "dataset_sha256": dig(results, "dataset", "sha256"),
        "templates_sha256": dig(results, "templates_sha256"),
        "matcher": dig(results, "matcher"),
        "quantization": dig(row, "identity", "quantization"),
        "templates": list(templates) if isinstance(templates, list | tuple) else None,
        "condition": row.get("condition"),
        "shots": row.get("shots"),
        "sets": (selection["sets"] or "all") if isinstance(selection, Mapping) and "sets" in selection else None,
    }


def signature_problems(results: Mapping[str, Any], row: Mapping[str, Any], thresholds: Thresholds) -> Iterator[str]:
    """One reason for each thing in which the row differs from what the thresholds were laid down for."""
    if thresholds.model is not None and row.get("model") != thresholds.model:
        yield f"{thresholds.path} is for model {shown(thresholds.model)}, not {shown(row.get('model'))}"
    run, wanted = run_signature(results, row), thresholds.signature
    for key in differing_keys(run, wanted):
        yield f"{key} is {shown(run[key])} but the thresholds are for {shown(wanted[key])}; {_RENEW}"


def selection_problems(results: Mapping[str, Any], row: Mapping[str, Any], selection: Selection) -> Iterator[str]:
    """One reason for each way in which the row has not all cases of the selection, or others besides."""
    whole = list(run_problems(results, row))
    yield from whole if selection.pattern is None else _pattern_problems(results, row, selection.pattern, whole)
    sets = run_signature(results, row)["sets"]
    if sets != selection.sets:
        yield f"sets is {shown(sets)} but the thresholds are for {shown(selection.sets)}; {_RENEW}"


def _pattern_problems(
    results: Mapping[str, Any], row: Mapping[str, Any], pattern: str, whole: Sequence[str]
) -> Iterator[str]:
    """Nothing where the run is whole, since that has the cases of every pattern."""
    if not whole:
        return
    selection, counts = dig(results, "selection"), _counts(row)
    if dig(selection, "cut") is not None or dig(selection, "shard") is not None or counts is None:
        yield from whole
        return
    planned, run = (dig(row, "patterns", pattern, key) for key in ("planned", "run"))
    done = counts["hit"] + counts["miss"] + counts["error"]
    if not _is_count(planned) or not planned or run != planned or done != planned:
        yield f"partial run ({shown(run)} of {shown(planned)} cases of {pattern}, {done:,} cases in all)"


def differing_keys(run: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """The SIGNATURE_KEYS in which a run's signature is not as wanted.

    What `wanted` does not have is left open, and so are the versions of a matcher of which it has the name alone.
    """
    for key in SIGNATURE_KEYS:
        if key not in wanted or (key == "dataset" and "dataset_sha256" in wanted):
            continue  # equal content is the same dataset, whatever its file is called
        is_name_alone = key == "matcher" and "|" not in str(wanted[key])
        if not _is_same(str(run[key]).partition("|")[0] if is_name_alone else run[key], wanted[key]):
            yield key


def run_problems(results: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[str]:
    """One reason for each way in which the run, or the row, is less than the benchmark as asked for."""
    shard = dig(results, "selection", "shard")
    if shard is not None:
        yield f"only shard {shown(shard)} of the run; merge all shards with `ocg merge`"
    yield from unfinished_problems(results, row)


def unfinished_problems(results: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[str]:
    """One reason for each way in which the run, or the row, is less than was planned, be that a shard or the whole."""
    selection = dig(results, "selection")
    cut = dig(selection, "cut")
    planned, run = dig(selection, "planned"), dig(selection, "run")
    counts = _counts(row)
    partial = False
    if cut is not None:
        yield f"run was cut: {shown(cut)}"
    if not _is_count(planned) or not _is_count(run):
        yield f"results do not say how many cases were planned ({shown(planned)}) and run ({shown(run)})"
    elif run != planned:
        partial = True
        yield f"partial run ({run:,} of {planned:,} cases)"
    if counts is None:
        yield f"the row has no counts to go by: {shown(row.get('counts'))}"
    elif counts["hit"] + counts["miss"] + counts["error"] != counts["planned"] and not partial:
        partial = True
        done = counts["hit"] + counts["miss"] + counts["error"]
        yield f"partial run ({done:,} of {counts['planned']:,} cases)"
    if dig(selection, "complete") is not True and cut is None and not partial:
        yield f"the run does not call itself complete (complete is {shown(dig(selection, 'complete'))})"


def error_problems(row: Mapping[str, Any], max_error_share: float) -> Iterator[str]:
    """The reason why so many requests failed that the rest says nothing; half or more is too many for any budget."""
    counts = _counts(row)
    if counts is None:
        return
    error, scored = counts["error"], counts["hit"] + counts["miss"]
    tried = error + scored
    if scored == 0:
        yield f"no reply was scored ({error:,} errors in {tried:,} cases)"
    elif error * 2 >= tried:
        yield f"half or more of the requests failed ({error:,} errors in {tried:,} cases)"
    elif error > max_error_share * tried + 1e-9:
        yield (
            f"errors over budget ({error:,} errors in {tried:,} cases are a share of {error / tried:.4f}, "
            f"max_error_share is {max_error_share})"
        )


def _counts(row: Mapping[str, Any]) -> Mapping[str, int] | None:
    counts = row.get("counts")
    if isinstance(counts, Mapping) and all(_is_count(counts.get(key)) for key in ("planned", "hit", "miss", "error")):
        return counts
    return None


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= 10**12


def _is_same(run: object, wanted: object) -> bool:
    if isinstance(run, list) and isinstance(wanted, list):
        return all(type(number) is int for number in run) and sorted(run) == sorted(wanted)
    return type(run) is type(wanted) and run == wanted
