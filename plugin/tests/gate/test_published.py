"""The shipped threshold files are what the paper's Table 1 makes of them."""

from __future__ import annotations

import re

import pytest

from plugin.tests.nouns import rows_of
from pytest_ocg.gate.files import load_thresholds
from pytest_ocg.gate.judge import evaluate
from pytest_ocg.gate.published import published_files, write_published
from pytest_ocg.inputs.files import resource
from pytest_ocg.inputs.published import PAPER_SHA256, load_published
from pytest_ocg.metrics.catalogue import METRICS, first_limits
from pytest_ocg.results.verdicts import Status

FILES = published_files()


def test_every_model_of_the_papers_table_has_a_file():
    assert len(FILES) == len(load_published().table1) == 36
    assert {"gemma2-9b.toml", "llama3.1-405b.toml", "gpt-4o.toml"} <= FILES.keys()


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_shipped_file_is_the_generated_one(name):
    assert (resource("thresholds") / name).read_text(encoding="utf-8") == FILES[name]


def test_a_published_file_names_its_source_and_leaves_open_what_the_paper_leaves_open():
    gemma, gpt = (load_thresholds(resource("thresholds") / f"{name}.toml") for name in ("gemma2-9b", "gpt-4o"))
    assert (gemma.origin, gemma.model, gemma.max_error_share) == ("published", "gemma2-9b", 0.0)
    assert gemma.signature == {
        "dataset": "commongen-lite",
        "dataset_sha256": PAPER_SHA256,
        "matcher": "inflection",
        "quantization": "4bit",
        "templates": [0, 1, 2, 3, 4, 5],
        "condition": "ordered",
        "shots": 0,
    }
    assert gemma.signature.keys() - gpt.signature.keys() == {"quantization"}
    [selection] = gemma.selections
    found = {limit.metric: (limit.baseline, limit.max_drop, limit.max_rise) for limit in selection.limits}
    assert found["coverage_ordered"] == (23.56, METRICS["coverage_ordered"].tolerance, None)
    assert found["pbleu"] == (23.95, None, METRICS["pbleu"].tolerance)
    assert found.keys() == first_limits().keys()
    assert {limit.signature for limit in selection.limits} == {None}
    assert not any(limit.strict for limit in selection.limits)


@pytest.fixture
def paper_run(results):
    """A whole run of the paper's setting that measured what the paper did, with intervals of four points."""
    results["dataset"].update(name="commongen-lite", sha256=PAPER_SHA256, sets=192)
    results["selection"]["sets"] = None
    [row] = results["rows"]
    row["model"], row["identity"]["quantization"] = "gemma2-9b", "4bit"
    for metric, value in load_published().table1["Gemma2-9B"].values.items():
        interval = {"low": value - 2, "high": value + 2, "floor": value - 1.7, "ceiling": value + 1.7}
        row["metrics"][metric] = {
            "value": value, "n": 27648, "signature": "x", "interval": interval, "standard_error": 1.0, "sets": 192,
        }  # fmt: skip
    return results


def verdict(results):
    return evaluate(rows_of(results)[0], load_thresholds(resource("thresholds") / "gemma2-9b.toml"))


def test_a_run_like_the_papers_passes(paper_run):
    assert verdict(paper_run).line() == "gate: PASSED gemma2-9b (5 limits hold)"


@pytest.mark.parametrize(("points", "status"), [(-4.0, Status.PASSED), (-4.5, Status.FAILED), (6.0, Status.PASSED)])
def test_a_run_fails_that_is_behind_the_paper_by_more_than_tolerance_and_noise(paper_run, points, status):
    score = paper_run["rows"][0]["metrics"]["coverage_ordered"]
    score["value"] += points
    score["interval"] = {end: value + points for end, value in score["interval"].items()}
    assert verdict(paper_run).status is status


@pytest.mark.parametrize(
    ("change", "key", "found", "wanted"),
    [
        ({"matcher": "lemma|spacy:3.8.18"}, "matcher", "lemma|spacy:3.8.18", "inflection"),
        ({"dataset": {"name": "everyday", "sha256": "ab"}}, "dataset_sha256", "ab", PAPER_SHA256),
    ],
)
def test_another_kind_of_run_is_not_judged_by_the_paper(paper_run, change, key, found, wanted):
    paper_run.update(change)
    said = verdict(paper_run)
    assert said.status is Status.NOT_EVALUATED
    [reason] = said.reasons
    assert re.match(f"{key} is {re.escape(repr(found))} .*'{wanted}'", reason), reason


def test_existing_files_are_overwritten(tmp_path):
    (tmp_path / "gemma2-9b.toml").write_text("old", encoding="utf-8")
    written = write_published(tmp_path / ".")
    assert {path.name: path.read_text(encoding="utf-8") for path in written} == FILES
