"""What replies of hosted models cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pytest_ocg.backends.base import Prompt
from pytest_ocg.inputs.models import Price

_CHARACTERS_A_TOKEN = 4
_TOKENS_A_TURN = 4
_PRICED_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run will ask of a hosted model at most: prompts, their tokens as estimated, and the cap of each reply."""

    prompts: int
    prompt_tokens: int
    max_new_tokens: int

    def told(self, model: str, price: Price | None) -> str:
        """One line for the user before the first request: tokens in and out, and what they cost at most."""
        replies = self.prompts * self.max_new_tokens
        cost = cost_of(price, self.prompt_tokens, replies)
        told = "unknown" if cost is None or price is None else f"about ${cost:,.2f} at most (price of {price.date})"
        return (
            f"{model}: {self.prompts:,} prompts of about {self.prompt_tokens:,} tokens together, replies of at most "
            f"{replies:,}; cost {told}; what is in the cache costs nothing"
        )


def cost_of(price: Price | None, prompt_tokens: int, completion_tokens: int) -> float | None:
    """What so many tokens cost in US dollars, None where the price is not known."""
    if price is None:
        return None
    return (price.input * prompt_tokens + price.output * completion_tokens) / _PRICED_TOKENS


def estimated_tokens(prompt: Prompt) -> int:
    """About how many tokens a prompt is in English: four characters each, and four more for the marks of a turn."""
    characters = sum(len(message.content) for message in prompt.messages)
    return math.ceil(characters / _CHARACTERS_A_TOKEN) + _TOKENS_A_TURN * len(prompt.messages)
