"""How replies become words, whatever they hold: what the tagger is given of them, and what it finds."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ocg.run.judging.words import Analyser, Word, pack_words, read_plain_text, unpack_words


@pytest.mark.parametrize(
    ("reply", "plain"),
    [
        ("", ""),
        (" \n\t ", ""),
        ('The dog ran, and "barked" (twice); didn\'t it?', 'the dog ran, and "barked" (twice); didn\'t it?'),
        ("The DOG", "the dog"),
        ("snow-covered", "snow-covered"),
        ("snow\u2010covered", "snow-covered"),
        ("snow\u2011covered", "snow-covered"),
        ("snow\u2013covered", "snow-covered"),
        ("snow\u2212covered", "snow-covered"),
        ("snow\uff0dcovered", "snow-covered"),
        ("dog\u2014a poodle\u2014ran", "dog - a poodle - ran"),
        ("dog--cat", "dog - cat"),
        ("-dog cat- - cow", "- dog cat - - cow"),
        ("3-legged dog2", "3 - legged dog2"),
        ("the dogs\u2019 dog\u2019s ball", "the dogs' dog's ball"),
        ("\u2018dog\u2019 \u201ccat\u201d `cow`", "'dog' \"cat\" 'cow'"),
        ("**dog** _cat_ ~~hen~~ #pig", "dog cat hen pig"),
        ("| dog | cat |\n|---|---|", "dog cat - -"),
        ("dog/cat\\cow+hen=pig", "dog cat cow hen pig"),
        ("dog.Then cat,cow;hen:pig!(ox)ass", "dog. then cat, cow; hen: pig!(ox) ass"),
        ("1.dog 2)cat", "1. dog 2) cat"),
        ("dog\x00cat\x1bcow", "dog cat cow"),
        ("\U0001f415dog\U0001f415cat", "dog cat"),
        ("dog\ud83dcat \udc15", "dog cat"),
        ("do\u00adg ca\u200dt cow\u200bhen", "dog cat cow hen"),
        ("\ufb01sh \uff24\uff2f\uff27 \U0001d41c\U0001d41a\U0001d42d", "fish dog cat"),
        ("cafe\u0301 caf\u00e9", "caf\u00e9 caf\u00e9"),
        ("dog\u00a0cat\u3000cow", "dog cat cow"),
        ("dog\u2026cat", "dog... cat"),
        ("what?!?!?! dog((((((cat", "what?!? dog(((cat"),
        ("a" * 64, "a" * 64),
        ("a" * 65 + " dog", "dog"),
    ],
)
def test_a_text_is_made_plain(reply: str, plain: str):
    assert read_plain_text(reply).text == plain


def test_what_gets_longer_or_shorter_keeps_the_offsets_of_the_reply():
    reply = "\ufb01sh stra\u00dfe do\u00adg \u0130 cat\u2026cow"
    plain = read_plain_text(reply)
    starts = {word: plain.offsets[plain.text.index(word)] for word in ("fish", "strasse", "dog", "cat", "cow")}
    assert starts == {"fish": 0, "strasse": 4, "dog": 11, "cat": reply.index("cat"), "cow": reply.index("cow")}


@given(st.text(alphabet=st.characters(), max_size=80))
def test_any_text_can_be_made_plain_and_found_again(reply: str):
    plain = read_plain_text(reply)
    assert len(plain.offsets) == len(plain.text)
    assert list(plain.offsets) == sorted(plain.offsets)
    assert all(0 <= offset < len(reply) for offset in plain.offsets)
    assert "  " not in plain.text
    assert plain.text == plain.text.strip()
    assert not any("\ud800" <= character <= "\udfff" or character < " " for character in plain.text)


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=80))
def test_case_is_gone(reply: str):
    assert read_plain_text(reply) == read_plain_text(reply.upper()) == read_plain_text(reply.lower())


@given(st.text(alphabet="abc dog.,'-()\n*", max_size=60))
def test_every_letter_of_a_plain_ascii_text_stands_at_its_offset(reply: str):
    plain = read_plain_text(reply)
    for character, offset in zip(plain.text, plain.offsets, strict=True):
        assert character in (" ", reply[offset])
    assert "".join(filter(str.isalnum, plain.text)) == "".join(filter(str.isalnum, reply))


@pytest.fixture(scope="module")
def opened() -> tuple[Analyser, Any]:
    """An analyser that has loaded spaCy's pipeline, and that pipeline."""
    import spacy

    loaded, load = [], spacy.load
    analyser = Analyser()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spacy, "load", lambda *words, **options: loaded.append(load(*words, **options)) or loaded[-1])
        analyser.analyse(["The dog runs."])
    [language] = loaded
    return analyser, language


@pytest.fixture(scope="module")
def analyser(opened: tuple[Analyser, Any]) -> Analyser:
    return opened[0]


@pytest.fixture
def handed_over(opened: tuple[Analyser, Any], monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The texts that the pipeline was given, a list for each time."""
    seen: list[list[str]] = []
    language = opened[1]
    pipe = language.pipe

    def recorded(texts, **options):
        seen.append(list(texts))
        return pipe(seen[-1], **options)

    monkeypatch.setattr(language, "pipe", recorded)
    return seen


def texts_of(analyser: Analyser, reply: str) -> list[str]:
    (words,) = analyser.analyse([reply])
    return [word.text for word in words]


@pytest.mark.parametrize(
    ("reply", "texts"),
    [
        ("", ""),
        (" \n\t ", ""),
        ("...!?", ""),
        ("Dog", "dog"),
        ("The DOG ran.", "the dog ran"),
        ("snow-covered", "snow covered"),
        ("snow\u2010covered", "snow covered"),
        ("snow\u2011covered", "snow covered"),
        ("snow\u2013covered", "snow covered"),
        ("snow\u2212covered", "snow covered"),
        ("the dog\u2014a poodle", "the dog a poodle"),
        ("dog--cat", "dog cat"),
        ("the dog\u2019s ball", "the dog 's ball"),
        ("the dogs\u2019 ball", "the dogs ball"),
        ("don\u2019t", "do n't"),
        ("\u2018dog\u2019 \u201ccat\u201d", "dog cat"),
        ("rock'n'roll", "rock n roll"),
        ("**dog**.Then cat/cow", "dog then cat cow"),
        ("dog\x00cat\U0001f415cow\ud83dhen", "dog cat cow hen"),
        ("the join dog", "the join dog"),
    ],
)
def test_a_reply_is_cut_into_words(analyser: Analyser, reply: str, texts: str):
    assert texts_of(analyser, reply) == texts.split()


@pytest.mark.parametrize(
    "reply",
    [
        "The Dogs ran; don't stop.",
        "snow\u2011covered **hill**, \U0001f415 a dog\u2014two dogs",
        "dog\x00cat\ud800cow \u200bhen",
        "a\n\n- dog\n- cat/cow",
    ],
)
def test_a_word_has_its_offset_in_the_reply(analyser: Analyser, reply: str):
    (words,) = analyser.analyse([reply])
    assert words
    for word in words:
        assert reply[word.start : word.start + len(word.text)].casefold() == word.text


@pytest.mark.parametrize(
    ("reply", "text", "lemma"),
    [
        ("Two dogs ran.", "dogs", "dog"),
        ("TWO DOGS RAN.", "ran", "run"),
        ("The children", "children", "child"),
        ("I can\u2019t swim", "ca", "can"),
        ("The boy rides", "rides", "rid"),
    ],
)
def test_the_lemma_is_the_one_spacy_gives_in_lower_case(analyser: Analyser, reply: str, text: str, lemma: str):
    (words,) = analyser.analyse([reply])
    assert {word.text: word.lemma for word in words}[text] == lemma


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="abDOGran sS.,-'\"*()\n", max_size=60))
def test_case_changes_neither_words_nor_lemmas_nor_offsets(analyser: Analyser, reply: str):
    as_is, lower, upper = analyser.analyse([reply, reply.lower(), reply.upper()])
    assert as_is == lower == upper


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(), max_size=40))
def test_any_text_at_all_is_cut_into_words_in_order(analyser: Analyser, reply: str):
    (words,) = analyser.analyse([reply])
    starts = [word.start for word in words]
    assert starts == sorted(starts)
    assert all(0 <= start < len(reply) for start in starts)
    assert all(word.text and word.lemma for word in words)


def test_a_reply_of_ten_thousand_words_is_read_to_the_end(analyser: Analyser):
    reply = "the big dog ran " * 2_500 + "home"
    (words,) = analyser.analyse([reply])
    assert len(words) == 10_001
    assert words[-1] == Word(len(reply) - 4, "home", "home")
    assert all(word.lemma == "dog" for word in words if word.text == "dog")


@pytest.mark.parametrize(
    "filler",
    [
        "x" * 1_000_001,
        " " * 1_000_001,
        "\U0001f415" * 1_000_001,
        "-" * 1_000_001,
        "'" * 5_000,
        "(" * 5_000,
        "a-" * 3_000,
    ],
)
def test_a_reply_past_every_limit_of_spacy_is_read_to_the_end(analyser: Analyser, filler: str):
    (words,) = analyser.analyse([f"{filler} dog"])
    assert words[-1] == Word(len(filler) + 1, "dog", "dog")


@pytest.mark.parametrize("word", ["ab", "ab-ba", "b'a", "a" * 60, "a - b"])
@pytest.mark.parametrize("separator", [" ", "'", "-", "' "])
def test_a_long_reply_is_read_in_pieces_that_join_to_it_and_cut_no_word(
    analyser: Analyser, handed_over: list[list[str]], word: str, separator: str
):
    reply = separator.join([word] * 1_500)
    (words,) = analyser.analyse([reply])
    [pieces] = handed_over
    assert max(map(len, pieces)) <= 2_000 < len(reply)
    assert "".join(pieces).replace(" ", "") == reply.replace(" ", "")
    for before, after in itertools.pairwise(pieces):
        assert not (before[-1].isalnum() and after[0].isalnum())
    letters = [(place, letter) for place, letter in enumerate(reply) if letter.isalnum()]
    assert [
        (word.start + place, letter) for word in words for place, letter in enumerate(word.text) if letter.isalnum()
    ] == letters


def test_equal_texts_are_analysed_once_and_all_in_one_pipe(analyser: Analyser, handed_over: list[list[str]]):
    found = analyser.analyse(["A dog.", "Cats!", "A dog.", ""])
    assert handed_over == [["a dog.", "cats!"]]
    assert [[word.lemma for word in words] for words in found] == [["a", "dog"], ["cat"], ["a", "dog"], []]


def test_a_reply_has_the_same_words_alone_and_in_a_batch(analyser: Analyser):
    replies = [f"The {noun} {verb} the old {thing}, riding away." for noun, verb, thing in
               [("dog", "chases", "ball"), ("boys", "saw", "horses"), ("women", "left", "cutting board"),
                ("snow-covered hill", "covers", "building")]]  # fmt: skip
    assert analyser.analyse(replies) == [analyser.analyse([reply])[0] for reply in replies]


def test_no_texts_need_no_language_model(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("spacy.load", pytest.fail)
    assert Analyser().analyse([]) == []


def test_only_what_lemmas_need_is_loaded(opened: tuple[Analyser, Any]):
    assert opened[1].pipe_names == ["tok2vec", "tagger", "attribute_ruler", "lemmatizer"]


WORDS = st.lists(st.builds(Word, st.integers(0, 10**7), st.text(max_size=12), st.text(max_size=12)), max_size=30).map(
    tuple
)


@given(WORDS)
def test_packed_words_unpack_to_the_same(words: tuple[Word, ...]):
    packed = pack_words(words)
    assert unpack_words(packed) == words
    assert packed.isascii()
    assert "\n" not in packed


def test_a_lone_surrogate_survives_packing():
    words = (Word(0, "\ud800a", "\udfff"),)
    packed = pack_words(words)
    assert unpack_words(packed) == words
    packed.encode("utf-8")


def test_packed_words_are_compact():
    assert json.loads(pack_words((Word(4, "dogs", "dog"),))) == [[4], ["dogs"], ["dog"]]
    assert pack_words(()) == "[[],[],[]]"
