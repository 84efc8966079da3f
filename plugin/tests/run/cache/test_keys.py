from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest

from pytest_ocg.inputs.prompts import Message, Prompt
from pytest_ocg.run.cache.keys import canonical_json, generation_keys, provenance_id, text_digest

IDENTITY = {
    "backend": "huggingface",
    "source": "google/gemma-2-9b-it",
    "revision": "abc",
    "dtype": "bfloat16",
    "quantization": "4bit",
    "decoding": {"max_new_tokens": 128, "temperature": 0, "seed": 0},
}
SYSTEM = Message("system", "You are a helpful assistant. Please generate only an answer.")
PROMPT = Prompt(("dog", "catch"), 0, "ordered", 0, (SYSTEM, Message("user", "Concepts: dog catch\n\nAnswer:")))


def key_of(identity, prompt):
    return generation_keys(identity, [prompt])[0]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("backend", "openai"),
        ("source", "google/gemma-2-2b-it"),
        ("revision", None),
        ("dtype", "float32"),
        ("quantization", "none"),
        ("decoding", {"max_new_tokens": 64, "temperature": 0, "seed": 0}),
        ("decoding", {"max_new_tokens": 128, "temperature": 1, "seed": 0}),
        ("decoding", {"max_new_tokens": 128, "temperature": 0, "seed": 1}),
        ("base_url", "http://localhost:8000/v1"),
    ],
)
def test_everything_in_the_identity_changes_the_key(part, value):
    assert key_of({**IDENTITY, part: value}, PROMPT) != key_of(IDENTITY, PROMPT)


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (SYSTEM,),
        (Message("system", "You are helpful."), PROMPT.messages[1]),
        (SYSTEM, Message("user", "Concepts: catch dog\n\nAnswer:")),
        (SYSTEM, Message("assistant", "Concepts: dog catch\n\nAnswer:")),
        (PROMPT.messages[1], SYSTEM),
        (*PROMPT.messages, Message("assistant", "A dog.")),
        (SYSTEM, Message("user", "Concepts: dog"), Message("user", " catch\n\nAnswer:")),
        (SYSTEM, Message("user", "Concepts: dog catch\n\nAnswer:\ud800")),
    ],
)
def test_every_turn_and_role_changes_the_key(messages):
    assert key_of(IDENTITY, replace(PROMPT, messages=messages)) != key_of(IDENTITY, PROMPT)


@pytest.mark.parametrize(
    "change",
    [
        {"concepts": ("catch", "dog")},
        {"template": 4},
        {"condition": "original"},
        {"shots": 1},
    ],
)
def test_what_the_messages_say_already_does_not_count_twice(change):
    assert key_of(IDENTITY, replace(PROMPT, **change)) == key_of(IDENTITY, PROMPT)


def test_the_order_of_mapping_keys_does_not_matter_at_any_depth():
    turned = {key: IDENTITY[key] for key in reversed(IDENTITY)}
    turned["decoding"] = dict(reversed(IDENTITY["decoding"].items()))
    assert list(turned) != list(IDENTITY)
    assert key_of(turned, PROMPT) == key_of(IDENTITY, PROMPT)


def test_the_key_is_the_sha256_of_the_canonical_json_of_identity_and_messages():
    whole = {"messages": [[turn.role, turn.content] for turn in PROMPT.messages], "identity": IDENTITY}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    assert key_of(IDENTITY, PROMPT) == hashlib.sha256(text.encode()).hexdigest()


def test_the_key_of_a_prompt_never_changes_from_one_release_to_the_next():
    prompt = Prompt((), 0, "ordered", 0, (Message("user", "caf\u00e9 \ud800"),))
    expected = hashlib.sha256(rb'{"identity":{"a":1},"messages":[["user","caf\u00e9 \ud800"]]}').hexdigest()
    assert key_of({"a": 1}, prompt) == expected


def test_keys_of_many_prompts_are_the_keys_of_each_in_order():
    prompts = [replace(PROMPT, messages=(Message("user", text),)) for text in "abca"]
    keys = generation_keys(IDENTITY, prompts)
    assert keys == [key_of(IDENTITY, prompt) for prompt in prompts]
    assert keys[0] == keys[3]
    assert len(set(keys)) == 3
    assert generation_keys(IDENTITY, []) == []


@pytest.mark.parametrize(("value", "error"), [(float("nan"), ValueError), ({1, 2}, TypeError), (b"x", TypeError)])
def test_an_identity_that_is_not_json_is_refused(value, error):
    with pytest.raises(error):
        key_of({"decoding": value}, PROMPT)


def test_a_provenance_has_a_short_name_of_its_own_content():
    assert provenance_id(canonical_json({"a": 1, "b": 2})) == provenance_id(canonical_json({"b": 2, "a": 1}))
    assert provenance_id(canonical_json({"a": 1})) == hashlib.sha256(b'{"a":1}').hexdigest()[:12]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", " "),
        ("a dog", "a dog "),
        ("\ud800", "\udfff"),
        ("\ud800", "\\ud800"),
        ("caf\u00e9", "cafe\u0301"),
        ("a\0b", "ab"),
    ],
)
def test_different_texts_have_different_digests_lone_surrogates_too(one, other):
    assert text_digest(one) == text_digest(one) != text_digest(other)
    assert len(text_digest(one)) == 16
