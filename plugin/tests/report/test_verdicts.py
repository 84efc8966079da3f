from __future__ import annotations

from pytest_ocg.gate.checks import checks
from pytest_ocg.gate.judge import Status, Verdict
from pytest_ocg.gate.thresholds import Limit
from pytest_ocg.report.verdicts import render_verdicts, render_verdicts_markdown

INTERVAL = {"low": 20.1, "high": 22.8, "floor": 20.3, "ceiling": 22.6}
SCORE = {"value": 21.4, "n": 576, "interval": INTERVAL, "standard_error": 0.7, "sets": 192}


def verdict(status, *limits, reasons=("2 limits hold",)):
    found = tuple(check for limit in limits for check in checks(limit.metric, SCORE, limit, None, has_run=False))
    return Verdict("m<b>", status, reasons, found)


def test_the_verdict_is_the_last_line_after_what_is_to_be_said_of_drops():
    lines = render_verdicts([verdict(Status.PASSED, Limit("pbleu", 1.0), Limit("pbleu", baseline=22, max_drop=1))])
    assert lines == [
        "gate: pbleu 21.4 [20.1, 22.8] is 0.6 under its baseline of 22.0, within max_drop 1 (192 concept sets can show "
        "a drop of 3.5)",
        "gate: PASSED m<b> (2 limits hold)",
    ]


def test_without_a_verdict_there_is_still_a_line():
    assert render_verdicts([]) == ["gate: NOT EVALUATED the results have no rows"]
    assert "gate&#58; NOT EVALUATED the results have no rows" in render_verdicts_markdown([])


def test_markdown_has_every_limit_and_no_markup_from_the_results():
    broken = verdict(
        Status.FAILED, Limit("pbleu", maximum=21.0), Limit("pbleu", baseline=22, max_drop=1), reasons=("x",)
    )
    text = render_verdicts_markdown([broken])
    assert "**<code>gate&#58; FAILED m&#60;b&#62; x</code>**" in text
    assert "| <code>pbleu</code> | 21.40 | 20.10 to 22.80 | max | 21.00 | - | **no** |" in text
    assert "| <code>pbleu</code> | 21.40 | 20.10 to 22.80 | max&#95;drop | 1.00 | 22.00 | yes |" in text
    assert "- <code>pbleu 21.4 &#91;20.1, 22.8&#93; is 0.6 under its baseline of 22.0, within" in text
