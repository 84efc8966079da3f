"""The server and the key of a hosted model: checked before anything is sent, and no secret is shown."""

from __future__ import annotations

import pytest

from pytest_ocg.backends.openai.server import NO_KEY, Server, read_key, server_of, without_key
from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.models import ModelSpec, load_registry

KEY = "sk-secret-5dfb"


def spec(base_url=None, key_variable=None):
    return ModelSpec("hosted", "openai", "served", base_url=base_url, key_variable=key_variable)


@pytest.mark.parametrize(
    ("given", "environment", "server"),
    [
        (spec(), {}, Server("https://api.openai.com/v1", "OPENAI_API_KEY", True)),
        (spec(), {"OPENAI_BASE_URL": ""}, Server("https://api.openai.com/v1", "OPENAI_API_KEY", True)),
        (spec(), {"OPENAI_BASE_URL": "http://gate/v1"}, Server("http://gate/v1", "OPENAI_API_KEY", False)),
        (spec("http://a/v1"), {"OPENAI_BASE_URL": "http://b"}, Server("http://a/v1", "OPENAI_API_KEY", False)),
        (spec("https://EU.api.openai.com/v1/"), {}, Server("https://eu.api.openai.com/v1", "OPENAI_API_KEY", True)),
        (spec("http://[::1]:8000/v1"), {}, Server("http://[::1]:8000/v1", "OPENAI_API_KEY", False)),
        (spec("https://notopenai.com", "MY_KEY"), {}, Server("https://notopenai.com", "MY_KEY", True)),
    ],
)
def test_the_server_is_that_of_the_model_else_of_the_environment_else_openai(given, environment, server):
    assert server_of(given, environment) == server


def test_gemini_has_its_own_endpoint_and_key():
    server = server_of(load_registry()["gemini-pro"], {})
    assert server == Server("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", True)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://a/v1", "http://", "http://a:b/v1", "http://a b/v1", "v1"])
def test_an_invalid_base_url_is_shown(url):
    with pytest.raises(ModelError) as refused:
        server_of(spec(url), {})
    assert str(refused.value) == f"the base URL of 'hosted' is not valid: {url!r}; use the form http://HOST:PORT/v1"


@pytest.mark.parametrize(
    "url", [f"http://user:{KEY}@a/v1", f"user:{KEY}@a/v1", f"http://a/v1?key={KEY}", f"http://a/v1#{KEY}"]
)
def test_a_base_url_that_may_hold_a_secret_is_refused_and_not_shown(url):
    with pytest.raises(ModelError) as refused:
        server_of(spec(url, "MY_KEY"), {})
    assert str(refused.value) == (
        "the base URL of 'hosted' contains credentials, a query or a fragment; use the form http://HOST:PORT/v1 and "
        "set the environment variable MY_KEY to the key"
    )


def test_the_key_comes_from_the_environment():
    assert read_key(server_of(spec(), {}), {"OPENAI_API_KEY": KEY}) == KEY
    assert read_key(server_of(spec("http://a", "MY_KEY"), {}), {"OPENAI_API_KEY": "no", "MY_KEY": KEY}) == KEY


def test_a_local_server_needs_no_key_but_gets_one_that_is_set():
    assert read_key(server_of(spec("http://127.0.0.1:8000/v1"), {}), {}) == NO_KEY
    assert read_key(server_of(spec("http://127.0.0.1:8000/v1"), {}), {"OPENAI_API_KEY": KEY}) == KEY


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (None, "https://api.openai.com/v1 needs a key and OPENAI_API_KEY is not set: set this variable to the key"),
        ("", "the key in OPENAI_API_KEY is blank: set it to the key for https://api.openai.com/v1, or unset it"),
        (" \n", "the key in OPENAI_API_KEY is blank"),
        (
            f"{KEY}\n",
            "the key in OPENAI_API_KEY contains white space, a line break or another character that is not allowed",
        ),
        (f" {KEY}", "set it again without, for example with export OPENAI_API_KEY=\"$(tr -d '[:space:]' < FILE)\""),
        (f"{KEY}\r", "contains white space, a line break or another character"),
        (f"{KEY}\N{EN DASH}", "another character that is not allowed in a key"),
    ],
)
def test_an_invalid_key_is_named_by_its_variable_and_never_shown(key, message):
    with pytest.raises(ModelError) as refused:
        read_key(server_of(spec(), {}), {} if key is None else {"OPENAI_API_KEY": key})
    assert message in str(refused.value)
    assert KEY not in str(refused.value)


def test_a_key_that_a_server_repeats_is_removed():
    assert without_key(f"Incorrect API key: {KEY}.", KEY) == "Incorrect API key: [key]."
    assert without_key("a no-key reply", NO_KEY) == "a no-key reply"
