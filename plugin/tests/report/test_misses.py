"""The misses shown: few, spread over patterns, printable."""

import json

import pytest

from pytest_ocg.report.summary_table import shown_cases
from pytest_ocg.run.record import Outcome


def line(pattern, number, outcome="miss", reply="a reply", model="m"):
    return json.dumps(
        {
            "id": f"{pattern}{number}", "model": model, "template": 0, "pattern": pattern, "outcome": outcome,
            "concepts": ["dog", "run"], "missing": [], "order_break": "run", "reply": f"{reply} {number}",
        }
    )  # fmt: skip


def test_patterns_take_turns():
    lines = [line(pattern, number) for pattern in ("NN", "NV", "VV") for number in range(5)]
    assert [shown.split()[2] for shown in shown_cases(lines, Outcome.MISS, 5)] == ["NN:", "NV:", "VV:", "NN:", "NV:"]


@pytest.mark.parametrize(("number", "shown"), [(0, 0), (1, 1), (3, 3), (100, 3)])
def test_no_more_are_shown_than_asked_for_or_there_are(number, shown):
    assert len(shown_cases([line("NN", place) for place in range(3)], Outcome.MISS, number)) == shown


def test_hits_and_errors_are_not_misses():
    assert shown_cases([line("NN", 0, "hit"), line("NN", 1, "error")], Outcome.MISS, 5) == []


def test_a_reply_cannot_command_the_terminal():
    [shown] = shown_cases([line("NN", 0, reply="\x1b]0;owned\x07")], Outcome.MISS, 1)
    assert shown.isprintable()


def test_a_case_without_a_reply_says_of_what_kind_and_why():
    lines = [
        line("NN", 0),
        json.dumps({**json.loads(line("NV", 1, "error")), "reply": None, "error": "refused", "detail": "No\x1b[2J."}),
    ]
    [shown] = shown_cases(lines, Outcome.ERROR, 5)
    assert shown == "m t0 NV: refused: No\\x1b[2J. | asked: dog run"
