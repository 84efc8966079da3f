"""The HTML report: its sections and what each of them shows."""

import re
import sys

import pytest

from plugin.tests.report.html.parsed_page import Page, page
from plugin.tests.report.whole_run import changed, in_order, whole_run
from pytest_ocg.errors import ExportError
from pytest_ocg.inputs.published import PAPER_SHA256
from pytest_ocg.report.html.page import render_html


def changed_page(places, **run):
    """The report on a made-up run with changed values, as text."""
    results, records = whole_run(**run)
    return render_html(changed(results, places), records)


def test_verdict_and_table_come_before_everything_else():
    assert page().all("h2") == [
        "Verdict",
        "Metrics",
        "Patterns and templates",
        "Order bias",
        "Replies",
        "Run details",
    ]


def test_a_failed_gate_has_its_reasons():
    failed = {"gate.verdicts.0.status": "failed", "gate.verdicts.0.reasons": ["pbleu 20.1 over 10.0"]}
    found = Page(changed_page(failed))
    assert found.all("strong") == ["failed"]
    assert "pbleu 20.1 over 10.0" in found.all("li")


def test_failed_models_come_first():
    statuses = {"gate.verdicts.1.status": "not_evaluated", "gate.verdicts.2.status": "failed"}
    assert Page(changed_page(statuses, models=("a", "b", "c"))).all("strong") == ["failed", "not evaluated", "passed"]


def test_the_limits_checked_are_below_the_verdict():
    drop = {"points": 10.125, "at_least": None, "smallest": None, "error": None, "sets": 0}
    check = {
        "metric": "pbleu", "bound": "max_rise", "limit": 2.0, "value": 20.125, "interval": None, "holds": False,
        "says": "pbleu 20.1 is 10.1 over its baseline 10.0",
        "fall": {"baseline": 10.0, "drop": drop, "strict": False, "is_paired": False},
    }  # fmt: skip
    found = Page(changed_page({"gate.verdicts.0.name": "gemma2-9b ordered 0-shot", "gate.verdicts.0.checks": [check]}))
    cells = found.all("th", "td", "small")
    start = cells.index("pbleu")
    assert cells[start : start + 6] == ["pbleu", check["says"], "20.12", "max_rise", "2.00", "no"]
    assert "gemma2-9b ordered 0-shot" in found.all("span")


def test_without_a_verdict_the_page_names_the_command_for_one():
    text = changed_page({"gate": None})
    assert [paragraph for paragraph in Page(text).all("p") if "no verdict" in paragraph]
    assert "<code>ocg gate RESULTS</code>" in text


def test_a_partial_run_is_marked_at_the_top():
    text = changed_page({"selection.complete": False, "selection.run": 12, "selection.cut": "interrupted"})
    assert "Partial run:</strong> 12 of 24 cases were run; the run stopped early: interrupted." in text


def test_metrics_have_intervals_if_there_are_enough_sets():
    found = page(lambda asked, number: "dog park run walk" if number < 96 else "dog", sets=8)
    assert {"33.33", "50.00", "66.67"} & set(found.all("td"))
    assert [text for text in found.all("small") if re.fullmatch(r"\[[\d.]+, [\d.]+\]", text)]
    assert not [text for text in page().all("small") if text.startswith("[")]


def test_a_run_of_the_papers_cases_has_the_papers_values():
    papers = {
        "dataset.sha256": PAPER_SHA256, "dataset.sets": 192, "selection.sets": None,
        "selection.templates": [0, 1, 2, 3, 4, 5], "rows.0.published_as": "Gemma2-9B",
    }  # fmt: skip
    assert "published" not in page().all("td")
    assert "published" in Page(changed_page(papers)).all("td")


def test_metrics_without_a_value_and_errors_are_listed():
    found = page(lambda asked, number: None if number < 3 else in_order(asked, number))
    assert "3 timeout" in found.all("small")
    assert [text for text in found.all("li") if text.startswith("no value: ") and "--ocg-metrics all" in text]


def test_every_chart_has_a_name_a_description_and_a_table_of_its_numbers():
    found = page(templates=(0, 1))
    charts = found.attributes("svg")
    assert len(charts) == len(found.all("desc")) == len(found.all("figcaption", "h3")) == 3
    ids = {attributes.get("id") for _, attributes in found.tags}
    assert all(set(chart["aria-labelledby"].split()) <= ids for chart in charts)
    assert found.all("summary").count("The same numbers as a table") == 3


def test_ids_are_unique():
    ids = [attributes["id"] for _, attributes in page(templates=(0, 1), models=("a", "b")).tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_with_several_models_there_are_figures_3_and_4():
    titles = page(models=("a", "b")).all("h3")
    assert "Ordered lists by number of models that composed them (Figure 3)" in titles
    assert "Orders of a concept set that at least n models composed (Figure 4)" in titles
    assert not [title for title in page().all("h3") if "Figure" in title]


def test_with_earlier_results_there_is_the_gate_history():
    results, records = whole_run()
    before, _ = whole_run(lambda *_: "dog", started="2026-11-29T10:00:00+00:00")
    before = changed(before, {"gate.verdicts.0.status": "failed", "matcher": "lemma"})
    found = Page(render_html(results, records, [before]))
    assert "Gate history" in found.all("h2")
    cells = found.all("th", "td")
    start = cells.index("2026-11-29T10:00:00+00:00")
    assert cells[start : start + 6] == [
        "2026-11-29T10:00:00+00:00", "FAILED", "0.00", "0.00", "-", "not comparable; differs in: matcher",
    ]  # fmt: skip


def test_the_run_details_are_complete():
    found = page().all("dd")
    assert "some/model" in found[1]
    assert [text for text in found if "cd" * 32 in text]
    assert found[-1] == "Python 3.11.7, spacy 3.8.18"


def test_a_run_without_rows_or_replies_has_a_page_too():
    results, _ = whole_run()
    empty = changed(results, {"rows": [], "gate.verdicts": []})
    assert Page(render_html(empty, [])).all("p").count("There are no replies.") == 2


def test_the_same_input_gives_the_same_bytes():
    assert render_html(*whole_run(models=("a", "b"))) == render_html(*whole_run(models=("a", "b")))


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ExportError, match=r"pytest-ordered-commongen\[report\]"):
        render_html(*whole_run())
