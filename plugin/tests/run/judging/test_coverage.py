"""The verdict on a reply, against known sentences and against the gold positions of real replies."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ocg.errors import MatcherError
from pytest_ocg.run.judging.coverage import (
    MATCHERS,
    Coverage,
    contains_concept_list,
    judge,
    matcher_signature,
    require_matcher,
)
from pytest_ocg.run.judging.words import Analyser, Word, Words


@pytest.fixture(scope="module")
def analyser() -> Analyser:
    return Analyser()


def forms_of(analyser: Analyser, concept: str, reply: str, matcher: str = "inflection") -> list[str]:
    (words,) = analyser.analyse([reply])
    (starts,) = judge(words, [concept], matcher).positions
    return [word.text for word in words if word.start in starts]


@pytest.mark.parametrize(
    ("concept", "reply", "forms"),
    [
        ("ride", "The boy rides.", "rides"),
        ("ride", "A man riding a horse.", "riding"),
        ("ride", "Riding is fun, but he has ridden and she rode.", "riding ridden rode"),
        ("cut", "It is on a cutting board.", "cutting"),
        ("sew", "It is the sewing machine.", "sewing"),
        ("chase", "Two dogs off the leash chasing a squirrel.", "chasing"),
        ("chase", "Two dogs are chasing a squirrel.", "chasing"),
        ("chase", "The chasing was over.", "chasing"),
        ("build", "A building stands here.", "building"),
        ("building", "They are building a house.", "building"),
        ("wash", "The washing machine", "washing"),
        ("handle", "The handling of it", "handling"),
        ("water", "A watering can", "watering"),
        ("dog", "Dogs ran.", "dogs"),
        ("dog", "Then the Dogs ran.", "dogs"),
        ("dog", "THEN THE DOGS RAN.", "dogs"),
        ("run", "THEN THE DOGS RAN.", "ran"),
        ("frisbee", "He throws a Frisbee.", "frisbee"),
        ("snow", "The snow-covered hill", "snow"),
        ("cover", "The snow-covered hill", "covered"),
        ("snow", "The snow\u2011covered hill", "snow"),
        ("cover", "The snow\u2011covered hill", "covered"),
        ("snow", "The snow\u2010covered hill", "snow"),
        ("cover", "The snow\u2010covered hill", "covered"),
        ("snow", "The snow\u2013covered hill", "snow"),
        ("cover", "The snow\u2013covered hill", "covered"),
        ("dog", "The dog\u2019s ball", "dog"),
        ("dog", "The dogs\u2019 ball", "dogs"),
        ("dog", "\u2018Dog!\u2019 he said", "dog"),
        ("do", "They don\u2019t", "do"),
        ("swim", "He swam.", "swam"),
        ("swim", "He has swum.", "swum"),
        ("leap", "She leapt and leaped.", "leapt leaped"),
        ("lay", "She lays it where it lay, and laid it.", "lays lay laid"),
        ("lie", "It lay where it lies, lying.", "lay lies lying"),
        ("leave", "She left as he leaves.", "left leaves"),
        ("leaf", "The leaves fall.", "leaves"),
        ("see", "He saw it.", "saw"),
        ("saw", "He saw it with a saw.", "saw saw"),
        ("bare", "The lion bares its teeth and bared them.", "bares bared"),
        ("singe", "He singed it; singeing hurts.", "singed singeing"),
        ("bobsle", "They bobsled down the track.", "bobsled"),
        ("bobsle", "They jump into the bobsled.", "bobsled"),
        ("jean", "She wears jeans.", "jeans"),
        ("scissor", "She takes the scissors.", "scissors"),
        ("sunglass", "He wears sunglasses.", "sunglasses"),
        ("tooth", "He brushes his teeth.", "teeth"),
        ("snowman", "Two snowmen", "snowmen"),
        ("knife", "The knives", "knives"),
        ("motorize", "A motorized bike", "motorized"),
        ("stuff", "A stuffed animal", "stuffed"),
        ("walk", "He walked on a walk.", "walked walk"),
        ("can", "A can he can open", "can can"),
        ("dog", "**Dog** and _dogs_ and `dog`", "dog dogs dog"),
        ("dog", "It ends.Dogs run", "dogs"),
        ("dog", "1)dog\n-dog", "dog dog"),
        ("Dog", "A dog", "dog"),
    ],
)
def test_a_form_of_the_concept_is_found(analyser: Analyser, concept: str, reply: str, forms: str):
    for cased in (reply, reply.lower(), reply.upper()):
        assert forms_of(analyser, concept, cased) == forms.split()


@pytest.mark.parametrize(
    ("concept", "reply"),
    [
        ("crowd", "A crowded street"),
        ("crowd", "The street was crowded with people."),
        ("crowd", "CROWDED"),
        ("tooth", "A toothed wheel, a saw-toothed blade"),
        ("car", "A carpet, a scar, carry, cardinal"),
        ("dog", "A hotdog, dogma, doge"),
        ("rid", "He rides, riding."),
        ("bar", "He bares his teeth."),
        ("hat", "He hated it, hating it."),
        ("pin", "A pine, pined, pining"),
        ("singe", "She sings, singing."),
        ("sing", "It singed him."),
        ("lay", "It lies there, lying, and has lain."),
        ("see", "The seed, the saws"),
        ("swim", "The swimmers, a swimmer"),
        ("paint", "The paintings, a painter"),
        ("build", "The buildings"),
        ("straighten", "Her straight hair"),
        ("bobsle", "A sled, bobs"),
        ("dog", ""),
        ("dog", "\U0001f415"),
    ],
)
def test_what_is_no_form_of_the_concept_is_not_found(analyser: Analyser, concept: str, reply: str):
    for cased in (reply, reply.lower(), reply.upper()):
        assert forms_of(analyser, concept, cased) == []


@pytest.mark.parametrize(
    ("concept", "reply", "forms"),
    [
        ("ride", "The boy rides.", ""),
        ("rid", "The boy rides.", "rides"),
        ("sew", "the sewing machine", ""),
        ("dog", "The DOGS ran.", "dogs"),
        ("run", "The DOGS ran.", "ran"),
        ("crowd", "The people crowded around.", "crowded"),
        ("can", "He can\u2019t.", "ca"),
    ],
)
def test_the_lemma_matcher_is_the_bare_lemma(analyser: Analyser, concept: str, reply: str, forms: str):
    assert forms_of(analyser, concept, reply, "lemma") == forms.split()


def test_a_lemma_counts_for_the_inflection_matcher_where_no_form_does(analyser: Analyser):
    assert forms_of(analyser, "can", "He can\u2019t.") == ["ca"]
    assert forms_of(analyser, "not", "He can\u2019t.") == ["n't"]


def spelt(text: str) -> Words:
    """Words that are their own lemmas, at the offsets they have in the text."""
    starts = itertools.accumulate((len(word) + 1 for word in text.split()), initial=0)
    return tuple(Word(start, word, word) for start, word in zip(starts, text.split(), strict=False))


@pytest.mark.parametrize(
    ("reply", "concepts", "verdict"),
    [
        ("a b c d", "a b c d", Coverage(("a", "b", "c", "d"), (), True, None, ((0,), (2,), (4,), (6,)))),
        ("a b c d", "d c b a", Coverage(("d", "c", "b", "a"), (), False, "c", ((6,), (4,), (2,), (0,)))),
        ("b a c b d", "a b c d", Coverage(("a", "b", "c", "d"), (), False, "c", ((2,), (0, 6), (4,), (8,)))),
        ("b a b c d", "a b c d", Coverage(("a", "b", "c", "d"), (), True, None, ((2,), (0, 4), (6,), (8,)))),
        ("d a b c", "a b c d", Coverage(("a", "b", "c", "d"), (), False, "d", ((2,), (4,), (6,), (0,)))),
        ("a c d", "a b c d", Coverage(("a", "c", "d"), ("b",), False, None, ((0,), (), (2,), (4,)))),
        ("d c", "a b c d", Coverage(("c", "d"), ("a", "b"), False, None, ((), (), (2,), (0,)))),
        ("", "a b", Coverage((), ("a", "b"), False, None, ((), ()))),
        ("x", "", Coverage((), (), True, None, ())),
        ("a", "a a", Coverage(("a", "a"), (), False, "a", ((0,), (0,)))),
        ("a x a", "a a", Coverage(("a", "a"), (), True, None, ((0, 4), (0, 4)))),
    ],
)
def test_the_order_is_that_of_some_strictly_increasing_choice(reply: str, concepts: str, verdict: Coverage):
    for matcher in MATCHERS:
        assert judge(spelt(reply), concepts.split(), matcher) == verdict
    assert verdict.is_covered is (not verdict.missing)


def test_one_word_never_counts_for_two_concepts_in_order(analyser: Analyser):
    (words,) = analyser.analyse(["The building stands."])
    verdict = judge(words, ["build", "building"])
    assert verdict.is_covered
    assert not verdict.in_order
    assert verdict.order_break == "building"


@pytest.mark.parametrize("hyphen", ["-", "\u2010", "\u2011", "\u2013", " "])
def test_the_words_of_a_compound_count_left_to_right(analyser: Analyser, hyphen: str):
    (words,) = analyser.analyse([f"A snow{hyphen}covered hill"])
    assert judge(words, ["snow", "cover", "hill"]).in_order
    assert judge(words, ["cover", "snow", "hill"]).order_break == "snow"


@given(st.lists(st.sampled_from("abcdx"), max_size=12), st.permutations("abcd"))
def test_the_verdict_is_the_one_found_by_trying_every_choice(reply: list[str], concepts: list[str]):
    verdict = judge(spelt(" ".join(reply)), concepts)
    choices = itertools.product(*verdict.positions)
    assert verdict.in_order is any(list(choice) == sorted(set(choice)) for choice in choices)
    assert verdict.is_covered is (set(concepts) <= set(reply))
    assert (verdict.order_break is None) is (verdict.in_order or not verdict.is_covered)


CHASE = ["the", "dog", "chases", "a", "cat;", "rides,", "saws", "and", "crowded", "snow-covered", "building"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(CHASE), max_size=15), st.randoms(use_true_random=False))
def test_the_verdict_does_not_depend_on_case(analyser: Analyser, chosen: list[str], random):
    reply = " ".join(chosen)
    mixed = "".join(random.choice((letter.lower(), letter.upper())) for letter in reply)
    concepts = ["dog", "chase", "ride", "saw", "crowd", "cover"]
    for matcher in MATCHERS:
        verdicts = {judge(words, concepts, matcher) for words in analyser.analyse([reply, mixed, reply.upper()])}
        assert len(verdicts) == 1


def test_an_unknown_matcher_is_refused_by_name():
    for asked in (require_matcher, matcher_signature, lambda matcher: judge((), ["dog"], matcher)):
        with pytest.raises(MatcherError, match=r"^unknown matcher 'stem'; choose from inflection, lemma$"):
            asked("stem")


def test_the_signature_says_everything_a_verdict_depends_on():
    assert matcher_signature("inflection").startswith("inflection|spacy:3.")
    assert matcher_signature("inflection").endswith("|words:1|inflection:1")
    assert matcher_signature("lemma").startswith("lemma|spacy:3.")
    assert matcher_signature("lemma").endswith("|words:1")


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
def test_a_reply_that_repeats_the_bare_list_is_told(reply: str, contains: bool):
    assert contains_concept_list(reply, LIST) is contains


def test_no_concepts_are_no_list():
    assert not contains_concept_list("dog", [])
