"""Failed requests: the message in any shape, the time to wait, and how each failure is handled."""

from __future__ import annotations

import json
import time
from email.utils import formatdate

import pytest

from pytest_ocg.backends.openai.answers import Failure, Remedy, failure_of
from pytest_ocg.backends.openai.backend import RETRY_LIMITS, Pace, RetryLimits
from pytest_ocg.backends.openai.client import Clock


@pytest.mark.parametrize(
    ("status", "body", "shown"),
    [
        (400, {"error": {"message": "No.", "code": "bad", "type": "invalid"}}, "HTTP 400 bad: No."),
        (400, {"error": {"message": "No.", "code": 400, "type": "BadRequestError"}}, "HTTP 400 badrequesterror: No."),
        (400, {"object": "error", "message": "No.", "type": "Bad"}, "HTTP 400 bad: No."),
        (400, [{"error": {"message": "No.", "status": "INVALID_ARGUMENT"}}], "HTTP 400 invalid_argument: No."),
        (422, {"detail": "No."}, "HTTP 422: No."),
        (422, {"detail": [{"loc": ["seed"]}]}, 'HTTP 422: [{"loc": ["seed"]}]'),
        (500, {"error": "No."}, "HTTP 500: No."),
        (500, {"error": None}, "HTTP 500"),
        (500, [], "HTTP 500"),
        (500, {"error": {"message": "a\nb\x1b[31m" + "c" * 999}}, "HTTP 500: a b [31m" + "c" * 292),
    ],
)
def test_a_message_of_any_shape_is_shown_on_one_line(status, body, shown):
    assert str(failure_of(status, json.dumps(body), {})) == shown


def test_a_page_of_a_proxy_is_not_shown():
    assert str(failure_of(502, "<html>Bad Gateway</html>", {})) == "HTTP 502"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "Mon, 30 Nov 2020 10:00:00 GMT"}, 0.0),
    ],
)
def test_the_time_to_wait_is_read_in_seconds_or_as_a_date(headers, seconds):
    assert failure_of(429, "", headers).wait_seconds == seconds


def test_a_date_in_the_future_is_a_time_to_wait():
    asked = failure_of(429, "", {"retry-after": formatdate(time.time() + 1000, usegmt=True)}).wait_seconds
    assert asked is not None
    assert 900 < asked <= 1000


@pytest.mark.parametrize(
    ("failure", "remedy"),
    [
        (Failure("reset"), Remedy.RETRY),
        (Failure("", 429), Remedy.RETRY),
        (Failure("", 500), Remedy.RETRY),
        (Failure("", 529), Remedy.RETRY),
        (Failure("", 409), Remedy.RETRY),
        (Failure("", 200, ("malformed",)), Remedy.RETRY),
        (Failure("", 429, ("insufficient_quota",)), Remedy.STOP),
        (Failure("", 401), Remedy.STOP),
        (Failure("", 402), Remedy.STOP),
        (Failure("", 403), Remedy.STOP),
        (Failure("", 404), Remedy.STOP),
        (Failure("", 400, ("model_not_found",)), Remedy.STOP),
        (Failure("", 400), Remedy.SKIP),
        (Failure("", 413), Remedy.SKIP),
        (Failure("", 200), Remedy.SKIP),
        (Failure("", 400, ("content_filter",)), Remedy.SKIP),
        (Failure("", 403, ("content_policy_violation",)), Remedy.SKIP),
    ],
    ids=str,
)
def test_how_a_failure_is_handled(failure, remedy):
    assert failure.remedy is remedy


def test_the_filter_of_azure_is_recognised_by_its_inner_code():
    error = {"code": "400", "message": "No.", "innererror": {"code": "ResponsibleAIPolicyViolation"}}
    assert failure_of(400, json.dumps({"error": error}), {}).error_kind == "filtered"


def test_pauses_double_up_to_a_limit_and_are_the_same_for_the_same_seed():
    limits = RetryLimits(first_pause_seconds=1, longest_pause_seconds=8)
    pauses = [Pace(limits, 3, Clock()).pause_seconds(attempts) for attempts in (1, 2, 3, 4, 5, 5000)]
    for pause, longest in zip(pauses, (1, 2, 4, 8, 8, 8), strict=True):
        assert longest / 2 <= pause <= longest
    one, other, third = (Pace(RETRY_LIMITS, seed, Clock()) for seed in (3, 3, 4))
    drawn = [[pace.pause_seconds(attempts) for attempts in range(1, 9)] for pace in (one, other, third)]
    assert drawn[0] == drawn[1] != drawn[2]
