"""The server of a hosted model, and its key."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.models import ModelSpec

OPENAI_URL = "https://api.openai.com/v1"
URL_VARIABLE = "OPENAI_BASE_URL"
KEY_VARIABLE = "OPENAI_API_KEY"
NO_KEY = "no-key"


@dataclass(frozen=True, slots=True)
class Server:
    """An OpenAI-compatible server: its URL without credentials, and the environment variable that holds the key.

    If `needs_key` is False, the variable may be unset: most local servers need no key.
    """

    url: str
    key_variable: str
    needs_key: bool


def server_of(spec: ModelSpec, environment: Mapping[str, str] = os.environ) -> Server:
    """The server in the spec, else in the environment, else OpenAI's; raises ModelError for an invalid URL."""
    text = spec.base_url or environment.get(URL_VARIABLE) or OPENAI_URL
    variable = spec.key_variable or KEY_VARIABLE
    if "@" in text or "?" in text or "#" in text:  # not shown, because it may contain a secret
        raise ModelError(
            f"the base URL of {spec.name!r} contains credentials, a query or a fragment; "
            f"use the form http://HOST:PORT/v1 and set the environment variable {variable} to the key"
        )
    try:
        parts = urlsplit(text)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_url = False
    if not is_url or not text.isprintable() or " " in text:
        raise ModelError(f"the base URL of {spec.name!r} is not valid: {text!r}; use the form http://HOST:PORT/v1")
    host = parts.hostname or ""
    is_openai = host == "openai.com" or host.endswith(".openai.com")
    url = f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"
    return Server(url, variable, needs_key=spec.key_variable is not None or is_openai)


def read_key(server: Server, environment: Mapping[str, str] = os.environ) -> str:
    """The key from the environment, or a placeholder if the server needs none; raises ModelError for an invalid key."""
    key, variable = environment.get(server.key_variable), server.key_variable
    if key is None:
        if not server.needs_key:
            return NO_KEY
        raise ModelError(f"{server.url} needs a key and {variable} is not set: set this variable to the key")
    if not key.strip():
        raise ModelError(f"the key in {variable} is blank: set it to the key for {server.url}, or unset it")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelError(
            f"the key in {variable} contains white space, a line break or another character that is not allowed in a "
            f"key: set it again without, for example with export {variable}=\"$(tr -d '[:space:]' < FILE)\""
        )
    return key


def without_key(text: str, key: str) -> str:
    """The text with `[key]` in place of the key, because some servers repeat it."""
    return text if key == NO_KEY else text.replace(key, "[key]")
