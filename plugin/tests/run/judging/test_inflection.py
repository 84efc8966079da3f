"""What counts as a form of a lemma."""

from __future__ import annotations

import hashlib
import tomllib

import pytest

from pytest_ocg.inputs.files import resource
from pytest_ocg.run.judging.inflection import inflection_signature, inflections, is_misread

TABLE = tomllib.loads(resource("fixtures", "irregular_forms.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("lemma", "forms"),
    [
        ("dog", "dogs"),
        ("ride", "rides riding rode ridden"),
        ("cut", "cuts cutting"),
        ("sew", "sews sewing sewed sewn"),
        ("chase", "chases chased chasing"),
        ("swim", "swims swam swum swimming"),
        ("leap", "leaps leapt leaped leaping"),
        ("lay", "lays laid laying"),
        ("lie", "lies lay lain lying lied"),
        ("leave", "leaves left leaving"),
        ("see", "sees saw seen seeing"),
        ("saw", "saws sawed sawn sawing"),
        ("bare", "bares bared baring"),
        ("bar", "bars barred barring"),
        ("singe", "singes singed singeing"),
        ("sing", "sings sang sung singing"),
        ("bobsle", "bobsled"),
        ("jean", "jeans"),
        ("scissor", "scissors"),
        ("sunglass", "sunglasses"),
        ("cover", "covers covered covering"),
        ("carry", "carries carried carrying"),
        ("play", "plays played playing"),
        ("ski", "skis skied skiing"),
        ("tie", "ties tied tying"),
        ("dye", "dyes dyed dyeing"),
        ("queue", "queues queued queuing queueing"),
        ("bungee", "bungees bungeeing"),
        ("canoe", "canoes canoed canoeing"),
        ("echo", "echoes echos echoed echoing"),
        ("go", "goes went gone going"),
        ("be", "am is are was were been being"),
        ("have", "has had having"),
        ("quit", "quits quit quitting"),
        ("quiz", "quizzes quizzed quizzing"),
        ("bus", "buses busses bused bussed"),
        ("mix", "mixes mixed mixing"),
        ("plow", "plows plowed plowing"),
        ("look", "looks looked looking"),
        ("wrap", "wraps wrapped wrapping"),
        ("travel", "traveled travelled traveling travelling"),
        ("dial", "dialed dialled dialing dialling"),
        ("forget", "forgot forgotten forgetting"),
        ("panic", "panicked panicking"),
        ("rewrite", "rewrote rewritten rewriting"),
        ("misunderstand", "misunderstood"),
        ("undo", "undid undone"),
        ("knife", "knives"),
        ("foot", "feet"),
        ("tooth", "teeth"),
        ("snowman", "snowmen"),
        ("woman", "women"),
        ("grandchild", "grandchildren"),
        ("bookshelf", "bookshelves"),
        ("roof", "roofs"),
        ("lens", "lenses"),
        ("stomach", "stomachs"),
        ("wrench", "wrenches"),
        ("sheep", "sheep"),
        ("person", "people persons"),
        ("box", "boxes"),
        ("Dog", "dog dogs"),
    ],
)
def test_a_legal_form_is_a_form(lemma: str, forms: str):
    assert set(forms.split()) <= inflections(lemma)
    assert lemma.casefold() in inflections(lemma)


@pytest.mark.parametrize(
    ("lemma", "words"),
    [
        ("crowd", "crowded"),
        ("tooth", "toothed"),
        ("leg", "legged"),
        ("car", "carpet cared caring card"),
        ("hat", "hated hating"),
        ("pin", "pined pining pine"),
        ("can", "caned could"),
        ("bar", "bared bares baring"),
        ("rid", "rides riding"),
        ("singe", "singing sings"),
        ("sing", "singed singeing"),
        ("lay", "lie lies lying lain"),
        ("lie", "laid lays laying"),
        ("see", "seed saws sawed"),
        ("catch", "catched"),
        ("throw", "throwed"),
        ("swim", "swimmer swimmers swiming swimed"),
        ("paint", "paintings painter"),
        ("build", "buildings builded"),
        ("building", "build builds built"),
        ("sew", "so sow"),
        ("box", "boxen"),
        ("wash", "washs"),
        ("stomach", "stomaches"),
        ("carry", "carrys carryed"),
        ("straight", "straighten"),
    ],
)
def test_another_word_or_an_illegal_form_is_not(lemma: str, words: str):
    assert not set(words.split()) & inflections(lemma)


@pytest.mark.parametrize(
    ("text", "lemma", "misread"),
    [
        ("rides", "rid", True),
        ("riding", "rid", True),
        ("bares", "bar", True),
        ("crowded", "crowd", True),
        ("crowded", "crowded", False),
        ("dogs", "dog", False),
        ("ridding", "rid", False),
        ("boxes", "box", False),
        ("covered", "cover", False),
        ("ran", "run", False),
        ("ca", "can", False),
        ("'s", "be", False),
        ("es", "", False),
    ],
)
def test_a_lemma_that_lost_its_e_or_is_read_into_an_adjective_is_misread(text: str, lemma: str, misread: bool):
    assert is_misread(text, lemma) is misread


@pytest.mark.parametrize("section", ["past", "participle", "present", "plural", "plural_alone"])
def test_every_form_in_the_table_is_a_form_of_its_lemma(section: str):
    for lemma, forms in TABLE[section].items():
        assert set(forms.split()) <= inflections(lemma), lemma


def test_the_table_is_in_lower_case_and_sorted():
    for section in ("past", "participle", "present", "plural", "plural_alone"):
        lemmas = list(TABLE[section])
        assert lemmas == sorted(lemmas), section
        assert all(entry == entry.lower() for pair in TABLE[section].items() for entry in pair)


def test_the_version_is_raised_with_every_change_of_table_or_rules():
    lemmas = sorted({*TABLE["past"], *TABLE["participle"], *TABLE["plural"], *TABLE["adjective"]["words"].split()})
    lemmas += ["dog", "box", "carry", "play", "hop", "stop", "quiz", "bus", "echo", "panic", "travel", "sew", "dye"]
    lemmas += ["tie", "canoe", "stomach", "undo", "crowd"]
    forms = "\n".join(f"{lemma} {' '.join(sorted(inflections(lemma)))}" for lemma in lemmas)
    digest = hashlib.sha256(forms.encode()).hexdigest()[:16]
    assert (inflection_signature(), digest) == ("inflection:1", "f874709b5614ee72")
