"""The tables of the paper, shipped with the package: runs are compared with them, and tests check definitions."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pytest_ocg.errors import ResultsError
from pytest_ocg.inputs.files import resource

PAPER_SETS = 192
PAPER_TEMPLATES = 6
PAPER_SHA256 = "30a0836e8ded8b4da875154759d332018b92b481a65025ac7b06d1c5b2e7674b"
"""The `Dataset.sha256` of the concept sets that the paper uses."""

_DELTA = "_delta_vs_"
_MEAN, _DEVIATION = "_mean", "_std"


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model's published numbers by metric name, in percent except perplexity; None if the cell is empty.

    `deltas` are the value minus the value under `compared_with`: `original` (the condition without the order phrase) in
    Tables 1 and 7, `zero_shot` in Table 4.
    """

    model: str
    values: Mapping[str, float | None]
    deltas: Mapping[str, float | None]
    compared_with: str

    def baseline(self) -> dict[str, float | None]:
        """The numbers under `compared_with`: value minus delta, rounded to the two decimals that the paper prints."""
        return {name: _difference(value, self.deltas.get(name)) for name, value in self.values.items()}


@dataclass(frozen=True, slots=True)
class SpreadRow:
    """Mean and standard deviation over the models by metric name, in percent; None if the cell is empty."""

    means: Mapping[str, float | None]
    deviations: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Published:
    """All tables of the paper with numbers or models; rows in the order of the paper.

    `table1` zero-shot, `table4` one-shot, `table7` reasoning models (template 0 only): by model name as printed.
    `table2` by part-of-speech pattern, in the order asked for. `table3` by template and condition. `table5` has the
    hub or vendor id of each model.
    """

    table1: Mapping[str, ModelRow]
    table2: Mapping[str, SpreadRow]
    table3: Mapping[tuple[int, str], SpreadRow]
    table4: Mapping[str, ModelRow]
    table5: Mapping[str, str]
    table7: Mapping[str, ModelRow]


def load_published(folder: Path | None = None) -> Published:
    """The tables shipped with the package, or those of `folder`.

    Raises ResultsError, which names file, line and column, if a table cannot be read.
    """
    folder = folder or resource("fixtures", "published")
    return Published(
        table1=_model_rows(folder / "table1_zero_shot.csv"),
        table2=MappingProxyType(
            {pattern: row for (pattern,), row in _spread_rows(folder / "table2_pos.csv", "pattern").items()}
        ),
        table3=MappingProxyType(
            {
                (int(template), condition): row
                for (template, condition), row in _spread_rows(
                    folder / "table3_templates.csv", "template", "condition"
                ).items()
            }
        ),
        table4=_model_rows(folder / "table4_one_shot.csv"),
        table5=MappingProxyType({key[0]: key[1] for key in _read(folder / "table5_models.csv", "model", "source_id")}),
        table7=_model_rows(folder / "table7_reasoning.csv"),
    )


def _model_rows(path: Path) -> Mapping[str, ModelRow]:
    rows = {}
    for (model,), cells in _read(path, "model").items():
        values = {name: value for name, value in cells.items() if _DELTA not in name}
        deltas = {name.partition(_DELTA)[0]: value for name, value in cells.items() if _DELTA in name}
        compared = {name.partition(_DELTA)[2] for name in cells if _DELTA in name}
        if len(compared) != 1 or deltas.keys() - values.keys():
            raise ResultsError(
                f"{path}: the columns {list(cells)!r} must be values and their deltas against one baseline"
            )
        rows[model] = ModelRow(model, MappingProxyType(values), MappingProxyType(deltas), compared.pop())
    return MappingProxyType(rows)


def _spread_rows(path: Path, *keys: str) -> dict[tuple[str, ...], SpreadRow]:
    return {
        key: SpreadRow(
            MappingProxyType({name.removesuffix(_MEAN): cells[name] for name in cells if name.endswith(_MEAN)}),
            MappingProxyType(
                {name.removesuffix(_DEVIATION): cells[name] for name in cells if name.endswith(_DEVIATION)}
            ),
        )
        for key, cells in _read(path, *keys).items()
    }


def _read(path: Path, *keys: str) -> dict[tuple[str, ...], dict[str, float | None]]:
    """The numbers of each line by column name; the key is the texts in its `keys` columns."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ResultsError(f"{path} cannot be read ({error.strerror}); install the package again") from error
    reader = csv.DictReader(lines, strict=True)
    absent = [key for key in keys if key not in (reader.fieldnames or ())]
    if absent:
        raise ResultsError(f"{path} has no column {absent[0]!r}, only {list(reader.fieldnames or ())!r}")
    rows: dict[tuple[str, ...], dict[str, float | None]] = {}
    for row in reader:
        where = f"{path}:{reader.line_num}"
        if None in row or None in row.values():
            raise ResultsError(f"{where} does not have the {len(reader.fieldnames or ())} cells of the header")
        key = tuple(row.pop(name) for name in keys)
        if key in rows:
            raise ResultsError(f"{where}: this is the second row for {', '.join(key)!r}")
        rows[key] = {name: _number(text, f"{where}: {name}") for name, text in row.items()}
    return rows


def _number(text: str, where: str) -> float | None:
    if not text.strip():
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ResultsError(f"{where} is {text!r}, which is not a number; leave the cell empty if there is no number")
    return number


def _difference(value: float | None, delta: float | None) -> float | None:
    return None if value is None or delta is None else round(value - delta, 2)
