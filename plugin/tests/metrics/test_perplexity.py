from __future__ import annotations

import json
import math
import random
import shutil
from pathlib import Path

import pytest

from pytest_ocg.metrics.perplexity import LARGEST_LOSS, open_perplexity, perplexity

GOLDEN = Path(__file__).parents[1] / "golden" / "perplexity"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
TEXTS = [part * times for part, times in EXPECTED["texts"]]
MODELS = ("gpt2", "llama")


@pytest.fixture
def values_of(context_of):
    """The perplexity of each text alone, None where it has none, by measuring all of them together."""

    def values(model, texts, **changes):
        replies = {(0, str(place)): [text] for place, text in enumerate(texts)}
        measured = open_perplexity(context_of(model, **changes)).measure(replies)
        return [
            measured.statistics[0, str(place)].total if (0, str(place)) in measured.statistics else None
            for place in range(len(texts))
        ]

    return values


@pytest.fixture
def make_unigram(tmp_path):
    """Saves the golden GPT-2 so changed that it gives each token the same probability everywhere: softmax of `scores`.

    Gives the folder.
    """
    from safetensors.torch import load_file, save_file

    def make(scores):
        folder = tmp_path / "unigram"
        shutil.copytree(GOLDEN / "gpt2", folder)
        weights = load_file(folder / "model.safetensors")
        embedding = next(name for name in weights if name.endswith("wte.weight"))
        final = embedding.replace("wte.weight", "ln_f")
        for weight in (weights[embedding], weights[f"{final}.weight"], weights[f"{final}.bias"]):
            weight.zero_()
        weights[f"{final}.bias"][0] = 1
        for token, score in scores.items():
            weights[embedding][token, 0] = score
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        return folder

    return make


def tokens_of(folder, text):
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids


def same(values):
    return [None if value is None else pytest.approx(value, rel=1e-4) for value in values]


@pytest.mark.parametrize("batch_size", [1, 3, 8, 64, None])
@pytest.mark.parametrize("model", MODELS)
def test_values_are_those_of_lmppl_at_any_batch_size(values_of, model, batch_size):
    values = values_of(GOLDEN / model, TEXTS, batch_size=batch_size)
    for size in ("3", "8", "64"):
        assert values == same(EXPECTED["perplexities"][model][size])


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("model", MODELS)
def test_the_order_and_company_of_texts_change_nothing(values_of, model, seed):
    pairs = list(zip(TEXTS, EXPECTED["perplexities"][model]["8"], strict=True))
    random.Random(seed).shuffle(pairs)
    pairs = pairs[: len(pairs) // 2]
    assert values_of(GOLDEN / model, [text for text, _ in pairs], batch_size=4) == same([value for _, value in pairs])


def test_the_golden_values_depend_on_the_text():
    for by_size in EXPECTED["perplexities"].values():
        values = sorted({value for value in by_size["8"] if value is not None})
        assert len(values) == len(set(TEXTS)) - sum(value is None for value in by_size["8"])
        assert values[-1] > 2 * values[0]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("pad_token", [None, "<|endoftext|>", "Ġ"])
def test_the_tokenizers_padding_changes_nothing(tmp_path, values_of, side, pad_token):
    folder = tmp_path / "padding"
    shutil.copytree(GOLDEN / "gpt2", folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(
        json.dumps({**settings, "padding_side": side, "pad_token": pad_token})
    )
    texts = ["Dogs", "A young woman throws a red kite near the harbour, at dawn.", "The dog catches the frisbee."]
    together = values_of(folder, texts, batch_size=3)
    assert together == same([values_of(folder, [text])[0] for text in texts])
    assert len(set(together)) == 3


def test_uniform_probabilities_give_the_number_of_tokens_there_are(make_unigram, values_of):
    # 328 outputs, but a tokenizer of 320: an output without a token has no probability
    assert values_of(make_unigram({}), ["Dogs", "The dog catches the frisbee."]) == same([320, 320])


def test_a_known_distribution_gives_the_value_computed_by_hand(make_unigram, values_of):
    text = "Dogs dog"
    first, *scored = tokens_of(GOLDEN / "gpt2", text)
    assert len(scored) > 2
    folder = make_unigram({first: 5.0, scored[0]: 3.0, scored[-1]: 2.0, 327: 50.0})
    total = 320 - 3 + math.exp(5) + math.exp(3) + math.exp(2)
    scores = {first: 5.0, scored[0]: 3.0, scored[-1]: 2.0}
    losses = [math.log(total) - scores.get(token, 0.0) for token in scored]
    assert values_of(folder, [text]) == same([math.exp(sum(losses) / len(losses))])


def test_the_score_is_the_mean_over_replies_and_then_over_templates(context_of, values_of):
    texts = ["Dogs", "The dog catches the frisbee.", "kite kite", "An old fisherman paints."]
    one, two, three, four = values_of(GOLDEN / "gpt2", texts)
    replies = {(0, "cs000"): texts[:2], (0, "cs001"): [texts[2], texts[2]], (1, "cs000"): [texts[3]]}
    measured = open_perplexity(context_of(GOLDEN / "gpt2")).measure(replies)
    first = (one + two + three + three) / 4
    assert measured.score.value == pytest.approx((first + four) / 2, rel=1e-6)
    assert {template: score.value for template, score in measured.by_template.items()} == {
        0: pytest.approx(first, rel=1e-6),
        1: pytest.approx(four, rel=1e-6),
    }
    assert [measured.score.count, measured.by_template[0].count, measured.by_template[1].count] == [5, 4, 1]
    assert (measured.left_out, measured.cut) == (0, 0)


def test_replies_without_a_value_are_left_out_and_counted_and_long_ones_cut_and_counted(context_of):
    replies = {
        (0, "cs000"): ["", "D", "D", "The dog catches the frisbee."],
        (0, "cs001"): ["\x00"],
        (1, "cs000"): ["dog frisbee " * 5000, "dog frisbee " * 4000],
    }
    measured = open_perplexity(context_of(GOLDEN / "gpt2")).measure(replies)
    assert (measured.score.count, measured.left_out, measured.cut) == (3, 4, 2)
    assert set(measured.statistics) == {(0, "cs000"), (1, "cs000")}
    long_one, long_two = 0.5 * measured.statistics[1, "cs000"].total, measured.by_template[1].value
    assert long_one == pytest.approx(long_two)


@pytest.mark.parametrize(
    ("replies", "left_out", "reason"),
    [
        ({}, 0, "no replies"),
        ({(0, "cs000"): []}, 0, "no replies"),
        ({(0, "cs000"): ["", "D"], (3, "cs000"): ["D"]}, 3, "none of 3 replies has two tokens and a finite perplexity"),
    ],
)
def test_without_anything_to_measure_there_is_a_reason_and_no_value(context_of, replies, left_out, reason):
    measured = open_perplexity(context_of(GOLDEN / "gpt2")).measure(replies)
    assert (measured.score.value, measured.score.count, measured.score.reason) == (None, 0, reason)
    assert measured.left_out == left_out


def test_equal_replies_have_equal_values(context_of):
    text = "The dog catches the frisbee."
    measured = open_perplexity(context_of(GOLDEN / "llama")).measure({(0, "cs000"): [text] * 24})
    assert measured.statistics[0, "cs000"].total == pytest.approx(24 * measured.score.value, rel=1e-12)
    assert measured.score.count == 24


def test_half_a_surrogate_pair_counts_as_the_character_for_what_is_not_known(values_of):
    broken, replaced, whole = values_of(GOLDEN / "gpt2", ["A dog \ud83d", "A dog \ufffd", "A dog \U0001f415"])
    assert broken == replaced != whole


@pytest.mark.parametrize(
    ("mean_nats", "value"),
    [(0.0, 1.0), (1.0, math.e), (None, None), (math.nan, None), (math.inf, None), (LARGEST_LOSS + 1, None)],
)
def test_only_a_finite_perplexity_is_one(mean_nats, value):
    assert perplexity(mean_nats) == value


def test_the_largest_perplexities_still_have_a_finite_sum():
    assert math.isfinite(math.fsum([perplexity(LARGEST_LOSS)] * 100_000))
