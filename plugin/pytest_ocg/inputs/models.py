"""The registry of models, how a model name is resolved, and what hosted models cost."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from pytest_ocg.errors import ModelError, counted, did_you_mean
from pytest_ocg.inputs.files import check_keys, read_toml, resource, text_value
from pytest_ocg.inputs.prompts import Prompt
from pytest_ocg.inputs.settings import MODEL_FORMS, QUANTIZATIONS, Quantization

HUGGINGFACE = "huggingface"
OPENAI = "openai"
HOSTED = "openai:"

_HUB_ID = re.compile(r"(?P<source>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(@(?P<revision>[\w.][\w./-]*))?", re.ASCII)
_SHORT_NAME = re.compile(r"[a-z0-9][a-z0-9._+-]*")
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._+-]+")
_PATH_STARTS = ("/", "./", "../", "~")
_ACCEPTED = f"A model is {MODEL_FORMS}"


@dataclass(frozen=True, slots=True)
class Price:
    """The list price of a hosted model on a date (ISO 8601), in US dollars per million tokens."""

    input: float
    output: float
    date: str


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Where a model comes from, and its special settings.

    `backend` is `huggingface`, `openai`, or the name of another backend. `source` is a hub id, a local
    folder, a `.gguf` file or a hosted model's name. `published_as` is its row name in the paper's tables, None if
    it is not in the paper. `reasoning` is the pair of tags around a reasoning block (docs/definitions.md, Decoding).
    `answer` is the pair of tags around the answer, if the model uses them. `max_new_tokens` overrides the default cap.
    `key_variable` is the environment variable of the API key, None for the default one of the backend.
    """

    name: str
    backend: str
    source: str
    revision: str | None = None
    quantization: Quantization = "none"
    published_as: str | None = None
    reasoning: tuple[str, str] | None = None
    answer: tuple[str, str] | None = None
    max_new_tokens: int | None = None
    base_url: str | None = None
    key_variable: str | None = None
    price: Price | None = None
    trust_remote_code: bool = False
    note: str = ""


def load_registry(path: Path | None = None) -> dict[str, ModelSpec]:
    """The models of a TOML file by short name, in file order; by default those of the package.

    Raises ModelError, which names the file, the model and the key.
    """
    path = path or resource("fixtures", "models.toml")
    table = check_keys(read_toml(path, ModelError), ("models",), ("models",), str(path), ModelError)["models"]
    if not isinstance(table, dict):
        raise ModelError(f"{path}: models must be a table of [models.NAME] tables, not {table!r}")
    return {name: _registry_entry(name, entry, f"{path}: models.{name}") for name, entry in table.items()}


def resolve_model(name: str, registry: Mapping[str, ModelSpec]) -> ModelSpec:
    """The model that `--model NAME` means: a short name, `openai:NAME`, a local folder or `.gguf` file, or a hub id.

    A model of the registry keeps its tags, cap and quantization under its hub id or hosted name too. There is no
    network request. Raises ModelError with similar names and the accepted forms.
    """
    known = registry.get(name) or registry.get(name.lower())
    if known is not None:
        return known
    if name.startswith(HOSTED):
        hosted = name.removeprefix(HOSTED)
        if not hosted or not hosted.isprintable() or " " in hosted:
            raise ModelError(f"model {name!r}: openai: must be followed by the model's name on the server")
        return _with_registry_settings(name, OPENAI, hosted, None, registry)
    local = _local_model(name) if name.strip() else None
    if local is not None:
        return local
    if name.startswith(_PATH_STARTS) or name.endswith(".gguf"):
        raise ModelError(f"model {name!r}: there is no such file or folder. {_ACCEPTED}")
    hub_id = _HUB_ID.fullmatch(name)
    if hub_id is None:
        raise ModelError(f"model {name!r} is not known{did_you_mean(name, registry, 3) or '.'} {_ACCEPTED}")
    return _with_registry_settings(name, HUGGINGFACE, hub_id["source"], hub_id["revision"], registry)


def id_name(name: str) -> str:
    """The name in a form for test ids and file names: letters, digits and `._+-`.

    The `/` of a hub id becomes `--`; a path is reduced to its last part.
    """
    if name.startswith(_PATH_STARTS):
        name = Path(name).name
    safe = _NOT_IN_IDS.sub("_", name.replace("@", "+").replace("/", "--")).strip("_")
    # A file name with a leading dot is hidden, and one with a leading hyphen looks like an option.
    return f"model{safe}" if not safe or safe[0] in ".-" else safe


def id_names(specs: Sequence[ModelSpec]) -> tuple[str, ...]:
    """An id for each model, all different: `id_name`, followed by a hash of the source if two would be equal.

    Ids differ by more than case because they are file names too. Raises ModelError if a model is given twice.
    """
    plain = [id_name(spec.name) for spec in specs]
    counts = Counter(name.casefold() for name in plain)
    names = tuple(
        f"{name}+{_source_hash(spec)}" if counts[name.casefold()] > 1 else name
        for name, spec in zip(plain, specs, strict=True)
    )
    first: dict[str, ModelSpec] = {}
    for name, spec in zip(names, specs, strict=True):
        if name.casefold() in first:
            raise ModelError(
                f"model {spec.name!r} is given twice, with the source {first[name.casefold()].source!r}; remove one"
            )
        first[name.casefold()] = spec
    return names


def _source_hash(spec: ModelSpec) -> str:
    parts = (spec.backend, spec.source, spec.revision or "", spec.base_url or "")
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _with_registry_settings(
    name: str, backend: str, source: str, revision: str | None, registry: Mapping[str, ModelSpec]
) -> ModelSpec:
    for spec in registry.values():
        if spec.backend == backend and spec.source.casefold() == source.casefold():
            return replace(spec, name=name, source=source, revision=revision or spec.revision)
    return ModelSpec(name, backend, source, revision)


def _local_model(name: str) -> ModelSpec | None:
    """The model at a path, None if the path does not exist."""
    try:
        path = Path(name).expanduser().resolve()
        if path.is_dir():
            _check_folder(name, path)
        elif path.is_file():
            _check_gguf(name, path)
        else:
            return None
    except (OSError, ValueError, RuntimeError) as cause:
        raise ModelError(f"model {name!r}: cannot be read: {cause}") from cause
    return ModelSpec(path.name, HUGGINGFACE, str(path))


def _check_folder(name: str, path: Path) -> None:
    if (path / "config.json").is_file():
        return
    if (path / "adapter_config.json").is_file():
        raise ModelError(
            f"model {name!r}: this folder contains only an adapter; merge it into its base model and pass "
            "the folder of the merged model"
        )
    inside = sorted(entry.name for entry in path.glob("*.gguf"))
    hint = f"; pass one of the files in it: {', '.join(inside)}" if inside else ""
    raise ModelError(f"model {name!r}: this folder has no config.json, so it is not a saved model{hint}")


def _check_gguf(name: str, path: Path) -> None:
    if path.suffix.lower() != ".gguf":
        raise ModelError(f"model {name!r}: this file is not a .gguf file; pass a .gguf file or the folder of the model")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != b"GGUF":
        raise ModelError(
            f"model {name!r}: this file starts with {magic!r} instead of b'GGUF', so it is not a GGUF "
            "model; if it is a pointer file of Git LFS, download the model itself"
        )


def _registry_entry(name: str, entry: object, place: str) -> ModelSpec:
    known = tuple(key for key in ModelSpec.__dataclass_fields__ if key != "name")
    table: dict[str, Any] = dict(check_keys(entry, known, ("backend", "source"), place, ModelError))
    if not _SHORT_NAME.fullmatch(name):
        raise ModelError(f"{place}: a short name is lower-case letters, digits and ._+-, not {name!r}")
    for key in table.keys() & {
        "backend",
        "source",
        "revision",
        "quantization",
        "published_as",
        "base_url",
        "key_variable",
        "note",
    }:
        text_value(table, key, place, ModelError)
    for key, allowed in (("backend", (HUGGINGFACE, OPENAI)), ("quantization", QUANTIZATIONS)):
        if key in table and table[key] not in allowed:
            raise ModelError(f"{place}: {key} must be one of {', '.join(allowed)}, not {table[key]!r}")
    for key in table.keys() & {"reasoning", "answer"}:
        tags = table[key]
        if not isinstance(tags, list) or len(tags) != 2 or not all(isinstance(tag, str) and tag for tag in tags):
            raise ModelError(f"{place}: {key} must be a list of an opening and a closing tag, not {tags!r}")
        table[key] = (tags[0], tags[1])
    cap = table.get("max_new_tokens", 1)
    if type(cap) is not int or cap < 1:
        raise ModelError(f"{place}: max_new_tokens must be a whole number from 1, not {cap!r}")
    if "price" in table:
        table["price"] = _price(table["price"], f"{place}: price")
    if not isinstance(table.get("trust_remote_code", False), bool):
        raise ModelError(f"{place}: trust_remote_code must be true or false, not {table['trust_remote_code']!r}")
    return ModelSpec(name, **table)


def _price(entry: object, place: str) -> Price:
    keys = ("input", "output", "date")
    table = check_keys(entry, keys, keys, place, ModelError)
    for key in ("input", "output"):
        dollars = table[key]
        if type(dollars) not in (int, float) or not 0 <= dollars < math.inf:
            raise ModelError(f"{place}: {key} must be US dollars per million tokens, not {dollars!r}")
    if type(table["date"]) is not date:
        raise ModelError(
            f"{place}: date must be the day the price was listed, such as 2024-07-18, not {table['date']!r}"
        )
    return Price(float(table["input"]), float(table["output"]), table["date"].isoformat())


_CHARACTERS_A_TOKEN = 4
_TOKENS_A_TURN = 4
_PRICED_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class Forecast:
    """The most that a run requests from a hosted model: prompts, their estimated tokens, and the cap on each reply."""

    prompts: int
    prompt_tokens: int
    max_new_tokens: int

    def describe(self, model: str, price: Price | None) -> str:
        """One line for the user before the first request: tokens of prompts and replies, and their cost at most."""
        replies = self.prompts * self.max_new_tokens
        cost = cost_of(price, self.prompt_tokens, replies)
        cost_text = (
            "unknown" if cost is None or price is None else f"about ${cost:,.2f} at most (price of {price.date})"
        )
        return (
            f"{model}: {counted(self.prompts, 'prompt')}, about {self.prompt_tokens:,} tokens in total; replies of at "
            f"most {replies:,} tokens in total; cost {cost_text}; cached replies cost nothing"
        )


def cost_of(price: Price | None, prompt_tokens: int, completion_tokens: int) -> float | None:
    """The cost of these tokens in US dollars, None if the price is not known."""
    if price is None:
        return None
    return (price.input * prompt_tokens + price.output * completion_tokens) / _PRICED_TOKENS


def estimated_tokens(prompt: Prompt) -> int:
    """The estimated tokens of an English prompt: one per four characters, and four more for each turn."""
    characters = sum(len(message.content) for message in prompt.messages)
    return math.ceil(characters / _CHARACTERS_A_TOKEN) + _TOKENS_A_TURN * len(prompt.messages)
