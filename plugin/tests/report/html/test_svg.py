"""A drawing in the page: it has words, takes its colours from the page, and brings no ids or styles of its own."""

from xml.etree import ElementTree

from pytest_ocg.report.html.charts import adapt_svg

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


def test_its_title_and_description_are_its_name_for_those_who_cannot_see_it():
    root, _ = adapted()
    assert root.get("role") == "img"
    texts = {element.get("id"): element.text for element in root if element.tag in (f"{SVG}title", f"{SVG}desc")}
    assert texts == {"one-title": "a title", "one-desc": "<b>"}
    assert root.get("aria-labelledby").split() == list(texts)


def test_styles_become_attributes_and_colours_those_of_the_page():
    root, text = adapted()
    assert "style" not in text
    use, label = root.find(f".//{SVG}use"), root.find(f".//{SVG}text")
    assert (use.get("fill"), use.get("stroke-width")) == ("var(--ink)", "2")
    assert (label.get("font-size"), label.get("text-anchor"), label.text) == ("9", "middle", "a < b")
    assert "DejaVu" not in text


def test_two_drawings_in_a_page_have_no_id_in_common():
    one, other = ({element.get("id") for element in adapted(name)[0].iter()} - {None} for name in ("one", "two"))
    assert one == {"one-title", "one-desc", "one-m1", "one-p1"}
    assert not one & other


def test_what_refers_to_a_part_still_finds_it():
    use = adapted()[0].find(f".//{SVG}use")
    assert (use.get("href"), use.get("clip-path")) == ("#one-m1", "url(#one-p1)")


def test_it_takes_the_size_it_is_given_and_says_nothing_of_what_made_it():
    root, text = adapted()
    assert not root.attrib.keys() & {"width", "height", "version"}
    assert root.get("viewBox") == "0 0 9 9"
    assert "made by" not in text
