import logging
import math
import random
import re
import tracemalloc
from itertools import permutations, product

import numpy as np  # noqa: TID253 - to call the formula on arrays
import pytest
import sacrebleu  # noqa: TID253 - the reference
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU  # noqa: TID253 - the reference

from pytest_ocg.errors import MetricError
from pytest_ocg.metrics.base import Score, average_over_templates
from pytest_ocg.metrics.pbleu import PairwiseBleu, sentence_scores

LONG = " ".join(f"word{number}" for number in range(10_000))
SAME_COUNT = 100 * 2 * 12 * 11 / (24 * 23)


def looped(texts):
    """The definition itself: the mean of sacrebleu's sentence BLEU over all ordered pairs of different replies."""
    scores = [sacrebleu.sentence_bleu(one, [other]).score for one, other in permutations(texts, 2)]
    return math.fsum(scores) / len(scores)


def measured(texts):
    return PairwiseBleu().measure({(0, "cs001"): texts}).score.value


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Dogs", "Rain"], 0.0),
        (["Dogs", "Dogs"], 100.0),
        (["Dogs run.", "Dogs run."], 100.0),
        (["A dog catches a frisbee."] * 24, 100.0),
        (["A dog catches a frisbee."] * 12 + ["Rain"] * 12, SAME_COUNT),
        (["", ""], 0.0),
        (["", "   ", "\n"], 0.0),
        (["", "A dog catches a frisbee."], 0.0),
        (["\U0001f415", "\U0001f415"], 100.0),
        (["\U0001f415\U0001f94f", "\U0001f415"], 0.0),
        (["\x00 a dog runs fast", "\x00 a dog runs fast"], 100.0),
        (["\ud800 dogs", "\ud800 dogs"], 100.0),
        (["a  b\tc", "a b c"], 100.0),
        (["&quot;Dogs&quot;", '"Dogs"'], 100.0),
        (["a frisbee-\nlike thing", "a frisbeelike thing"], 100.0),
        (["the the the the", "the"], (100 * (1 / 4 * 1 / 6 * 1 / 8 * 1 / 8) ** (1 / 4) + 100 * math.exp(-3)) / 2),
        ([LONG, LONG], 100.0),
    ],
)
def test_known_sets_have_known_pbleu(texts, expected):
    assert measured(texts) == pytest.approx(expected, abs=1e-9)
    assert measured(texts) == pytest.approx(looped(texts), abs=1e-9)


@pytest.mark.parametrize("texts", [[], ["A dog runs."]], ids=["none of 24 usable", "one of 24 usable"])
def test_a_set_of_fewer_than_two_replies_has_no_pbleu(texts):
    result = PairwiseBleu().measure({(0, "cs001"): texts})
    assert result.score == Score(None, 0, PairwiseBleu().signature(), "no set has two replies")
    assert (result.statistics, result.by_template) == ({}, {})


def test_equal_replies_score_exactly_100_so_that_a_limit_of_100_holds():
    assert measured(["A dog catches a frisbee in the park."] * 24) == 100.0


def test_sets_are_averaged_within_templates_and_templates_with_equal_weight():
    same, other = ["A dog runs fast."] * 2, ["Dogs", "Rain"]
    replies = {(0, "a"): same, (0, "b"): other, (0, "c"): other, (0, "d"): other, (3, "a"): same, (3, "b"): ["Dogs"]}
    result = PairwiseBleu().measure(replies)
    assert {template: (score.value, score.count) for template, score in result.by_template.items()} == {
        0: (25.0, 4),
        3: (100.0, 1),
    }
    assert (result.score.value, result.score.count) == (62.5, 5)
    assert average_over_templates(result.statistics) == 62.5
    assert (3, "b") not in result.statistics


def test_both_directions_of_a_pair_count():
    short, long = "a dog runs fast in the park", "a dog runs fast in the park and then all the way home"
    forth, back = (sacrebleu.sentence_bleu(one, [two]).score for one, two in ((short, long), (long, short)))
    assert abs(forth - back) > 4
    assert measured([short, long]) == pytest.approx((forth + back) / 2, abs=1e-9)


TRICKY = st.text(alphabet="aB .,-&;<>09'\n\t\r\x0b\x1c\x85\u00a0\u2003\u2028\x00\U0001f415\ud800%s", max_size=25)
PIECES = st.lists(
    st.sampled_from(
        [
            "the",
            "The",
            "dog",
            "dogs",
            "3.5",
            "1,000",
            "2-year",
            "U.S.",
            "...",
            ".",
            ",.",
            "-",
            "--",
            "a-b",
            "&quot;",
            "&amp;lt;",
            "<skipped>",
            "-<skipped>",
            "(a)",
            "it's",
            "9-",
            "-9",
            ".5",
            "5.",
        ]
    ),
    max_size=14,
).map(" ".join)
ANY = st.text(max_size=30)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(TRICKY, PIECES, ANY), min_size=2, max_size=6))
def test_pbleu_equals_the_loop_on_any_texts(texts):
    assert measured(texts) == pytest.approx(looped(texts), abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(PIECES, max_size=5), min_size=1, max_size=5))
def test_a_sets_pbleu_does_not_depend_on_the_sets_beside_it(sets):
    replies = {(0, f"cs{number:03d}"): texts for number, texts in enumerate(sets)}
    together = PairwiseBleu().measure(replies).statistics
    for key, texts in replies.items():
        assert (key in together) == (len(texts) > 1)
        if key in together:
            assert together[key].total == pytest.approx(measured(texts), abs=1e-9)


def test_pbleu_equals_the_loop_on_groups_of_24_real_replies(gold_rows):
    rng = random.Random(0)
    by_set = {}
    for row in gold_rows:
        by_set.setdefault(tuple(row["concept_set"]), []).append(row["sentence"])
    groups = sorted(by_set.values())
    replies = {}
    for number in range(6):
        neighbours = [text for group in groups[number * 20 : number * 20 + 5] for text in group]
        replies[0, f"real{number}"] = neighbours[:24]
        base = [text.split() for text in groups[number]]
        replies[1, f"shuffled{number}"] = [" ".join(rng.sample(words, len(words))) for words in rng.choices(base, k=24)]
    statistics = PairwiseBleu().measure(replies).statistics
    assert len(statistics) == 12
    for key, texts in replies.items():
        assert len(texts) == 24
        assert statistics[key].total == pytest.approx(looped(texts), abs=1e-9)
    assert min(statistic.total for statistic in statistics.values()) > 0


def test_the_formula_equals_sacrebleus_own_on_every_small_count():
    lengths = range(7)
    rows = [
        (matches, hypothesis, reference)
        for hypothesis, reference in product(lengths, lengths)
        for matches in product(*(range(min(max(hypothesis - n, 0), max(reference - n, 0)) + 1) for n in range(4)))
    ]
    theirs = [
        BLEU.compute_bleu(
            list(matches),
            [max(hypothesis - n, 0) for n in range(4)],
            hypothesis,
            reference,
            smooth_method="exp",
            effective_order=True,
        ).score
        for matches, hypothesis, reference in rows
    ]
    ours = sentence_scores(
        [np.array([matches[n] for matches, _, _ in rows]) for n in range(4)],
        np.array([hypothesis for _, hypothesis, _ in rows]),
        np.array([reference for _, _, reference in rows]),
    )
    assert len(rows) > 2_000
    assert ours.tolist() == pytest.approx(theirs, abs=1e-9)


def test_shuffling_replies_and_sets_changes_nothing_to_the_last_bit():
    rng = random.Random(1)
    words = ["a", "the", "dog", "man", "catches", "throws", "frisbee", "park", "in", "with"]
    replies = {
        (template, f"cs{number}"): [" ".join(rng.choices(words, k=rng.randrange(1, 15))) for _ in range(24)]
        for template in range(2)
        for number in range(4)
    }
    turned = {key: rng.sample(replies[key], 24) for key in reversed(replies)}
    first, second = PairwiseBleu().measure(replies), PairwiseBleu().measure(turned)
    assert second.score == first.score
    assert second.statistics == first.statistics


def test_sets_of_more_than_one_batch_keep_their_values(monkeypatch):
    replies = {(0, f"cs{number}"): [f"dog {number} runs far away", f"dog runs {number} far"] for number in range(9)}
    whole = PairwiseBleu().measure(replies).statistics
    monkeypatch.setattr("pytest_ocg.metrics.pbleu._BATCH_WORDS", 20)
    assert PairwiseBleu().measure(replies).statistics == whole


def test_24_replies_of_10000_words_stay_within_memory():
    rng = random.Random(2)
    texts = [" ".join(rng.choices(["the", "dog", "runs", *map(str, range(3_000))], k=10_000)) for _ in range(24)]
    PairwiseBleu().measure({(0, "cs001"): ["warm", "up"]})
    tracemalloc.start()
    value = measured(texts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0 < value < 100
    assert peak < 100_000_000


def test_one_word_10000_times_is_clipped_like_sacrebleu():
    texts = ["the " * 10_000, "the " * 9_000, "the dog"]
    assert measured(texts) == pytest.approx(looped(texts), abs=1e-9)


def test_tokenized_full_stops_leave_no_warning_in_the_log(caplog):
    with caplog.at_level(logging.DEBUG):
        measured([f"A dog number {number} runs ." for number in range(150)])
    assert caplog.records == []


def test_the_signature_is_sacrebleus_own_and_names_the_pairs():
    assert PairwiseBleu().signature() == (
        f"nrefs:1|case:mixed|eff:yes|tok:13a|smooth:exp|version:{sacrebleu.__version__}|pairs:ordered"
    )


def test_a_sacrebleu_that_scores_otherwise_is_refused(monkeypatch):
    original = BLEU.compute_bleu

    def floor_smoothing(*arguments, smooth_method, **options):
        return original(*arguments, smooth_method="floor", **options)

    monkeypatch.setattr(BLEU, "compute_bleu", staticmethod(floor_smoothing))
    message = re.escape(f"pbleu: sacrebleu '{sacrebleu.__version__}' scores the fixed texts ")
    with pytest.raises(MetricError, match=f"{message}.* but this plugin computes .*; install a supported sacrebleu"):
        measured(["A dog runs.", "A dog walks."])


class Kept(dict):
    """A store of scores that notes what it was asked for."""

    def scores(self, scorer, keys):
        return {key: self[scorer, key] for key in keys if (scorer, key) in self}

    def add_scores(self, scorer, scores):
        self.update({(scorer, key): score for key, score in scores.items()})


def test_a_set_scored_before_is_not_scored_again_in_any_order_of_its_replies(monkeypatch):
    replies = {
        (0, "cs001"): ["A dog runs.", "A dog walks.", "Rain"],
        (0, "cs002"): ["One.", "Two."],
        (1, "x"): ["One."],
    }
    store = Kept()
    first = PairwiseBleu(store).measure(replies)
    assert first == PairwiseBleu().measure(replies)
    assert len(store) == 2
    monkeypatch.setattr(BLEU, "sentence_score", None)
    turned = {key: texts[::-1] for key, texts in replies.items()}
    assert PairwiseBleu(store).measure(turned) == first


def test_a_set_with_other_replies_is_scored_and_the_stored_scores_stay():
    store = Kept()
    PairwiseBleu(store).measure({(0, "cs001"): ["A dog runs.", "A dog walks."]})
    replies = {
        (0, "cs001"): ["A dog runs.", "A dog walks.", "A dog walks."],
        (3, "cs001"): ["A dog walks.", "A dog runs."],
    }
    assert PairwiseBleu(store).measure(replies) == PairwiseBleu().measure(replies)
    assert len(store) == 2


def test_a_sacrebleu_that_signs_itself_otherwise_is_refused(monkeypatch):
    monkeypatch.setattr(
        BLEU, "get_signature", lambda _: type("Signature", (), {"format": lambda _: "nrefs:1|tok:intl"})()
    )
    with pytest.raises(MetricError, match=r"has the signature 'nrefs:1\|tok:intl', not 'nrefs:1\|case:mixed\|eff:yes"):
        measured(["A dog runs.", "A dog walks."])
