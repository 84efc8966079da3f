"""Decides which of our hooks this process needs and registers them."""

from __future__ import annotations

import os

import pytest

from pytest_ocg.backends.huggingface.devices import visible_gpus
from pytest_ocg.errors import OcgError
from pytest_ocg.session.benchmark import Benchmark
from pytest_ocg.session.distribution import Distribution, is_distributed, read_worker_input, wait_asleep, workers_for
from pytest_ocg.session.execution import Execution
from pytest_ocg.session.keys import BENCHMARK, EXECUTION
from pytest_ocg.session.options import read_options
from pytest_ocg.session.progress import Progress
from pytest_ocg.session.scoreboard import Scoreboard


def switch_on(config: pytest.Config) -> None:
    """Plan the run and register the controller's side, the tests' side, or both; a bad option is a usage error."""
    try:
        benchmark = Benchmark(config, read_options(config))
        benchmark.plan, benchmark.metrics  # noqa: B018 - so that what cannot be done is said before collection
    except OcgError as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[BENCHMARK] = benchmark
    manager = config.pluginmanager
    if hasattr(config, "workerinput"):
        read_worker_input(config, benchmark)
        _register_execution(config, benchmark, None)
        return
    progress = Progress(config)
    scoreboard = Scoreboard(benchmark, progress)
    manager.register(Check(benchmark), "ocg-check")
    manager.register(scoreboard, "ocg-scoreboard")
    if is_distributed(config) and config.option.dist == "load" and benchmark.is_kept():
        config.option.dist, config.option.tx = "no", []
        manager.register(Alone(), "ocg-alone")
    if is_distributed(config):
        manager.register(Distribution(benchmark, scoreboard), "ocg-distribution")
    else:
        _register_execution(config, benchmark, progress)


def automatic_workers(config: pytest.Config) -> int:
    """How many workers `-n auto` means here."""
    try:
        return workers_for(visible_gpus(), read_options(config).gpus_per_worker)
    except OcgError as error:
        raise pytest.UsageError(str(error)) from error


class Check:
    """Looks at models, matcher and cache once, before tests run or workers start."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Say now, in one message, what would otherwise go wrong in every case."""
        if session.config.option.collectonly:
            return
        try:
            self._benchmark.check()
        except OcgError as error:
            raise pytest.UsageError(str(error)) from error


class Alone:
    """Says that there are no workers: their messages about each test take longer than judging what is in the cache."""

    def pytest_report_header(self) -> str:
        """A line under the versions."""
        return "ocg: every reply is in the cache: tests run in this process, which is quicker than in workers"


def _register_execution(config: pytest.Config, benchmark: Benchmark, progress: Progress | None) -> None:
    wait_asleep(os.environ)
    execution = Execution(benchmark, progress)
    config.stash[EXECUTION] = execution
    config.pluginmanager.register(execution, "ocg-execution")
    config.add_cleanup(execution.unfreeze)  # runs last, after pytest's own collection of garbage
