"""One request with the openai package: without its retries and its environment variables."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.openai.answers import Failure, Reply, failure_of, reply_of
from pytest_ocg.backends.openai.dialect import Dialect
from pytest_ocg.backends.openai.server import Server, read_key, without_key
from pytest_ocg.inputs.models import ModelSpec
from pytest_ocg.inputs.prompts import Prompt

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class Clock:
    """The clock for time limits and pauses of requests: that of the running event loop."""

    def now(self) -> float:
        """The time in seconds since an arbitrary start."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """A context that cancels its body with TimeoutError after so many seconds."""
        return asyncio.timeout(seconds)


class Client:
    """Connections to a server; the first request opens them."""

    def __init__(self, server: Server, spec: ModelSpec, settings: GenerationSettings, clock: Clock) -> None:
        self._server = server
        self._spec = spec
        self._settings = settings
        self._clock = clock
        self._openai: AsyncOpenAI | None = None
        self._key = ""

    async def ask(self, prompt: Prompt, dialect: Dialect, seconds: float) -> Reply | Failure:
        """The result of one request for this prompt within so many seconds; no text in it contains the key."""
        import openai

        if self._openai is None:
            self._key = read_key(self._server)
            self._openai = openai.AsyncOpenAI(api_key=self._key, base_url=self._server.url, max_retries=0, timeout=None)
        parameters: dict[str, Any] = dialect.parameters(self._settings)
        messages: Any = dialect.sent_messages(prompt.messages)
        try:
            async with self._clock.timeout(seconds):
                raw = await self._openai.chat.completions.with_raw_response.create(
                    model=self._spec.source, messages=messages, **parameters
                )
        except TimeoutError:
            return Failure(f"no answer from {self._server.url} within {seconds:.3g} seconds", is_timeout=True)
        except openai.APIStatusError as error:
            return failure_of(error.status_code, self._cleaned(error.response.text), error.response.headers)
        except openai.APIConnectionError as error:
            cause = type(error.__cause__ or error).__name__
            return Failure(self._cleaned(f"the connection to {self._server.url} failed: {cause} {error.__cause__}"))
        # We parse the raw text ourselves: the package accepts any JSON as a completion and then fails on it.
        return reply_of(self._cleaned(raw.text), reasoning=self._spec.reasoning, answer=self._spec.answer)

    async def close(self) -> None:
        """Close the connections."""
        if self._openai is not None:
            await self._openai.close()

    def _cleaned(self, text: str) -> str:
        return without_key(text, self._key)
