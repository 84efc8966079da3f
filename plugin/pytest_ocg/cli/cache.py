"""`ocg cache`: shows what is in the reply cache, and deletes replies."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from pytest_ocg.errors import CacheError, OptionError, counted, did_you_mean, printable
from pytest_ocg.report.markup import render_grid
from pytest_ocg.run.cache.cache import FILE_NAME, Cache, ModelUsage, default_cache_directory

_COLUMNS = ("model", "replies", "size", "provenances", "first", "last")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    prune = parser.add_subparsers(dest="action", metavar="ACTION").add_parser(
        "prune", help="delete replies", description="Delete replies, and data that no other reply needs."
    )
    # An option before `prune` is valid unless the same option follows `prune`.
    for target, folder, unset in ((parser, None, False), (prune, argparse.SUPPRESS, argparse.SUPPRESS)):
        target.add_argument(
            "--cache",
            type=Path,
            default=folder,
            metavar="DIR",
            help="folder of the reply cache; default: the user's cache folder",
        )
        target.add_argument("--json", action="store_true", default=unset, help="write the result as JSON")
    prune.add_argument("--model", metavar="NAME", help="only replies of this model")
    prune.add_argument("--before", metavar="YYYY-MM-DD", help="only replies stored before this day (UTC)")
    prune.add_argument("--all", action="store_true", help="everything, including analyses and scores")
    prune.add_argument("--yes", action="store_true", help="delete without asking")


def run(arguments: argparse.Namespace, stream: TextIO) -> int:
    """Write what is in the cache, or prune it, and return 0, or 1 if the user did not answer yes.

    Raises CacheError, and OptionError for an unclear choice or if there is no terminal for the question.
    """
    is_prune = arguments.action == "prune"
    before = _chosen_time(arguments) if is_prune else None
    path = (arguments.cache or default_cache_directory()) / FILE_NAME
    if not path.exists():
        empty = {"deleted": 0} if is_prune else {"size_bytes": 0, "models": []}
        _write(stream, {"path": str(path), **empty} if arguments.json else f"there is no reply cache at {path} yet")
        return 0
    with Cache.open(path.parent, _note) as cache:
        return _prune(cache, arguments, before, stream) if is_prune else _show(cache, arguments, stream)


def _show(cache: Cache, arguments: argparse.Namespace, stream: TextIO) -> int:
    usage, size_bytes = cache.usage(), cache.file.size_bytes()
    if arguments.json:
        models = [asdict(model) for model in usage]
        _write(stream, {"path": str(cache.path), "size_bytes": size_bytes, "models": models})
        return 0
    for line in _table(usage):
        _write(stream, line)
    total = sum(model.replies for model in usage)
    _write(
        stream,
        f"{counted(total, 'reply')} of {counted(len(usage), 'model')}, {size_text(size_bytes)} on disk: {cache.path}",
    )
    return 0


def _prune(cache: Cache, arguments: argparse.Namespace, before: datetime | None, stream: TextIO) -> int:
    _require_known(cache, arguments.model)
    write_line: Callable[[str], None] = _note if arguments.json else lambda line: _write(stream, line)
    selected = cache.usage(arguments.model, before)
    replies = sum(model.replies for model in selected)
    for line in _table(selected):
        write_line(line)
    if not replies and not arguments.all:
        deleted = 0
    elif arguments.yes or _is_confirmed(f"{counted(replies, 'reply')} in {cache.path}"):
        deleted = cache.prune(arguments.model, before)
    else:
        write_line("nothing was deleted")
        return 1
    size = size_text(cache.file.size_bytes())
    _write(
        stream,
        {"path": str(cache.path), "deleted": deleted}
        if arguments.json
        else f"{counted(deleted, 'reply')} deleted, {size} left on disk: {cache.path}",
    )
    return 0


def _table(usage: Sequence[ModelUsage]) -> list[str]:
    """The lines of the table and an empty line; nothing without models."""
    rows = [
        [
            printable(model.model),
            f"{model.replies:,}",
            size_text(model.payload_bytes),
            str(model.provenances),
            model.first_stored[:16].replace("T", " "),
            model.last_stored[:16].replace("T", " "),
        ]
        for model in usage
    ]
    return [*render_grid(_COLUMNS, rows, left=1), ""] if rows else []


def size_text(size_bytes: int) -> str:
    """A size in powers of 1000: `6.5 MB`."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    size, units = size_bytes / 1000, ["kB", "MB", "GB", "TB"]
    while size >= 999.95 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.1f} {units[0]}"


def _chosen_time(arguments: argparse.Namespace) -> datetime | None:
    """The time before which replies are deleted, None for all times."""
    is_part = arguments.model is not None or arguments.before is not None
    if is_part == arguments.all:
        raise OptionError(
            "--all cannot be used with --model or --before; remove one of them"
            if is_part
            else "ocg cache prune needs a choice of replies: add --model NAME, --before YYYY-MM-DD, both, or --all"
        )
    if arguments.before is None:
        return None
    try:
        return datetime.strptime(arguments.before, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError as error:
        raise OptionError(f"--before: {arguments.before!r} is not a date; write it like 2026-01-31") from error


def _require_known(cache: Cache, model: str | None) -> None:
    known = [usage.model for usage in cache.usage()]
    if model is not None and model not in known:
        hint = did_you_mean(model, known, 3) or f"; the cache has {', '.join(map(repr, known)) or 'no replies'}"
        raise CacheError(f"{cache.path}: no replies of the model {model!r}{hint}")


def _is_confirmed(what: str) -> bool:
    """Whether the user at the terminal answers yes."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise OptionError(f"nothing was deleted, because there is no terminal to ask on; add --yes to delete {what}")
    sys.stderr.write(f"Delete {what}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _note(line: str) -> None:
    sys.stderr.write(line + "\n")


def _write(stream: TextIO, result: str | dict[str, Any]) -> None:
    stream.write((result if isinstance(result, str) else json.dumps(result, indent=2)) + "\n")
