"""Which replies repeat the bare list of concepts."""

from __future__ import annotations

import pytest

from pytest_ocg.run.judging.coverage import contains_concept_list

LIST = ["dog", "catch", "frisbee", "throw"]


@pytest.mark.parametrize(
    ("reply", "contains"),
    [
        ("Sure! Here is a sentence using dog, catch, frisbee, throw: A man throws a frisbee.", True),
        ("dog catch frisbee throw", True),
        ("Dog, Catch, Frisbee, Throw", True),
        ("My favorite words are dog, catch, frisbee, and throw.", True),
        ("dog, catch, frisbee and throw", True),
        ("dog and catch and frisbee and throw", True),
        ("dog,catch,frisbee,throw", True),
        ("dog, catch,\nfrisbee, throw", True),
        ("**dog**, **catch**, **frisbee**, and **throw**", True),
        ('"dog", "catch", "frisbee", "throw"', True),
        ("\u201cdog,\u201d \u201ccatch,\u201d \u201cfrisbee,\u201d and \u201cthrow\u201d", True),
        ("hotdog, dog, catch, frisbee, throw", True),
        ("hotdog, catch, frisbee, throw", False),
        ("dog, catch, frisbee, throws", False),
        ("dog, catch, frisbee", False),
        ("catch, dog, frisbee, throw", False),
        ("dog. Catch frisbee throw", False),
        ("dogcatchfrisbeethrow", False),
        ("The dog will catch the frisbee I throw.", False),
        ("", False),
    ],
)
def test_a_reply_that_repeats_the_bare_list_is_recognized(reply: str, contains: bool):
    assert contains_concept_list(reply, LIST) is contains


def test_no_concepts_are_no_list():
    assert not contains_concept_list("dog", [])
