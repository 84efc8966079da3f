"""A verdict is reached once: kept by what was asked and what came, and by the rules it was reached under."""

import pytest

from pytest_ocg.run import runner as judging
from pytest_ocg.run.cache.cache import Cache
from pytest_ocg.run.judging.coverage import judge
from pytest_ocg.run.judging.words import Word
from pytest_ocg.run.runner import Judge

REPLY = "a dog catches the frisbee"
ASKED = ("dog", "catch")


class Analyser:
    """Cuts at spaces; what it was asked to read is noted."""

    read: list[str] = []  # noqa: RUF012 - emptied for each test

    def analyse(self, texts):
        Analyser.read += texts
        return [words_of(text) for text in texts]


def words_of(text):
    return tuple(Word(text.index(word), word, word.removesuffix("es")) for word in text.split())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(judging, "Analyser", Analyser)
    Analyser.read = []
    with Cache.open(tmp_path, pytest.fail) as opened:
        yield opened


def test_a_verdict_is_what_the_rules_say_of_the_words_of_the_reply(cache):
    asked = [ASKED, ("catch", "dog"), ("dog", "throw")]
    expected = [judge(words_of(REPLY), concepts) for concepts in asked]
    assert Judge(cache, "inflection").coverages([REPLY] * 3, asked) == expected
    assert [verdict.in_order for verdict in expected] == [True, False, False]
    assert [verdict.order_break for verdict in expected] == [None, "dog", None]
    assert Analyser.read == [REPLY]


def test_a_question_answered_before_is_answered_alike_without_looking_at_words(cache, monkeypatch):
    first = Judge(cache, "inflection").coverages([REPLY, "rain", REPLY], [ASKED, ASKED, ("frisbee",)])
    monkeypatch.setattr(judging, "find_concepts", None)
    monkeypatch.setattr(judging, "unpack_words", None)
    assert Judge(cache, "inflection").coverages([REPLY, "rain", REPLY], [ASKED, ASKED, ("frisbee",)]) == first


def test_words_read_before_serve_another_question(cache):
    Judge(cache, "inflection").coverages([REPLY], [ASKED])
    [verdict] = Judge(cache, "inflection").coverages([REPLY], [("frisbee", "dog")])
    assert (verdict.missing, verdict.order_break) == ((), "dog")
    assert Analyser.read == [REPLY]


def test_another_matcher_reaches_its_own_verdict(cache):
    reply = "he rides"
    [by_form] = Judge(cache, "inflection").coverages([reply], [("ride",)])
    [by_lemma] = Judge(cache, "lemma").coverages([reply], [("ride",)])
    assert (by_form.is_covered, by_lemma.is_covered) == (True, False)


@pytest.mark.parametrize("concepts", [("dog",), ("dog", "catch", "frisbee", "throw")])
@pytest.mark.parametrize("reply", ["", "rain", "dog", "dog dog catches\nfrisbee \ud800"])
def test_verdicts_of_any_number_of_concepts_survive_the_cache(cache, reply, concepts):
    first = Judge(cache, "inflection").coverages([reply], [concepts])
    assert Judge(cache, "inflection").coverages([reply], [concepts]) == first
    assert len(first[0].positions) == len(concepts)
