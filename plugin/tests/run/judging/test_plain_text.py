"""The plain text that the tagger reads, and the offsets back into the reply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ocg.run.judging.words import read_plain_text


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
def test_text_is_in_lower_case(reply: str):
    assert read_plain_text(reply) == read_plain_text(reply.upper()) == read_plain_text(reply.lower())


@given(st.text(alphabet="abc dog.,'-()\n*", max_size=60))
def test_every_letter_of_a_plain_ascii_text_is_at_its_offset(reply: str):
    plain = read_plain_text(reply)
    for character, offset in zip(plain.text, plain.offsets, strict=True):
        assert character in (" ", reply[offset])
    assert "".join(filter(str.isalnum, plain.text)) == "".join(filter(str.isalnum, reply))
