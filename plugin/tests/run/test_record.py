"""Records: the verdict, one line on it, and a line of JSON that survives any reply."""

import json

import pytest

from pytest_ocg.backends.base import ErrorKind, Generation
from pytest_ocg.inputs.cases import Case
from pytest_ocg.inputs.concepts import Concept
from pytest_ocg.run.judging.coverage import Coverage
from pytest_ocg.run.record import Miss, Outcome, Record

CASE = Case("m", "ordered", 0, 2, "cs000", (Concept("dog", "N"), Concept("run", "V")))
ORIGINAL = Case("m", "original", 0, 2, "cs000", CASE.concepts)
IN_ORDER = Coverage(("dog", "run"), (), True, None, ((4,), (9,)))
REVERSED = Coverage(("dog", "run"), (), False, "run", ((9,), (4,)))
PARTLY = Coverage(("dog",), ("run",), False, None, ((4,), ()))


def record(coverage, case=CASE, text="The dog runs.", **more):
    generation = Generation(text, **more) if text is not None else Generation(None, ErrorKind.TIMEOUT, "after 60 s")
    return Record(case, generation, coverage, False, False, "m1")


@pytest.mark.parametrize(
    ("case", "coverage", "outcome"),
    [
        (CASE, IN_ORDER, Outcome.HIT),
        (CASE, REVERSED, Outcome.MISS),
        (CASE, PARTLY, Outcome.MISS),
        (ORIGINAL, REVERSED, Outcome.HIT),
        (ORIGINAL, PARTLY, Outcome.MISS),
    ],
)
def test_ordered_wants_the_order_and_original_only_the_words(case, coverage, outcome):
    assert record(coverage, case).outcome is outcome


def test_without_a_reply_it_is_an_error_and_no_miss():
    assert record(None, text=None).outcome is Outcome.ERROR
    assert record(None, text=None).explain() == "no reply (timeout): after 60 s"


def test_a_hit_checks_quietly_and_a_miss_says_what_is_wrong_in_one_line():
    record(IN_ORDER).check()
    with pytest.raises(Miss, match=r"^order breaks at run \| asked: dog run \| reply: The dog runs\.$"):
        record(REVERSED).check()
    with pytest.raises(Miss, match=r"^run missing"):
        record(PARTLY).check()


@pytest.mark.parametrize("text", ["plain", "NUL \x00 ESC \x1b", "lone \ud800 and \ufffe", 'quote " and \\ 🐕'])
def test_a_line_of_json_is_ascii_and_gives_any_reply_back(text):
    line = record(IN_ORDER, text=text).as_json()
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line)["reply"] == text


def test_a_line_begins_with_the_id_and_holds_what_a_report_needs():
    plain = json.loads(record(REVERSED, finish_reason="length").as_json())
    assert next(iter(plain)) == "id"
    assert plain["id"] == CASE.id
    assert (plain["outcome"], plain["order_break"], plain["positions"]) == ("miss", "run", [[9], [4]])
    assert (plain["pattern"], plain["concepts"], plain["finish_reason"]) == ("NV", ["dog", "run"], "length")
    assert json.loads(record(None, text=None).as_json())["error"] == "timeout"
