"""Perplexity of a run's replies under SmolLM2-135M, compared with lmppl's batching, in one process on one thread.

    python benchmarks/perplexity.py [--sets 192]

A set has 24 replies. All 192 sets, the replies to one template, take an hour. lmppl does not load under transformers 5,
so its loop is repeated here: padded batches in the order of the replies, with repeated replies scored again. The loop
gets its fastest batch size. Times are CPU seconds, because other programs change them only a little.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import torch
from rows import Row

from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.huggingface.devices import plan_device
from pytest_ocg.backends.huggingface.loading import LoadedModel, load_model
from pytest_ocg.backends.huggingface.runtime import free_memory, silence_libraries
from pytest_ocg.backends.huggingface.sources import fetch, find_source
from pytest_ocg.inputs.concepts import load_dataset
from pytest_ocg.inputs.models import load_registry, resolve_model
from pytest_ocg.inputs.selection import sample_sets
from pytest_ocg.metrics import perplexity as causal_scorer
from pytest_ocg.metrics.base import ScoringContext
from pytest_ocg.metrics.perplexity import open_perplexity
from pytest_ocg.run.cache.cache import Cache

MODEL = "smollm2-135m"
BATCH_SIZES = (1, 8, 32)
RATIO_TO_REACH = 1.3
OPENINGS = ("In the early morning, the", "As everyone looks on, a", "At the park, the", "The", "A", "Two of the")
LINKS = ("while the", "and then the", "so that a", "next to the", ", and the", "and the", "to")
ENDINGS = (".", "with a smile.", "near the old bridge.", "in front of a small crowd of people who came to see it.")


@dataclass(frozen=True, slots=True)
class Part:
    """The CPU seconds of a part, its memory in addition to the model, and the mean that it found."""

    seconds: float
    megabytes: float
    mean: float


def replies_of(sets: int) -> dict[tuple[int, str], list[str]]:
    """24 replies of 8 to 25 words to each of `sets` concept sets, two of them repeated."""
    rng = random.Random(0)
    replies = {}
    for entry in sample_sets(load_dataset("everyday").sets, sets, 0):
        texts = [
            f"{rng.choice(OPENINGS)} {one} {rng.choice(LINKS)} {two} {rng.choice(LINKS)} {three} is there for the "
            f"{four} {rng.choice(ENDINGS)}"
            for one, two, three, four in permutations(concept.lemma for concept in entry.concepts)
        ]
        for copy in rng.sample(range(1, 24), 2):
            texts[copy] = texts[copy - 1]
        replies[0, entry.id] = texts
    return replies


def measure(sets: int = 4) -> list[Row]:
    """Rows for the time and the memory in addition to the model, both compared with the loop."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _measure(replies_of(sets))
    finally:
        torch.set_num_threads(threads)


def _measure(replies: dict[tuple[int, str], list[str]]) -> list[Row]:
    texts = [text for group in replies.values() for text in group]
    loaded = _load()
    ours = _timed(lambda: _ours(loaded, replies))
    loops = {size: _timed(lambda size=size: _looped(loaded, texts, size)) for size in BATCH_SIZES}
    best = min(loops, key=lambda size: loops[size].seconds)
    loop = loops[best]
    if not math.isclose(ours.mean, loop.mean, rel_tol=1e-4):
        raise SystemExit(f"the loop finds a perplexity of {loop.mean!r}, the metric one of {ours.mean!r}")
    return [
        Row(
            f"perplexity of {len(texts):,} replies against lmppl's batching at its best batch size",
            f"{len(texts) / ours.seconds:.1f} a CPU second against {len(texts) / loop.seconds:.1f} in batches of {best}"
            f"; {len(set(texts)):,} of the replies differ",
            loop.seconds / ours.seconds,
            at_least=RATIO_TO_REACH,
        ),
        Row(
            "its memory in addition to the model, in MB",
            "lmppl's batching: " + ", ".join(f"{loops[size].megabytes:.0f} in batches of {size}" for size in loops),
            ours.megabytes,
            at_most=400,
        ),
    ]


def _load() -> LoadedModel:
    spec = resolve_model(MODEL, load_registry())
    source = fetch(find_source(spec, allow_pickle=False, notice=print), allow_pickle=False, notice=print)
    device = plan_device("cpu", causal_scorer.DTYPE)
    with silence_libraries():
        return load_model(source, device, GenerationSettings(device="cpu", dtype=causal_scorer.DTYPE))


def _timed(run: Callable[[], float]) -> Part:
    free_memory()
    ctypes.CDLL(None).malloc_trim(0)  # memory that the part before left in the heap does not count
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the highest memory so far
    started = time.process_time()
    mean = run()
    return Part(time.process_time() - started, _resident("VmHWM") - before, mean)


def _resident(field: str) -> float:
    """A memory field of this process on Linux, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) / 1024


def _ours(loaded: LoadedModel, replies: dict[tuple[int, str], list[str]]) -> float:
    load, causal_scorer.load_model = causal_scorer.load_model, lambda *arguments: loaded
    try:
        with tempfile.TemporaryDirectory() as folder, Cache.open(Path(folder)) as cache:
            context = ScoringContext(
                store=cache, perplexity_model=MODEL, bleurt_model="", device="cpu", batch_size=None,
                trust_remote_code=False, allow_pickle=False, progress=lambda *step: None, notice=print,
            )  # fmt: skip
            value = open_perplexity(context).measure(replies).score.value
    finally:
        causal_scorer.load_model = load
    assert value is not None
    return value


def _looped(loaded: LoadedModel, texts: Sequence[str], size: int) -> float:
    model, tokenizer = loaded.model, loaded.tokenizer
    found: list[float] = []
    with torch.no_grad():
        for start in range(0, len(texts), size):
            batch = list(texts[start : start + size])
            inputs: Any = tokenizer(batch, padding=True, truncation=True, return_tensors="pt")
            logits = model(**inputs).logits[:, :-1].contiguous()
            target = inputs["input_ids"][:, 1:].clone()
            target[target == tokenizer.pad_token_id] = -100
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none")
            mean = loss.view(target.shape).sum(-1) / (target != -100).sum(-1)
            found += mean.exp().tolist()
    return math.fsum(found) / len(found)


def main() -> int:
    """Print the rows; the number of limits that do not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=192, help="concept sets, of 24 replies each")
    rows = measure(parser.parse_args().sets)
    print("\n".join(row.line() for row in rows))
    return sum(not row.holds for row in rows)


if __name__ == "__main__":
    sys.exit(main())
