"""The HTML report is one file of bounded size that asks for nothing and obeys nobody's text."""

import base64
import hashlib
import json
import re

import pytest

from plugin.tests.report.html.parsed_page import Page, page
from plugin.tests.report.whole_run import whole_run
from pytest_ocg.report.html.page import render_html

MEGABYTE = 1_000_000


def test_nothing_is_fetched_and_nothing_runs_but_what_the_policy_names():
    text = render_html(*whole_run())
    found = Page(text)
    names = {name for _, attributes in found.tags for name in attributes}
    assert not names & {"src", "style", "srcset", "action", "background"}
    assert not [name for name in names if name.startswith("on")]
    links = [attributes["href"] for _, attributes in found.tags if "href" in attributes]
    assert links
    assert all(link.startswith("#") for link in links)
    [policy] = [one["content"] for one in found.attributes("meta") if "http-equiv" in one]
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        [content] = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_script_never_makes_markup_out_of_text():
    script = re.search(r"<script>(.*)</script>", render_html(*whole_run()), re.DOTALL)[1]
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function\(|DOMParser", script)


@pytest.fixture(scope="module")
def harmless():
    return page(models=("harmless",))


HOSTILE = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    "\" onmouseover='alert(1)'", "<!--<script>", "]]>", "{{ 7 * 7 }}{% raw %}", "\x1b[31mred\x1b]8;;http://e\x07",
    "\u202egnp.exe\u2066", "NUL\x00", "\ud800 half", "\u2028\u2029", "dog " * 10_000,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:20]))
def test_a_hostile_reply_or_name_is_text_and_nothing_more(harmless, text):
    results, records = whole_run(lambda *_: text, models=("m",))
    row = results["rows"][0]
    row["model"] = results["dataset"]["name"] = results["matcher"] = results["run"]["python"] = text
    row["made_by"][0]["source"] = results["gate"]["verdicts"][0]["model"] = text
    results["gate"]["verdicts"][0]["reasons"] = [text]
    row["by_pattern"] = {text + pattern: cells for pattern, cells in row["by_pattern"].items()}
    written = render_html(results, [{**record, "model": text, "pattern": text} for record in records])
    assert written.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069]", written)
    found = Page(written)
    assert {tag for tag, _ in found.tags} == {tag for tag, _ in harmless.tags}
    names = {name for _, attributes in found.tags for name in attributes}
    assert names == {name for _, attributes in harmless.tags for name in attributes}
    data = json.loads(re.search(r'id="reply-data">(.*?)</script>', written, re.DOTALL)[1])
    assert data["texts"] == [text]


def test_a_full_run_stays_under_five_megabytes():
    words = "Early in the morning the old fisherman and his two patient friends were out: {}, number {}."
    results, records = whole_run(
        lambda asked, number: words.format(" ".join(asked), number), sets=192, templates=(0, 1, 2, 3, 4, 5)
    )
    assert len(records) == 27_648
    assert 80 < len(records[0]["reply"]) < 130
    records = [{**record, "reply": f"{record['template']} {record['reply']}"} for record in records]
    assert len({record["reply"] for record in records}) == 27_648
    assert len(render_html(results, records).encode("utf-8")) < 5 * MEGABYTE


def test_a_full_run_of_long_replies_is_cut_to_stay_under_five_megabytes():
    results, records = whole_run(lambda asked, number: f"{number} " + "long " * 120, sets=192, templates=range(6))
    records = [{**record, "reply": f"{record['template']} {record['reply']}"} for record in records]
    text = render_html(results, records)
    assert len(text.encode("utf-8")) < 5 * MEGABYTE
    assert '"longest":100' in text
