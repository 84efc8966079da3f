"""Replies in a server's answer: reasoning is never scored, and tokens are the server's count."""

from __future__ import annotations

import json

import pytest

from plugin.tests.backends.openai.fault_server import completion, envelope
from pytest_ocg.backends.base import ErrorKind
from pytest_ocg.backends.openai.answers import Failure, Reply, reply_of


@pytest.mark.parametrize(
    ("content", "tags", "text"),
    [
        (" A dog. \n", {}, "A dog."),
        ("<think>A cat?</think> A dog.", {}, "A dog."),
        ("A cat? No.\n</think>\n\nA dog.", {}, "A dog."),
        ("<Thought>A cat?</Thought><Output>A dog.</Output>", "marco", "A dog."),
        ("A dog says <think>woof</think> loudly.", {}, "A dog says <think>woof</think> loudly."),
        ("lone \ud800 surrogate \x00", {}, "lone \ud800 surrogate \x00"),
    ],
)
def test_inline_reasoning_is_not_part_of_the_reply(content, tags, text):
    marco = {"reasoning": ("<Thought>", "</Thought>"), "answer": ("<Output>", "</Output>")}
    reply = reply_of(completion(content).body, **(marco if tags else {}))
    assert isinstance(reply, Reply)
    assert reply.generation.text == text


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize(
    ("content", "finish_reason", "text", "error"),
    [
        ("A dog.", "stop", "A dog.", None),
        ("A dog", "length", "A dog", None),
        (None, "length", None, ErrorKind.TRUNCATED),
        (" ", "length", None, ErrorKind.TRUNCATED),
        ("", "stop", None, ErrorKind.EMPTY),
    ],
)
def test_reasoning_in_its_own_field_is_not_scored(name, content, finish_reason, text, error):
    reply = reply_of(completion(content, finish_reason, **{name: "A cat? A dog."}).body)
    assert isinstance(reply, Reply)
    assert (reply.generation.text, reply.generation.error) == (text, error)
    assert reply.generation.completion_tokens == 10
    if error is ErrorKind.TRUNCATED:
        assert reply.generation.detail == "the reply never leaves its reasoning"


@pytest.mark.parametrize(
    ("more", "tokens"),
    [
        ({"usage": None}, (None, None)),
        ({"usage": {"prompt_tokens": 3}}, (3, None)),
        ({"usage": {"prompt_tokens": "3", "completion_tokens": -1}}, (None, None)),
        ({"usage": []}, (None, None)),
        ({"usage": {"prompt_tokens": 10**13, "completion_tokens": True}}, (None, None)),
        ({"usage": {"prompt_tokens": 3, "completion_tokens": 0}}, (3, 0)),
    ],
)
def test_tokens_that_the_server_does_not_count_are_unknown(more, tokens):
    choice = {"finish_reason": "stop", "message": {"content": "A dog."}}
    reply = reply_of(envelope([choice], **more).body)
    assert isinstance(reply, Reply)
    assert (reply.generation.prompt_tokens, reply.generation.completion_tokens) == tokens


def test_model_and_fingerprint_are_read_if_they_are_names():
    choice = {"finish_reason": "stop", "message": {"content": "A dog."}}
    reply = reply_of(envelope([choice], model=7, system_fingerprint=None).body)
    assert isinstance(reply, Reply)
    assert (reply.model, reply.fingerprint) == (None, None)
    assert reply_of(envelope([choice]).body) == Reply(reply.generation, "served-1", "fp_1")


@pytest.mark.parametrize("body", ["", "{", "[]", "7", "[" * 100_000, json.dumps({"choices": [{"message": "A dog."}]})])
def test_an_invalid_completion_is_a_failed_request_that_is_retried(body):
    failure = reply_of(body)
    assert isinstance(failure, Failure)
    assert (failure.status, failure.codes, failure.remedy) == (200, ("malformed",), "retry")
