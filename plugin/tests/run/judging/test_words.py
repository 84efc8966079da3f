"""How replies become words, whatever they hold."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ocg.run.judging import words as words_module
from pytest_ocg.run.judging.words import (
    Analyser,
    Word,
    pack_words,
    read_plain_text,
    unpack_words,
)


@pytest.fixture(scope="module")
def analyser() -> Analyser:
    opened = Analyser()
    opened.analyse(["The dog runs."])
    return opened


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


@given(st.text(alphabet="ab '-", min_size=0, max_size=400))
def test_pieces_join_to_the_text_and_cut_no_word(text: str):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words_module, "_PIECE_CHARACTERS", 80)
        plain = read_plain_text(text).text
        pieces = list(words_module._pieces(plain))
    assert "".join(piece for _, piece in pieces) == plain
    for start, piece in pieces:
        assert plain[start : start + len(piece)] == piece
        assert 0 < len(piece) <= 80
        assert not (plain[start - 1 : start].isalnum() and piece[0].isalnum())


def test_equal_texts_are_analysed_once_and_all_in_one_pipe(analyser: Analyser, monkeypatch: pytest.MonkeyPatch):
    seen: list[list[str]] = []
    pipe = analyser._language.pipe

    def recorded(texts, **options):
        seen.append(list(texts))
        return pipe(seen[-1], **options)

    monkeypatch.setattr(analyser._language, "pipe", recorded)
    found = analyser.analyse(["A dog.", "Cats!", "A dog.", ""])
    assert seen == [["a dog.", "cats!"]]
    assert [[word.lemma for word in words] for words in found] == [["a", "dog"], ["cat"], ["a", "dog"], []]


def test_a_reply_has_the_same_words_alone_and_in_a_batch(analyser: Analyser):
    replies = [f"The {noun} {verb} the old {thing}, riding away." for noun, verb, thing in
               [("dog", "chases", "ball"), ("boys", "saw", "horses"), ("women", "left", "cutting board"),
                ("snow-covered hill", "covers", "building")]]  # fmt: skip
    assert analyser.analyse(replies) == [analyser.analyse([reply])[0] for reply in replies]


def test_no_texts_need_no_language_model():
    unopened = Analyser()
    assert unopened.analyse([]) == []
    assert unopened._language is None


def test_only_what_lemmas_need_is_loaded(analyser: Analyser):
    assert analyser._language.pipe_names == ["tok2vec", "tagger", "attribute_ruler", "lemmatizer"]


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
