"""Hosted models that cannot continue: one message, and no reply is lost."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from plugin.tests.backends.openai.fault_server import (
    KEY,
    NUMBERS,
    PROMPTS,
    RESET,
    SILENCE,
    Answer,
    FaultServer,
    in_order,
    refusal,
)
from pytest_ocg.backends.base import GenerationStopped
from pytest_ocg.backends.openai.backend import RetryLimits

STOPS = {
    "no credit": (
        refusal(429, "You exceeded your current quota", code="insufficient_quota", type="insufficient_quota"),
        "hosted: the account of the key in OPENAI_API_KEY has no credit left: top it up or use another; the "
        "replies so far are kept, and the next run continues from there (HTTP 429 insufficient_quota: You exceeded",
    ),
    "no credit by status": (refusal(402, "Insufficient Balance"), "has no credit left"),
    "a wrong key": (
        refusal(401, f"Incorrect API key provided: {KEY}.", code="invalid_api_key"),
        "refuses the key in OPENAI_API_KEY: set it to a key that may use 'served' (HTTP 401 invalid_api_key: "
        "Incorrect API key provided: [key].)",
    ),
    "no access": (refusal(403, "Project has no access"), "set it to a key that may use 'served' (HTTP 403"),
    "no model": (
        refusal(404, "The model `served` does not exist", code="model_not_found"),
        "has no model 'served': pass openai:NAME with a model that it serves, and check that --ocg-base-url ends as",
    ),
    "a long wait": (
        refusal(429, "Limit reached for requests per day", headers={"Retry-After": "28800"}),
        "asks to wait 28,800 seconds: run again after that; the replies so far are kept",
    ),
}


@pytest.mark.parametrize(("failure", "message"), STOPS.values(), ids=STOPS)
def test_a_failure_of_all_requests_stops_the_run_with_one_message_after_one_request(hosted, failure, message):
    server = hosted.serve(lambda request: failure)
    backend = hosted.backend_of(server)
    with pytest.raises(GenerationStopped) as stopped:
        backend.generate(PROMPTS)
    assert message in str(stopped.value)
    assert KEY not in str(stopped.value)
    assert (len(server.requests), stopped.value.made) == (1, {})
    with pytest.raises(GenerationStopped) as again:
        backend.generate(PROMPTS)
    assert str(again.value) == str(stopped.value)
    assert len(server.requests) == 1


def test_a_first_request_that_is_refused_stops_the_run(hosted):
    server = hosted.serve(lambda request: Answer(400, "{\"detail\": \"Server is pinned to 'a'; requested 'served'.\"}"))
    message = (
        f"hosted: {server.url} refuses the request: check that it serves 'served' and accepts such requests "
        "(HTTP 400: Server is pinned to 'a'; requested 'served'.)"
    )
    with pytest.raises(GenerationStopped) as stopped:
        hosted.backend_of(server).generate(PROMPTS)
    assert str(stopped.value) == message


def test_no_credit_in_the_middle_keeps_all_replies_and_completes_requests_under_way(hosted):
    out_of_credit = threading.Event()

    def answer(request):
        if "five" in request.words:
            out_of_credit.set()
            return STOPS["no credit"][0]
        if "four" in request.words or "three" in request.words:
            out_of_credit.wait(30)
            time.sleep(0.05)
        return in_order(request) if request.words.split()[-1] in NUMBERS[:4] else STOPS["no credit"][0]

    server = hosted.serve(answer)
    with pytest.raises(GenerationStopped) as stopped:
        hosted.backend_of(server).generate(PROMPTS)
    assert sorted(stopped.value.made) == [0, 1, 2, 3]
    assert {generation.error for generation in stopped.value.made.values()} == {None}


def test_a_server_that_stops_answering_stops_the_run(hosted):
    server = hosted.serve(lambda request: RESET if request.number else in_order(request))
    limits = RetryLimits(attempts=2, first_pause_seconds=0.01, failures_in_a_row=5)
    with pytest.raises(GenerationStopped, match=r"5 requests in a row to http://\S+ got no reply: run again when"):
        hosted.backend_of(server, limits=limits).generate(PROMPTS)
    assert len(server.requests) < 2 * 12


def test_a_server_that_does_not_exist_is_reported(hosted):
    with FaultServer() as server:
        pass
    limits = RetryLimits(attempts=2, first_pause_seconds=0.01, failures_in_a_row=3)
    with pytest.raises(GenerationStopped, match=r"the connection to http://127.0.0.1:\d+/v1 failed: ConnectError"):
        hosted.backend_of(server, limits=limits).generate(PROMPTS)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_keeps_the_replies_so_far(hosted):
    def answer(request):
        if request.number == 6:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return in_order(request) if request.number < 6 else SILENCE

    with pytest.raises(GenerationStopped, match="hosted: interrupted; the replies so far are kept") as stopped:
        hosted.backend_of(hosted.serve(answer), concurrency=1).generate(PROMPTS)
    assert sorted(stopped.value.made) == [0, 1, 2, 3, 4, 5]
