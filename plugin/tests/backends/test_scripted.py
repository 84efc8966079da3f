import itertools

import pytest

from pytest_ocg.backends import open_backend
from pytest_ocg.backends.base import ErrorKind, Generation, GenerationSettings
from pytest_ocg.backends.scripted import SCRIPTS, ScriptedBackend, in_order, quarter, reversed_order, script
from pytest_ocg.errors import BackendError, ModelError
from pytest_ocg.inputs.models import ModelSpec
from pytest_ocg.inputs.prompts import Message, Prompt

CONCEPTS = ("dog", "catch", "frisbee", "throw")


def _prompt(concepts=CONCEPTS):
    return Prompt(tuple(concepts), 0, "ordered", 0, (Message("user", "Write."),))


def _is_in_order(text, concepts):
    places = [text.find(concept) for concept in concepts]
    return -1 not in places and places == sorted(places)


def test_replies_come_from_the_script_and_calls_are_recorded():
    backend = ScriptedBackend(lambda prompt: f"  {prompt.concepts[0]} ")
    assert [generation.text for generation in backend.generate([_prompt(), _prompt("ab")])] == ["dog", "a"]
    assert backend.generate([]) == []
    assert backend.calls == [2, 0]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ("", ErrorKind.EMPTY),
        (" \n", ErrorKind.EMPTY),
        (Generation(None, ErrorKind.TIMEOUT, "too slow"), ErrorKind.TIMEOUT),
        ("A dog.", None),
    ],
)
def test_a_script_can_fail_as_a_model_does(reply, error):
    [generation] = ScriptedBackend(lambda prompt: reply).generate([_prompt()])
    assert generation.error == error


def test_the_identity_is_the_name_and_version_alone():
    one = ScriptedBackend(in_order, name="mine", batch_size=4).identity()
    assert one == ScriptedBackend(quarter, name="mine", batch_size=8).identity()
    assert one != ScriptedBackend(in_order, name="mine", version="2").identity()
    assert one == {"backend": "scripted", "source": "mine", "version": "1"}


def test_a_closed_backend_does_not_generate():
    backend = script("echo")
    backend.close()
    with pytest.raises(BackendError, match="scripted backend 'echo' was asked to generate after it was closed"):
        backend.generate([_prompt()])


def test_quarter_hits_six_of_the_24_orders_and_covers_all():
    orders = list(itertools.permutations(CONCEPTS))
    texts = [quarter(_prompt(order)) for order in orders]
    assert sum(_is_in_order(text, order) for text, order in zip(texts, orders, strict=True)) == 6
    assert all(concept in text for text in texts for concept in CONCEPTS)
    assert len(set(texts)) == 24


@pytest.mark.parametrize("concepts", [CONCEPTS, ("one", "two"), ("one",)])
def test_each_script_does_what_its_name_says(concepts):
    assert _is_in_order(in_order(_prompt(concepts)), concepts)
    assert _is_in_order(reversed_order(_prompt(concepts)), concepts[::-1])
    assert SCRIPTS["echo"](_prompt(concepts)) == " ".join(concepts)
    assert SCRIPTS["empty"](_prompt(concepts)) == ""


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_a_script_opens_by_its_name(name):
    spec = ModelSpec(f"scripted:{name}", "scripted", name)
    backend = open_backend(spec, GenerationSettings(batch_size=5), lambda text: None)
    assert backend.preferred_batch_size() == 5
    assert backend.identity()["source"] == name
    assert len(backend.generate([_prompt()])) == 1
    assert backend.provenance().items() >= backend.identity().items()


def test_an_unknown_script_is_refused_with_the_nearest():
    with pytest.raises(ModelError, match=r"is not a script; did you mean 'in-order'\? The scripts are in-order, "):
        script("in_order")


def test_an_unknown_script_without_a_near_name_is_refused_with_all_names():
    with pytest.raises(ModelError, match=r"scripted:zzz is not a script\. The scripts are in-order, reversed-order, "):
        script("zzz")


@pytest.mark.parametrize("reply", [None, 3, b"A dog."])
def test_a_reply_of_a_wrong_type_is_refused_with_its_concepts(reply):
    with pytest.raises(BackendError) as caught:
        ScriptedBackend(lambda prompt: reply, name="mine").generate([_prompt()])
    assert str(caught.value) == (
        f"scripted backend 'mine': its function returned {reply!r} for 'dog catch frisbee throw'; it must return "
        "a text or a Generation"
    )
