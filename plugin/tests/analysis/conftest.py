from __future__ import annotations

import itertools

import pytest

from plugin.tests.nouns import record_of, results_of

WORDS = ("ask", "bake", "cup", "dog")


def record(asked, written, *, set_id="cs000", condition="ordered", **more):
    """A record with the concepts asked for and the concepts in the order of the reply.

    If `written` is None, there is no reply. Concepts of four letters or more are verbs.
    """
    pattern = "".join("V" if len(word) > 3 else "N" for word in asked)
    plain = {"condition": condition, "set": set_id, "concepts": list(asked), "pattern": pattern}
    if written is None:
        return record_of(**plain, outcome="error", **more)
    positions = [[place * 10 for place, word in enumerate(written) if word == concept] for concept in asked]
    covered = all(positions)
    in_order = any(choice == tuple(asked) for choice in itertools.combinations(written, len(asked)))
    is_hit = in_order if condition == "ordered" else covered
    reply = {
        "outcome": "hit" if is_hit else "miss", "reply": " ".join(written), "positions": positions,
        "covered": covered, "in_order": in_order,
    }  # fmt: skip
    return record_of(**{**plain, **reply, **more})


def model_records(write, *, sets=1, templates=1, words=WORDS, **more):
    """A model's replies to every order of some sets; `write(asked)` is the concepts in the order of the reply."""
    return [
        record(asked, write(asked), template=template, set_id=f"cs{number:03d}", **more)
        for number, template in itertools.product(range(sets), range(templates))
        for asked in itertools.permutations(words)
    ]


def row(model, ordered=20.0, **facts):
    """A row of results whose coverage with order is `ordered`, and one point more under template 3."""
    cells = {
        "coverage_unordered": 2 * ordered, "coverage_ordered": ordered, "ordered_rate": 50.0, "diverse_rate": 90.0,
    }  # fmt: skip
    plain = {
        "model": model,
        "metrics": {
            **{name: {"value": value} for name, value in cells.items()},
            "pbleu": {"value": 10 + ordered}, "perplexity": {"value": None},
        },
        "by_template": {"0": {**cells, "pbleu": 1.0}, "3": {**cells, "coverage_ordered": ordered + 1}},
        "by_pattern": {"NNVV": cells, "VVVV": {**cells, "diverse_rate": None}},
    }  # fmt: skip
    [found] = results_of({"rows": [{**plain, **facts}]}).rows
    return found


@pytest.fixture
def make_record():
    return record


@pytest.fixture
def make_model():
    return model_records


@pytest.fixture
def make_row():
    return row
