"""The Markdown report in a pull request: its content, and that no text from a run can break it."""

import msgspec
import pytest

from plugin.tests.report.whole_run import changed
from pytest_ocg.inputs.published import load_published
from pytest_ocg.report.markdown import render_markdown


def lines(text, start):
    return [line for line in text.splitlines() if line.startswith(start)]


def test_the_verdict_comes_first_and_a_failed_one_is_bold(make_run):
    results, records = make_run()
    assert render_markdown(results, records).splitlines()[:3] == [
        "## Ordered CommonGen",
        "",
        "- **<code>gate&#58; FAILED gemma2-9b coverage&#95;ordered 75.3 under 80.0</code>**",
    ]


@pytest.mark.parametrize("gate", [None, {"verdicts": []}])
def test_without_a_verdict_the_report_names_the_command_for_one(make_run, gate):
    results, records = make_run()
    [line] = lines(render_markdown(changed(results, {"gate": gate}), records), "- gate: these results have no verdict")
    assert "`ocg gate RESULTS`" in line


def test_a_model_has_its_values_and_the_papers_below_them(make_run):
    text = render_markdown(*make_run())
    [ours], [paper] = lines(text, "| <code>gemma2-9b</code> | ordered |"), lines(text, "|  | published |")
    assert ours.split(" | ")[2:] == ["97.51", "75.25", "77.17", "17.60", "41.90", "92.80", "70.10", "93.70", "52.46 |"]
    assert paper.split(" | ")[2] == f"{load_published().table1['Gemma2-9B'].values['coverage_unordered']:.2f}"
    assert ours.count("|") == paper.count("|")


def test_a_run_that_is_not_the_papers_has_no_published_row(make_run):
    results, records = make_run()
    other = changed(results, {"dataset.sha256": "0" * 64})
    assert not lines(render_markdown(other, records), "|  | published |")


def test_deltas_are_below_the_row_and_a_missing_value_has_a_reason(make_run):
    results, records = make_run()
    results = changed(
        results,
        {
            "rows.0.delta_vs_original": {"coverage_ordered": 3.8, "pbleu": None},
            "rows.0.metrics.perplexity": {"value": None, "reason": "hub is away"},
        },
    )
    text = render_markdown(results, records)
    [delta] = lines(text, "|  | - original |")
    assert delta.split(" | ")[2:6] == ["-", "+3.80", "-", "-"]
    assert "- <code>no value&#58; perplexity&#58; hub is away</code>" in text.splitlines()


def test_templates_and_patterns_have_their_tables_with_n_and_the_papers_mean(make_run):
    text = render_markdown(*make_run())
    assert lines(text, "| 1 | ordered |") == [
        "| 1 | ordered | n = 1 | 97.51 | 86.34 ± 13.06 | 70.00 | 39.10 ± 15.10 | 77.17 | 44.69 ± 14.17 | 93.70 | "
        "90.90 ± 6.04 |"
    ]
    assert lines(text, "| NNVV |")[0].startswith("| NNVV | n = 1 | 97.51 | 84.26 ± 12.61 | 75.25 |")


def test_several_models_are_a_mean_with_its_deviation(make_run):
    results, records = make_run()
    other, _ = make_run("other")
    other = changed(other, {"rows.0.by_pattern.NNVV.coverage_ordered": 73.25})
    both = msgspec.structs.replace(results, rows=(*results.rows, *other.rows))
    [line] = lines(render_markdown(both, records), "| NNVV")
    assert "| n = 2 | 97.51 ± 0.00 | 84.26 ± 12.61 | 74.25 ± 1.41 |" in line


def test_order_bias_has_shares_entropy_distances_first_verbs_and_places(make_run):
    text = render_markdown(*make_run())
    assert "| <code>gemma2-9b</code> ordered 0-shot | 24 | 4.17 | 0.00 | 4.17 | 4.58 | 3.78 | 4.58 |" in text
    assert (
        "24 replies; with every concept: 24. Of these, with two concepts at the same word: 0, with the word list: 0."
        in text
    )
    assert "| distance of the order asked for from the default order | 0 | 1 | 2 | 3 | 4 | 5 | 6 |" in text
    assert "| place of the first verb asked for | 3 |" in text
    assert "| 1 | 100.00 | 0.00 | 0.00 | 0.00 |" in text


def test_with_echoes_there_is_a_second_line_without_them(make_run):
    results, records = make_run()
    assert "repeat the word list |" not in render_markdown(results, records)
    records[0] = msgspec.structs.replace(records[0], echo=True)
    text = render_markdown(results, records)
    assert lines(text, "| <code>gemma2-9b</code> ordered 0-shot, without replies that repeat the word list | 23 |")


def test_without_records_only_the_bias_is_missing(make_run):
    assert "There are no replies." in render_markdown(make_run()[0], [])


def test_the_last_line_has_all_versions_uncut(make_run):
    results, records = make_run()
    results = changed(results, {"run.versions": {f"package-{number}": "1.0" for number in range(40)}})
    assert "package-39 1.0</code>" in render_markdown(results, records).splitlines()[-1]


HOSTILE = "a|b<img src=x onerror=alert(1)>\n| x | `@all` </details> [l](http://e.example)"


@pytest.mark.parametrize("place", ["model", "condition"])
def test_text_from_a_run_cannot_break_a_table_or_add_html(make_run, place):
    harmless = render_markdown(*make_run(**{place: "harmless", "published_as": None}))
    results, records = make_run(**{place: HOSTILE, "published_as": None}, reply=HOSTILE)
    [of_pattern] = results.rows[0].pattern_values().values()
    everywhere = ("dataset.name", "run.python", "matcher", "rows.0.made_by.0.source", "gate.verdicts.0.reasons.0")
    hostile = changed(results, {**dict.fromkeys(everywhere, HOSTILE), "rows.0.by_pattern": {HOSTILE: of_pattern}})
    text = render_markdown(hostile, records)
    assert len(text.splitlines()) == len(harmless.splitlines())
    assert [line.count("|") for line in text.splitlines()] == [line.count("|") for line in harmless.splitlines()]
    assert text.count("<") == harmless.count("<")
    assert not [mark for mark in ("<img", "`", "@", "](", "http:") if mark in text]
