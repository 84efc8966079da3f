"""Rows of several runs in one table: only of comparable runs, and each row once."""

import pytest

from plugin.tests.nouns import results_of
from pytest_ocg.errors import ResultsError
from pytest_ocg.results.signature import comparable_rows


def results(*rows, **more):
    """The results of a run of these models with these shots."""
    return results_of({"rows": [{"model": model, "shots": shots} for model, shots in rows], **more})


def test_rows_of_several_runs_go_into_one_table():
    found = comparable_rows([results(("a", 0)), results(("a", 1), ("b", 1))])
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
        comparable_rows([results(("a", 0)), results(("b", 0), **other)])
    said = str(caught.value)
    assert [part in said for part in ("'b'", key, *values)] == [True] * 4


def test_the_same_row_twice_is_refused():
    with pytest.raises(ResultsError, match=r"'a'.* 'ordered' and 0 shots; .*ocg merge"):
        comparable_rows([results(("a", 0)), results(("a", 0))])
