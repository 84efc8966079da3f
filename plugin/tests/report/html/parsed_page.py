"""The HTML report, parsed for tests."""

from html.parser import HTMLParser

from plugin.tests.report.whole_run import whole_run
from pytest_ocg.report.html.page import render_html


class Page(HTMLParser):
    """The tags with their attributes, and the texts with the tag before each."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self.within = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.within.append(tag)

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self.within[-1] if self.within else "", data.strip()))

    def all(self, *tags):
        return [text for tag, text in self.texts if tag in tags]

    def attributes(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def page(*given, **run):
    """The report on a made-up run."""
    return Page(render_html(*whole_run(*given, **run)))
