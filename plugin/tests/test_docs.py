"""The pages in Markdown: links and anchors resolve, the README is short, and some words are not used."""

import re
from pathlib import Path

import pytest

from pytest_ocg.cli import COMMANDS
from pytest_ocg.run.options import DECLARATIONS

CHECKOUT = Path(__file__).parents[2]
PAGES = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "thresholds/README.md", "fixtures/README.md"),
    *sorted(path.relative_to(CHECKOUT).as_posix() for path in (CHECKOUT / "docs").glob("*.md")),
)
MOST_LINES = 180
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<title>.+)$", re.MULTILINE)
NOT_USED = re.compile(r"\b(told|stands|is to be|nor can it)\b", re.IGNORECASE)
OPTION = re.compile(r"--ocg-[a-z-]+")
COMMAND = re.compile(r"(?:^ {4}|`)ocg ([a-z]+)", re.MULTILINE)
IMPORT = re.compile(r"^(?:from|import) (pytest_ocg\S*)", re.MULTILINE)


def page(name):
    return (CHECKOUT / name).read_text(encoding="utf-8")


def prose(text):
    """The text without its fenced blocks."""
    return FENCE.sub("", text)


def links(text):
    """The targets of all links and pictures outside of code."""
    return [found["target"] for found in LINK.finditer(CODE.sub("", prose(text)))]


def anchors(text):
    """The anchors that GitHub makes of the headings."""
    titles = (found["title"].strip().lower() for found in HEADING.finditer(prose(text)))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def broken(name, text):
    """The relative links of the page that lead nowhere."""
    dead = []
    for target in links(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (CHECKOUT / name).parent / path if path else CHECKOUT / name
        is_dead = not there.exists() or (anchor and anchor not in anchors(there.read_text(encoding="utf-8")))
        dead += [target] if is_dead else []
    return dead


def test_headings_become_the_anchors_that_github_makes():
    assert anchors("# The paper's tables\n\n## distinct (pooled)\n\n```\n# no heading\n```\n") == {
        "the-papers-tables",
        "distinct-pooled",
    }


def test_a_dead_link_and_a_dead_anchor_are_found():
    text = "[a](docs/README.md) [b](nosuch.md) `[c](code.md)` [d](docs/definitions.md#nosuch) [e](https://example.org)"
    assert broken("README.md", text) == ["nosuch.md", "docs/definitions.md#nosuch"]


@pytest.mark.parametrize("name", PAGES)
def test_every_link_of_a_page_leads_somewhere(name):
    assert broken(name, page(name)) == []


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("docs/") and name != "docs/README.md"])
def test_every_page_is_in_the_index(name):
    assert name.removeprefix("docs/") in links(page("docs/README.md"))


def test_the_readme_is_short():
    assert len(page("README.md").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_uses_plain_words(name):
    assert NOT_USED.findall(page(name)) == []


@pytest.mark.parametrize("name", PAGES)
def test_examples_import_public_names_only(name):
    assert set(IMPORT.findall(page(name))) <= {"pytest_ocg"}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_options_and_commands_that_exist(name):
    options = {"--ocg-model", *(declaration.option for declaration in DECLARATIONS)}
    assert set(OPTION.findall(page(name))) <= options
    assert set(COMMAND.findall(page(name))) <= {command.name for command in COMMANDS}


def test_every_heading_that_the_code_names_is_in_the_definitions():
    titles = {found["title"] for found in HEADING.finditer(page("docs/definitions.md"))}
    named = set()
    for path in (CHECKOUT / "plugin" / "pytest_ocg").rglob("*.py"):
        for found in re.findall(r"docs/definitions\.md, ([\w ]+)[.)]", path.read_text(encoding="utf-8")):
            named.update(found.split(" and "))
    assert {"Metrics", "Outcomes"} <= named <= titles
