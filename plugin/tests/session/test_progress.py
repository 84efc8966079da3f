"""Progress: a live note on a terminal that is erased, otherwise a line for each batch, nothing under `-q`."""

import contextlib
import io
import os
import pty
import subprocess
import sys

import pytest
from _pytest.config import create_terminal_writer
from _pytest.terminal import TerminalReporter

from pytest_ocg.inputs.cases import Batch
from pytest_ocg.session.progress import Progress, clock

RAN = {"model": "m", "cases": 32, "generated": 32, "seconds": 8.0}


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (7.4, "0:07"), (59.6, "1:00"), (750, "12:30"), (11_100, "3:05:00")]
)
def test_a_time_is_written_in_hours_minutes_and_seconds(seconds, text):
    assert clock(seconds) == text


@pytest.fixture
def progress(pytester):
    def make(*arguments, is_terminal=False):
        config = pytester.parseconfig(*arguments)
        output = io.StringIO()
        reporter = TerminalReporter(config, output)
        reporter._tw = create_terminal_writer(config, output)
        reporter._tw.fullwidth = 100
        reporter.isatty = is_terminal
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(reporter, "terminalreporter")
        made = Progress(config)
        made.expect({"m": 96})
        return made, output

    return make


def test_off_a_terminal_a_generated_batch_is_a_line_with_rate_and_time_left(progress):
    made, output = progress()
    made.end(RAN)
    assert output.getvalue() == "m: 32 of 96, 4.0 a second, 0:16 left\n"


def test_batches_that_end_together_do_not_make_a_rate_of_their_own(progress):
    made, output = progress()
    made.end(RAN)
    made.end(RAN)
    assert output.getvalue().splitlines()[1] == "m: 64 of 96, 8.0 a second, 0:04 left"


def test_a_very_short_time_has_no_rate(progress):
    made, output = progress()
    made.begin(Batch(0, "m", ()), 32)
    assert output.getvalue() == ""
    made.end(RAN)
    made.scored("pBLEURT", 0, 2)
    made.scored("pBLEURT", 2, 2)
    assert output.getvalue() == "m: 32 of 96\npBLEURT: 2 to score\npBLEURT: 2 of 2\n"


def test_a_batch_from_the_cache_is_no_line(progress):
    made, output = progress()
    made.end({**RAN, "generated": 0, "seconds": 0.0})
    assert output.getvalue() == ""


def test_on_a_terminal_the_note_follows_the_letters_and_is_erased(progress):
    made, output = progress(is_terminal=True)
    made.begin(Batch(0, "m", ()), 32)
    note = output.getvalue()
    assert note == " m: 0 of 96, generating 32"
    made.end(RAN)
    assert output.getvalue() == f"{note}\x1b[{len(note)}D\x1b[K"


def test_nothing_is_printed_under_q(progress):
    made, output = progress("-q")
    made.begin(Batch(0, "m", ()), 32)
    made.end(RAN)
    assert output.getvalue() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are of POSIX")
def test_the_note_reaches_the_terminal_while_a_batch_is_generated_and_no_tests_output(bench):
    bench.pytester.makeconftest(
        "import pytest\n"
        "from pytest_ocg.backends.scripted import ScriptedBackend, quarter\n"
        "def pytest_ocg_make_backend(spec, settings):\n"
        "    return ScriptedBackend(quarter, batch_size=24)\n"
        "@pytest.hookimpl(wrapper=True)\n"
        "def pytest_runtest_makereport(item, call):\n"
        "    report = yield\n"
        "    assert not report.capstdout\n"
        "    return report\n"
    )
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "pytest", *bench.arguments()]
    running = subprocess.Popen(
        command, cwd=bench.path, stdout=terminal, stderr=terminal, env={**os.environ, "COLUMNS": "100"}
    )
    os.close(terminal)
    seen = bytearray()
    with contextlib.suppress(OSError):  # a pseudo-terminal ends with this error
        while chunk := os.read(controller, 65_536):
            seen += chunk
    os.close(controller)
    assert running.wait() == 1
    note = b" scripted_quarter: 0 of 72, generating 24"
    assert note + f"\x1b[{len(note)}D\x1b[K".encode() in bytes(seen)
    assert b"scripted_quarter: 24 of 72, " in seen
