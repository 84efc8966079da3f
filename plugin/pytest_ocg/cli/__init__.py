"""`ocg`: what there is to do beside running the benchmark, without pytest and without a model."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TextIO

from pytest_ocg.errors import OcgError

FAILED = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand; its module has `add_arguments(parser)` and `run(arguments, stream)`, and is imported on use."""

    name: str
    summary: str
    module: str


COMMANDS = (
    Command("gate", "hold the results of a run against thresholds", "pytest_ocg.cli.gate"),
    Command("thresholds", "show what a model must hold, or write it from results", "pytest_ocg.cli.thresholds"),
    Command("compare", "hold the results of a run against those of another", "pytest_ocg.cli.compare"),
    Command("merge", "put the results of shards, or of several models, together", "pytest_ocg.cli.merge"),
    Command("report", "write the report on a run: HTML, Markdown or LaTeX", "pytest_ocg.cli.report"),
    Command("tables", "show the paper's tables and figures from the results of any runs", "pytest_ocg.cli.tables"),
    Command("export", "write the cases of a run as a table for other programs", "pytest_ocg.cli.export"),
    Command("models", "list the registered models", "pytest_ocg.cli.models"),
    Command("cache", "show what the reply cache holds, or forget some of it", "pytest_ocg.cli.cache"),
)


class _Version(argparse.Action):
    """Prints the installed version, looked up only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError

        try:
            from pytest_ocg import __version__ as found
        except PackageNotFoundError:
            found = "from a source tree"
        sys.stdout.write(f"ocg {found}\n")
        parser.exit()


def main(arguments: Sequence[str] | None = None, stream: TextIO | None = None) -> int:
    """The exit status: the subcommand's own, 2 for an error, 130 for Ctrl-C, 141 where the reader went away."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(given, stream or sys.stdout)
    except OcgError as error:
        sys.stderr.write(f"ocg: {error}\n")
        return FAILED
    except KeyboardInterrupt:
        sys.stderr.write("ocg: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        if stream is None:
            _discard_output()
        return BROKEN_PIPE


def _run(given: Sequence[str], stream: TextIO) -> int:
    parser = argparse.ArgumentParser(
        prog="ocg",
        description="What there is to do around runs of Ordered CommonGen; a run is started by pytest --model NAME.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and leave")
    choices = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        description = f"{command.summary[0].upper()}{command.summary[1:]}."
        chosen = choices.add_parser(command.name, help=command.summary, description=description)
        if command.name in given:
            _module(command).add_arguments(chosen)
    parsed = parser.parse_args(given)
    [command] = [command for command in COMMANDS if command.name == parsed.command]
    status: int = _module(command).run(parsed, stream)
    stream.flush()
    return status


def _module(command: Command) -> ModuleType:
    return importlib.import_module(command.module)


def _discard_output() -> None:
    """Point standard output at nothing, or Python would try once more to write what is left, and complain."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)
