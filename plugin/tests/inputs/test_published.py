import dataclasses
import re
import shutil
from collections import Counter
from statistics import fmean

import pytest

from pytest_ocg.errors import ResultsError
from pytest_ocg.inputs.files import resource
from pytest_ocg.inputs.published import load_published
from pytest_ocg.metrics.base import SetStatistic, average_over_templates
from pytest_ocg.metrics.order import SetVerdict, measure_order

PRINTED = 0.005
SETS_OF_MAKE_UP = {"NNVV": 109, "NNNV": 74, "NVVV": 6, "NNNN": 2, "VVVV": 1}
METRICS = [
    "coverage_unordered",
    "coverage_ordered",
    "ordered_rate",
    "pbleu",
    "pbleurt",
    "distinct2",
    "diverse_rate",
    "perplexity",
]
PUBLISHED = load_published()


MODEL_ROWS = [
    pytest.param(values, error, id=f"{table}-{model}-{name}")
    for table in ("table1", "table4", "table7")
    for model, row in getattr(PUBLISHED, table).items()
    for name, values, error in (("printed", row.values, PRINTED), (row.compared_with, row.baseline(), 2 * PRINTED))
]


def verdicts_with(unordered, ordered):
    """Verdicts of six templates that average to these coverages while no template is at the average."""
    covered, in_order = round(100 * unordered), round(100 * ordered)
    up = min(500, 10_000 - covered)
    down = min(500, in_order)
    return {
        (template, "cs001"): SetVerdict(10_000, covered + sign * up, in_order - sign * down)
        for template, sign in enumerate((1, -1, 1, -1, 1, -1))
    }


@pytest.mark.parametrize(("row", "error"), MODEL_ROWS)
def test_our_ordered_rate_of_the_published_coverages_is_the_published_one_to_rounding(row, error):
    unordered, ordered = row["coverage_unordered"], row["coverage_ordered"]
    ours = measure_order(verdicts_with(unordered, ordered), matcher="m")
    assert ours.coverage_unordered.score.value == pytest.approx(unordered)
    assert ours.coverage_ordered.score.value == pytest.approx(ordered)
    rounding = error + 100 * error * (1 + ordered / unordered) / (unordered - error)
    assert ours.ordered_rate.score.value == pytest.approx(row["ordered_rate"], abs=rounding, rel=0)


def test_the_ordered_rate_of_table_1_is_off_by_less_than_rounding_can_explain():
    differences = [
        abs(
            measure_order(
                verdicts_with(row.values["coverage_unordered"], row.values["coverage_ordered"]), matcher="m"
            ).ordered_rate.score.value
            - row.values["ordered_rate"]
        )
        for row in PUBLISHED.table1.values()
    ]
    assert len(differences) == 36
    assert max(differences) < 0.008


@pytest.mark.parametrize(("condition", "gap"), [("ordered", 0.0105), ("original", 0.1)])
def test_the_published_ordered_rate_is_not_the_mean_of_the_templates_own_rates(condition, gap):
    own = average_over_templates(
        {
            (template, "models"): SetStatistic(row.means["ordered_rate"], 1)
            for (template, asked), row in PUBLISHED.table3.items()
            if asked == condition
        }
    )
    assert abs(own - table1_mean("ordered_rate", condition)) > gap


def table1_mean(metric, condition):
    return fmean(
        (row.values if condition == "ordered" else row.baseline())[metric] for row in PUBLISHED.table1.values()
    )


@pytest.mark.parametrize("metric", ["coverage_unordered", "coverage_ordered", "diverse_rate"])
@pytest.mark.parametrize("condition", ["ordered", "original"])
def test_table_3_averaged_over_templates_is_the_mean_of_table_1(metric, condition):
    templates = {
        (template, "models"): SetStatistic(row.means[metric], 1)
        for (template, asked), row in PUBLISHED.table3.items()
        if asked == condition
    }
    assert len(templates) == 6
    assert average_over_templates(templates) == pytest.approx(table1_mean(metric, condition), abs=PRINTED)


@pytest.mark.parametrize("metric", ["coverage_unordered", "coverage_ordered", "diverse_rate"])
def test_table_2_weighted_by_the_number_of_cases_of_each_pattern_is_the_mean_of_table_1(metric):
    patterns_of = Counter("".join(sorted(pattern)) for pattern in PUBLISHED.table2)
    statistics = {}
    for pattern, row in PUBLISHED.table2.items():
        make_up = "".join(sorted(pattern))
        cases = SETS_OF_MAKE_UP[make_up] * 24 // patterns_of[make_up]
        statistics[0, pattern] = SetStatistic(row.means[metric] * cases, cases)
    assert sum(statistic.count for statistic in statistics.values()) == 4_608
    assert average_over_templates(statistics) == pytest.approx(table1_mean(metric, "ordered"), abs=PRINTED)
    unweighted = fmean(row.means[metric] for row in PUBLISHED.table2.values())
    assert abs(unweighted - table1_mean(metric, "ordered")) > 20 * PRINTED


def test_diverse_rate_is_per_set_since_patterns_of_the_same_letters_share_it():
    by_make_up = {}
    for pattern, row in PUBLISHED.table2.items():
        by_make_up.setdefault("".join(sorted(pattern)), set()).add(row.means["diverse_rate"])
    assert {make_up: len(rates) for make_up, rates in by_make_up.items()} == dict.fromkeys(SETS_OF_MAKE_UP, 1)


def test_the_zero_shot_numbers_behind_table_4_are_those_of_table_1():
    for model, row in PUBLISHED.table4.items():
        assert row.baseline() == pytest.approx(PUBLISHED.table1[model].values, abs=2 * PRINTED + 1e-9)


def test_all_rows_and_columns_of_the_tables_are_there():
    assert list(PUBLISHED.table1) == list(PUBLISHED.table4) == list(PUBLISHED.table5)
    assert len(PUBLISHED.table1) == 36
    assert len(PUBLISHED.table2) == 16
    assert set(PUBLISHED.table3) == {(template, asked) for template in range(6) for asked in ("ordered", "original")}
    assert list(PUBLISHED.table7) == ["Qwen2-7B", "Macro-o1", "GPT-4o-mini", "o1-mini"]
    for table, columns, compared in (
        ("table1", METRICS, "original"),
        ("table4", METRICS, "zero_shot"),
        ("table7", METRICS[:3], "original"),
    ):
        for model, row in getattr(PUBLISHED, table).items():
            assert (row.model, row.compared_with) == (model, compared)
            assert list(row.values) == list(row.deltas) == columns
            assert None not in (*row.values.values(), *row.deltas.values())
    for row in (*PUBLISHED.table2.values(), *PUBLISHED.table3.values()):
        assert list(row.means) == list(row.deviations) == [*METRICS[:3], "diverse_rate"]


def test_cells_are_read_as_printed():
    row = PUBLISHED.table1["GPT-4o"]
    assert (row.values["coverage_ordered"], row.deltas["coverage_ordered"]) == (53.34, 30.25)
    assert row.baseline()["coverage_ordered"] == 23.09
    assert PUBLISHED.table7["o1-mini"].deltas["ordered_rate"] == 70.6
    assert PUBLISHED.table2["VNVN"].means["ordered_rate"] == 54.5
    assert PUBLISHED.table3[5, "original"].deviations["ordered_rate"] == 7.24
    assert PUBLISHED.table5["Gemma2-9B"] == "google/gemma-2-9b-it"


def test_the_tables_cannot_be_changed():
    with pytest.raises(TypeError):
        PUBLISHED.table1["mine"] = PUBLISHED.table1["GPT-4o"]
    with pytest.raises(TypeError):
        PUBLISHED.table1["GPT-4o"].values["pbleu"] = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        PUBLISHED.table1["GPT-4o"].model = "mine"


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(resource("fixtures", "published"), tmp_path / "published")


def test_an_empty_cell_is_none_and_so_is_what_follows_from_it(folder):
    path = folder / "table7_reasoning.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("+5.16", ""), encoding="utf-8")
    row = load_published(folder).table7["Qwen2-7B"]
    assert row.deltas["coverage_unordered"] is None
    assert row.baseline()["coverage_unordered"] is None
    assert row.values["coverage_unordered"] == 89.28


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("89.28", "n/a", ":2: coverage_unordered is 'n/a', which is not a number; leave the cell empty"),
        ("89.28", "nan", ":2: coverage_unordered is 'nan', which is not a number"),
        ("89.28,", "", ":2 does not have the 7 cells of the header"),
        ("89.28", "89.28,1", ":2 does not have the 7 cells of the header"),
        ("Macro-o1", "Qwen2-7B", ":3: this is the second row for 'Qwen2-7B'"),
        ("model,", "name,", " has no column 'model', only ['name', 'coverage_unordered', "),
        ("_delta_vs_original", "_change", ": the columns ['coverage_unordered', 'coverage_unordered_change', "),
        ("rate_delta_vs_original", "rate_delta_vs_zero_shot", " must be values and their deltas against one baseline"),
    ],
)
def test_a_table_that_cannot_be_read_is_named_with_line_and_value(folder, old, new, message):
    path = folder / "table7_reasoning.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(ResultsError, match=re.escape(message)) as caught:
        load_published(folder)
    assert str(caught.value).startswith(str(path))


def test_a_missing_table_is_named(folder):
    path = folder / "table2_pos.csv"
    path.unlink()
    with pytest.raises(ResultsError, match=re.escape(f"{path} cannot be read (No such file or directory)")):
        load_published(folder)
