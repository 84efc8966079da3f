"""The LaTeX table: the columns of the paper's Table 1, one row per model, safe to compile."""

import msgspec
import pytest

from plugin.tests.report.whole_run import changed
from pytest_ocg.report.latex import escape, render_latex


def body(text):
    return [line for line in text.splitlines() if line.endswith(r" \\")][1:]


def test_a_model_has_one_row_in_the_order_of_the_papers_columns(make_run):
    text = render_latex(make_run()[0])
    assert body(text) == [r"gemma2-9b & 97.51 & 75.25 & 77.17 & 17.60 & 41.90 & 92.80 & 93.70 & 52.46 \\"]
    assert text.splitlines()[1:4] == [
        r"\begin{tabular}{lrrrrrrrr}",
        r"\hline",
        r"model & coverage w/o order & coverage w/ order & ordered rate & pBLEU & pBLEURT & distinct & diverse rate & "
        r"perplexity \\",
    ]
    assert text.endswith("\\hline\n\\end{tabular}\n")


def test_deltas_to_original_follow_the_values_and_the_original_row_is_left_out(make_run):
    results, _ = make_run()
    [ordered] = results.rows
    deltas = {"coverage_ordered": 3.8, "pbleu": -1.25, "pbleurt": None}
    rows = (
        msgspec.structs.replace(ordered, delta_vs_original=deltas),
        msgspec.structs.replace(ordered, condition="original"),
    )
    [row] = body(render_latex(msgspec.structs.replace(results, rows=rows)))
    assert row.startswith(
        r"gemma2-9b & 97.51 & 75.25 {\scriptsize ($+3.80$)} & 77.17 & 17.60 {\scriptsize ($-1.25$)} & 41.90 &"
    )


def test_a_row_that_is_not_zero_shot_or_not_ordered_is_marked(make_run):
    results = changed(make_run(condition="original")[0], {"rows.0.shots": 1})
    assert body(render_latex(results))[0].startswith("gemma2-9b (original, 1-shot) & ")


def test_a_missing_value_is_a_dash_with_its_reason_in_a_comment(make_run):
    missing = {"rows.0.metrics.perplexity": {"value": None, "reason": "hub is away"}}
    text = render_latex(changed(make_run()[0], missing))
    assert body(text)[0].endswith(r"& 93.70 & -- \\")
    assert "% no value: perplexity: hub is away" in text.splitlines()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("gemma2-9b", "gemma2-9b"),
        ("a_b & c % d # e $ f", r"a\_b \& c \% d \# e \$ f"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("~^<>|", r"\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\textbar{}"),
        ("a--b---c", "a-{}-b-{}-{}-c"),
        ("one\ntwo", "one two"),
        ("", ""),
    ],
)
def test_no_latex_command_character_is_left_in_a_text(text, written):
    assert escape(text) == written


def test_text_from_a_run_does_not_leave_its_comment_or_its_cell(make_run):
    hostile = "x\n\\input{/etc/passwd} & y \\\\ %"
    results = make_run(model=hostile, published_as=None)[0]
    text = render_latex(changed(results, {"matcher": hostile, "dataset.name": hostile}))
    [row] = body(text)
    assert row.replace(r"\&", "").count("&") == 8
    assert [line for line in text.splitlines() if r"\input" in line] == [text.splitlines()[0]]
    assert text.startswith("% ")
