"""Decides which of our hooks this process needs and registers them."""

from __future__ import annotations

import os

import pytest

from pytest_ocg.backends.huggingface.devices import visible_gpus
from pytest_ocg.errors import OcgError
from pytest_ocg.session.benchmark import Benchmark
from pytest_ocg.session.distribution import (
    Distribution,
    is_distributed,
    read_worker_input,
    set_wait_policy,
    workers_for,
)
from pytest_ocg.session.execution import Execution
from pytest_ocg.session.keys import BENCHMARK, EXECUTION
from pytest_ocg.session.options import read_options
from pytest_ocg.session.progress import Progress
from pytest_ocg.session.scoreboard import Scoreboard


def activate(config: pytest.Config) -> None:
    """Plan the run and register the hooks of the controller, of the tests, or both; a bad option is a usage error."""
    try:
        benchmark = Benchmark(config, read_options(config))
        benchmark.plan, benchmark.metrics  # noqa: B018 - report what is impossible before collection
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
    manager.register(StartCheck(benchmark), "ocg-check")
    manager.register(scoreboard, "ocg-scoreboard")
    if is_distributed(config) and config.option.dist == "load" and benchmark.is_cached():
        config.option.dist, config.option.tx = "no", []
        manager.register(SingleProcessNote(), "ocg-single-process")
    if is_distributed(config):
        manager.register(Distribution(benchmark, scoreboard), "ocg-distribution")
    else:
        _register_execution(config, benchmark, progress)


def automatic_workers(config: pytest.Config) -> int:
    """The number of workers for `-n auto` on this machine."""
    try:
        return workers_for(visible_gpus(), read_options(config).gpus_per_worker)
    except OcgError as error:
        raise pytest.UsageError(str(error)) from error


class StartCheck:
    """Checks models, matcher and cache once, before tests run or workers start."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Report once, at the start, an error that would occur in every case."""
        if session.config.option.collectonly:
            return
        try:
            self._benchmark.check()
        except OcgError as error:
            raise pytest.UsageError(str(error)) from error


class SingleProcessNote:
    """Reports that no workers start: their messages take more time than judging replies from the cache."""

    def pytest_report_header(self) -> str:
        """The line below the versions."""
        return "ocg: every reply is in the cache; tests run in this process, which is faster than in workers"


def _register_execution(config: pytest.Config, benchmark: Benchmark, progress: Progress | None) -> None:
    set_wait_policy(os.environ)
    execution = Execution(benchmark, progress)
    config.stash[EXECUTION] = execution
    config.pluginmanager.register(execution, "ocg-execution")
    config.add_cleanup(execution.unfreeze)  # runs last, after pytest collects garbage
