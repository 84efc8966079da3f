"""The gate history: its runs, their order, and which of them are comparable."""

import pytest

from plugin.tests.report.whole_run import changed, whole_run
from pytest_ocg.report.html.history import gate_history
from pytest_ocg.results.verdicts import Status


@pytest.fixture(scope="module")
def run_of():
    """Builds the results of a run on that day of November, with changes."""
    results, _ = whole_run()

    def run_of(day, **parts):
        return changed(results, {"run.started": f"2026-11-{day}T10:00:00+00:00", **parts})

    return run_of


def test_runs_are_sorted_by_time(run_of):
    [points] = gate_history(run_of(30), [run_of(29), run_of(27), run_of(28)])
    assert [point.started[8:10] for point in points] == ["27", "28", "29", "30"]
    assert [point.values["coverage_ordered"] for point in points] == [100.0] * 4
    assert not any(point.differs for point in points)


def test_without_earlier_runs_of_the_same_row_there_is_none(run_of):
    other, _ = whole_run(models=("other",))
    assert gate_history(run_of(30), []) == ()
    assert gate_history(run_of(30), [other]) == ()


def test_each_point_has_its_verdict_or_none(run_of):
    failed = {"verdicts": [{"model": "gemma2-9b", "status": "failed", "reasons": ["pbleu 20 over 10"]}]}
    [points] = gate_history(run_of(30), [run_of(28, gate=failed), run_of(29, gate={"verdicts": []})])
    assert [point.verdict and point.verdict.status for point in points] == [Status.FAILED, None, Status.PASSED]
    assert points[0].verdict.reasons == ("pbleu 20 over 10",)


def test_runs_with_other_settings_and_partial_runs_are_marked(run_of):
    partial = changed(run_of(29), {"selection.complete": False})
    [points] = gate_history(run_of(30), [run_of(28, matcher="lemma"), partial])
    assert [point.differs for point in points] == [("matcher",), ("cases",), ()]


def test_results_without_a_gate_are_points_without_a_verdict(run_of):
    [points] = gate_history(run_of(30, gate=None), [run_of(29, gate=None)])
    assert [point.verdict for point in points] == [None, None]


def test_a_verdict_on_one_row_of_a_model_is_not_that_of_its_other_rows(run_of):
    of_original = {"model": "gemma2-9b", "status": "failed", "reasons": ["x"], "condition": "original", "shots": 0}
    [points] = gate_history(run_of(30), [run_of(29, gate={"verdicts": [of_original]})])
    assert [point.verdict and point.verdict.status for point in points] == [None, Status.PASSED]
