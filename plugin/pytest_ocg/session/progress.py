"""Progress of generation: a live note on a terminal, otherwise a line for each batch, nothing under `-q`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import Any

import pytest

from pytest_ocg.inputs.cases import Batch

SECONDS_BETWEEN_NOTES = 10
MINIMUM_SECONDS = 1.0
"""Over a shorter time a rate has no meaning: workers that start together end their first batches together."""


def clock(seconds: float) -> str:
    """A time in hours, minutes and seconds: `0:07`, `12:30`, `3:05:00`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Progress:
    """Counts cases and generations by model and shows the progress on the controller's terminal."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._total: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        self._generated: Counter[str] = Counter()
        self._first: dict[str, float] = {}
        self._loaded: dict[str, tuple[float, int]] = {}
        self._note_width = 0
        self._scoring_shown_at = 0.0

    def expect(
        self, selected: Mapping[str, int], forecasts: Callable[[Mapping[str, int]], Iterable[str]] = lambda selected: ()
    ) -> None:
        """Set the number of cases of each model; the lines that `forecasts` makes from it are shown once."""
        is_new, self._total = not self._total, Counter(selected)
        reporter = self._reporter()
        if is_new and reporter is not None and reporter.verbosity >= 0:
            for line in forecasts(selected):
                _write_line(reporter, line)

    def begin(self, batch: Batch, prompts: int) -> None:
        """Generation of a batch begins; a terminal shows it after the letters printed so far."""
        self._first.setdefault(batch.model, time.monotonic())
        reporter = self._reporter()
        if reporter is not None and _is_live(reporter):
            self._write_note(reporter, f" {self._line(batch.model)}, generating {prompts}")

    def end(self, ran: Mapping[str, Any]) -> None:
        """A batch is judged; without a terminal, print how many cases of its model are done."""
        model = str(ran["model"])
        self._done[model] += int(ran["cases"])
        self._generated[model] += int(ran["generated"])
        self._first.setdefault(model, time.monotonic() - float(ran["seconds"]))
        if ran["generated"] and model not in self._loaded:
            self._loaded[model] = (time.monotonic(), self._generated[model])
        reporter = self._reporter()
        if reporter is None:
            return
        self._erase_note(reporter)
        if ran["generated"] and reporter.verbosity >= 0 and not _is_live(reporter):
            _write_line(reporter, self._line(model))

    def _span(self, model: str) -> tuple[int, float]:
        """Generations and their seconds; the first batch, which loads the model, is left out when there are others."""
        now, generated = time.monotonic(), self._generated[model]
        since, before = self._loaded.get(model, (now, 0))
        if generated == before or now - since < MINIMUM_SECONDS:
            since, before = self._first[model], 0
        return generated - before, now - since

    def _reporter(self) -> pytest.TerminalReporter | None:
        reporter: pytest.TerminalReporter | None = self._config.pluginmanager.get_plugin("terminalreporter")
        return reporter

    def scored(self, label: str, done: int, total: int) -> None:
        """Show how many texts or pairs are scored: at the start, every few seconds, and at the end."""
        reporter, now = self._reporter(), time.monotonic()
        if reporter is None or reporter.verbosity < 0:
            return
        if done == 0:
            self._first[label] = self._scoring_shown_at = now
            reporter.ensure_newline()
            reporter.write_line(f"{label}: {total:,} to score")
        elif done == total or now - self._scoring_shown_at > SECONDS_BETWEEN_NOTES:
            self._scoring_shown_at = now
            pace = _pace(done, now - self._first.get(label, now), total - done)
            reporter.write_line(", ".join([f"{label}: {done:,} of {total:,}", *pace]))

    def _line(self, model: str) -> str:
        total = self._total[model]
        done = min(self._done[model], total)  # if a batch is split between workers, cases are judged twice
        return ", ".join([f"{model}: {done:,} of {total:,}", *_pace(*self._span(model), total - done)])

    def _write_note(self, reporter: pytest.TerminalReporter, text: str) -> None:
        writer = reporter._tw
        room = writer.fullwidth - writer.width_of_current_line - 1
        self._note_width = min(len(text), room) if room > 20 else 0
        if self._note_width:
            capture = self._config.pluginmanager.get_plugin("capturemanager")
            # a batch is generated in the setup of a test, and pytest captures output there
            with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
                writer._file.write(text[: self._note_width])
                writer.flush()

    def _erase_note(self, reporter: pytest.TerminalReporter) -> None:
        if self._note_width:
            reporter._tw._file.write(f"\x1b[{self._note_width}D\x1b[K")
            reporter._tw.flush()
            self._note_width = 0


def _pace(done: int, seconds: float, left: int) -> list[str]:
    """The rate per second and the time left; empty if the time is too short for a rate."""
    if not done or seconds < MINIMUM_SECONDS:
        return []
    rate = done / seconds
    return [f"{rate:.1f} a second", f"{clock(left / rate)} left"]


def _write_line(reporter: pytest.TerminalReporter, text: str) -> None:
    if reporter._tw.width_of_current_line:
        reporter._tw.line()
    reporter._tw.line(text)


def _is_live(reporter: pytest.TerminalReporter) -> bool:
    return bool(reporter.isatty) and reporter.verbosity == 0
