"""Hosted models: many requests at the same time, replies in order, and each refusal of a server happens once."""

from __future__ import annotations

import threading

import pytest

from plugin.tests.backends.openai.fault_server import KEY, NUMBERS, PROMPTS, in_order, refusal
from pytest_ocg.backends import open_backend
from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.openai.backend import OpenAIBackend
from pytest_ocg.errors import BackendError, ModelError
from pytest_ocg.inputs.models import ModelSpec


def test_replies_come_in_the_order_of_their_prompts_with_their_tokens(hosted):
    server = hosted.serve()
    backend = hosted.backend_of(server)
    made = backend.generate(PROMPTS)
    assert [generation.text for generation in made] == [f"The dog, the catch, the {number}." for number in NUMBERS]
    assert {(one.finish_reason, one.prompt_tokens, one.completion_tokens) for one in made} == {("stop", 50, 10)}
    assert [request.key for request in server.requests] == [KEY] * 12
    body = server.requests[0].body
    assert {**body, "messages": 0} == {"model": "served", "messages": 0, "temperature": 0, "seed": 3, "max_tokens": 64}
    assert server.requests[0].roles == ["system", "user"]
    assert backend.generate([]) == []


def test_the_backend_opens_by_its_name(hosted):
    spec = ModelSpec("hosted", "openai", "served", base_url=hosted.serve().url)
    backend = open_backend(spec, GenerationSettings(), lambda text: None)
    assert backend.generate(PROMPTS[:1])[0].text == "The dog, the catch, the one."
    backend.close()
    with pytest.raises(BackendError, match="'hosted' was asked to generate after it was closed"):
        backend.generate(PROMPTS)
    with pytest.raises(
        ModelError, match=r"'m' needs the backend 'tgi', .* the backends are huggingface, openai, replay"
    ):
        open_backend(ModelSpec("m", "tgi", "served"), GenerationSettings(), lambda text: None)


def test_concurrency_is_limited_and_the_first_request_is_sent_alone(hosted):
    lock, flying, seen = threading.Lock(), [0], []
    full = threading.Barrier(3)

    def answer(request):
        with lock:
            flying[0] += 1
            seen.append(flying[0])
        if 1 <= request.number <= 9:
            full.wait(30)
        with lock:
            flying[0] -= 1
        return in_order(request)

    assert len(hosted.backend_of(hosted.serve(answer), concurrency=3).generate(PROMPTS)) == 12
    assert seen[0] == 1
    assert max(seen) == 3


def o1_mini(request):
    """What OpenAI's first reasoning models refuse, one thing at a time."""
    body = request.body
    if "max_tokens" in body:
        message = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return refusal(400, message, code="unsupported_parameter", param="max_tokens")
    if "system" in request.roles:
        message = "Unsupported value: 'messages[0].role' does not support 'system' with this model."
        return refusal(400, message, code="unsupported_value", param="messages[0].role")
    if "temperature" in body:
        message = (
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported."
        )
        return refusal(400, message, code="unsupported_value", param="temperature")
    return in_order(request)


def test_what_a_reasoning_model_refuses_is_left_out_after_one_request_each_and_reported(hosted):
    server, notices = hosted.serve(o1_mini), []
    backend = hosted.backend_of(server, notice=notices.append)
    assert [generation.error for generation in backend.generate(PROMPTS)] == [None] * 12
    assert len(server.requests) == 3 + 12
    last = server.requests[-1]
    assert {**last.body, "messages": 0} == {"model": "served", "messages": 0, "max_completion_tokens": 64, "seed": 3}
    [turn] = last.body["messages"]
    assert turn["content"].startswith("You are a helpful assistant. Please generate only an answer.\n\nConcepts: dog")
    assert notices == [
        "hosted: the server needs the parameter max_completion_tokens instead of max_tokens",
        "hosted: the server does not accept a system role: the system text is put in front of the first user turn",
        "hosted: the server does not accept temperature 0: it decodes with its default, not greedily",
    ]
    made = backend.provenance()
    assert made["effective_decoding"] == {"temperature": None, "seed": 3, "max_completion_tokens": 64}
    assert made["system_role"] == "folded"
    backend.generate(PROMPTS)
    assert len(server.requests) == 3 + 24


def test_after_a_refusal_in_mid_batch_all_requests_under_way_adapt(hosted):
    server, notices = hosted.serve(lambda request: o1_mini(request) if request.number else in_order(request)), []
    made = hosted.backend_of(server, notice=notices.append).generate(PROMPTS)
    assert [generation.error for generation in made] == [None] * 12
    assert len(notices) == 3


def test_provenance_has_the_reported_model_and_identity_needs_no_network(hosted):
    backend = hosted.backend_of(hosted.serve(), reasoning=("<t>", "</t>"), revision="abc")
    identity = backend.identity()
    assert identity == {
        "backend": "openai",
        "source": "served",
        "revision": "abc",
        "base_url": identity["base_url"],
        "max_new_tokens": 64,
        "temperature": 0,
        "seed": 3,
        "reasoning": ["<t>", "</t>"],
        "answer": None,
    }
    assert backend.provenance()["reported_models"] == []
    backend.generate(PROMPTS)
    made = backend.provenance()
    assert (made["reported_models"], made["system_fingerprints"]) == (["served-1"], ["fp_1"])
    assert (made["system_role"], made["batch_size"]) == ("native", 32)
    assert backend.identity() == identity
    assert KEY not in str(made)


def test_an_invalid_key_is_reported_before_any_request(hosted, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    server = hosted.serve()
    backend = hosted.backend_of(server)
    for call in (backend.identity, lambda: backend.generate(PROMPTS)):
        with pytest.raises(ModelError, match="OPENAI_API_KEY contains white space, a line break") as refused:
            call()
        assert KEY not in str(refused.value)
    assert server.requests == []


def test_a_batch_is_eight_times_the_concurrency_by_default():
    spec = ModelSpec("hosted", "openai", "served")
    assert OpenAIBackend(spec, GenerationSettings()).preferred_batch_size() == 128
    assert OpenAIBackend(spec, GenerationSettings(concurrency=3)).preferred_batch_size() == 24
    assert OpenAIBackend(spec, GenerationSettings(concurrency=3, batch_size=7)).preferred_batch_size() == 7
