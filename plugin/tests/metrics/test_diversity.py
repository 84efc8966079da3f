import random

import pytest

from pytest_ocg.metrics.base import Score, average_over_templates
from pytest_ocg.metrics.diversity import Distinct, DiverseRate, PooledDistinct, distinct, diverse_rate

LONG = " ".join(f"word{number}" for number in range(10_000))


@pytest.mark.parametrize(
    ("text", "n", "expected"),
    [
        ("", 2, None),
        (" \t\n", 2, None),
        ("Dogs", 2, None),
        ("Dogs", 1, 1.0),
        ("Dogs run", 2, 1 / 2),
        ("Dogs  run\nfast", 2, 2 / 3),
        ("a dog catches a frisbee", 2, 4 / 5),
        ("the dog and the dog", 2, 3 / 5),
        ("the the the the", 2, 1 / 4),
        ("the the the the", 1, 1 / 4),
        ("The the", 1, 1.0),
        ("dog, dog dog,", 1, 2 / 3),
        ("a b c", 3, 1 / 3),
        ("a b", 3, None),
        ("\U0001f415 \U0001f94f", 2, 1 / 2),
        ("\x00 \x00 \x00", 2, 1 / 3),
        (LONG, 2, 9_999 / 10_000),
    ],
)
def test_distinct_is_different_ngrams_per_word(text, n, expected):
    assert distinct(text, n) == expected


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ([], None),
        (["a"], 1.0),
        (["a"] * 24, 1 / 24),
        (["a", "b", "a", "A"], 3 / 4),
        (["", "\x00", "\U0001f415"], 1.0),
        ([f"{LONG} {number % 2}" for number in range(24)], 2 / 24),
    ],
)
def test_diverse_rate_is_different_replies_per_reply(replies, expected):
    assert diverse_rate(replies) == expected


def test_distinct_averages_replies_within_a_template_and_leaves_out_those_without_a_bigram():
    replies = {
        (0, "a"): ["one", "one two", "the the the the"],
        (0, "b"): ["the the the the"],
        (1, "a"): ["one two three four"],
        (2, "a"): ["one"],
    }
    result = Distinct().measure(replies)
    assert result.by_template[0].value == pytest.approx(100 * (0.5 + 0.25 + 0.25) / 3)
    assert result.by_template[0].count == 3
    assert result.by_template[1] == Score(75.0, 1, Distinct().signature())
    assert list(result.by_template) == [0, 1]
    assert result.score.value == pytest.approx((100 / 3 + 75) / 2)
    assert result.score.count == 4
    assert average_over_templates(result.statistics) == result.score.value


def test_pooled_distinct_counts_each_bigram_of_a_template_once():
    replies = {(0, "a"): ["a b", "a b c", "x"], (0, "b"): ["a b"], (1, "a"): ["a a a"], (2, "a"): [], (3, "a"): ["x"]}
    result = PooledDistinct().measure(replies)
    assert {template: score.value for template, score in result.by_template.items()} == {0: 50.0, 1: 50.0}
    assert (result.score.value, result.score.count, result.statistics) == (50.0, 4, None)


def test_diverse_rate_averages_sets_of_any_size():
    replies = {(0, "a"): ["x"] * 24, (0, "b"): ["x", "y"], (1, "a"): ["x"], (1, "b"): []}
    result = DiverseRate().measure(replies)
    assert result.by_template[0].value == pytest.approx(100 * (1 / 24 + 1) / 2)
    assert result.by_template[1] == Score(100.0, 1, DiverseRate().signature())
    assert result.score.count == 3


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        (Distinct(), "no reply has 2 words"),
        (PooledDistinct(), "no reply has 2 words"),
        (DiverseRate(), "no replies"),
        (Distinct(3), "no reply has 3 words"),
    ],
)
@pytest.mark.parametrize("replies", [{}, {(0, "a"): []}])
def test_without_replies_there_is_no_value_but_a_reason(metric, reason, replies):
    result = metric.measure(replies)
    assert result.score == Score(None, 0, metric.signature(), reason)
    assert result.by_template == {}


def test_one_word_replies_have_a_diverse_rate_but_no_distinct():
    replies = {(0, "a"): ["Dogs", "Rain"]}
    assert DiverseRate().measure(replies).score.value == 100.0
    assert Distinct().measure(replies).score.value is None
    assert PooledDistinct().measure(replies).score.value is None


@pytest.mark.parametrize("metric", [Distinct(), PooledDistinct(), DiverseRate()])
def test_the_order_of_replies_and_sets_changes_nothing(metric):
    rng = random.Random(0)
    replies = {
        (template, f"cs{number}"): [" ".join(rng.choices("abcdefg", k=rng.randrange(9))) for _ in range(24)]
        for template in range(3)
        for number in range(5)
    }
    turned = {key: rng.sample(replies[key], 24) for key in reversed(replies)}
    assert metric.measure(turned).score == metric.measure(replies).score


def test_the_ngram_length_is_in_name_and_signature():
    assert (Distinct(3).name, PooledDistinct(1).name) == ("distinct3", "distinct1_pooled")
    assert Distinct(3).signature() != Distinct(2).signature()


def test_on_real_replies_only_distinct_per_word_lands_where_the_paper_does(gold_rows):
    for model in {row["model"] for row in gold_rows}:
        texts = [row["sentence"] for row in gold_rows if row["model"] == model]
        replies = {(0, str(number)): [text] for number, text in enumerate(texts)}
        per_bigram = [
            value * len(text.split()) / (len(text.split()) - 1)
            for text in texts
            if (value := distinct(text, 2)) is not None
        ]
        assert 90 < Distinct().measure(replies).score.value < 95
        assert PooledDistinct().measure(replies).score.value < 85
        assert 100 * sum(per_bigram) / len(per_bigram) > 99
