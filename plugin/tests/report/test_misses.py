"""The misses shown: few, spread over patterns, printable."""

import json

import pytest

from pytest_ocg.report.misses import shown_misses


def line(pattern, number, outcome="miss", reply="a reply", model="m"):
    return json.dumps(
        {
            "id": f"{pattern}{number}", "model": model, "template": 0, "pattern": pattern, "outcome": outcome,
            "concepts": ["dog", "run"], "missing": [], "order_break": "run", "reply": f"{reply} {number}",
        }
    )  # fmt: skip


def test_patterns_take_turns():
    lines = [line(pattern, number) for pattern in ("NN", "NV", "VV") for number in range(5)]
    assert [shown.split()[2] for shown in shown_misses(lines, 5)] == ["NN:", "NV:", "VV:", "NN:", "NV:"]


@pytest.mark.parametrize(("number", "shown"), [(0, 0), (1, 1), (3, 3), (100, 3)])
def test_no_more_are_shown_than_asked_for_or_there_are(number, shown):
    assert len(shown_misses([line("NN", place) for place in range(3)], number)) == shown


def test_hits_and_errors_are_not_misses():
    assert shown_misses([line("NN", 0, "hit"), line("NN", 1, "error")], 5) == []


def test_a_reply_cannot_command_the_terminal():
    [shown] = shown_misses([line("NN", 0, reply="\x1b]0;owned\x07")], 1)
    assert shown.isprintable()
