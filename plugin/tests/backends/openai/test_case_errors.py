"""Answers of hosted models without a reply: an error of that case, never a miss, never asked for twice."""

from __future__ import annotations

import pytest

from plugin.tests.backends.openai.fault_server import PROMPTS, Answer, completion, envelope, failing_at, refusal
from pytest_ocg.backends.base import ErrorKind

CASE_ERRORS = {
    "filtered": (completion(None, "content_filter"), ErrorKind.FILTERED, "finish_reason 'content_filter'"),
    "filtered by Gemini": (completion(None, "content_filter: SAFETY"), ErrorKind.FILTERED, "content_filter: SAFETY"),
    "filtered before it is read": (
        refusal(400, "The prompt triggered the policy", code="content_filter"),
        ErrorKind.FILTERED,
        "HTTP 400 content_filter: The prompt triggered the policy",
    ),
    "refused": (completion(None, refusal="I cannot help with that."), ErrorKind.REFUSED, "I cannot help with that."),
    "no choices": (envelope([]), ErrorKind.EMPTY, "the server sent no choice"),
    "choices null": (envelope(None), ErrorKind.EMPTY, "the server sent no choice"),
    "empty": (completion(""), ErrorKind.EMPTY, "the reply is empty"),
    "null": (completion(None), ErrorKind.EMPTY, "the reply is empty"),
    "cut off": (completion("", "length"), ErrorKind.TRUNCATED, "cut off before any answer"),
    "no message": (envelope([{"finish_reason": "length"}]), ErrorKind.TRUNCATED, "cut off before any answer"),
    "budget eaten": (
        completion("", "length", reasoning_content="Let me see"),
        ErrorKind.TRUNCATED,
        "the reply never leaves its reasoning",
    ),
    "never closed": (completion("<think>Let me see", "length"), ErrorKind.TRUNCATED, "never leaves its reasoning"),
    "unknown reason": (completion("A dog", "banana"), ErrorKind.BACKEND, "finish_reason 'banana' is neither"),
    "no reason": (completion("A dog", None), ErrorKind.BACKEND, "finish_reason 'None' is neither"),
    "a tool": (completion(None, "tool_calls"), ErrorKind.BACKEND, "finish_reason 'tool_calls' is neither"),
    "an error in a 200 reply": (Answer(body='{"error": "bad prompt"}'), ErrorKind.BACKEND, "HTTP 200: bad prompt"),
    "a prompt refused": (refusal(400, "Bad prompt", code="bad"), ErrorKind.BACKEND, "HTTP 400 bad: Bad prompt"),
}


@pytest.mark.parametrize(("answer", "kind", "detail"), CASE_ERRORS.values(), ids=CASE_ERRORS)
def test_an_answer_without_a_reply_is_an_error_of_its_kind_and_asked_for_once(hosted, answer, kind, detail):
    server = hosted.serve(failing_at("four", answer))
    made = hosted.backend_of(server).generate(PROMPTS)
    assert [generation.error for generation in made] == [None] * 3 + [kind] + [None] * 8
    assert detail in made[3].detail
    assert len(server.requests) == 12


def test_a_filtered_first_prompt_does_not_stop_the_run(hosted):
    made = hosted.backend_of(hosted.serve(failing_at("one", CASE_ERRORS["filtered before it is read"][0]))).generate(
        PROMPTS
    )
    assert [generation.error for generation in made] == [ErrorKind.FILTERED] + [None] * 11
