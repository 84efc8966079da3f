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
from pytest_ocg.backends.openai.answers import KEPT, Failure, Remedy, Reply, reason_to_stop
from pytest_ocg.backends.openai.client import Client, Clock
from pytest_ocg.backends.openai.dialect import Dialect, adapted
from pytest_ocg.backends.openai.server import read_key, server_of
from pytest_ocg.errors import BackendError
from pytest_ocg.inputs.models import ModelSpec
from pytest_ocg.inputs.prompts import Prompt


@dataclass(frozen=True, slots=True)
class Patience:
    """The bounds of waiting: for one answer, for all attempts of one request, and of the pauses between them.

    `attempts` counts what fails in transit or on the server; being told to wait is bounded by `total_seconds` alone.
    After `failures_in_a_row` requests without a reply nothing further is asked.
    """

    attempt_seconds: float = 120.0
    total_seconds: float = 600.0
    attempts: int = 5
    first_pause_seconds: float = 0.5
    longest_pause_seconds: float = 30.0
    failures_in_a_row: int = 32


PATIENCE = Patience()


class Pace:
    """When the next request may go out: what one is told to wait, all wait."""

    def __init__(self, patience: Patience, seed: int, clock: Clock) -> None:
        self._patience = patience
        self._clock = clock
        self._random = random.Random(seed)
        self._not_before = 0.0

    def hold(self, seconds: float) -> None:
        """Let no request out for so long."""
        self._not_before = max(self._not_before, self._clock.now() + seconds)

    async def wait_turn(self, deadline: float = math.inf) -> bool:
        """Return when requests may go out: True, or at once False where that is not before the deadline.

        The deadline is a moment on the clock.
        """
        now = self._clock.now
        while now() < self._not_before < deadline:
            await self._clock.sleep(self._not_before - now())
        return max(now(), self._not_before) < deadline

    def pause_seconds(self, attempts: int) -> float:
        """How long to pause after so many attempts: doubled with each, and from half to all of that by chance."""
        patience = self._patience
        doubled = patience.first_pause_seconds * 2.0 ** min(attempts - 1, 32)
        return min(doubled, patience.longest_pause_seconds) * self._random.uniform(0.5, 1.0)


WINDOWS_A_BATCH = 8


class OpenAIBackend:
    """A hosted model, asked over HTTP with `settings.concurrency` requests in flight.

    The first request goes out alone, so that a wrong key or a parameter that the server refuses is found out once.
    """

    def __init__(
        self,
        spec: ModelSpec,
        settings: GenerationSettings,
        notice: Callable[[str], None] = lambda text: None,
        patience: Patience = PATIENCE,
        clock: Clock | None = None,
    ) -> None:
        self._spec = spec
        self._settings = settings
        self._notice = notice
        self._patience = patience
        self._clock = clock or Clock()
        self._pace = Pace(patience, settings.seed, self._clock)
        self._dialect = Dialect()
        self._runner: asyncio.Runner | None = None
        self._client: Client | None = None
        self._models: set[str] = set()
        self._fingerprints: set[str] = set()
        self._is_answered = False
        self._failures_in_a_row = 0
        self._stopped: str | None = None
        self._is_closed = False

    def identity(self) -> Mapping[str, Any]:
        """Model, server and decoding as asked for: all that can change a reply but its prompt; asks no network.

        Raises ModelError for a base URL or a key that cannot be right.
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
        """As asked for, else eight windows: few ends at which requests are waited for, and little lost by a kill."""
        return self._settings.batch_size or WINDOWS_A_BATCH * self._settings.concurrency

    def generate(self, prompts: Sequence[Prompt]) -> list[Generation]:
        """One generation per prompt, in order; a request that stays without a reply is an error of its own prompt.

        Raises GenerationStopped, with what came before, where no further request makes sense: no credit, a wrong key,
        no such model, a server that does not answer at all, an interruption. ModelError for a key that cannot be right.
        """
        if self._is_closed:
            raise BackendError(f"model {self._spec.name!r} was asked to generate after it was closed")
        if self._stopped is not None:
            raise GenerationStopped(self._stopped)
        if self._runner is None or self._client is None:
            self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
            self._client = Client(server_of(self._spec), self._spec, self._settings, self._clock)
        made: dict[int, Generation] = {}
        try:
            self._runner.run(self._answer_all(self._client, prompts, made))
        except KeyboardInterrupt as interrupt:
            raise GenerationStopped(f"{self._spec.name}: interrupted; {KEPT}", made) from interrupt
        if self._stopped is not None:
            raise GenerationStopped(self._stopped, made)
        return [made[place] for place in range(len(prompts))]

    def provenance(self) -> Mapping[str, Any]:
        """The identity, the parameters as sent in the end, and what the server reports of itself."""
        return {
            **self.identity(),
            "batch_size": self.preferred_batch_size(),
            "versions": {"openai": metadata.version("openai")},
            "system_role": "folded" if self._dialect.folds_system else "native",
            "effective_decoding": self._dialect.recorded(self._settings),
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
        if not self._is_answered:
            await self._serve(client, itertools.islice(queue, 1), made)
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._settings.concurrency, len(prompts))):
                group.create_task(self._serve(client, queue, made))

    async def _serve(self, client: Client, queue: Iterable[tuple[int, Prompt]], made: dict[int, Generation]) -> None:
        """Answer one prompt after the other until none is left or the run stops; what is in flight then is kept."""
        for place, prompt in queue:
            generation = await self._answer(client, prompt)
            if generation is not None:
                made[place] = generation

    async def _answer(self, client: Client, prompt: Prompt) -> Generation | None:
        """The generation for a prompt, None where the run stops without one."""
        await self._pace.wait_turn()
        now, patience = self._clock.now, self._patience
        deadline = now() + patience.total_seconds
        asked = failed = 0
        while self._stopped is None:
            dialect = self._dialect
            outcome = await client.ask(prompt, dialect, min(patience.attempt_seconds, deadline - now()))
            if isinstance(outcome, Reply):
                return self._taken(outcome)
            if self._adapts_to(outcome, dialect):
                continue
            if outcome.remedy is Remedy.STOP or (outcome.wait_seconds or 0) > patience.total_seconds:
                self._stop(outcome)
                break
            asked += 1
            failed += outcome.status != 429
            if outcome.remedy is Remedy.LEAVE or failed == patience.attempts:
                return self._left(outcome, asked)
            if outcome.wait_seconds is None:
                await self._clock.sleep(self._pace.pause_seconds(asked))
            else:
                self._pace.hold(outcome.wait_seconds)
            if not await self._pace.wait_turn(deadline):
                return self._left(outcome, asked)
        return None

    def _taken(self, reply: Reply) -> Generation:
        self._is_answered = True
        self._failures_in_a_row = 0
        self._models.update(filter(None, [reply.model]))
        self._fingerprints.update(filter(None, [reply.fingerprint]))
        return reply.generation

    def _adapts_to(self, failure: Failure, dialect: Dialect) -> bool:
        """Whether the request can be worded anew; another one may have found that out while this was in flight."""
        found = adapted(dialect, failure)
        if found is not None and dialect == self._dialect:
            self._dialect = found.dialect
            self._notice(f"{self._spec.name}: the server {found.consequence}")
        return found is not None

    def _left(self, failure: Failure, asked: int) -> Generation | None:
        """The error of a case that stays without a reply; None where no case would get one."""
        if failure.error_kind is ErrorKind.FILTERED:
            self._is_answered = True
        elif failure.remedy is Remedy.LEAVE and not self._is_answered:
            self._stop(failure)
            return None
        else:
            self._failures_in_a_row += 1
            if self._failures_in_a_row >= self._patience.failures_in_a_row:
                self._stop(failure, in_a_row=self._failures_in_a_row)
        times = f" (asked {asked} times)" if asked > 1 else ""
        return Generation(None, failure.error_kind, f"{failure}{times}", "none")

    def _stop(self, failure: Failure, *, in_a_row: int = 0) -> None:
        """Let no further request out; the first reason is the one told."""
        reason = reason_to_stop(failure, self._spec, server_of(self._spec), in_a_row=in_a_row)
        self._stopped = self._stopped or reason
