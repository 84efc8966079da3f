"""`ocg tables`: the paper's tables from any results, with the published numbers, and a list of what is missing."""

from __future__ import annotations

import io
import json

import pytest

from plugin.tests.report.whole_run import changed, changed_records, in_order, whole_run
from pytest_ocg.analysis.paper_tables import REASONING_BASES
from pytest_ocg.cli import main
from pytest_ocg.inputs.models import load_registry
from pytest_ocg.results.writing import write_results
from pytest_ocg.run.record import record_line

ALL_NEEDS = [
    "Table 1 needs a run with --ocg-shots 0 and --ocg-condition ordered",
    "Table 2 needs a run with --ocg-shots 0 and --ocg-condition ordered",
    "Table 3 needs a run with --ocg-shots 0",
    "Table 4 needs the same model run with --ocg-shots 0 and 1",
    "Table 7 needs a run with --ocg-shots 0, --ocg-condition ordered and template 0",
    "the gain from reasoning in Table 7 needs marco-o1 and qwen2-7b, or o1-mini and gpt-4o-mini",
    "Figures 3 and 4 need the generations.jsonl of two models or more, run with --ocg-shots 0",
]


def ocg_tables(*words):
    stream = io.StringIO()
    return main(["tables", *map(str, words)], stream), stream.getvalue()


def said_by(*words):
    status, said = ocg_tables(*words)
    assert status == 0
    return said.splitlines()


def alphabetically(asked, number):
    """A reply with the words in one order, whatever was asked."""
    return f"Reply {number}: {' and '.join(sorted(asked))}."


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """Writes the folder of a run of one model over 24 ordered lists, with other values at places, and returns it."""

    def write(name, model="qwen2-7b", reply=in_order, places=None, *, shots=0, condition="ordered", published_as=None):
        results, records = whole_run(reply, models=(model,), templates=(0, 3), metrics=("pbleu", "diverse_rate"))
        of_row = {"shots": shots, "condition": condition, "published_as": published_as}
        facts = {"selection.shots": shots, **{f"rows.0.{key}": fact for key, fact in of_row.items()}}
        lines = map(record_line, changed_records(records, shots=shots, condition=condition))
        folder = tmp_path_factory.mktemp(name)
        write_results(folder, changed(results, facts | (places or {})), list(lines))
        return folder

    return write


@pytest.fixture(scope="module")
def folders(write):
    """A reasoning model, and its base under every condition and number of shots that a table asks for."""
    base = {"reply": alphabetically, "published_as": "Qwen2-7B"}
    return (
        write("marco", "marco-o1", published_as="Macro-o1"),
        write("base", **base),
        write("original", condition="original", **base),
        write("one", shots=1, **base),
    )


def cells_of(lines, start):
    """The cells of each line that begins with `start`."""
    return [line.split() for line in lines if line.startswith(start)]


def test_every_table_and_figure_is_there_where_the_runs_are(folders):
    said = said_by(*folders)
    assert [line for line in said if line.startswith(("Table ", "Figure "))] == [
        "Table 1: zero-shot; delta: ordered minus original",
        "Table 2: by part-of-speech pattern; mean ± standard deviation over models",
        "Table 3: by template and condition; mean ± standard deviation over models",
        "Table 4: one-shot; delta: one-shot minus zero-shot",
        "Table 7: only template 0; delta: ordered minus original",
        "Table 7: gain from reasoning; reasoning model minus base model",
        "Figure 3: ordered lists by number of models (of 2) that composed them",
        "Figure 4: concept sets by number of orders that at least n models composed, a column for each n",
    ]
    assert not any(" need" in line for line in said if not line.startswith("deltas"))


def test_a_model_has_its_numbers_its_deltas_and_the_papers_under_it(folders):
    said = said_by(*folders)
    start = said.index("Table 4: one-shot; delta: one-shot minus zero-shot")
    model, delta, paper, paper_delta = (line.split() for line in said[start + 5 : start + 9])
    assert model[:4] == ["qwen2-7b", "100.00", "4.17", "4.17"]
    assert delta[:4] == ["delta", "+0.00", "+0.00", "+0.00"]
    assert paper[:5] == ["Qwen2-7B", "paper", "89.82", "17.44", "19.41"]
    assert paper_delta[:4] == ["delta", "+1.30", "-10.05", "-11.64"]


def test_the_gain_from_reasoning_is_next_to_that_of_the_paper(folders):
    said = said_by(*folders)
    start = said.index("Table 7: gain from reasoning; reasoning model minus base model")
    assert said[start + 5].split() == ["marco-o1", "-", "qwen2-7b", "+0.00", "+95.83", "+95.83"]
    assert said[start + 6].split() == ["paper", "-9.40", "-0.95", "+3.32"]


def test_over_one_model_n_is_1_and_there_is_no_deviation(write):
    said = said_by(write("one"))
    [place] = [number for number, line in enumerate(said) if line.startswith("NNVV ")]
    assert said[place].split() == ["NNVV", "n", "=", "1", "100.00", "100.00", "100.00", "100.00"]
    assert said[place + 1].split()[:7] == ["paper,", "n", "=", "36", "84.26", "±", "12.61"]


def test_figures_count_lists_and_orders_over_the_models_with_replies(folders):
    said = said_by(*folders)
    bars = said[said.index("Figure 3: ordered lists by number of models (of 2) that composed them") + 5 :][:3]
    assert [" ".join(bar.split()) for bar in bars] == ["0 0 0.00 0.00", "1 23 95.83 95.83", "2 1 4.17 100.00"]
    assert cells_of(said, "mean ") == [["mean", "24.00", "1.00"]]
    assert cells_of(said, "24 ") == [["24", "1", "0"]]


def test_plain_text_fits_100_columns(folders):
    long = [line for line in said_by(*folders) if len(line) > 100]
    assert long == []


def test_a_missing_table_is_named_with_the_run_that_it_needs(write):
    said = said_by(write("two", shots=2))
    assert said[: len(ALL_NEEDS)] == ALL_NEEDS


def test_the_reasoning_models_named_are_those_of_the_registry_that_table_7_pairs():
    names = {spec.published_as: spec.name for spec in load_registry().values()}
    [need] = [line for line in ALL_NEEDS if "reasoning" in line]
    for model, base in REASONING_BASES.items():
        assert f"{names[model]} and {names[base]}" in need


def test_one_model_has_no_figures_and_its_tables_miss_what_is_named(write):
    said = said_by(write("run"))
    deltas = "deltas in Tables 1 and 7 need --ocg-condition both for qwen2-7b"
    assert [line for line in said if " need" in line] == [ALL_NEEDS[3], *ALL_NEEDS[5:], deltas]
    assert "deltas in Table 4 need --ocg-shots 0 as well for qwen2-7b" in said_by(write("shot", shots=1))


def test_a_model_without_generations_is_in_the_tables_and_named_as_left_out_of_the_figures(write):
    folders = [write("a", "a"), write("b", "b"), write("c", "c")]
    (folders[1] / "generations.jsonl").unlink()
    said = said_by(*folders)
    assert "Figure 3: ordered lists by number of models (of 2) that composed them" in said
    assert "Figures 3 and 4 do not show b: there is no generations.jsonl with the results" in said


def test_generations_do_not_belong_to_renamed_results(write):
    folder = write("a", "a")
    (folder / "before.json").write_bytes((write("b", "b") / "results.json").read_bytes())
    said = said_by(folder, folder / "before.json")
    assert ALL_NEEDS[-1] in said


def test_lists_without_a_reply_are_counted(write):
    said = said_by(
        write("a", "a"), write("b", "b", lambda asked, number: in_order(asked, number) if number > 1 else None)
    )
    assert "Figures 3 and 4: lists without a reply of a model, counted as not composed: 2" in said


def test_notes_have_the_recipe_and_the_reasons_of_missing_numbers(write):
    said = said_by(write("run"))
    assert "everyday abababab (sample 1:0), templates 0,3, 0-shot, matcher inflection|spacy:3.8.18" in said
    assert "paper: 192 concept sets of CommonGen-lite, six templates; Table 7 has template 0 only" in said
    assert any(line.startswith("no value: pBLEURT, distinct, perplexity: not asked for;") for line in said)


def test_a_partial_run_is_named(write):
    folder = write("part", places={"selection.planned": 96, "selection.complete": False})
    assert "qwen2-7b ordered 0-shot: partial run (48 of 96 cases)" in said_by(folder)


def test_values_that_were_measured_in_different_ways_are_named(write):
    said = said_by(write("a", "a"), write("b", "b", places={"rows.0.metrics.pbleu.signature": "other"}))
    assert any(line.startswith("pbleu was measured as ") and "'other'" in line for line in said)
    assert not any("pbleu was measured" in line for line in said_by(write("c", "c"), write("d", "d")))


def test_json_is_the_lines_as_plain_data(folders):
    said = json.loads(ocg_tables(*folders, "--json")[1])
    assert said["schema"] == 1
    assert [line["model"] for line in said["table1"]] == ["marco-o1", "qwen2-7b"]
    assert said["table1"][1]["published_deltas"]["coverage_ordered"] == 2.72
    assert said["table2"][0]["spreads"]["coverage_ordered"]["models"] == 2
    assert [line["condition"] for line in said["table3"]] == ["original", "ordered"] * 2
    assert said["table4"][0]["deltas"]["coverage_ordered"] == 0
    assert said["reasoning_gains"][0]["base"] == "qwen2-7b"
    assert (said["models"], said["figure3"][2]["lists"], said["figure4"][0]["mean"]) == (
        ["marco-o1", "qwen2-7b"],
        1,
        24,
    )
    assert said["missing"] == ["deltas in Tables 1 and 7 need --ocg-condition both for marco-o1"]


def test_text_from_the_results_is_not_markup_and_moves_no_cursor(write):
    folder = write("odd", "\x1b[31m<b>|x")
    assert "\x1b" not in ocg_tables(folder)[1]
    status, said = ocg_tables(folder, "--markdown")
    assert (status, said.startswith("## Ordered CommonGen: the paper's tables\n\n### Table 1: zero-shot;")) == (0, True)
    assert "<b>" not in said
    assert "- <code>Table 4 needs the same model run with" in said
    assert len({line.count("|") for line in said.partition("### Table 2")[0].splitlines() if "|" in line}) == 1


def test_runs_that_differ_do_not_go_into_one_table(write, capsys):
    assert ocg_tables(write("a", "a"), write("b", "b", places={"matcher": "lemma"})) == (2, "")
    assert "'b' was run with matcher 'lemma'" in capsys.readouterr().err


def test_missing_results_exit_with_2(tmp_path, capsys):
    assert ocg_tables(tmp_path / "nowhere") == (2, "")
    assert "nowhere' does not exist; pass the results.json of a run" in capsys.readouterr().err


def test_generations_of_another_run_are_refused(write, capsys):
    folder = write("a", "a")
    (folder / "generations.jsonl").write_bytes((write("b", "b") / "generations.jsonl").read_bytes())
    assert ocg_tables(folder) == (2, "")
    assert "take both files from the same run" in capsys.readouterr().err


def test_runs_of_the_benchmark_are_read_from_their_folders(bench):
    bench.run("--ocg-output", "zero")
    bench.run("--ocg-output", "one", "--ocg-shots", "1")
    bench.run("--ocg-output", "other", model="scripted:in-order")
    said = said_by(*(bench.path / name for name in ("zero", "one", "other")))
    assert "Table 4: one-shot; delta: one-shot minus zero-shot" in said
    assert cells_of(said, "mean ") == [["mean", "24.00", "6.00"]]
