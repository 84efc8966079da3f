from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import platformdirs
import pytest

from pytest_ocg.backends.base import ErrorKind, Generation
from pytest_ocg.errors import CacheError
from pytest_ocg.run.cache import cache as cache_module
from pytest_ocg.run.cache.cache import Cache, default_cache_directory

MADE = {"backend": "scripted", "versions": {"torch": "2.9"}}


@pytest.fixture
def cache(tmp_path):
    with Cache.open(tmp_path, pytest.fail) as opened:
        yield opened


def store(cache, *texts, model="m", provenance=MADE, **how):
    return cache.add_replies(
        [(f"key {text}", Generation(text)) for text in texts], model=model, provenance=provenance, **how
    )


@pytest.mark.parametrize(
    "generation",
    [
        Generation("A dog catches a frisbee."),
        Generation("x", finish_reason="length", detail="cut", prompt_tokens=0, completion_tokens=128),
        Generation('caf\u00e9 \U0001f415 \u2028 \ud800 \udc00 \0 \x1b[31m \ufffe " \\ \r\n'),
        Generation("", prompt_tokens=3),
        Generation("nul \0 " * 5000),
    ],
)
def test_a_reply_comes_back_as_it_was(tmp_path, generation):
    with Cache.open(tmp_path, pytest.fail) as cache:
        made_by = cache.add_replies([("k", generation)], model="m", provenance=MADE)
    with Cache.open(tmp_path, pytest.fail) as cache:
        assert cache.replies(["k"]) == {"k": cache_module.StoredReply(generation, made_by)}


def test_only_keys_that_have_a_reply_come_back(cache):
    store(cache, "a", "b")
    assert cache.replies(["key b", "key c", "key b"]).keys() == {"key b"}
    assert cache.replies([]) == {}


def test_errors_are_never_stored(cache):
    failed = [(f"key {kind}", Generation(None, kind, "said so")) for kind in ErrorKind]
    cache.add_replies([*failed, ("key ok", Generation("ok"))], model="m", provenance=MADE)
    assert cache.replies([key for key, _ in failed] + ["key ok"]).keys() == {"key ok"}


def test_a_batch_of_nothing_but_errors_still_says_how_it_was_made(cache):
    made_by = cache.add_replies([("k", Generation(None, ErrorKind.EMPTY))], model="m", provenance=MADE)
    assert cache.provenance(made_by) == MADE
    assert cache.replies(["k"]) == {}


def test_the_first_reply_to_a_key_stays_unless_it_is_replaced(cache):
    first = store(cache, "a", provenance={"run": 1})
    cache.add_replies([("key a", Generation("other"))], model="m", provenance={"run": 2})
    assert cache.replies(["key a"])["key a"] == cache_module.StoredReply(Generation("a"), first)
    second = cache.add_replies([("key a", Generation("other"))], model="m", provenance={"run": 2}, replace=True)
    assert cache.replies(["key a"])["key a"] == cache_module.StoredReply(Generation("other"), second)


def test_a_provenance_is_found_by_its_id_whatever_the_order_of_its_keys(cache):
    one = store(cache, "a", provenance={"x": 1, "y": [None, "\ud800"]})
    assert one == store(cache, "b", provenance={"y": [None, "\ud800"], "x": 1}, model="other name")
    assert one != store(cache, "c", provenance={"x": 2})
    assert cache.provenance(one) == {"x": 1, "y": [None, "\ud800"]}


def test_an_unknown_provenance_is_an_error_that_says_what_to_do(cache):
    with pytest.raises(CacheError) as caught:
        cache.provenance("abc")
    assert str(caught.value) == (
        f"{cache.path}: there is no reply with the provenance 'abc'; it was pruned or is in another cache: "
        "run again, or pass --ocg-cache with that folder"
    )


def test_what_one_process_stores_another_sees_at_once(tmp_path, cache):
    with Cache.open(tmp_path, pytest.fail) as other:
        store(other, "a")
        assert cache.replies(["key a"])
        store(cache, "b")
        assert other.replies(["key b"])


def test_a_batch_that_fails_half_way_leaves_nothing(cache):
    store(cache, "a")
    with pytest.raises(sqlite3.Error):
        cache.add_replies([("fine", Generation("x")), (object(), Generation("y"))], model="m", provenance=MADE)
    assert cache.replies(["fine", "key a"]).keys() == {"key a"}
    store(cache, "after")
    assert cache.replies(["key after"])


@pytest.mark.parametrize(
    "texts",
    [
        {"A dog runs.": "dog\tNN", "": "", "\ud800": "\udfff", "nul \0": "a\0b"},
        {},
        {f"text {number}": "word " * 120 for number in range(2001)},
    ],
)
def test_analyses_come_back_by_text(cache, texts):
    cache.add_analyses("spacy 3.8", texts)
    assert cache.analyses("spacy 3.8", ["not there", *texts, *texts]) == texts


def test_analyses_of_one_signature_are_not_those_of_another(cache):
    cache.add_analyses("spacy 3.8", {"a": "old"})
    cache.add_analyses("spacy 3.9", {"a": "new", "b": "new"})
    cache.add_analyses("spacy 3.8", {"a": "ignored"})
    assert cache.analyses("spacy 3.8", ["a", "b"]) == {"a": "old"}
    assert cache.analyses("spacy 3.9", ["a", "b"]) == {"a": "new", "b": "new"}
    assert cache.analyses("spacy 4", ["a"]) == {}


def test_analyses_take_less_than_half_their_length_on_disk(cache):
    packed = json.dumps([["word", "lemma", "NOUN"]] * 24)
    cache.add_analyses("s", {f"text {number}": f"{number} {packed}" for number in range(2000)})
    cache.file.shrink()
    assert cache.file.size_bytes() < 2000 * len(packed) / 2


def test_scores_come_back_by_scorer_and_key(cache):
    scores = {"a": -0.25, "b": 1.5, "\ud800": 0.125, "zero": 0}
    cache.add_scores("bleurt-20", scores)
    cache.add_scores("gpt2-xl", {"a": float("inf")})
    assert cache.scores("bleurt-20", ["a", "b", "\ud800", "c", "zero"]) == scores
    assert cache.scores("gpt2-xl", ["a", "b"]) == {"a": float("inf")}
    assert cache.scores("neither", ["a"]) == {}


def test_a_score_that_is_not_a_number_is_refused_and_none_of_its_batch_kept(cache):
    with pytest.raises(CacheError, match=r"the score of 'b' by 'gpt2' is nan; omit texts without a score$"):
        cache.add_scores("gpt2", {"a": 1.0, "b": float("nan")})
    assert cache.scores("gpt2", ["a", "b"]) == {}


def test_a_whole_run_is_read_back_by_hundreds_of_keys_at_a_time(cache):
    keys = [f"{number:064x}" for number in range(27_648)]
    texts = [f"{number} A dog catches the frisbee that a man throws in the park." for number in range(25_000)]
    cache.add_replies([(key, Generation("A dog catches a frisbee. " * 5)) for key in keys], model="m", provenance=MADE)
    cache.add_analyses("s", dict.fromkeys(texts, "word lemma NOUN " * 38))
    statements = []
    cache.file.read(lambda connection: connection.set_trace_callback(statements.append))
    assert len(cache.replies(keys)) == len(keys)
    assert len(cache.analyses("s", texts)) == len(texts)
    assert len(statements) <= (len(keys) + len(texts)) / 400


def at(monkeypatch, moment: str):
    seconds = datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()
    monkeypatch.setattr(cache_module.time, "time", lambda: seconds)


@pytest.fixture
def three_days(cache, monkeypatch):
    """Model `a` on the 1st and 3rd, model `b` on the 2nd, one reply each; analyses of all of them."""
    for day, text, model in (("01", "one", "a"), ("02", "two", "b"), ("03", "three", "a")):
        at(monkeypatch, f"2026-11-{day}T12:00:00")
        store(cache, text, model=model, provenance={"day": day})
    cache.add_analyses("s", {"one": "1", "two": "2", "three": "3", "of no reply": "0"})
    cache.add_scores("s", {"one": 1.0})
    return cache


def test_usage_has_one_row_for_each_model(three_days):
    [a, b] = three_days.usage()
    payloads = ['{"text":"one"}', '{"text":"three"}']
    assert (a.model, a.replies, a.provenances) == ("a", 2, 2)
    assert a.payload_bytes == sum(map(len, payloads)) + len("key one") + len("key three")
    assert (a.first_stored, a.last_stored) == ("2026-11-01T12:00:00+00:00", "2026-11-03T12:00:00+00:00")
    assert (b.model, b.replies, b.first_stored) == ("b", 1, b.last_stored)


def test_usage_of_an_empty_cache_is_empty(cache):
    assert cache.usage() == []


NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("model", "before", "left"),
    [
        ("a", None, ["two"]),
        ("b", None, ["one", "three"]),
        (None, NOON, ["three"]),
        (None, NOON.replace(tzinfo=None), ["three"]),
        (None, NOON + timedelta(seconds=1), []),
        (None, datetime(2026, 11, 3, 12, tzinfo=UTC) - timedelta(days=9), ["one", "two", "three"]),
        ("a", NOON, ["two", "three"]),
        ("b", datetime(2026, 11, 2, tzinfo=UTC), ["one", "two", "three"]),
        ("unknown", None, ["one", "two", "three"]),
        (None, None, []),
    ],
)
def test_prune_deletes_the_chosen_replies_and_what_belongs_only_to_them(three_days, model, before, left):
    announced = sum(usage.replies for usage in three_days.usage(model, before))
    assert three_days.prune(model, before) == announced == 3 - len(left)
    assert three_days.replies(["key one", "key two", "key three"]).keys() == {f"key {text}" for text in left}
    assert three_days.analyses("s", ["one", "two", "three", "of no reply"]).keys() == set(left)
    assert three_days.scores("s", ["one"]) == ({"one": 1.0} if left else {})
    with sqlite3.connect(three_days.path) as connection:
        provenances = connection.execute("SELECT COUNT(*) FROM makings").fetchone()
    connection.close()
    assert provenances == (len(left),)


def test_prune_gives_the_space_back(cache):
    texts = [f"{number} " * 200 for number in range(2000)]
    store(cache, *texts)
    full = cache.file.size_bytes()
    assert cache.prune("m", None) == 2000
    assert cache.file.size_bytes() < full / 20


def test_prune_works_beside_another_open_connection(tmp_path, cache):
    with Cache.open(tmp_path, pytest.fail) as other:
        store(other, "a", "b")
        assert cache.prune(None, None) == 2
        assert other.replies(["key a"]) == {}
        store(other, "a")
    assert cache.replies(["key a"])


def test_closing_twice_does_nothing_and_a_closed_cache_cannot_be_used(tmp_path):
    cache = Cache.open(tmp_path, pytest.fail)
    cache.close()
    cache.close()
    with pytest.raises(sqlite3.ProgrammingError):
        cache.replies(["k"])


def test_the_default_folder_is_the_users_cache_folder():
    assert default_cache_directory() == platformdirs.user_cache_path("pytest-ocg", appauthor=False)
    assert default_cache_directory().name in ("pytest-ocg", "Cache")


def test_folders_are_made_where_they_are_missing(tmp_path):
    with Cache.open(tmp_path / "a" / "b", pytest.fail) as cache:
        assert cache.path == Path(tmp_path / "a" / "b" / "replies.sqlite")
        assert cache.path.exists()
