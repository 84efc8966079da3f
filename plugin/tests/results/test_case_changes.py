from __future__ import annotations

import pytest

from plugin.tests.nouns import record_of
from pytest_ocg.results.case_changes import ChangedCase, case_changes

OUTCOMES = {"h": "hit", "m": "miss", "-": "error"}


def cases_of(**outcomes: str):
    """Cases of one template from letters, a set a word: `one="hm-"` is a hit, a miss and a case without a reply."""
    return {
        (0, concepts, (str(place), concepts)): record_of(
            outcome=OUTCOMES[letter], reply=None if letter == "-" else f"{letter}{place}"
        )
        for concepts, letters in outcomes.items()
        for place, letter in enumerate(letters)
    }


@pytest.mark.parametrize(
    ("old", "new", "counted", "sets"),
    [
        ({}, {}, (0, 0, 0, 0, 0), (0, 0, 0)),
        ({"a": "hhmm"}, {"a": "hmhm"}, (1, 1, 1, 1, 0), (0, 0, 1)),
        ({"a": "hh"}, {"a": "mm"}, (0, 0, 2, 0, 0), (0, 1, 0)),
        ({"a": "mm"}, {"a": "hm"}, (0, 1, 0, 1, 0), (1, 0, 0)),
        ({"a": "h-m-"}, {"a": "-hm-"}, (0, 1, 0, 0, 3), (0, 0, 1)),
        ({"a": "hm", "b": "hh"}, {"a": "hh", "c": "mm"}, (1, 0, 0, 1, 0), (1, 0, 0)),
    ],
)
def test_every_case_in_both_is_counted_once(old, new, counted, sets):
    found = case_changes(cases_of(**old), cases_of(**new))
    assert (found.both_hit, found.both_miss, found.hit_to_miss, found.miss_to_hit, found.without_reply) == counted
    assert (found.sets_rose, found.sets_fell, found.sets_same) == sets


def test_mcnemar_counts_sets_and_not_cases():
    found = case_changes(cases_of(**dict.fromkeys("abcdef", "hhhh")), cases_of(**dict.fromkeys("abcdef", "mmmm")))
    assert (found.hit_to_miss, found.sets_fell, found.p) == (24, 6, 2 / 64)


def test_the_sets_that_changed_most_come_first_and_those_that_did_not_are_left_out():
    old = cases_of(same="hmhm", little="hhhh", much="mmmm", turned="hhmm")
    new = cases_of(same="hmhm", little="hhhm", much="hhhm", turned="mmhh")
    found = case_changes(old, new).most_changed
    assert [(one.concepts, one.old_hits, one.new_hits, one.hit_to_miss, one.miss_to_hit) for one in found] == [
        ("much", 0, 3, 0, 3),
        ("little", 4, 3, 1, 0),
        ("turned", 2, 2, 2, 2),
    ]
    assert [one.concepts for one in case_changes(old, new, shown_sets=1).most_changed] == ["much"]


def test_the_example_is_the_first_case_that_changed_like_its_set():
    [found] = case_changes(cases_of(a="hmmm"), cases_of(a="mmhh")).most_changed
    assert found.example == ChangedCase(0, ("2", "a"), "miss", "m2", "hit", "h2")
    assert (found.judged, found.miss_to_hit, found.hit_to_miss) == (4, 2, 1)


def test_cases_without_a_reply_are_not_judged():
    [found] = case_changes(cases_of(a="h-hm"), cases_of(a="mm-m")).most_changed
    assert (found.judged, found.old_hits, found.new_hits) == (2, 1, 0)
