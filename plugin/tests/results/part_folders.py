"""Folders of small runs that can be merged, made without running anything."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pytest_ocg.backends.base import Generation
from pytest_ocg.inputs.cases import Case
from pytest_ocg.inputs.concepts import Concept, ConceptSet
from pytest_ocg.inputs.selection import Shard, cut_shard, whole_run
from pytest_ocg.results.rows import entry_of
from pytest_ocg.results.summary import measure_metric, summarise_row
from pytest_ocg.results.writing import write_results
from pytest_ocg.run.judging.coverage import Coverage
from pytest_ocg.run.record import Record

WORDS = ("bake_V cake_N", "push_V hill_N", "walk_V dog_N", "cat_N bed_N", "eat_V wash_V")
SETS = [
    ConceptSet(f"cs{number:03d}", tuple(Concept(*word.rsplit("_", 1)) for word in words.split()))
    for number, words in enumerate(WORDS)
]
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
        sets, whole = SETS, None
        if shard is not None:
            whole = whole_run(SETS, (0, 3))
            sets = cut_shard(SETS, Shard(*map(int, shard.split("/"))))
        lines = [_line(model, template, entry.id, order) for template, entry, order in _asked(sets)]
        row = summarise_row(
            [entry_of(json.loads(line)) for line in lines],
            planned=len(lines),
            selected=len(lines),
            matcher=self.results["matcher"],
            metrics=metrics,
            measure=partial(measure_metric, scoring=None),
            provenances={"here": {"source": "x"}},
        )
        row |= {"model": model, "condition": "ordered", "shots": 0, "identity": {"dtype": "float32", "revision": "a"}}
        patterns = Counter(json.loads(line)["pattern"] for line in lines)
        row["patterns"] = {pattern: {"planned": count, "run": count} for pattern, count in patterns.items()}
        row["usage"] |= {"cost_dollars": 0.25, "new_cost_dollars": None}
        selection = {
            **self.results["selection"], "templates": [0, 3], "shard": shard, "planned": len(lines), "run": len(lines),
            "whole": None if whole is None else {"sets": whole.sets, "cases_per_row": whole.cases_per_row},
        }  # fmt: skip
        write_results(self.path / name, {**self.results, "selection": selection, "rows": [row]}, lines)
        return self.path / name

    def change(self, folder: Path, *keys: str | int, value: object) -> Path:
        """Write the value over what stands under these keys in the folder's `results.json`."""
        path = folder / "results.json"
        results = inner = json.loads(path.read_text(encoding="utf-8"))
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        path.write_text(json.dumps(results), encoding="utf-8")
        return folder


def _asked(sets):
    for template, entry in itertools.product((0, 3), sets):
        for order in itertools.permutations(entry.concepts):
            yield template, entry, order


def _line(model: str, template: int, set_id: str, order: tuple[Concept, ...]) -> str:
    case = Case(model, "ordered", 0, template, set_id, order)
    is_hit = (template + int(set_id[2:])) % 3 > 0
    reply = f"{template}: the {' and the '.join(case.lemmas if is_hit else case.lemmas[::-1])} in {set_id} again"
    coverage = Coverage(case.lemmas, (), is_hit, None if is_hit else case.lemmas[-1], tuple((k,) for k in range(2)))
    return Record(case, Generation(reply), coverage, False, False, "here").as_json()
