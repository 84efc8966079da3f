"""The verdicts on 1,150 real replies, against the gold positions of their concepts."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_ocg.run.judging.coverage import judge
from pytest_ocg.run.judging.words import Analyser, Words

GOLD = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "coverage_gold.jsonl"

# Where this judge and the gold positions differ, by the start of the sha256 of the reply; in all four the judge finds a
# word more. "bobsled" is asked to count for the damaged lemma `bobsle`, and does as a noun before another noun too,
# where the gold has it as a verb only: the two replies are covered here and not there.
BOBSLED_AS_NOUN = {("b0e3d163", "bobsle"), ("8e974a5c", "bobsle")}
# A word in -ing is a form whatever its tag: "a plastering tool" and "a watering can" have one here but not in the gold,
# though "the sewing machine" has one in both. The concept occurs elsewhere in the reply, which is covered all the same.
ING_BEFORE_NOUN = {("10665b18", "plaster"), ("95b672ea", "water")}


@pytest.fixture(scope="module")
def gold() -> list[dict]:
    if not GOLD.is_file():
        pytest.skip("the gold replies are not part of the project: shared/data/coverage_gold.jsonl is missing")
    return [json.loads(line) for line in GOLD.read_text(encoding="utf-8").splitlines()]


def is_subsequence(positions: Sequence[Sequence[int]]) -> bool:
    return any(list(choice) == sorted(set(choice)) for choice in itertools.product(*positions))


def key_of(reply: str) -> str:
    return hashlib.sha256(reply.encode()).hexdigest()[:8]


@pytest.fixture(scope="module")
def gold_words(gold: list[dict]) -> list[Words]:
    return Analyser().analyse([row["sentence"] for row in gold])


def concepts_of(row: dict) -> list[str]:
    return [concept.partition("_")[0] for concept in row["concept_set"]]


def test_the_gold_positions_are_found_but_for_the_explained(gold: list[dict], gold_words: list[Words]):
    different, wrongly_present, slots = set(), 0, 0
    for row, words in zip(gold, gold_words, strict=True):
        for concept, tagged, found in zip(
            concepts_of(row), row["concept_set"], judge(words, concepts_of(row)).positions, strict=True
        ):
            slots += 1
            wrongly_present += bool(found) != bool(row["positions"][tagged])
            if list(found) != row["positions"][tagged]:
                different.add((key_of(row["sentence"]), concept))
    assert different == BOBSLED_AS_NOUN | ING_BEFORE_NOUN
    assert wrongly_present == len(BOBSLED_AS_NOUN)
    assert wrongly_present <= 0.002 * slots


def test_the_gold_verdict_of_each_reply_is_given_but_for_the_explained(gold: list[dict], gold_words: list[Words]):
    different = {
        key_of(row["sentence"])
        for row, words in zip(gold, gold_words, strict=True)
        if judge(words, concepts_of(row)).is_covered != all(row["positions"].values())
    }
    assert different == {reply for reply, _ in BOBSLED_AS_NOUN}


def test_the_gold_order_is_given_for_all_24_orders_but_for_the_explained(gold: list[dict], gold_words: list[Words]):
    different, in_order = set(), 0
    for row, words in zip(gold, gold_words, strict=True):
        slots = list(zip(concepts_of(row), (row["positions"][tagged] for tagged in row["concept_set"]), strict=True))
        for order in itertools.permutations(slots):
            expected = is_subsequence([positions for _, positions in order])
            in_order += expected
            if judge(words, [concept for concept, _ in order]).in_order != expected:
                different.add(key_of(row["sentence"]))
    assert different <= {reply for reply, _ in BOBSLED_AS_NOUN | ING_BEFORE_NOUN}
    assert in_order > len(gold) // 2


def test_the_bare_lemma_loses_what_the_inflections_find(gold: list[dict], gold_words: list[Words]):
    lost = sum(
        bool(row["positions"][tagged]) and not found
        for row, words in zip(gold, gold_words, strict=True)
        for tagged, found in zip(row["concept_set"], judge(words, concepts_of(row), "lemma").positions, strict=True)
    )
    assert lost > 0.01 * 4 * len(gold)
