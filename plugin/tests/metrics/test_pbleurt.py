import json
import math
import random
from itertools import permutations

import pytest

from pytest_ocg.errors import MetricError
from pytest_ocg.metrics import pbleurt
from pytest_ocg.metrics.base import Score, average_over_templates
from pytest_ocg.metrics.bleurt_scorer import ScoredPairs
from pytest_ocg.metrics.pbleurt import PairwiseBleurt
from pytest_ocg.run.cache.cache import Cache

LONG = " ".join(f"word{number}" for number in range(10_000))
KEY = (0, "cs001")
SENTENCES = [f"A dog number {number} catches a frisbee." for number in range(24)]


def lopsided(reference: str, candidate: str) -> float:
    """A score that differs by direction and for each pair, below 0 and above 1 too; identical texts have 0.875."""
    if reference == candidate:
        return 0.875
    return random.Random(json.dumps([reference, candidate])).uniform(-0.5, 1.5)


class FakeScorer:
    """Scores by a function, three pairs at a time, last first; remembers what it was asked and whether it is open."""

    def __init__(self, rule=lopsided, *, name="fake", cut=(), fails_after=None):
        self.rule, self.name, self.cut_texts, self.fails_after = rule, name, cut, fails_after
        self.asked, self.closed = [], 0

    def identity(self):
        return f"model:{self.name}"

    def score(self, pairs):
        self.asked += pairs
        places = list(range(len(pairs)))[::-1]
        for start in range(0, len(places), 3):
            if self.fails_after is not None and start >= self.fails_after:
                raise KeyboardInterrupt
            part = places[start : start + 3]
            cut = frozenset(place for place in part if set(pairs[place]) & set(self.cut_texts))
            yield ScoredPairs({place: self.rule(*pairs[place]) for place in part}, cut)

    def close(self):
        self.closed += 1


class MemoryStore:
    """A score store in a dictionary."""

    def __init__(self):
        self.kept = {}

    def scores(self, scorer, keys):
        known = self.kept.get(scorer, {})
        return {key: known[key] for key in keys if key in known}

    def add_scores(self, scorer, scores):
        self.kept.setdefault(scorer, {}).update(scores)


def metric_of(scorer=None, store=None, **more):
    return PairwiseBleurt(scorer or FakeScorer(), store or MemoryStore(), **more)


def measured(texts, rule=lopsided):
    return metric_of(FakeScorer(rule)).measure({KEY: texts}).score.value


def table(scores):
    return lambda reference, candidate: scores[reference, candidate]


@pytest.mark.parametrize(
    ("texts", "scores", "expected"),
    [
        (["a", "b"], {("a", "b"): 0.2, ("b", "a"): 0.6}, 40.0),
        (["a", "b"], {("a", "b"): -0.25, ("b", "a"): -0.75}, -50.0),
        (["a", "b"], {("a", "b"): 1.25, ("b", "a"): 1.75}, 150.0),
        (["a", "a"], {("a", "a"): 0.9}, 90.0),
        (["a"] * 24, {("a", "a"): 0.96}, 96.0),
        (["a", "a", "b"], {("a", "a"): 0.9, ("a", "b"): 0.3, ("b", "a"): 0.6}, 100 * (2 * 0.9 + 2 * 0.3 + 2 * 0.6) / 6),
        (
            ["a", "b", "c"],
            {pair: 0.1 * place for place, pair in enumerate(permutations("abc", 2))},
            100 * (0.1 + 0.2 + 0.3 + 0.4 + 0.5) / 6,
        ),
        (["", ""], {("", ""): 0.5}, 50.0),
        (["", "a"], {("", "a"): 0.1, ("a", ""): 0.3}, 20.0),
        (["\x00", "\ud800"], {("\x00", "\ud800"): 0.25, ("\ud800", "\x00"): 0.75}, 50.0),
        ([LONG, "a"], {(LONG, "a"): 0.5, ("a", LONG): 0.25}, 37.5),
        (["a", "A"], {("a", "A"): 0.5, ("A", "a"): 0.5}, 50.0),
    ],
)
def test_known_sets_have_known_pbleurt(texts, scores, expected):
    # the table has no other pair, so that one more that were asked for would be an error
    assert measured(texts, table(scores)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("different", [1, 2, 5, 23, 24])
def test_pbleurt_is_the_mean_over_all_ordered_pairs_of_different_replies(different):
    texts = [SENTENCES[number % different] for number in range(24)]
    scores = [lopsided(*pair) for pair in permutations(texts, 2)]
    assert len(scores) == 552
    assert measured(texts) == pytest.approx(100 * math.fsum(scores) / 552, abs=1e-9)


def test_both_directions_count():
    assert measured(["a", "b"], lambda reference, candidate: float(reference < candidate)) == 50.0


def test_no_reply_is_paired_with_itself():
    assert measured(SENTENCES, lambda reference, candidate: 7.0 if reference == candidate else 0.5) == 50.0


def test_each_different_pair_is_scored_once_for_all_sets_and_templates():
    scorer = FakeScorer()
    replies = {(0, "a"): ["x", "x", "x", "y"], (3, "a"): ["y", "x"], (3, "b"): ["x", "x"], (5, "c"): ["z"]}
    metric_of(scorer).measure(replies)
    assert sorted(scorer.asked) == [("x", "x"), ("x", "y"), ("y", "x")]


def test_shuffled_replies_and_sets_have_the_same_pbleurt_to_the_last_bit():
    sets = {(template, name): [*SENTENCES[: 20 + template], name] for template in range(3) for name in "abc"}
    expected = metric_of().measure(sets)
    generator = random.Random(5)
    for _ in range(5):
        keys = list(sets)
        generator.shuffle(keys)
        mixed = metric_of().measure({key: generator.sample(sets[key], len(sets[key])) for key in keys})
        assert (mixed.score, mixed.by_template) == (expected.score, expected.by_template)


@pytest.mark.parametrize("texts", [[], ["A dog runs."]], ids=["none of 24 usable", "one of 24 usable"])
def test_a_set_of_fewer_than_two_replies_has_no_pbleurt(texts):
    scorer = FakeScorer()
    metric = metric_of(scorer)
    result = metric.measure({KEY: texts})
    assert result.score == Score(None, 0, metric.signature(), "no set has two replies")
    assert (result.statistics, result.by_template, scorer.asked) == ({}, {}, [])


def test_sets_are_averaged_within_templates_and_templates_with_equal_weight():
    rule = table({("a", "a"): 1.0, ("b", "c"): 0.0, ("c", "b"): 0.0})
    replies = {(0, "1"): ["a", "a"], (0, "2"): ["b", "c"], (0, "3"): ["c", "b"], (0, "4"): ["b", "c"]}
    replies |= {(3, "1"): ["a"] * 24, (3, "2"): ["b"]}
    result = metric_of(FakeScorer(rule)).measure(replies)
    assert {template: (score.value, score.count) for template, score in result.by_template.items()} == {
        0: (25.0, 4), 3: (100.0, 1)
    }  # fmt: skip
    assert (result.score.value, result.score.count) == (62.5, 5)
    assert average_over_templates(result.statistics) == 62.5
    assert (3, "2") not in result.statistics


def test_the_signature_names_scorer_and_pairs_and_is_that_of_the_score():
    metric = metric_of()
    assert metric.signature() == "model:fake|pairs:ordered|mean:sets,templates"
    assert metric.measure({KEY: ["a", "b"]}).score.signature == metric.signature()
    assert metric.name == "pbleurt"


def test_progress_is_reported_from_before_the_first_pair_to_the_last():
    calls = []
    scorer = FakeScorer()

    def progress(*arguments):
        calls.append((*arguments, len(scorer.asked)))

    metric = metric_of(scorer, progress=progress)
    metric.measure({KEY: ["a", "b", "c"]})
    assert calls == [("pBLEURT", 0, 6, 0), ("pBLEURT", 3, 6, 6), ("pBLEURT", 6, 6, 6)]
    metric.measure({KEY: ["c", "b", "a", "b"]})
    assert calls[3:] == [("pBLEURT", 0, 1, 6), ("pBLEURT", 1, 1, 7)]


def test_scores_are_kept_by_scorer_and_pair_and_not_asked_for_again(tmp_path):
    calls = []
    with Cache.open(tmp_path) as store:
        first = metric_of(FakeScorer(), store).measure({KEY: [*SENTENCES, "\x00", "\ud800", LONG]})
        again = FakeScorer(lambda reference, candidate: pytest.fail("scored again"))
        second = metric_of(again, store, progress=lambda *arguments: calls.append(arguments)).measure(
            {KEY: [LONG, *SENTENCES, "\ud800", "\x00"]}
        )
        assert (second.score, again.asked, calls) == (first.score, [], [])
        other = FakeScorer(name="other")
        metric_of(other, store).measure({KEY: SENTENCES})
        assert len(other.asked) == 552
        assert store.scores("bleurt|model:fake", ['["\\u0000","\\ud800"]']) == {
            '["\\u0000","\\ud800"]': lopsided("\x00", "\ud800")
        }


def test_scores_kept_in_several_portions_are_all_found(monkeypatch):
    monkeypatch.setattr(pbleurt, "_KEYS_AT_ONCE", 50)
    store = MemoryStore()
    first = metric_of(FakeScorer(), store).measure({KEY: SENTENCES})
    again = FakeScorer()
    assert metric_of(again, store).measure({KEY: SENTENCES}).score == first.score
    assert again.asked == []


@pytest.mark.parametrize("seconds", [0.0, 1000.0], ids=["written often", "written at the end"])
def test_what_was_scored_before_a_run_was_stopped_is_kept_and_memory_given_back(monkeypatch, seconds):
    monkeypatch.setattr(pbleurt, "_SECONDS_BETWEEN_WRITES", seconds)
    store, stopped, rest = MemoryStore(), FakeScorer(fails_after=6), FakeScorer()
    with pytest.raises(KeyboardInterrupt):
        metric_of(stopped, store).measure({KEY: ["a", "b", "c", "d"]})
    assert stopped.closed == 1
    assert len(store.kept["bleurt|model:fake"]) == 6
    result = metric_of(rest, store).measure({KEY: ["a", "b", "c", "d"]})
    assert len(rest.asked) == 6
    assert result.score.value == pytest.approx(measured(["a", "b", "c", "d"]))
    assert rest.closed == 1


def test_a_score_that_is_no_number_stops_with_the_way_out_and_is_not_kept():
    store = MemoryStore()
    with pytest.raises(
        MetricError, match=r"the score of a pair of replies is nan; .* pass --ocg-device cpu, or download"
    ):
        metric_of(FakeScorer(lambda reference, candidate: math.nan), store).measure({KEY: ["a", "b"]})
    assert store.kept == {}


def test_cut_pairs_are_counted_and_reported_also_if_their_scores_were_stored():
    store, said = MemoryStore(), []
    for _ in range(2):
        metric = metric_of(FakeScorer(cut=[LONG]), store, notice=said.append)
        assert metric.measure({KEY: [LONG, LONG, "a", "b"]}).cut == 5
    message = "pBLEURT: different pairs of replies cut to 512 tokens: 5 of 7"
    assert said == [message, message]
    assert metric.measure({KEY: ["a", "b"]}).cut == 0
    assert len(said) == 2
