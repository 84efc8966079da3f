from __future__ import annotations

import pytest

from pytest_ocg.gate.judge import Status, Verdict
from pytest_ocg.report.verdicts import tell_github

BROKEN = Verdict("m", Status.FAILED, ("pbleu 46.0 over 45.0", "x was not computed"), name="m ordered 0-shot")


def told(verdicts, render=lambda: "## Summary\n", **environment):
    return list(tell_github(environment, verdicts, render))


@pytest.mark.parametrize("environment", [{}, {"GITHUB_ACTIONS": "false"}, {"GITHUB_ACTIONS": ""}])
def test_nothing_is_told_elsewhere(tmp_path, environment):
    summary = tmp_path / "summary.md"
    assert told([BROKEN], GITHUB_STEP_SUMMARY=str(summary), **environment) == []
    assert not summary.exists()


def test_each_reason_of_a_failed_gate_is_an_error():
    assert told([BROKEN], GITHUB_ACTIONS="true") == [
        "::error title=Ordered CommonGen m ordered 0-shot%3A failed::pbleu 46.0 over 45.0",
        "::error title=Ordered CommonGen m ordered 0-shot%3A failed::x was not computed",
    ]


def test_what_could_not_be_judged_is_a_warning_and_what_passed_is_nothing():
    verdicts = [Verdict("m", Status.NOT_EVALUATED, ("partial run",)), Verdict("n", Status.PASSED, ("1 limit holds",))]
    assert told(verdicts, GITHUB_ACTIONS="true") == [
        "::warning title=Ordered CommonGen m%3A not evaluated::partial run",
    ]


def test_text_from_files_cannot_start_a_command_of_its_own():
    name = "a,b::warning::\r\n::set-env name=X::1%0A"
    [line] = told([Verdict(name, Status.FAILED, ("100 %\r\n::error::x",))], GITHUB_ACTIONS="true")
    assert line == (
        "::error title=Ordered CommonGen a%2Cb%3A%3Awarning%3A%3A%0D%0A%3A%3Aset-env name=X%3A%3A1%250A%3A failed::"
        "100 %25%0D%0A::error::x"
    )


def test_the_summary_of_the_step_is_added_to(tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    assert told([], GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary)) == []
    assert summary.read_text(encoding="utf-8") == "before\n## Summary\n\n"


def test_a_summary_that_cannot_be_written_is_a_warning(tmp_path):
    [line] = told([], GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(tmp_path))
    assert line.startswith(f"::warning::the summary '{tmp_path}' cannot be written (")
