"""Charts: the values are drawn in the colours of the page, reproducibly, with any label.

A drawing in the page has a title and a description, unique ids, and no styles.
"""

import re
import sys
from xml.etree import ElementTree

import pytest

from pytest_ocg.errors import ExportError
from pytest_ocg.report.html.charts import ChartText, Series, adapt_svg, draw_heat_map, draw_series

TEXT = ChartText("c", "a title", "a description", "across", "up")


def drawn(labels=("a", "b"), *series, **given):
    return draw_series(TEXT, labels, series or [Series("bar", 1, [10.0, 20.0])], **given)


def test_labels_axes_and_description_are_text_in_the_chart():
    chart = drawn()
    for text in ("a", "b", "across", "up", "a title", "a description"):
        assert f">{text}<" in chart


@pytest.mark.parametrize("form", ["bar", "dot", "diamond", "line"])
def test_every_form_is_drawn_in_its_tone_and_a_missing_value_is_not_drawn(form):
    text = drawn("abc", Series(form, 2, [10.0, None, 30.0]))
    assert "var(--series-2)" in text
    assert "var(--series-1)" not in text
    assert "nan" not in text


def test_known_deviations_are_drawn():
    plain, spread = (drawn(("a", "b"), Series("bar", 1, [10.0, 20.0], deviations)) for deviations in ([], [None, 5.0]))
    assert spread.count('stroke-width="1.2"') == plain.count('stroke-width="1.2"') + 1


@pytest.mark.parametrize("draw", [drawn, lambda: draw_heat_map(TEXT, [[75.0, 25.0], [None, 100.0]])])
def test_the_same_input_gives_the_same_chart(draw):
    assert draw() == draw()


@pytest.mark.parametrize("draw", [drawn, lambda: draw_heat_map(TEXT, [[75.0, 25.0], [None, 100.0]])])
def test_every_colour_is_a_property_of_the_page_and_there_is_no_style(draw):
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', draw()))
    assert not [colour for colour in colours if colour != "none" and not colour.startswith("var(--")]
    assert " style=" not in draw()


def test_a_heat_map_has_its_numbers_and_a_dash_for_a_missing_one():
    text = draw_heat_map(TEXT, [[75.4, 24.6], [None, 100.0]])
    assert [cell for cell in re.findall(r">([\d-]+)</text>", text) if cell not in "12"] == ["75", "25", "-", "100"]


@pytest.mark.parametrize("label", ["$\\frac{$", "<script>", "狗\u202e\x00\ud800", "a" * 1000])
def test_a_label_from_a_run_is_not_markup_or_a_formula_and_causes_no_warning(label):
    text = drawn((label, "b"))
    assert "<script" not in text
    assert text.isascii() or "…" in text
    assert max(map(len, re.findall(r">([^<]*)</text>", text))) < 100


def test_nothing_to_draw_is_an_empty_chart():
    assert "<svg" in drawn((), Series("line", 1, []))


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ExportError, match=r"charts need matplotlib.*pip install \"pytest-ordered-commongen\[report\]\""
    ):
        drawn()


SVG = "{http://www.w3.org/2000/svg}"
DRAWING = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt" height="9pt"
 viewBox="0 0 9 9" version="1.1">
 <metadata>made by</metadata>
 <defs><style type="text/css">*{stroke-linejoin: round}</style><path id="m1" d="M 0 0"/></defs>
 <g id="figure_1"><use xlink:href="#m1" style="fill: #000001; stroke-width: 2" clip-path="url(#p1)"/>
 <text style="font: 9px 'DejaVu Sans'; text-anchor: middle">a &lt; b</text></g>
 <clipPath id="p1"/>
</svg>"""


def adapted(name="one"):
    text = adapt_svg(DRAWING, name, title="a title", description="<b>", colours={"#000001": "--ink"})
    return ElementTree.fromstring(text), text


def test_a_drawing_is_labelled_by_its_title_and_description():
    root, _ = adapted()
    assert root.get("role") == "img"
    texts = {element.get("id"): element.text for element in root if element.tag in (f"{SVG}title", f"{SVG}desc")}
    assert texts == {"one-title": "a title", "one-desc": "<b>"}
    assert root.get("aria-labelledby").split() == list(texts)


def test_styles_become_attributes_and_colours_become_those_of_the_page():
    root, text = adapted()
    assert "style" not in text
    use, label = root.find(f".//{SVG}use"), root.find(f".//{SVG}text")
    assert (use.get("fill"), use.get("stroke-width")) == ("var(--ink)", "2")
    assert (label.get("font-size"), label.get("text-anchor"), label.text) == ("9", "middle", "a < b")
    assert "DejaVu" not in text


def test_two_drawings_have_no_common_id():
    one, other = ({element.get("id") for element in adapted(name)[0].iter()} - {None} for name in ("one", "two"))
    assert one == {"one-title", "one-desc", "one-m1", "one-p1"}
    assert not one & other


def test_references_within_a_drawing_still_work():
    use = adapted()[0].find(f".//{SVG}use")
    assert (use.get("href"), use.get("clip-path")) == ("#one-m1", "url(#one-p1)")


def test_a_drawing_has_no_fixed_size_and_no_metadata():
    root, text = adapted()
    assert not root.attrib.keys() & {"width", "height", "version"}
    assert root.get("viewBox") == "0 0 9 9"
    assert "made by" not in text
