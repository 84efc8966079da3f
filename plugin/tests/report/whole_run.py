"""A whole run made up of replies: its results and its records, as they would be read back."""

import itertools
import json

from pytest_ocg.backends.base import ErrorKind, Generation
from pytest_ocg.inputs.cases import Case
from pytest_ocg.inputs.concepts import Concept
from pytest_ocg.metrics import load_metric
from pytest_ocg.results.rows import entry_of
from pytest_ocg.results.summary import summarise_row
from pytest_ocg.run.judging.coverage import coverage_at
from pytest_ocg.run.record import Record, read_record

CONCEPTS = (Concept("dog", "N"), Concept("park", "N"), Concept("run", "V"), Concept("walk", "V"))


def in_order(asked, number):
    """A reply with the words as asked."""
    return f"Reply {number}: {' and '.join(asked)}."


def whole_run(
    reply=in_order, *, models=("gemma2-9b",), sets=1, templates=(0,), started="2026-11-30T10:00:00+00:00", metrics=()
):
    """Results and records where `reply` says a text to each order of the concepts and its number, or None."""
    records = [
        read_record(_record(Case(model, "ordered", 0, template, f"cs{number:03d}", order), reply, place).as_json())
        for model in models
        for template in templates
        for number in range(sets)
        for place, order in enumerate(itertools.permutations(CONCEPTS), 24 * number)
    ]
    results = {
        "schema": 1,
        "run": {"started": started, "seconds": 1.0, "python": "3.11.7", "versions": {"spacy": "3.8.18"}},
        "dataset": {"name": "everyday", "sha256": "ab" * 32, "sets": 200, "dropped": 0},
        "templates_sha256": "cd" * 32,
        "matcher": "inflection|spacy:3.8.18",
        "seed": 0,
        "selection": {
            "sets": f"{sets}:0", "shard": None, "templates": list(templates), "conditions": ["ordered"], "shots": 0,
            "planned": len(records), "selected": len(records), "run": len(records), "complete": True, "cut": None,
        },
        "rows": [_row(model, [one for one in records if one["model"] == model], metrics) for model in models],
        "gate": {"verdicts": [{"model": model, "status": "passed", "reasons": ["2 limits hold"]} for model in models]},
    }  # fmt: skip
    return json.loads(json.dumps(results)), records


def _record(case, reply, place):
    text = reply(case.lemmas, place)
    if text is None:
        return Record(case, Generation(None, ErrorKind.TIMEOUT, "no answer in 60 s"), None, False, False, "m")
    starts = (text.find(lemma) for lemma in case.lemmas)
    positions = tuple((start,) if start >= 0 else () for start in starts)
    return Record(case, Generation(text), coverage_at(case.lemmas, positions), False, False, "m")


def _row(model, records, metrics):
    counted = summarise_row(
        [entry_of(record) for record in records], planned=len(records), selected=len(records), matcher="m",
        metrics=metrics, measure=lambda name, replies: load_metric(name).measure(replies),
        provenances={"m": {"source": "some/model"}},
    )  # fmt: skip
    counted["usage"] |= {"cost_dollars": None, "new_cost_dollars": None}
    identity = {"backend": "scripted", "source": model}
    return {"model": model, "condition": "ordered", "shots": 0, "published_as": None, "identity": identity, **counted}
