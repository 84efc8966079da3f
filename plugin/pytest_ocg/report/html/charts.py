"""The charts of the HTML report, drawn by matplotlib as SVG in the colours of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree

from pytest_ocg.errors import ExportError, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_REMOVED_TAGS = (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style")
_REFERENCE = re.compile(r"#([\w-]+)")
_LONGEST_TEXT = 4_000
_SIZE = re.compile(r"([\d.]+)px")


def adapt_svg(drawing: str, name: str, *, title: str, description: str, colours: Mapping[str, str]) -> str:
    """The drawing as an `svg` element for a page; its ids begin with `name`, which must be unique in the page.

    `colours` maps each colour of the drawing to a custom property of the page. No element has a style attribute, so a
    page can forbid them. Texts are in the font of the page.
    """
    root = ElementTree.fromstring(drawing)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in _REMOVED_TAGS:
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
        element = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{tag}"})
        element.text = printable(text, _LONGEST_TEXT)
        root.insert(place, element)
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


INSTALL = '`pip install "pytest-ordered-commongen[report]"`'

# Each of these colours is replaced by a custom property of the page, which differs between light and dark mode.
_INK, _LINE, _HEAT, _PAPER = "#000001", "#000002", "#000003", "#000004"
_TONES = ("#000011", "#000012", "#000013")
_COLOURS: Mapping[str, str] = {
    _INK: "--ink", _LINE: "--line", _HEAT: "--heat", _PAPER: "--paper",
    **{tone: f"--series-{number}" for number, tone in enumerate(_TONES, 1)},
}  # fmt: skip
_STYLE: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "pytest-ordered-commongen", "text.parse_math": False, "font.size": 9.0,
    "font.family": ["DejaVu Sans"], "text.color": _INK, "axes.labelcolor": _INK, "axes.edgecolor": _LINE,
    "axes.linewidth": 0.8, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "axes.grid": True, "axes.grid.axis": "y", "grid.color": _LINE, "grid.linewidth": 0.6, "xtick.color": _INK,
    "ytick.color": _INK, "xtick.major.size": 0.0, "ytick.major.size": 0.0, "lines.linewidth": 1.8,
    "lines.markersize": 6.0,
}  # fmt: skip
_LOOKS: Mapping[str, Mapping[str, Any]] = {
    "dot": {"marker": "o", "markerfacecolor": "none", "linestyle": "none"},
    "diamond": {"marker": "D", "markeredgecolor": _PAPER, "markersize": 7.5, "linestyle": "none"},
    "line": {"marker": "o"},
}
_WIDTH, _HEIGHT = 7.4, 3.0
_BAR = 0.62
_LONGEST_LABEL = 24
_MOST_HEAT = 0.75


@dataclass(frozen=True, slots=True)
class ChartText:
    """The texts of a chart: its name in the page, title, description, and the labels of its axes."""

    name: str
    title: str
    description: str
    x_label: str
    y_label: str


@dataclass(frozen=True, slots=True)
class Series:
    """Values to draw (None is not drawn), in the tone `--series-1` to `--series-3` of the page.

    `deviations` are drawn as vertical lines around the values.
    """

    form: Literal["bar", "dot", "diamond", "line"]
    tone: int
    values: Sequence[float | None]
    deviations: Sequence[float | None] = ()


def draw_series(text: ChartText, labels: Sequence[str], series: Sequence[Series], *, top: float | None = None) -> str:
    """A chart of `series` over labelled places; the y axis ends at `top`, by default a little above the values."""
    with _drawing(text) as (axes, output):
        for one in series:
            _draw(axes, one)
        are_many = len(labels) > 8
        axes.set_xticks(
            range(len(labels)),
            [_label(label) for label in labels],
            rotation=35 if are_many and _are_long(labels) else 0,
        )
        axes.set_xlim(-0.6, max(len(labels) - 0.4, 0.6))
        axes.set_ylim(0, top)
    return output[0]


def draw_heat_map(text: ChartText, cells: Sequence[Sequence[float | None]]) -> str:
    """Rows of percentages as a square of cells, darker for more, each with its number."""
    size = len(cells)
    with _drawing(text, width=3.6, height=3.3) as (axes, output):
        axes.grid(visible=False)
        for row, values in enumerate(cells):
            for column, value in enumerate(values):
                heat = _MOST_HEAT * (value or 0) / 100
                axes.bar(column, 0.96, 0.96, row - 0.48, color=_HEAT, alpha=heat, linewidth=0)
                number = "-" if value is None else f"{value:.0f}"
                axes.text(column, row, number, ha="center", va="center", fontsize=11)
        places = range(size)
        axes.set_xticks(places, [str(place + 1) for place in places])
        axes.set_yticks(places, [str(place + 1) for place in places])
        axes.set_xlim(-0.52, size - 0.48)
        axes.set_ylim(size - 0.48, -0.52)
        axes.set_aspect("equal")
        axes.spines[["left", "bottom"]].set_visible(False)
    return output[0]


@contextmanager
def _drawing(text: ChartText, width: float = _WIDTH, height: float = _HEIGHT) -> Iterator[tuple[Axes, list[str]]]:
    """Axes to draw on, and a list that holds the SVG after the block."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ExportError(f"charts need matplotlib, which cannot be imported ({error}); run {INSTALL}") from error
    output: list[str] = []
    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        axes.set_xlabel(text.x_label)
        axes.set_ylabel(text.y_label)
        yield axes, output
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    output.append(
        adapt_svg(file.getvalue(), text.name, title=text.title, description=text.description, colours=_COLOURS)
    )


def _draw(axes: Axes, series: Series) -> None:
    tone = _TONES[series.tone - 1]
    drawn = [(place, value) for place, value in enumerate(series.values) if value is not None]
    places, values = [place for place, _ in drawn], [value for _, value in drawn]
    if series.form == "bar":
        axes.bar(places, values, _BAR, color=tone, linewidth=0)
    else:
        axes.plot(places, values, color=tone, clip_on=False, **_LOOKS[series.form])
    for place, deviation in enumerate(series.deviations):
        value = series.values[place]
        if value is not None and deviation is not None:
            axes.vlines(place, max(value - deviation, 0), value + deviation, color=_INK, linewidth=1.2)


def _are_long(labels: Sequence[str]) -> bool:
    return max(map(len, labels)) > 4


def _label(text: str) -> str:
    # ASCII, because matplotlib warns about a character that the font does not have.
    return printable(text, _LONGEST_LABEL).encode("ascii", "backslashreplace").decode("ascii")
