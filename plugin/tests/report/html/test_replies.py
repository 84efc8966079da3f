"""The data of the reply browser: complete, small, and safe inside a script element."""

import json

import pytest

from plugin.tests.report.whole_run import whole_run
from pytest_ocg.report.html import replies
from pytest_ocg.report.html.replies import pack_replies, script_json


def packed(reply):
    return pack_replies(whole_run(reply)[1])


def test_every_case_has_its_run_template_words_outcome_and_reply():
    data = pack_replies(whole_run(models=("a", "b"), templates=(0, 3))[1])
    assert data["runs"] == [("a", "ordered", 0), ("b", "ordered", 0)]
    assert [len(values) for values in data["columns"].values()] == [96] * 7
    assert len(data["asked"]) == 24
    assert data["asked"][1] == ("NNVV", ("dog", "park", "walk", "run"))
    second = {name: values[1] for name, values in data["columns"].items()}
    assert data["texts"][second.pop("text")] == "Reply 1: dog and park and walk and run."
    assert second == {"run": 0, "template": 0, "asked": 1, "outcome": 0, "found": "9|17|26|35", "break": -1}


def test_a_repeated_reply_is_stored_once():
    assert packed(lambda *_: "dog run")["texts"] == ["dog run"]


def test_a_miss_has_the_missing_concepts_or_the_order_break():
    data = packed(lambda *_: "dog park walk run")
    assert (data["columns"]["outcome"][0], data["columns"]["break"][0]) == (1, 3)
    data = packed(lambda *_: "dog run")
    assert (data["columns"]["found"][0], data["columns"]["break"][0]) == ("0||4|", -1)


def test_a_case_without_a_reply_has_its_error():
    data = packed(lambda *_: None)
    assert data["texts"] == ["timeout: no answer in 60 s"]
    assert (data["columns"]["outcome"][0], data["columns"]["found"][0]) == (2, "")


def test_offsets_count_as_a_browser_does():
    assert packed(lambda *_: "\U0001f415 dog é \U0001f415 run")["columns"]["found"][0] == "3||12|"


def test_replies_over_the_size_limit_are_cut_and_the_length_is_given(monkeypatch):
    monkeypatch.setattr(replies, "MAX_TEXT_BYTES", 24 * 230)
    data = packed(lambda _, number: f"{number:02d} {'word ' * 100}")
    assert data["longest"] == 200
    assert {len(text) for text in data["texts"]} == {200}
    assert packed(lambda *_: "short")["longest"] is None


@pytest.mark.parametrize("text", ["</script>", "<!--", "\u2028\u2029", "\x00\x1b[31m", "\ud800", "]]>", "\U0001f415"])
def test_a_reply_is_read_back_exactly_and_cannot_end_the_script(text):
    written = script_json([text])
    assert json.loads(written) == [text]
    assert written.isascii()
    assert written.isprintable()
    assert "<" not in written
