"""pBLEU of a full run against looping `sacrebleu.sentence_bleu`, alternating in one run, in CPU seconds.

    python benchmarks/pbleu.py [--sets 1152] [--sample 4] [--rounds 3]

The loop is timed on a sample of the sets (its full run takes minutes), ours on all of them; the ratio is of the best
time a pair. Every sampled set is compared as well. Exits 1 where the ratio or the equality is not held.
"""

from __future__ import annotations

import argparse
import math
import random
import resource
import sys
import time
from itertools import permutations

import sacrebleu

from pytest_ocg.metrics import CHEAP_METRICS, load_metric
from pytest_ocg.metrics.base import SetKey

RATIO_TO_REACH = 50
SECONDS_FOR_ALL_CHEAP = 3.0
SYLLABLES = ("ba", "cor", "den", "fi", "gra", "hol", "ju", "kel", "lan", "mi", "nor", "pa", "ras", "so", "tel", "vi")
WORDS = tuple(first + last for first in SYLLABLES for last in SYLLABLES)
OPENINGS = ("In the early morning, the", "As everyone looks on, a", "At the park, the", "The", "A", "Two of the")
LINKS = ("while the", "and then the", "so that a", "next to the", ", and the")
ENDINGS = ("in front of a small crowd.", "with a smile.", "near the old bridge.", "again.", "at 5.30 p.m.")


def replies_like_a_models(sets: int, seed: int = 0) -> dict[SetKey, list[str]]:
    """24 similar replies of about 10 to 20 words for each set, three of them said before."""
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


def main() -> int:
    """Print the times, their ratio and the largest difference; 0 where both budgets hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1152, help="concept sets times templates (full run: 1152)")
    parser.add_argument("--sample", type=int, default=4, help="sets the loop is timed on, each round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    replies = replies_like_a_models(options.sets)
    texts = [text for group in replies.values() for text in group]
    words = sum(len(text.split()) for text in texts) / len(texts)
    print(f"{len(replies)} sets, {len(texts)} replies of {words:.1f} words, {len(texts) * 23} ordered pairs")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    metric = load_metric("pbleu")
    loop_best = ours_best = math.inf
    difference = 0.0
    for turn in range(options.rounds):
        start = time.process_time()
        measured = metric.measure(replies)
        ours = (time.process_time() - start) / (len(texts) * 23)
        sampled = random.Random(turn).sample(sorted(replies), options.sample)
        start = time.process_time()
        theirs = {key: looped(replies[key]) for key in sampled}
        loop = (time.process_time() - start) / (len(sampled) * 24 * 23)
        assert measured.statistics is not None
        difference = max(difference, *(abs(measured.statistics[key].total - theirs[key]) for key in sampled))
        loop_best, ours_best = min(loop_best, loop), min(ours_best, ours)
        print(f"round {turn + 1}: loop {1 / loop:10,.0f} pairs/s   ours {1 / ours:12,.0f} pairs/s   "
              f"{loop / ours:6.1f} times")
    cheap = 0.0
    for name in CHEAP_METRICS:
        start = time.process_time()
        score = load_metric(name).measure(replies).score
        seconds = time.process_time() - start
        cheap += seconds
        print(f"{name:>17} {score.value:7.2f}  {seconds:6.2f} s")
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    ratio = loop_best / ours_best
    print(f"all cheap metrics {cheap:.2f} CPU s (to reach: {SECONDS_FOR_ALL_CHEAP} s), {memory:.0f} MiB more at most")
    print(f"pBLEU {ratio:.1f} times as fast as the loop (to reach: {RATIO_TO_REACH}), "
          f"largest difference {difference:.1e} (to reach: 1e-9)")
    return 0 if ratio >= RATIO_TO_REACH and difference <= 1e-9 and cheap <= SECONDS_FOR_ALL_CHEAP else 1


if __name__ == "__main__":
    sys.exit(main())
