"""`ocg`: commands on runs, models and the cache, without pytest and without a loaded model."""

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
    Command("gate", "check the results of a run against thresholds", "pytest_ocg.cli.gate"),
    Command("thresholds", "show the thresholds of a model, or write them from results", "pytest_ocg.cli.thresholds"),
    Command("compare", "compare the results of a run with those of another run", "pytest_ocg.cli.compare"),
    Command("merge", "merge the results of shards or of several models", "pytest_ocg.cli.merge"),
    Command("report", "write the report of a run: HTML, Markdown or LaTeX", "pytest_ocg.cli.report"),
    Command("tables", "show the paper's tables and figures from the results of any runs", "pytest_ocg.cli.tables"),
    Command("export", "write the cases of a run as a table for other programs", "pytest_ocg.cli.export"),
    Command("models", "list the registered models", "pytest_ocg.cli.models"),
    Command("cache", "show what is in the reply cache, or delete replies", "pytest_ocg.cli.cache"),
)


class _Version(argparse.Action):
    """Prints the installed version, which is looked up on use."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError

        try:
            from pytest_ocg import __version__ as found
        except PackageNotFoundError:
            found = "from a source tree"
        sys.stdout.write(f"ocg {found}\n")
        parser.exit()


def main(arguments: Sequence[str] | None = None, stream: TextIO | None = None) -> int:
    """The exit status: that of the subcommand, 2 for an error, 130 for Ctrl-C, 141 for a closed pipe."""
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
        description="Work with the results of Ordered CommonGen. To start a run, use pytest --model NAME.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
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
    """Redirect standard output to the null device; otherwise Python writes the rest at exit and reports an error."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
