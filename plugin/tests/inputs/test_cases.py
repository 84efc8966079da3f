"""Cases: all of them, always in the same order, with ids that say what `-k` needs."""

import math
import subprocess
import sys

import pytest

from pytest_ocg.inputs.cases import Case, cut_batches, expand_cases
from pytest_ocg.inputs.concepts import Concept, ConceptSet

CATCH, DOG, FRISBEE, THROW = Concept("catch", "V"), Concept("dog", "N"), Concept("frisbee", "N"), Concept("throw", "V")
SET = ConceptSet("cs042", (CATCH, DOG, FRISBEE, THROW))
OTHER = ConceptSet("cs043", (Concept("cat", "N"), Concept("sit", "V")))


def expand(models=("m",), sets=(SET,), conditions=("ordered",), templates=(0,), shots=0):
    return expand_cases(models, sets, conditions=conditions, templates=templates, shots=shots)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (
            Case("gemma2-9b", "ordered", 0, 0, "cs042", (CATCH, DOG, FRISBEE, THROW)),
            "gemma2-9b-ordered-t0-VNNV-cs042-catch_dog_frisbee_throw",
        ),
        (
            Case("gemma2-9b", "original", 1, 5, "cs042", (DOG, CATCH, THROW, FRISBEE)),
            "gemma2-9b-original-1shot-t5-NVVN-cs042-dog_catch_throw_frisbee",
        ),
    ],
)
def test_an_id_names_model_condition_template_pattern_set_and_order(case, expected):
    assert case.id == expected


def test_every_order_of_every_set_is_asked_by_every_template_under_every_condition_of_every_model():
    cases = expand(models=("a", "b"), sets=(SET, OTHER), conditions=("ordered", "original"), templates=(0, 3))
    assert len(cases) == 2 * 2 * 2 * (24 + 2)
    assert len({case.id for case in cases}) == len(cases)
    assert {case.concepts for case in cases if case.set_id == "cs043"} == {OTHER.concepts, OTHER.concepts[::-1]}


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_orders_of_a_set_are_all_permutations_and_begin_with_the_files_own(size):
    concepts = tuple(Concept(word, "N") for word in ("b", "a", "d", "c", "e")[:size])
    found = [case.concepts for case in expand(sets=(ConceptSet("cs000", concepts),))]
    assert found[0] == concepts
    assert len(set(found)) == len(found) == math.factorial(size)


def test_the_benchmark_of_192_sets_has_27648_cases_of_which_each_pattern_asks_its_own():
    sets = [ConceptSet(f"cs{number:03}", (CATCH, DOG, FRISBEE, THROW)) for number in range(192)]
    cases = expand(sets=sets, templates=range(6))
    assert len(cases) == 27_648
    assert {case.pattern for case in cases} == {"VVNN", "VNVN", "VNNV", "NVVN", "NVNV", "NNVV"}


def test_the_model_changes_slowest_and_the_order_fastest_so_that_neighbours_share_a_prompt():
    cases = expand(models=("a", "b"), templates=(0, 1))
    assert [case.model for case in cases] == ["a"] * 48 + ["b"] * 48
    assert [case.template for case in cases[:48]] == [0] * 24 + [1] * 24


@pytest.mark.parametrize(
    ("size", "lengths"), [(24, [24, 24]), (32, [32, 16]), (1, [1] * 48), (1000, [48]), (47, [47, 1])]
)
def test_batches_hold_at_most_their_size_and_every_case_once(size, lengths):
    cases = expand(templates=(0, 1))
    batches = cut_batches(cases, {"m": size})
    assert [len(batch.cases) for batch in batches] == lengths
    assert [case for batch in batches for case in batch.cases] == cases
    assert [batch.number for batch in batches] == list(range(len(lengths)))


def test_a_batch_never_mixes_models_and_each_model_has_its_own_size():
    batches = cut_batches(expand(models=("a", "b")), {"a": 20, "b": 24})
    assert [(batch.model, len(batch.cases)) for batch in batches] == [("a", 20), ("a", 4), ("b", 24)]


def test_no_case_no_batch():
    assert cut_batches([], {}) == []


def test_ids_are_the_same_in_every_process_whatever_the_hash_seed():
    code = (
        "from pytest_ocg.inputs.cases import expand_cases\n"
        "from pytest_ocg.inputs.concepts import load_dataset\n"
        "from pytest_ocg.inputs.selection import sample_sets\n"
        "sets = sample_sets(load_dataset('everyday').sets, 7, 3)\n"
        "cases = expand_cases(['m'], sets, conditions=('ordered',), templates=(0,), shots=0)\n"
        "print([case.id for case in cases])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "1", "12345")
    }
    assert len(outputs) == 1
    assert "VVVV" in outputs.pop()
