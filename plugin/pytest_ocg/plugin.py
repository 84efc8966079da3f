"""The entry point for pytest: hooks and fixtures. Each of them calls a function of `session`."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from pytest_ocg.inputs.settings import MODEL_FORMS
from pytest_ocg.session.keys import BENCHMARK, CASE_FIXTURE, EXECUTION
from pytest_ocg.session.options import MODEL_OPTION, declare_options, is_gate_required, requested_models

if TYPE_CHECKING:
    from pytest_ocg.inputs.cases import Case
    from pytest_ocg.run.record import Record

HOW_TO_START = f"no model given; run pytest --model NAME, where NAME is {MODEL_FORMS}"
NOTHING_TO_JUDGE = "the gate is 'require', but no model is given, so there is nothing to judge; add --model NAME"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare `--model` and the `--ocg-` options."""
    declare_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks of this plugin."""
    from pytest_ocg.session import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, object, object]:
    """Correct pytest's early reading of our options, and let a conftest declare its own `--model`."""
    if early_config.known_args_namespace.ocg_model:
        from pytest_ocg.session.rootdir import correct_rootdir

        correct_rootdir(early_config, parser, args)
    taken = parser.optparser._option_string_actions
    ours = taken.pop(MODEL_OPTION, None)
    result = yield
    if ours is not None:
        taken.setdefault(MODEL_OPTION, ours)
    return result


def pytest_configure(config: pytest.Config) -> None:
    """Activate the benchmark if a model is given."""
    if requested_models(config):
        from pytest_ocg.session.activation import activate

        activate(config)
    elif is_gate_required(config) and any(arg.startswith("--ocg-gate") for arg in config.invocation_params.args):
        raise pytest.UsageError(NOTHING_TO_JUDGE)


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """The number of workers for `-n auto`: as many as the GPUs allow, one on a machine without GPUs."""
    if not requested_models(config):
        return None
    from pytest_ocg.session.activation import automatic_workers

    return automatic_workers(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize `ocg_case` with every planned case, or with one skip whose reason explains how to start."""
    if CASE_FIXTURE not in metafunc.fixturenames:
        return
    benchmark = metafunc.config.stash.get(BENCHMARK, None)
    if benchmark is None:
        if is_gate_required(metafunc.config):
            pytest.fail(NOTHING_TO_JUDGE, pytrace=False)
        skip = pytest.param(None, id="no-model", marks=pytest.mark.skip(reason=HOW_TO_START))
        metafunc.parametrize(CASE_FIXTURE, [skip])
    else:
        metafunc.parametrize(CASE_FIXTURE, benchmark.plan.cases, ids=[case.id for case in benchmark.plan.cases])


@pytest.fixture
def ocg_generation(request: pytest.FixtureRequest, ocg_case: Case) -> Record:
    """The judged reply to `ocg_case`; if there is no reply, the test is an error."""
    return request.config.stash[EXECUTION].judged(request.node, ocg_case)
