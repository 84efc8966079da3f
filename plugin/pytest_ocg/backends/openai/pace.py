"""How long a server is waited for, and when it is asked again."""

from __future__ import annotations

import asyncio
import math
import random
from dataclasses import dataclass


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

    def __init__(self, patience: Patience, seed: int) -> None:
        self._patience = patience
        self._random = random.Random(seed)
        self._not_before = 0.0

    def hold(self, seconds: float) -> None:
        """Let no request out for so long."""
        self._not_before = max(self._not_before, asyncio.get_running_loop().time() + seconds)

    async def wait_turn(self, deadline: float = math.inf) -> bool:
        """Return when requests may go out: True, or at once False where that is not before the deadline.

        The deadline is a moment on the running loop's clock.
        """
        now = asyncio.get_running_loop().time
        while now() < self._not_before < deadline:
            await asyncio.sleep(self._not_before - now())
        return max(now(), self._not_before) < deadline

    def pause_seconds(self, attempts: int) -> float:
        """How long to pause after so many attempts: doubled with each, and from half to all of that by chance."""
        patience = self._patience
        doubled = patience.first_pause_seconds * 2.0 ** min(attempts - 1, 32)
        return min(doubled, patience.longest_pause_seconds) * self._random.uniform(0.5, 1.0)
