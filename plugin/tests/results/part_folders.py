"""Folders of small runs that can be merged, made without running anything."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec

from plugin.tests.nouns import results_of
from pytest_ocg.backends.base import Generation
from pytest_ocg.inputs.cases import Case
from pytest_ocg.inputs.concepts import Concept, ConceptSet
from pytest_ocg.inputs.selection import Shard, cut_shard, whole_run
from pytest_ocg.results.schema import PatternCounts, Row
from pytest_ocg.results.summary import Measures, RowFrame, measure_metric, summarise_row
from pytest_ocg.results.writing import write_results
from pytest_ocg.run.judging.coverage import Coverage
from pytest_ocg.run.record import Record, read_record

WORDS = ("bake_V cake_N", "push_V hill_N", "walk_V dog_N", "cat_N bed_N", "eat_V wash_V")
SETS = [
    ConceptSet(f"cs{number:03d}", tuple(Concept(*word.rsplit("_", 1)) for word in words.split()))
    for number, words in enumerate(WORDS)
]
TEMPLATES = (0, 3)
METRICS = ("pbleu", "distinct2", "distinct2_pooled", "diverse_rate")


@dataclass(frozen=True)
class PartFolders:
    """Writes parts beside each other; `results` is the `results.json` of a whole run to start from."""

    path: Path
    results: dict[str, Any]

    def write(
        self, name: str, shard: str | None = None, *, model: str = "m", metrics: tuple[str, ...] = METRICS
    ) -> Path:
        """The folder of a run of all sets, or of one shard of them, under two templates; two of three are hits."""
        row, lines = _row_and_lines(shard, model, metrics, self.results["matcher"])
        whole = None if shard is None else whole_run(SETS, TEMPLATES)
        selection = {
            **self.results["selection"],
            "templates": list(TEMPLATES),
            "shard": shard,
            "whole": None if whole is None else msgspec.to_builtins(whole),
            **dict.fromkeys(("planned", "selected", "run"), len(lines)),
        }
        results = results_of({**self.results, "selection": selection, "rows": []})
        write_results(self.path / name, msgspec.structs.replace(results, rows=(row,)), lines)
        return self.path / name

    def change(self, folder: Path, *keys: str | int, value: object) -> Path:
        """Replace the value under these keys in the folder's `results.json`."""
        path = folder / "results.json"
        results = inner = json.loads(path.read_text(encoding="utf-8"))
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        path.write_text(json.dumps(results), encoding="utf-8")
        return folder


@cache
def _row_and_lines(shard: str | None, model: str, metrics: tuple[str, ...], matcher: str) -> tuple[Row, list[str]]:
    """The row of the part and the lines of its generations, made once for all folders that hold the same."""
    sets = SETS if shard is None else cut_shard(SETS, Shard(*map(int, shard.split("/"))))
    lines = [
        _line(model, template, entry.id, order)
        for template, entry in itertools.product(TEMPLATES, sets)
        for order in itertools.permutations(entry.concepts)
    ]
    records = [read_record(line) for line in lines]
    patterns = Counter(record.pattern for record in records)
    row = summarise_row(
        RowFrame(
            model=model,
            condition="ordered",
            shots=0,
            published_as=None,
            identity={"dtype": "float32", "revision": "a"},
            patterns={pattern: PatternCounts(planned=count, run=count) for pattern, count in patterns.items()},
            planned=len(lines),
            selected=len(lines),
            matcher=matcher,
        ),
        records,
        metrics=metrics,
        measure=partial(measure_metric, measures=Measures(metrics)),
        provenances={"here": {"source": "x"}},
    )
    usage = msgspec.structs.replace(row.usage, cost_dollars=0.25, new_cost_dollars=None)
    return msgspec.structs.replace(row, usage=usage), lines


def _line(model: str, template: int, set_id: str, order: tuple[Concept, ...]) -> str:
    case = Case(model, "ordered", 0, template, set_id, order)
    is_hit = (template + int(set_id[2:])) % 3 > 0
    reply = f"{template}: the {' and the '.join(case.lemmas if is_hit else case.lemmas[::-1])} in {set_id} again"
    coverage = Coverage(case.lemmas, (), is_hit, None if is_hit else case.lemmas[-1], tuple((k,) for k in range(2)))
    return Record(case, Generation(reply), coverage, False, False, "here").as_json()
