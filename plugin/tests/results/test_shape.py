"""Results that may be anybody's: what a run writes passes, anything else is named before it is rendered."""

from pathlib import Path

import pytest
from pytest_ocg.results.shape import check_shape

from plugin.tests.report.whole_run import whole_run
from pytest_ocg.errors import ResultsError
from pytest_ocg.results.files import Run


def run_with(edit=lambda results, records: None):
    results, records = whole_run(metrics=("distinct2",))
    edit(results, records)
    return Run(Path("results.json"), results, tuple(records))


def test_what_a_run_writes_passes():
    check_shape(run_with())


def test_results_without_a_gate_pass():
    def edit(results, _):
        del results["gate"]

    check_shape(run_with(edit))


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (("selection", "sets"), "selection.sets is None"),
        (("selection", "shard"), "selection.shard is None"),
        (("rows", 0, "metrics", "pbleu", "value"), "rows.metrics.pbleu.value is None"),
        (("rows", 0, "metrics", "pbleu", "reason"), "rows.metrics.pbleu.reason is None"),
    ],
)
def test_what_is_not_there_is_not_taken_for_none(place, message):
    def edit(results, _):
        inner = results
        for key in place[:-1]:
            inner = inner[key]
        del inner[place[-1]]

    with pytest.raises(ResultsError, match=message):
        check_shape(run_with(edit))


PLACES = [
    (("run",), 3, "run is 3"),
    (("run", "command_line"), [3], "run.command_line is 3"),
    (("run", "started"), None, "run.started is None"),
    (("run", "versions"), {"spacy": 3}, "run.versions.spacy is 3"),
    (("selection", "templates"), [0, "1"], "selection.templates is '1'"),
    (("selection", "complete"), 1, "selection.complete is 1"),
    (("rows", 0, "counts", "hit"), -1, "rows.counts.hit is -1"),
    (("rows", 0, "counts", "hit"), True, "rows.counts.hit is True"),
    (("rows", 0, "metrics", "pbleu", "value"), float("nan"), "rows.metrics.pbleu.value is nan"),
    (("rows", 0, "published_as"), ["x"], "rows.published_as is ['x']"),
    (("rows", 0, "by_template"), {"x": {}}, "rows.by_template is 'x'"),
    (("rows", 0, "by_pattern"), {"NV": {"coverage_ordered": "1"}}, "rows.by_pattern.NV.coverage_ordered is '1'"),
    (("rows", 0, "delta_vs_original"), [], "rows.delta_vs_original is []"),
    (("rows", 0, "made_by"), {}, "rows.made_by is {}"),
    (("rows", 0, "metrics", "pbleu", "interval"), {"low": 1.0}, "rows.metrics.pbleu.interval.high is None"),
    (("gate",), [], "gate is []"),
    (("gate", "verdicts", 0, "checks"), [{"metric": 3}], "gate.verdicts.checks.metric is 3"),
    (("gate", "verdicts"), [{"model": "m", "status": "great", "reasons": []}], "gate.verdicts.status is 'great'"),
]


@pytest.mark.parametrize(("place", "value", "message"), PLACES)
def test_what_no_run_writes_is_named_with_the_way_out(place, value, message):
    def edit(results, _):
        inner = results
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value

    with pytest.raises(ResultsError) as caught:
        check_shape(run_with(edit))
    assert str(caught.value) == (
        f"results 'results.json': {message}, which no run writes; run the benchmark again, which asks for no reply "
        "that is in the cache"
    )


@pytest.mark.parametrize(
    ("field", "value"), [("positions", [[1]]), ("positions", [1, 2, 3, 4]), ("positions", [[-1]] * 4), ("missing", [3])]
)
def test_a_record_whose_words_cannot_be_found_in_its_reply_is_named(field, value):
    def edit(_, records):
        records[5] = {**records[5], field: value}

    with pytest.raises(ResultsError, match=rf"reply '.*'\.{field} is .*, which no run writes"):
        check_shape(run_with(edit))
