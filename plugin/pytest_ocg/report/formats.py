"""The formats of a report, each chosen by the suffix of the file name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pytest_ocg.errors import ExportError, OptionError
from pytest_ocg.results.schema import Results
from pytest_ocg.results.writing import can_be_written_to, write_whole
from pytest_ocg.run.record import CaseRecord

Records = Sequence[CaseRecord]


@dataclass(frozen=True, slots=True)
class Format:
    """The renderer for a suffix, the library it needs and the extra with it, and the command that writes it later."""

    render: Callable[[Results, Records, Sequence[Results]], bytes]
    library: str = ""
    extra: str = ""
    command: str = "ocg report"


def _html(results: Results, records: Records, earlier: Sequence[Results]) -> bytes:
    from pytest_ocg.report.html.page import render_html

    return render_html(results, records, earlier).encode("utf-8")


def _markdown(results: Results, records: Records, _: Sequence[Results]) -> bytes:
    from pytest_ocg.report.markdown import render_markdown

    return render_markdown(results, records).encode("utf-8")


def _latex(results: Results, _: Records, __: Sequence[Results]) -> bytes:
    from pytest_ocg.report.latex import render_latex

    return render_latex(results).encode("utf-8")


def _csv(_: Results, records: Records, __: Sequence[Results]) -> bytes:
    from pytest_ocg.report.export import render_csv

    return render_csv(records).text.encode("utf-8")


def _parquet(_: Results, records: Records, __: Sequence[Results]) -> bytes:
    from pytest_ocg.report.export import render_parquet

    return render_parquet(records)


FORMATS: Mapping[str, Format] = {
    ".html": Format(_html, "matplotlib", "report"),
    ".md": Format(_markdown),
    ".tex": Format(_latex),
    ".csv": Format(_csv, command="ocg export"),
    ".parquet": Format(_parquet, "pyarrow", "parquet", "ocg export"),
}


REPORT_SUFFIXES = tuple(suffix for suffix, entry in FORMATS.items() if entry.command == "ocg report")


def format_of(path: Path, suffixes: Collection[str] = FORMATS.keys()) -> Format:
    """The format for the suffix of the file; raises OptionError naming `suffixes` if it is none of them."""
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        *others, last = suffixes
        way_out = f"use {FORMATS[suffix].command}" if suffix in FORMATS else "rename it"
        raise OptionError(f"report {str(path)!r} does not end in {', '.join(others)} or {last}; {way_out}")
    return FORMATS[suffix]


def require_report(path: Path, suffixes: Collection[str] = FORMATS.keys()) -> Path:
    """The path, if a report can be written to it; raises OptionError with the reason if not."""
    wanted = format_of(path, suffixes)
    if wanted.library and find_spec(wanted.library) is None:
        raise OptionError(
            f"report {str(path)!r} needs {wanted.library}, which is not installed; run "
            f'`pip install "pytest-ordered-commongen[{wanted.extra}]"`'
        )
    if not can_be_written_to(path.parent) or path.is_dir():
        raise OptionError(f"report {str(path)!r} cannot be written; choose a file in a folder that can be written to")
    return path


def write_report(path: Path, results: Results, records: Records, earlier: Sequence[Results] = ()) -> None:
    """Write the report on a run; a missing folder is created. HTML also has the gate history of the `earlier` runs.

    Raises OptionError for an unknown suffix and ExportError if the file cannot be written.
    """
    chosen = format_of(path)
    content = chosen.render(results, records, earlier)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise ExportError(
            f"report {str(path)!r} cannot be written ({error.strerror}); choose another file, or write it later with "
            f"{chosen.command}"
        ) from error
