"""Generation by a server that speaks OpenAI's chat completions: OpenAI, Gemini, vLLM, SGLang, llama.cpp and others."""

from __future__ import annotations

import asyncio
import itertools
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from pytest_ocg.backends.base import ErrorKind, Generation, GenerationSettings, GenerationStopped
from pytest_ocg.backends.openai.answers import RESUME_HINT, Failure, Remedy, Reply, reason_to_stop
from pytest_ocg.backends.openai.client import Client, Clock
from pytest_ocg.backends.openai.dialect import Dialect, adapt_dialect
from pytest_ocg.backends.openai.server import read_key, server_of
from pytest_ocg.errors import BackendError
from pytest_ocg.inputs.models import ModelSpec
from pytest_ocg.inputs.prompts import Prompt


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """The limits of waiting: for one answer, for all attempts of one request, and for the pauses between them.

    `attempts` limits failures of the connection or the server; answers that ask to wait are limited by `total_seconds`
    only. After `failures_in_a_row` requests without a reply no more requests are sent.
    """

    attempt_seconds: float = 120.0
    total_seconds: float = 600.0
    attempts: int = 5
    first_pause_seconds: float = 0.5
    longest_pause_seconds: float = 30.0
    failures_in_a_row: int = 32


RETRY_LIMITS = RetryLimits()


class Pace:
    """The time of the next request: if the server asks one request to wait, all requests wait."""

    def __init__(self, limits: RetryLimits, seed: int, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._random = random.Random(seed)
        self._not_before = 0.0

    def hold(self, seconds: float) -> None:
        """Send no request for so many seconds."""
        self._not_before = max(self._not_before, self._clock.now() + seconds)

    async def wait_turn(self, deadline: float = math.inf) -> bool:
        """True once a request may be sent; False at once if that is not before the deadline, a time on the clock."""
        now = self._clock.now
        while now() < self._not_before < deadline:
            await self._clock.sleep(self._not_before - now())
        return max(now(), self._not_before) < deadline

    def pause_seconds(self, attempts: int) -> float:
        """The pause after so many attempts: it doubles with each, times a random factor from 0.5 to 1."""
        limits = self._limits
        doubled = limits.first_pause_seconds * 2.0 ** min(attempts - 1, 32)
        return min(doubled, limits.longest_pause_seconds) * self._random.uniform(0.5, 1.0)


ROUNDS_A_BATCH = 8


class OpenAIBackend:
    """A hosted model, asked over HTTP with up to `settings.concurrency` requests at the same time.

    The first request is sent alone, so that a wrong key or a refused parameter fails once and not many times.
    """

    def __init__(
        self,
        spec: ModelSpec,
        settings: GenerationSettings,
        notice: Callable[[str], None] = lambda text: None,
        limits: RetryLimits = RETRY_LIMITS,
        clock: Clock | None = None,
    ) -> None:
        self._spec = spec
        self._settings = settings
        self._notice = notice
        self._limits = limits
        self._clock = clock or Clock()
        self._pace = Pace(limits, settings.seed, self._clock)
        self._dialect = Dialect()
        self._runner: asyncio.Runner | None = None
        self._client: Client | None = None
        self._models: set[str] = set()
        self._fingerprints: set[str] = set()
        self._has_answered = False
        self._failures_in_a_row = 0
        self._stop_reason: str | None = None
        self._is_closed = False

    def identity(self) -> Mapping[str, Any]:
        """Model, server and requested decoding: everything that can change a reply except its prompt; sends no request.

        Raises ModelError for an invalid base URL or key.
        """
        server, spec, settings = server_of(self._spec), self._spec, self._settings
        read_key(server)
        return {
            "backend": "openai",
            "source": spec.source,
            "revision": spec.revision,
            "base_url": server.url,
            "max_new_tokens": settings.max_new_tokens,
            "temperature": 0,
            "seed": settings.seed,
            "reasoning": list(spec.reasoning) if spec.reasoning else None,
            "answer": list(spec.answer) if spec.answer else None,
        }

    def preferred_batch_size(self) -> int:
        """As in the settings, else eight times the concurrency: few waits at batch ends, and a kill loses little."""
        return self._settings.batch_size or ROUNDS_A_BATCH * self._settings.concurrency

    def generate(self, prompts: Sequence[Prompt]) -> list[Generation]:
        """One generation per prompt, in order; a request without a reply is an error of its own prompt.

        Raises GenerationStopped, with the generations so far, if more requests make no sense: no credit, a wrong key,
        an unknown model, a server that does not answer, an interruption. Raises ModelError for an invalid key.
        """
        if self._is_closed:
            raise BackendError(f"model {self._spec.name!r} was asked to generate after it was closed")
        if self._stop_reason is not None:
            raise GenerationStopped(self._stop_reason)
        if self._runner is None or self._client is None:
            self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
            self._client = Client(server_of(self._spec), self._spec, self._settings, self._clock)
        made: dict[int, Generation] = {}
        try:
            self._runner.run(self._answer_all(self._client, prompts, made))
        except KeyboardInterrupt as interrupt:
            raise GenerationStopped(f"{self._spec.name}: interrupted; {RESUME_HINT}", made) from interrupt
        if self._stop_reason is not None:
            raise GenerationStopped(self._stop_reason, made)
        return [made[place] for place in range(len(prompts))]

    def provenance(self) -> Mapping[str, Any]:
        """The identity, the parameters that were sent in the end, and what the server reports about itself."""
        return {
            **self.identity(),
            "batch_size": self.preferred_batch_size(),
            "versions": {"openai": metadata.version("openai")},
            "system_role": "folded" if self._dialect.folds_system else "native",
            "effective_decoding": self._dialect.effective(self._settings),
            "reported_models": sorted(self._models),
            "system_fingerprints": sorted(self._fingerprints),
        }

    def close(self) -> None:
        """Close the connections."""
        self._is_closed = True
        if self._runner is not None and self._client is not None:
            self._runner.run(self._client.close())
            self._runner.close()
        self._runner = self._client = None

    async def _answer_all(self, client: Client, prompts: Sequence[Prompt], made: dict[int, Generation]) -> None:
        queue = iter(enumerate(prompts))
        if not self._has_answered:
            await self._work(client, itertools.islice(queue, 1), made)
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._settings.concurrency, len(prompts))):
                group.create_task(self._work(client, queue, made))

    async def _work(self, client: Client, queue: Iterable[tuple[int, Prompt]], made: dict[int, Generation]) -> None:
        """Answer one prompt after the other until none is left or the run stops; requests under way are completed."""
        for place, prompt in queue:
            generation = await self._answer(client, prompt)
            if generation is not None:
                made[place] = generation

    async def _answer(self, client: Client, prompt: Prompt) -> Generation | None:
        """The generation for a prompt, None if the run stops before there is one."""
        await self._pace.wait_turn()
        now, limits = self._clock.now, self._limits
        deadline = now() + limits.total_seconds
        attempts = failures = 0
        while self._stop_reason is None:
            dialect = self._dialect
            outcome = await client.ask(prompt, dialect, min(limits.attempt_seconds, deadline - now()))
            if isinstance(outcome, Reply):
                return self._accept(outcome)
            if self._adapts_to(outcome, dialect):
                continue
            if outcome.remedy is Remedy.STOP or (outcome.wait_seconds or 0) > limits.total_seconds:
                self._stop(outcome)
                break
            attempts += 1
            failures += outcome.status != 429
            if outcome.remedy is Remedy.SKIP or failures == limits.attempts:
                return self._give_up(outcome, attempts)
            if outcome.wait_seconds is None:
                await self._clock.sleep(self._pace.pause_seconds(attempts))
            else:
                self._pace.hold(outcome.wait_seconds)
            if not await self._pace.wait_turn(deadline):
                return self._give_up(outcome, attempts)
        return None

    def _accept(self, reply: Reply) -> Generation:
        self._has_answered = True
        self._failures_in_a_row = 0
        self._models.update(filter(None, [reply.model]))
        self._fingerprints.update(filter(None, [reply.fingerprint]))
        return reply.generation

    def _adapts_to(self, failure: Failure, dialect: Dialect) -> bool:
        """Whether to send the request in another form, which another request may have found at the same time."""
        adaptation = adapt_dialect(dialect, failure)
        if adaptation is not None and dialect == self._dialect:
            self._dialect = adaptation.dialect
            self._notice(f"{self._spec.name}: the server {adaptation.consequence}")
        return adaptation is not None

    def _give_up(self, failure: Failure, attempts: int) -> Generation | None:
        """The error of a case that gets no reply; None if no case would get one."""
        if failure.error_kind is ErrorKind.FILTERED:
            self._has_answered = True
        elif failure.remedy is Remedy.SKIP and not self._has_answered:
            self._stop(failure)
            return None
        else:
            self._failures_in_a_row += 1
            if self._failures_in_a_row >= self._limits.failures_in_a_row:
                self._stop(failure, in_a_row=self._failures_in_a_row)
        times = f" (asked {attempts} times)" if attempts > 1 else ""
        return Generation(None, failure.error_kind, f"{failure}{times}", "none")

    def _stop(self, failure: Failure, *, in_a_row: int = 0) -> None:
        """Send no more requests; only the first reason is reported."""
        reason = reason_to_stop(failure, self._spec, server_of(self._spec), in_a_row=in_a_row)
        self._stop_reason = self._stop_reason or reason
