"""What hosted models cost: known where the registry has a price, unknown otherwise, and never zero for unknown."""

from __future__ import annotations

import pytest

from pytest_ocg.inputs.models import Forecast, Price, cost_of, estimated_tokens, load_registry
from pytest_ocg.inputs.prompts import Message, Prompt

PRICE = Price(2.0, 10.0, "2024-05-13")


@pytest.mark.parametrize(
    ("price", "tokens", "cost"),
    [(PRICE, (1_000_000, 0), 2.0), (PRICE, (500_000, 100_000), 2.0), (PRICE, (0, 0), 0.0), (None, (5, 5), None)],
)
def test_a_cost_is_tokens_at_their_price_and_unknown_without_one(price, tokens, cost):
    assert cost_of(price, *tokens) == cost


def test_a_forecast_describes_tokens_and_the_highest_cost():
    assert Forecast(4608, 345_600, 128).describe("gpt", PRICE) == (
        "gpt: 4,608 prompts, about 345,600 tokens in total; replies of at most 589,824 tokens in total; "
        "cost about $6.59 at most (price of 2024-05-13); cached replies cost nothing"
    )
    assert Forecast(24, 1800, 128).describe("own", None) == (
        "own: 24 prompts, about 1,800 tokens in total; replies of at most 3,072 tokens in total; cost unknown; "
        "cached replies cost nothing"
    )


def test_tokens_are_estimated_from_characters():
    messages = (Message("system", "You are a helpful assistant."), Message("user", "Concepts: dog catch\n\nAnswer:"))
    prompt = Prompt(("dog", "catch"), 0, "ordered", 0, messages)
    characters = sum(len(message.content) for message in prompt.messages)
    assert characters / 4 + 8 <= estimated_tokens(prompt) < characters / 4 + 9


def test_shipped_prices_are_of_openai_models_on_a_date():
    priced = {name: spec.price for name, spec in load_registry().items() if spec.price is not None}
    assert priced == {
        "gpt-3.5": Price(0.5, 1.5, "2024-01-25"),
        "gpt-4o": Price(5.0, 15.0, "2024-05-13"),
        "gpt-4o-mini": Price(0.15, 0.6, "2024-07-18"),
    }
