"""Records: the verdict, one line on it, and a line of JSON that survives any reply."""

import json

import pytest

from pytest_ocg.backends.base import ErrorKind, Generation
from pytest_ocg.inputs.cases import Case
from pytest_ocg.inputs.concepts import Concept
from pytest_ocg.run.judging.coverage import Coverage
from pytest_ocg.run.record import (
    ErrorRecord,
    HitRecord,
    Miss,
    MissRecord,
    Outcome,
    Record,
    line_id,
    model_and_pattern,
    read_record,
    record_line,
)

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


LINES = [
    (record(IN_ORDER, prompt_tokens=12, completion_tokens=0), HitRecord),
    (record(REVERSED, finish_reason="length"), MissRecord),
    (record(REVERSED, ORIGINAL), HitRecord),
    (record(PARTLY, text='lone \ud800, NUL \x00, "quote" \\ 🐕'), MissRecord),
    (record(None, text=None), ErrorRecord),
]


@pytest.mark.parametrize(("judged", "kind"), LINES)
def test_a_line_is_read_back_as_what_was_judged_and_written_anew_as_it_was(judged, kind):
    line = judged.as_json()
    read = read_record(line)
    assert type(read) is kind
    assert record_line(read) == line
    assert (read.id, read.outcome, read.concepts) == (judged.case.id, judged.outcome, tuple(judged.case.lemmas))
    assert (read.reply, read.prompt_tokens) == (judged.reply, judged.generation.prompt_tokens)
    assert read == read_record(line.encode("ascii"))


@pytest.mark.parametrize("judged", [judged for judged, _ in LINES])
def test_id_model_and_pattern_are_found_in_a_line_without_reading_it_all(judged):
    line = judged.as_json()
    assert line_id(line) == judged.case.id
    assert {outcome: model_and_pattern(line, outcome) for outcome in Outcome} == {
        outcome: ("m", "NV") if outcome is judged.outcome else None for outcome in Outcome
    }


def test_a_record_read_back_says_what_is_wrong_with_a_reply_and_what_failed():
    miss = read_record(record(PARTLY).as_json())
    assert (miss.covered, miss.missing, miss.positions) == (False, ("run",), ((4,), ()))
    error = read_record(record(None, text=None).as_json())
    assert (error.error, error.detail) == ("timeout", "after 60 s")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("[]", "Expected `object`, got `array`"),
        ("{}", "missing required field `outcome`"),
        ('{"outcome": "hit"}', "missing required field `id`"),
        ('{"outcome": "won"}', "Invalid value 'won'"),
        ('{"outcome": NaN}', "NaN is not JSON"),
    ],
)
def test_any_other_text_is_no_record(text, said):
    with pytest.raises(ValueError, match=said):
        read_record(text)
