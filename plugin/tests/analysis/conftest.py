from __future__ import annotations

import itertools

import pytest

WORDS = ("ask", "bake", "cup", "dog")


def record(asked, written, *, template=0, set_id="cs000", model="m", condition="ordered", shots=0, **more):
    """A `generations.jsonl` object: what was asked for, and the concepts as the reply has them, first to last.

    Without `written` there is no reply. Concepts of four letters or more are verbs.
    """
    plain = {
        "model": model, "condition": condition, "shots": shots, "template": template, "set": set_id,
        "concepts": list(asked), "pattern": "".join("V" if len(word) > 3 else "N" for word in asked),
    }  # fmt: skip
    if written is None:
        return {**plain, "outcome": "error", "reply": None, "error": "timeout", **more}
    positions = [[place * 10 for place, word in enumerate(written) if word == concept] for concept in asked]
    covered = all(positions)
    in_order = any(choice == tuple(asked) for choice in itertools.combinations(written, len(asked)))
    is_hit = in_order if condition == "ordered" else covered
    return {
        **plain, "outcome": "hit" if is_hit else "miss", "reply": " ".join(written), "positions": positions,
        "covered": covered, "in_order": in_order, "echo": False, **more,
    }  # fmt: skip


def model_records(write, *, sets=1, templates=1, words=WORDS):
    """What a model replies to every order of some sets, `write(asked)` its concepts in the order of the reply."""
    return [
        record(asked, write(asked), template=template, set_id=f"cs{number:03d}")
        for number, template in itertools.product(range(sets), range(templates))
        for asked in itertools.permutations(words)
    ]


def row(model, ordered=20.0, *, condition="ordered", shots=0, published_as=None):
    """A row of `results.json` whose coverage in order is `ordered`, and a point more under template 3."""
    cells = {
        "coverage_unordered": 2 * ordered, "coverage_ordered": ordered, "ordered_rate": 50.0, "diverse_rate": 90.0,
    }  # fmt: skip
    return {
        "model": model, "condition": condition, "shots": shots, "published_as": published_as,
        "metrics": {
            **{name: {"value": value} for name, value in cells.items()},
            "pbleu": {"value": 10 + ordered}, "perplexity": {"value": None},
        },
        "by_template": {"0": {**cells, "pbleu": 1.0}, "3": {**cells, "coverage_ordered": ordered + 1}},
        "by_pattern": {"NNVV": {**cells, "scored": 24}, "VVVV": {**cells, "diverse_rate": None, "scored": 24}},
    }  # fmt: skip


@pytest.fixture
def make_record():
    return record


@pytest.fixture
def make_model():
    return model_records


@pytest.fixture
def make_row():
    return row
