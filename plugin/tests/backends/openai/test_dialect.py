"""Messages of servers that do not accept a part of a request, and the request that follows."""

from __future__ import annotations

import json

import pytest

from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.openai.answers import failure_of
from pytest_ocg.backends.openai.dialect import Dialect, adapt_dialect
from pytest_ocg.inputs.prompts import Message

SETTINGS = GenerationSettings(max_new_tokens=64, seed=3)
MESSAGES = (Message("system", "Be brief."), Message("user", "Write."))
UNSUPPORTED = {"code": "unsupported_parameter", "type": "invalid_request_error"}


def failure(content, status=400):
    return failure_of(status, json.dumps(content), {})


@pytest.mark.parametrize(
    ("content", "changed"),
    [
        (
            {"error": {"message": "Use 'max_completion_tokens' instead.", "param": "max_tokens", **UNSUPPORTED}},
            Dialect(cap="max_completion_tokens"),
        ),
        ({"error": {"message": "no", "param": "temperature", **UNSUPPORTED}}, Dialect(omitted=("temperature",))),
        (
            {"error": {"message": "Unsupported value: 'messages[0].role' does not support 'system' with this model."}},
            Dialect(folds_system=True),
        ),
        ({"object": "error", "message": "System role not supported", "code": 400}, Dialect(folds_system=True)),
        (
            {"message": "Conversation roles must alternate user/assistant/user/assistant/..."},
            Dialect(folds_system=True),
        ),
        ({"message": "Only user and assistant roles are supported!"}, Dialect(folds_system=True)),
        (
            [{"error": {"message": "Developer instruction is not enabled for models/gemma-3", "status": "INVALID"}}],
            Dialect(folds_system=True),
        ),
        (
            [{"error": {"message": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'}}],
            Dialect(omitted=("seed",)),
        ),
        ({"detail": "Unexpected fields in the request: {'seed'}"}, Dialect(omitted=("seed",))),
        (
            {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs"}]},
            Dialect(omitted=("seed",)),
        ),
    ],
)
def test_a_refused_part_is_changed(content, changed):
    found = adapt_dialect(Dialect(), failure(content))
    assert found is not None
    assert found.dialect == changed
    assert adapt_dialect(changed, failure(content)) is None


@pytest.mark.parametrize(
    "content",
    [
        {
            "error": {
                "message": "max_tokens is too large: 4096. This model supports at most 2048",
                "param": "max_tokens",
            }
        },
        {"error": {"message": "This model's maximum context length is 512 tokens"}},
        {"error": {"message": "Unknown model 'x'", "param": "model"}},
        {"error": {"message": "The server had an error", "type": "server_error"}},
        {"error": {"message": "An error in the operating system, role unclear"}},
        {"error": {"message": "top_p is not supported", "param": "top_p"}},
        {},
    ],
)
def test_other_failures_change_nothing(content):
    assert adapt_dialect(Dialect(), failure(content)) is None


def test_the_cap_is_never_omitted():
    content = {"error": {"message": "Unsupported parameter: 'max_completion_tokens'", "param": "max_completion_tokens"}}
    assert adapt_dialect(Dialect(cap="max_completion_tokens"), failure(content)) is None


def test_sent_and_effective_parameters_follow_the_dialect():
    plain = Dialect()
    assert plain.parameters(SETTINGS) == plain.effective(SETTINGS) == {"temperature": 0, "seed": 3, "max_tokens": 64}
    assert [turn["role"] for turn in plain.sent_messages(MESSAGES)] == ["system", "user"]
    reduced = Dialect("max_completion_tokens", ("temperature",), folds_system=True)
    assert reduced.parameters(SETTINGS) == {"seed": 3, "max_completion_tokens": 64}
    assert reduced.effective(SETTINGS) == {"temperature": None, "seed": 3, "max_completion_tokens": 64}
    assert reduced.sent_messages(MESSAGES) == [{"role": "user", "content": "Be brief.\n\nWrite."}]
