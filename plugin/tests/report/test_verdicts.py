"""The verdicts of the gate on the terminal, in a pull request and in a GitHub workflow."""

from __future__ import annotations

import pytest

from plugin.tests.nouns import score_of
from pytest_ocg.gate.checks import checks
from pytest_ocg.gate.thresholds import Limit
from pytest_ocg.report.verdicts import render_verdicts, render_verdicts_markdown, tell_github
from pytest_ocg.results.verdicts import Status, Verdict

SCORE = score_of(
    21.4, n=576, interval={"low": 20.1, "high": 22.8, "floor": 20.3, "ceiling": 22.6}, standard_error=0.7, sets=192
)


def verdict(status, *limits, model="m<b>", reasons=("2 limits hold",)):
    found = tuple(check for limit in limits for check in checks(limit.metric, SCORE, limit, None, has_run=False))
    return Verdict(model=model, name=model, status=status, reasons=reasons, checks=found)


BROKEN = Verdict(
    model="m",
    name="m ordered 0-shot",
    condition="ordered",
    shots=0,
    status=Status.FAILED,
    reasons=("pbleu 46.0 over 45.0", "x was not computed"),
)


def test_the_verdict_is_the_last_line_after_the_notes_on_drops():
    note, line = render_verdicts([verdict(Status.PASSED, Limit("pbleu", 1.0), Limit("pbleu", baseline=22, max_drop=1))])
    assert note.startswith("gate: pbleu 21.4 [20.1, 22.8] is 0.6 under its baseline of 22.0, within max_drop 1 (")
    assert "192 concept sets" in note
    assert line == "gate: PASSED m<b> (2 limits hold)"


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


def github_lines(verdicts, render=lambda: "## Summary\n", **environment):
    return list(tell_github(environment, verdicts, render))


@pytest.mark.parametrize("environment", [{}, {"GITHUB_ACTIONS": "false"}, {"GITHUB_ACTIONS": ""}])
def test_there_are_no_lines_outside_github_workflows(tmp_path, environment):
    summary = tmp_path / "summary.md"
    assert github_lines([BROKEN], GITHUB_STEP_SUMMARY=str(summary), **environment) == []
    assert not summary.exists()


def test_each_reason_of_a_failed_gate_is_an_error_in_github():
    assert github_lines([BROKEN], GITHUB_ACTIONS="true") == [
        "::error title=Ordered CommonGen m ordered 0-shot%3A failed::pbleu 46.0 over 45.0",
        "::error title=Ordered CommonGen m ordered 0-shot%3A failed::x was not computed",
    ]


def test_a_verdict_not_evaluated_is_a_warning_in_github_and_a_passed_one_has_no_line():
    verdicts = [
        verdict(Status.NOT_EVALUATED, model="m", reasons=("partial run",)),
        verdict(Status.PASSED, model="n", reasons=("1 limit holds",)),
    ]
    assert github_lines(verdicts, GITHUB_ACTIONS="true") == [
        "::warning title=Ordered CommonGen m%3A not evaluated::partial run",
    ]


def test_text_from_files_cannot_start_a_workflow_command():
    name = "a,b::warning::\r\n::set-env name=X::1%0A"
    hostile = verdict(Status.FAILED, model=name, reasons=("100 %\r\n::error::x",))
    [line] = github_lines([hostile], GITHUB_ACTIONS="true")
    assert line == (
        "::error title=Ordered CommonGen a%2Cb%3A%3Awarning%3A%3A%0D%0A%3A%3Aset-env name=X%3A%3A1%250A%3A failed::"
        "100 %25%0D%0A::error::x"
    )


def test_the_step_summary_is_appended_to(tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    assert github_lines([], GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary)) == []
    assert summary.read_text(encoding="utf-8") == "before\n## Summary\n\n"


def test_a_summary_that_cannot_be_written_is_a_warning(tmp_path):
    [line] = github_lines([], GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(tmp_path))
    assert line.startswith(f"::warning::the summary '{tmp_path}' cannot be written (")
