"""The HTML report: what a release engineer finds in it."""

import re
import sys

import pytest

from plugin.tests.report.html.parsed_page import Page, page
from plugin.tests.report.whole_run import changed, in_order, whole_run
from pytest_ocg.errors import ExportError
from pytest_ocg.inputs.published import PAPER_SHA256
from pytest_ocg.report.html.page import render_html


def changed_page(places, **run):
    """The report on a made-up run with other values at these places, as text."""
    results, records = whole_run(**run)
    return render_html(changed(results, places), records)


def test_verdict_and_table_come_before_everything_else():
    assert page().all("h2") == [
        "Does it pass?",
        "What was measured?",
        "Where does it succeed?",
        "Which order does it write, whatever is asked?",
        "What was replied?",
        "How was it made?",
    ]


def test_a_failed_gate_is_said_with_its_reasons():
    failed = {"gate.verdicts.0.status": "failed", "gate.verdicts.0.reasons": ["pbleu 20.1 over 10.0"]}
    found = Page(changed_page(failed))
    assert found.all("strong") == ["failed"]
    assert "pbleu 20.1 over 10.0" in found.all("li")


def test_of_several_models_those_that_fail_come_first():
    statuses = {"gate.verdicts.1.status": "not_evaluated", "gate.verdicts.2.status": "failed"}
    assert Page(changed_page(statuses, models=("a", "b", "c"))).all("strong") == ["failed", "not evaluated", "passed"]


def test_what_was_held_stands_under_the_verdict():
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


def test_without_a_verdict_it_says_so_and_what_gives_one():
    text = changed_page({"gate": None})
    assert [said for said in Page(text).all("p") if "verdict" in said]
    assert "<code>ocg gate RESULTS</code>" in text


def test_a_run_that_is_not_whole_says_so_at_the_top():
    text = changed_page({"selection.complete": False, "selection.run": 12, "selection.cut": "interrupted"})
    assert "Not a whole run:</strong> 12 of 24 cases were run; it was cut: interrupted." in text


def test_metrics_have_their_values_with_intervals_where_there_are_sets_enough():
    found = page(lambda asked, number: "dog park run walk" if number < 96 else "dog", sets=8)
    assert {"33.33", "50.00", "66.67"} & set(found.all("td"))
    assert [text for text in found.all("small") if re.fullmatch(r"\[[\d.]+, [\d.]+\]", text)]
    assert not [text for text in page().all("small") if text.startswith("[")]


def test_the_papers_values_stand_under_a_run_that_is_the_papers():
    papers = {
        "dataset.sha256": PAPER_SHA256, "dataset.sets": 192, "selection.sets": None,
        "selection.templates": [0, 1, 2, 3, 4, 5], "rows.0.published_as": "Gemma2-9B",
    }  # fmt: skip
    assert "published" not in page().all("td")
    assert "published" in Page(changed_page(papers)).all("td")


def test_what_was_not_computed_and_which_errors_there_were_is_said():
    found = page(lambda asked, number: None if number < 3 else in_order(asked, number))
    assert "3 timeout" in found.all("small")
    assert [text for text in found.all("li") if text.startswith("-: ") and "--ocg-metrics all" in text]


def test_every_chart_has_a_name_a_description_and_its_numbers_beside_it():
    found = page(templates=(0, 1))
    charts = found.attributes("svg")
    assert len(charts) == len(found.all("desc")) == len(found.all("figcaption", "h3")) == 3
    ids = {attributes.get("id") for _, attributes in found.tags}
    assert all(set(chart["aria-labelledby"].split()) <= ids for chart in charts)
    assert found.all("summary").count("The numbers") == 3


def test_no_id_is_there_twice():
    ids = [attributes["id"] for _, attributes in page(templates=(0, 1), models=("a", "b")).tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_several_models_bring_figures_3_and_4():
    titles = page(models=("a", "b")).all("h3")
    assert "Ordered lists by how many models composed them (Figure 3)" in titles
    assert "Orders of a set that so many models composed (Figure 4)" in titles
    assert not [title for title in page().all("h3") if "Figure" in title]


def test_earlier_results_bring_the_history_of_the_gate():
    results, records = whole_run()
    before, _ = whole_run(lambda *_: "dog", started="2026-11-29T10:00:00+00:00")
    before = changed(before, {"gate.verdicts.0.status": "failed", "matcher": "lemma"})
    found = Page(render_html(results, records, [before]))
    assert "How were the runs before?" in found.all("h2")
    cells = found.all("th", "td")
    start = cells.index("2026-11-29T10:00:00+00:00")
    assert cells[start : start + 6] == [
        "2026-11-29T10:00:00+00:00", "FAILED", "0.00", "0.00", "-", "not comparable: matcher",
    ]  # fmt: skip


def test_what_it_was_made_with_is_all_there():
    found = page().all("dd")
    assert "some/model" in found[1]
    assert [text for text in found if "cd" * 32 in text]
    assert found[-1] == "Python 3.11.7, spacy 3.8.18"


def test_a_run_without_rows_or_replies_is_a_page_all_the_same():
    results, _ = whole_run()
    empty = changed(results, {"rows": [], "gate.verdicts": []})
    assert Page(render_html(empty, [])).all("p").count("There is no reply to look at.") == 2


def test_the_same_input_gives_the_same_bytes():
    assert render_html(*whole_run(models=("a", "b"))) == render_html(*whole_run(models=("a", "b")))


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ExportError, match=r"pytest-ordered-commongen\[report\]"):
        render_html(*whole_run())
