"""Which server a hosted model is asked at, and with what key."""

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

    Without `needs_key` the variable may be unset, as it is for most servers of one's own.
    """

    url: str
    key_variable: str
    needs_key: bool


def server_of(spec: ModelSpec, environment: Mapping[str, str] = os.environ) -> Server:
    """The server of the spec, else the one the environment names, else OpenAI's; raises ModelError for a bad URL."""
    text = spec.base_url or environment.get(URL_VARIABLE) or OPENAI_URL
    variable = spec.key_variable or KEY_VARIABLE
    if "@" in text or "?" in text or "#" in text:  # not shown: what stands there may be a secret
        raise ModelError(
            f"the base URL of {spec.name!r} carries credentials or a query; "
            f"give it as http://HOST:PORT/v1 and put the key into the environment variable {variable}"
        )
    try:
        parts = urlsplit(text)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_url = False
    if not is_url or not text.isprintable() or " " in text:
        raise ModelError(f"the base URL of {spec.name!r} is {text!r}; give it as http://HOST:PORT/v1")
    host = parts.hostname or ""
    is_openai = host == "openai.com" or host.endswith(".openai.com")
    url = f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"
    return Server(url, variable, needs_key=spec.key_variable is not None or is_openai)


def read_key(server: Server, environment: Mapping[str, str] = os.environ) -> str:
    """The key from the environment, a stand-in where none is needed; raises ModelError for one that cannot be right."""
    key, variable = environment.get(server.key_variable), server.key_variable
    if key is None:
        if not server.needs_key:
            return NO_KEY
        raise ModelError(f"{server.url} wants a key and {variable} is not set: put the key into this variable")
    if not key.strip():
        raise ModelError(f"the key in {variable} is blank: put the key for {server.url} into it, or unset it")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelError(
            f"the key in {variable} has white space or a line break in it, or a character that no key has: "
            f"set it again without, as in export {variable}=\"$(tr -d '[:space:]' < FILE)\""
        )
    return key


def without_key(text: str, key: str) -> str:
    """The text with the key, should a server repeat it, taken out."""
    return text if key == NO_KEY else text.replace(key, "[key]")
