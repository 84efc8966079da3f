"""pBLEU of a full run, compared with a loop over `sacrebleu.sentence_bleu`, in CPU seconds.

The two sides alternate in one run. The loop is measured on a sample of the sets, because all of them take minutes; ours
on all sets. The ratio is of the best time for a pair. The scores of every sampled set are compared too.
"""

from __future__ import annotations

import math
import random
import time
from itertools import permutations

import sacrebleu
from rows import Row

from pytest_ocg.metrics import CHEAP_METRICS, load_metric
from pytest_ocg.metrics.base import SetKey

SYLLABLES = ("ba", "cor", "den", "fi", "gra", "hol", "ju", "kel", "lan", "mi", "nor", "pa", "ras", "so", "tel", "vi")
WORDS = tuple(first + last for first in SYLLABLES for last in SYLLABLES)
OPENINGS = ("In the early morning, the", "As everyone looks on, a", "At the park, the", "The", "A", "Two of the")
LINKS = ("while the", "and then the", "so that a", "next to the", ", and the")
ENDINGS = ("in front of a small crowd.", "with a smile.", "near the old bridge.", "again.", "at 5.30 p.m.")


def replies_like_a_models(sets: int, seed: int = 0) -> dict[SetKey, list[str]]:
    """24 similar replies of about 10 to 20 words for each set, three of them repeated."""
    rng = random.Random(seed)
    made = {}
    for number in range(sets):
        openings, links, endings = rng.sample(OPENINGS, 3), rng.sample(LINKS, 3), rng.sample(ENDINGS, 2)
        replies = [
            f"{rng.choice(openings)} {one} {two}s {rng.choice(links)} {three} is there for the {four}, "
            f"{rng.choice(endings)}"
            for one, two, three, four in permutations(rng.sample(WORDS, 4))
        ]
        for copy in rng.sample(range(24), 3):
            replies[copy] = replies[copy - 1]
        made[number % 6, f"cs{number // 6:03d}"] = replies
    return made


def looped(texts: list[str]) -> float:
    """The mean of sacrebleu's sentence BLEU over all ordered pairs."""
    scores = [sacrebleu.sentence_bleu(one, [other]).score for one, other in permutations(texts, 2)]
    return math.fsum(scores) / len(scores)


def measure(sets: int = 1152, sample: int = 4, rounds: int = 3) -> list[Row]:
    """Rows for the ratio, the largest difference, and the time of all cheap metrics, in CPU seconds."""
    replies = replies_like_a_models(sets)
    pairs = sets * 24 * 23
    metric = load_metric("pbleu")
    loop_best = ours_best = math.inf
    difference = 0.0
    for turn in range(rounds):
        start = time.process_time()
        measured = metric.measure(replies)
        ours_best = min(ours_best, (time.process_time() - start) / pairs)
        sampled = random.Random(turn).sample(sorted(replies), sample)
        start = time.process_time()
        theirs = {key: looped(replies[key]) for key in sampled}
        loop_best = min(loop_best, (time.process_time() - start) / (sample * 24 * 23))
        assert measured.statistics is not None
        difference = max(difference, *(abs(measured.statistics[key].total - theirs[key]) for key in sampled))
    start = time.process_time()
    for name in CHEAP_METRICS:
        load_metric(name).measure(replies)
    cheap = time.process_time() - start
    return [
        Row(
            f"pBLEU of {pairs:,} pairs against looping sacrebleu.sentence_bleu",
            f"{1 / ours_best:,.0f} pairs a second against {1 / loop_best:,.0f}, difference {difference:.0e}",
            loop_best / ours_best,
            at_least=50,
        ),
        Row(f"all cheap metrics of {sets * 24:,} replies, in seconds", "", cheap, at_most=3),
    ]
