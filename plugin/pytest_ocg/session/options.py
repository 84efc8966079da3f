"""The command line: declared here, checked once, returned as one typed object."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from pytest_ocg.errors import OptionError
from pytest_ocg.run.options import DECLARATIONS, MODEL_HELP, Options

MODEL_OPTION = "--model"


def declare_options(parser: pytest.Parser) -> None:
    """Declare `--model` and every `--ocg-` option with its ini value."""
    group = parser.getgroup("ocg", "Ordered CommonGen: does a model use these words, in this order?")
    group.addoption(
        *([MODEL_OPTION] if MODEL_OPTION not in parser._opt2dest else []),
        "--ocg-model",
        action="append",
        dest="ocg_model",
        metavar="NAME",
        default=None,
        help=MODEL_HELP,
    )
    for declaration in DECLARATIONS:
        text = f"{declaration.help} (default: {declaration.default})" if declaration.default else declaration.help
        if declaration.is_flag:
            group.addoption(
                declaration.option,
                action="store_const",
                const="true",
                dest=declaration.dest,
                default=None,
                help=declaration.help,
            )
        else:
            group.addoption(
                declaration.option,
                dest=declaration.dest,
                metavar=declaration.metavar,
                default=None,
                help=text.replace("%", "%%"),
            )
        if declaration.has_ini:
            parser.addini(declaration.dest, f"see {declaration.option}", default=None)


def requested_models(config: pytest.Config) -> tuple[str, ...]:
    """The names from `--model`, each once, in the given order."""
    given = cast("list[str] | None", config.getoption("ocg_model", None)) or []
    return tuple(dict.fromkeys(given))


def is_gate_required(config: pytest.Config) -> bool:
    """Whether the gate is `require`, on the command line or otherwise in the ini file."""
    given = config.getoption("ocg_gate", None)
    return bool((config.getini("ocg_gate") if given is None else given) == "require")


def read_options(config: pytest.Config) -> Options:
    """The checked options: command line first, then the ini file, then the default.

    Raises OptionError with the option, the value and the accepted values.
    """
    read: dict[str, Any] = {}
    for declaration in DECLARATIONS:
        text, origin = config.getoption(declaration.dest), declaration.option
        if text is None and declaration.has_ini:
            text, origin = config.getini(declaration.dest), f"ini key {declaration.dest}"
        text = declaration.default if text is None else str(text)
        try:
            read[declaration.field] = None if text is None else declaration.read(text)
        except ValueError as error:
            raise OptionError(f"{origin}: {error}") from error
    read["conditions"] = read.pop("condition")
    read["report"] = tuple(map(Path, read["report"] or ()))
    if read["outputs"] is not None:
        if read["backend"] not in ("auto", "replay"):
            raise OptionError(
                f"--ocg-outputs judges existing replies and cannot be used with --ocg-backend {read['backend']!r}; "
                "remove one of them"
            )
        read["backend"] = "replay"
    elif read["backend"] == "replay":
        raise OptionError("--ocg-backend replay needs a file with the replies to judge; add --ocg-outputs FILE")
    return Options(models=requested_models(config), **read)
