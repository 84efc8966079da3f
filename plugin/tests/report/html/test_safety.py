"""The HTML report is one file of limited size; it requests nothing and runs no text from a run."""

import base64
import hashlib
import json
import re

import msgspec
import pytest

from plugin.tests.report.html.parsed_page import Page, page
from plugin.tests.report.whole_run import changed, changed_records, whole_run
from pytest_ocg.report.html.page import render_html

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def usual():
    """The page of a usual run, as text."""
    return render_html(*whole_run())


def test_nothing_is_fetched_and_only_what_the_policy_names_can_run(usual):
    found = Page(usual)
    names = {name for _, attributes in found.tags for name in attributes}
    assert not names & {"src", "style", "srcset", "action", "background"}
    assert not [name for name in names if name.startswith("on")]
    links = [attributes["href"] for _, attributes in found.tags if "href" in attributes]
    assert links
    assert all(link.startswith("#") for link in links)
    [policy] = [one["content"] for one in found.attributes("meta") if "http-equiv" in one]
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        [content] = re.findall(rf"<{tag}>(.*?)</{tag}>", usual, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_script_never_turns_text_into_markup(usual):
    script = re.search(r"<script>(.*)</script>", usual, re.DOTALL)[1]
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function\(|DOMParser", script)


@pytest.fixture(scope="module")
def harmless():
    return page(models=("harmless",))


HOSTILE = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    "\" onmouseover='alert(1)'", "<!--<script>", "]]>", "{{ 7 * 7 }}{% raw %}", "\x1b[31mred\x1b]8;;http://e\x07",
    "\u202egnp.exe\u2066", "NUL\x00", "\ud800 half", "a\u2028\u2029", "dog " * 10_000,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:20]))
def test_a_hostile_reply_or_name_is_only_text(harmless, text):
    results, records = whole_run(lambda *_: text, models=("m",))
    everywhere = (
        *("dataset.name", "matcher", "run.python", "rows.0.model", "rows.0.made_by.0.source"),
        *("gate.verdicts.0.model", "gate.verdicts.0.name", "gate.verdicts.0.reasons.0"),
    )
    patterns = {text + pattern: cells for pattern, cells in msgspec.to_builtins(results.rows[0].by_pattern).items()}
    hostile = changed(results, {**dict.fromkeys(everywhere, text), "rows.0.by_pattern": patterns})
    written = render_html(hostile, changed_records(records, model=text, pattern=(text * 4)[:4]))
    assert written.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069]", written)
    found = Page(written)
    assert {tag for tag, _ in found.tags} == {tag for tag, _ in harmless.tags}
    names = {name for _, attributes in found.tags for name in attributes}
    assert names == {name for _, attributes in harmless.tags for name in attributes}
    data = json.loads(re.search(r'id="reply-data">(.*?)</script>', written, re.DOTALL)[1])
    assert data["texts"] == [text]


WORDS = "Early in the morning the old fisherman and his two patient friends were out: {}, number {}."


def full_run(reply):
    """A run of the paper's size in which every reply is different."""
    results, records = whole_run(reply, sets=192, templates=range(6))
    records = [msgspec.structs.replace(record, reply=f"{record.template} {record.reply}") for record in records]
    assert len({record.reply for record in records}) == len(records) == 27_648
    return results, records


def test_a_full_run_stays_under_five_megabytes():
    results, records = full_run(lambda asked, number: WORDS.format(" ".join(asked), number))
    assert 80 < len(records[0].reply) < 130
    assert len(render_html(results, records).encode("utf-8")) < 5 * MEGABYTE


def test_a_full_run_of_long_replies_is_cut_to_stay_under_five_megabytes():
    text = render_html(*full_run(lambda asked, number: f"{number} " + "long " * 120))
    assert len(text.encode("utf-8")) < 5 * MEGABYTE
    assert '"longest":100' in text
