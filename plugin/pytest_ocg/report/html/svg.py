"""A drawing made fit for a page: no colours, styles or ids of its own, and words for those who cannot see it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree import ElementTree

from pytest_ocg.run.record import printable

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_LEFT_OUT = (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style")
_REFERENCE = re.compile(r"#([\w-]+)")
_LONGEST_TEXT = 4_000
_SIZE = re.compile(r"([\d.]+)px")


def adapt_svg(drawing: str, name: str, *, title: str, description: str, colours: Mapping[str, str]) -> str:
    """The `svg` element to put into a page of several: ids begin with `name`, which no other drawing there may have.

    `colours` says by which custom property of the page each colour of the drawing is replaced. Nothing in it needs a
    style attribute, so that a page can forbid them, and texts are in the font of the page.
    """
    root = ElementTree.fromstring(drawing)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in _LEFT_OUT:
                parent.remove(child)
    used = {
        found for element in root.iter() for value in element.attrib.values() for found in _REFERENCE.findall(value)
    }
    for element in root.iter():
        _adapt(element, name, used, colours)
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    texts = {"title": title, "desc": description}
    for place, (tag, text) in enumerate(texts.items()):
        told = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{tag}"})
        told.text = printable(text, _LONGEST_TEXT)
        root.insert(place, told)
    root.attrib |= {"role": "img", "aria-labelledby": f"{name}-title {name}-desc", "stroke-linejoin": "round"}
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _adapt(element: ElementTree.Element, name: str, used: set[str], colours: Mapping[str, str]) -> None:
    attributes = element.attrib
    link = attributes.pop(_LINK, None)
    if link is not None:
        attributes["href"] = link
    for declaration in attributes.pop("style", "").split(";"):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key == "font":
            found = _SIZE.search(value)
            if found:
                attributes["font-size"] = found[1]
        elif key and key != "font-family":
            attributes[key] = f"var({colours[value]})" if value in colours else value
    identity = attributes.pop("id", None)
    for key, value in attributes.items():
        attributes[key] = _REFERENCE.sub(rf"#{name}-\1", value)
    if identity in used:
        attributes["id"] = f"{name}-{identity}"
