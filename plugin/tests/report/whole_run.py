"""A made-up run: its results and its records, as read from disk."""

import itertools
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from plugin.tests.nouns import results_of
from pytest_ocg.backends.base import ErrorKind, Generation
from pytest_ocg.inputs.cases import Case
from pytest_ocg.inputs.concepts import Concept
from pytest_ocg.results.schema import Results, Row
from pytest_ocg.results.summary import Measures, RowFrame, measure_metric, summarise_row
from pytest_ocg.run.judging.coverage import coverage_at
from pytest_ocg.run.record import CaseRecord, Record, read_record

CONCEPTS = (Concept("dog", "N"), Concept("park", "N"), Concept("run", "V"), Concept("walk", "V"))


def in_order(asked, number):
    """A reply with the words in the order asked for."""
    return f"Reply {number}: {' and '.join(asked)}."


def whole_run(
    reply=in_order, *, models=("gemma2-9b",), sets=1, templates=(0,), started="2026-11-30T10:00:00+00:00", metrics=()
) -> tuple[Results, list[CaseRecord]]:
    """Results and records; `reply` gets an order of the concepts and its number, and returns a text or None."""
    records = [
        read_record(_record(Case(model, "ordered", 0, template, f"cs{number:03d}", order), reply, place).as_json())
        for model in models
        for template in templates
        for number in range(sets)
        for place, order in enumerate(itertools.permutations(CONCEPTS), 24 * number)
    ]
    rows = [_row(model, [record for record in records if record.model == model], metrics) for model in models]
    verdicts = [{"model": model, "status": "passed", "reasons": ["2 limits hold"]} for model in models]
    cases = dict.fromkeys(("planned", "selected", "run"), len(records))
    results = results_of(
        {
            "run": {"started": started, "versions": {"spacy": "3.8.18"}},
            "matcher": "inflection|spacy:3.8.18",
            "selection": {"sets": f"{sets}:0", "templates": list(templates), **cases},
            "rows": [msgspec.to_builtins(row) for row in rows],
            "gate": {"verdicts": verdicts},
        }
    )
    return results, records


def changed(results: Results, places: Mapping[str, Any]) -> Results:
    """The results with other values at places such as `rows.0.counts.hit`."""
    plain = json.loads(json.dumps(msgspec.to_builtins(results)))
    for place, value in places.items():
        inner, steps = plain, place.split(".")
        for number, step in enumerate(steps, 1):
            key = int(step) if isinstance(inner, list) else step
            if number == len(steps):
                inner[key] = value
            else:
                inner = inner[key]
    return results_of({name: value for name, value in plain.items() if value is not None})


def changed_records(records: list[CaseRecord], **fields: Any) -> list[CaseRecord]:
    """The records with other values in these fields."""
    return [msgspec.structs.replace(record, **fields) for record in records]


def _record(case, reply, place) -> Record:
    text = reply(case.lemmas, place)
    if text is None:
        return Record(case, Generation(None, ErrorKind.TIMEOUT, "no answer in 60 s"), None, False, False, "m")
    starts = (text.find(lemma) for lemma in case.lemmas)
    positions = tuple((start,) if start >= 0 else () for start in starts)
    return Record(case, Generation(text), coverage_at(case.lemmas, positions), False, False, "m")


def _row(model, records, metrics) -> Row:
    frame = RowFrame(
        model=model, condition="ordered", shots=0, published_as=None,
        identity={"backend": "scripted", "source": model}, patterns={}, planned=len(records), selected=len(records),
        matcher="m",
    )  # fmt: skip
    return summarise_row(
        frame, records, metrics=metrics, measure=partial(measure_metric, measures=Measures(metrics)),
        provenances={"m": {"source": "some/model"}},
    )  # fmt: skip
