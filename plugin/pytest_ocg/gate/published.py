"""Threshold files for the paper's models, made from its Table 1."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pytest_ocg.gate.files import file_name, write_file
from pytest_ocg.gate.thresholds import GUIDE, SCHEMA
from pytest_ocg.inputs.models import OPENAI, ModelSpec, load_registry
from pytest_ocg.inputs.published import PAPER_SHA256, PAPER_TEMPLATES, ModelRow, Published, load_published
from pytest_ocg.metrics import catalogue


def published_files() -> dict[str, str]:
    """The text of a threshold file by its name, one for each model of Table 1."""
    published, registry = load_published(), load_registry()
    by_row = {spec.published_as: spec for spec in registry.values() if spec.published_as is not None}
    return {
        file_name(by_row[model].name): _render(by_row[model], row, published)
        for model, row in published.table1.items()
        if model in by_row
    }


def write_published(folder: Path) -> list[Path]:
    """Write the files into the folder, replace those that exist, and return them; raises ThresholdError naming one."""
    files = {folder / name: text for name, text in published_files().items()}
    for path, text in files.items():
        write_file(path, text)
    return list(files)


def _render(spec: ModelSpec, row: ModelRow, published: Published) -> str:
    return "\n".join(_lines(spec, row, published.table5.get(row.model))) + "\n"


def _lines(spec: ModelSpec, row: ModelRow, source: str | None) -> Iterator[str]:
    yield f"# Written by `ocg thresholds from-published`. For the choice of its limits, see {GUIDE}."
    yield f"schema = {SCHEMA}"
    yield f"model = {_text(spec.name)}"
    yield 'origin = "published"'
    yield "max_error_share = 0.0"
    yield ""
    yield "[signature] # the paper gives no versions, so those of the matcher and the metrics are left open"
    yield 'dataset = "commongen-lite"'
    yield f"dataset_sha256 = {_text(PAPER_SHA256)}"
    yield 'matcher = "inflection"'
    if spec.backend != OPENAI:
        yield f"quantization = {_text(spec.quantization)}"
    yield f"templates = {list(range(PAPER_TEMPLATES))}"
    yield 'condition = "ordered"'
    yield "shots = 0"
    for metric, worse in catalogue.first_limits().items():
        value = row.values.get(metric)
        if value is not None:
            yield ""
            yield f"[selection.full.metrics.{metric}]"
            yield f"{'max_drop' if worse == 'min' else 'max_rise'} = {catalogue.METRICS[metric].tolerance}"
            yield f"baseline = {value}"
    yield ""
    yield "[selection.full.provenance]"
    yield 'source = "Sakai, Kamigaito and Watanabe (ACL 2025), Table 1"'
    yield f"published_as = {_text(row.model)}"
    if source is not None:
        yield f"measured_with = {_text(source)}"


def _text(value: str) -> str:
    """The text as a TOML string; a JSON string without control characters is one."""
    return json.dumps(value, ensure_ascii=False)
