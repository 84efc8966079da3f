"""`ocg models`: lists the registered models."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TextIO

from pytest_ocg.errors import printable
from pytest_ocg.inputs.models import ModelSpec, load_registry
from pytest_ocg.inputs.settings import MODEL_FORMS
from pytest_ocg.report.markup import render_grid

_COLUMNS = ("name", "source", "backend", "quantization", "note")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    parser.add_argument(
        "search", nargs="?", default="", metavar="SEARCH", help="only models with this text in a column"
    )
    parser.add_argument("--json", action="store_true", help="write all facts about each model as JSON")


def run(arguments: argparse.Namespace, stream: TextIO) -> int:
    """Write the models that match, and return 0, or 1 if no model matches."""
    models = [model for model in load_registry().values() if _matches(model, arguments.search)]
    if arguments.json:
        stream.write(json.dumps([asdict(model) for model in models], indent=2) + "\n")
    elif models:
        rows = [[printable(cell) for cell in _row(model)] for model in models]
        stream.writelines(f"{line}\n" for line in render_grid(_COLUMNS, rows, left=len(_COLUMNS)))
    if not models:
        sys.stderr.write(f"no registered model matches {arguments.search!r}; --model accepts {MODEL_FORMS}\n")
    return 0 if models else 1


def _row(model: ModelSpec) -> list[str]:
    return [model.name, model.source, model.backend, model.quantization, model.note]


def _matches(model: ModelSpec, search: str) -> bool:
    wanted = search.casefold()
    return any(wanted in text.casefold() for text in (*_row(model), model.published_as or ""))
