"""Hosted models that fail for a while: asked again within limits, and if one request has to wait, all wait."""

from __future__ import annotations

import asyncio
import threading

import pytest

from plugin.tests.backends.openai.fault_server import (
    PROMPTS,
    QUICK,
    RESET,
    SILENCE,
    Answer,
    PlayedClock,
    failing_at,
    in_order,
    refusal,
)
from pytest_ocg.backends.base import ErrorKind
from pytest_ocg.backends.openai.backend import RetryLimits
from pytest_ocg.backends.openai.client import Clock


@pytest.mark.parametrize(
    "failure",
    [
        refusal(500, "The server had an error"),
        Answer(502, "<html>Bad Gateway</html>"),
        refusal(503, "overloaded", headers={"Retry-After": "0"}),
        refusal(429, "Rate limit reached", code="rate_limit_exceeded", headers={"Retry-After": "0.01"}),
        refusal(429, "Rate limit reached", headers={"Retry-After": "Mon, 30 Nov 2020 10:00:00 GMT"}),
        refusal(429, "Rate limit reached", headers={"retry-after-ms": "5", "Retry-After": "900"}),
        Answer(429, '[{"error": {"status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "0.01s"}]}}]'),
        refusal(408, "Timeout"),
        RESET,
        Answer(body='{"choices": [{"message": {"content": "The do'),
        Answer(body='{"choices": []}' + " " * 500, cut_at=9),
        Answer(body='{"error": {"message": "Provider overloaded", "code": 503}}'),
        Answer(body="[]"),
        Answer(body='{"choices": [{"message": {"content": 7}, "finish_reason": "stop"}]}'),
        Answer(body='{"choices": [null]}'),
    ],
    ids=str,
)
def test_temporary_failures_are_retried_and_no_reply_is_lost(hosted, failure):
    server = hosted.serve(failing_at("four", failure, failure, None))
    made = hosted.backend_of(server).generate(PROMPTS)
    assert [generation.error for generation in made] == [None] * 12
    assert len(server.requests) == 12 + 2


@pytest.mark.parametrize(
    ("failure", "kind", "detail"),
    [
        (
            refusal(500, "The server\nhad an error"),
            ErrorKind.BACKEND,
            "HTTP 500: The server had an error (asked 5 times)",
        ),
        (RESET, ErrorKind.BACKEND, "the connection to http://127.0.0.1"),
        (Answer(502, "<html>Bad Gateway</html>"), ErrorKind.BACKEND, "HTTP 502 (asked 5 times)"),
        (Answer(body='{"choices'), ErrorKind.BACKEND, "HTTP 200 malformed: the answer is cut off or not JSON"),
    ],
)
def test_retries_are_limited_and_then_the_case_is_an_error(hosted, failure, kind, detail):
    server = hosted.serve(failing_at("four", failure))
    made = hosted.backend_of(server).generate(PROMPTS)
    assert [generation.error for generation in made] == [None] * 3 + [kind] + [None] * 8
    assert detail in made[3].detail
    assert sum("four" in request.words for request in server.requests) == QUICK.attempts


def test_a_server_that_never_answers_is_a_timeout(hosted):
    clock = PlayedClock()

    def answer(request):
        if "four" not in request.words:
            return in_order(request)
        clock.run_out()
        return SILENCE

    limits = RetryLimits(attempt_seconds=4, total_seconds=40, attempts=2)
    server = hosted.serve(answer)
    made = hosted.backend_of(server, limits=limits, clock=clock, concurrency=1).generate(PROMPTS)
    assert [place for place, generation in enumerate(made) if generation.error] == [3]
    assert made[3].error is ErrorKind.TIMEOUT
    assert made[3].detail == f"no answer from {server.url} within 4 seconds (asked 2 times)"
    assert sum("four" in request.words for request in server.requests) == 2


@pytest.mark.parametrize(
    ("headers", "asked", "waited"),
    [({}, range(6, 20), (3.0, 3.4)), ({"Retry-After": "2"}, [2], (4.0, 4.0)), ({"Retry-After": "1"}, [3], (3.0, 3.0))],
)
def test_repeated_requests_to_wait_end_at_the_deadline(hosted, headers, asked, waited):
    clock = PlayedClock()
    limits = RetryLimits(total_seconds=3, attempts=2, first_pause_seconds=0.2, longest_pause_seconds=0.4)
    refused = refusal(429, "Rate limit reached", code="rate_limit_exceeded", headers=headers)
    server = hosted.serve(failing_at("four", refused))
    made = hosted.backend_of(server, limits=limits, clock=clock, concurrency=1).generate(PROMPTS)
    assert [place for place, generation in enumerate(made) if generation.error] == [3]
    assert made[3].error is ErrorKind.TIMEOUT
    times = sum("four" in request.words for request in server.requests)
    assert made[3].detail == f"HTTP 429 rate_limit_exceeded: Rate limit reached (asked {times} times)"
    assert times in asked
    assert waited[0] <= clock.seconds <= waited[1]  # later requests wait as long as the server asks


def test_if_one_request_has_to_wait_all_wait(hosted):
    clock = PlayedClock(together=4)
    together = threading.Barrier(4)
    moments = []

    def answer(request):
        moments.append(clock.seconds)
        if 1 <= request.number <= 4:
            together.wait(30)
            return refusal(429, "slow down", headers={"Retry-After": "0.4"})
        return in_order(request)

    server = hosted.serve(answer)
    assert [generation.error for generation in hosted.backend_of(server, clock=clock).generate(PROMPTS)] == [None] * 12
    assert moments == [0.0] * 5 + [0.4] * 11


def test_the_clock_of_a_backend_is_that_of_its_loop():
    async def measured():
        clock, loop = Clock(), asyncio.get_running_loop()
        before = clock.now()
        await clock.sleep(0.01)
        assert before + 0.01 <= clock.now() <= loop.time()
        with pytest.raises(TimeoutError):
            async with clock.timeout(0.01):
                await asyncio.Event().wait()

    asyncio.run(measured())
