"""The command line: every option declared with its ini twin, checked once, and handed on as one typed noun."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from pytest_ocg import option_values as values
from pytest_ocg.errors import OptionError
from pytest_ocg.option_values import SetSample

MODEL_OPTION = "--model"


@dataclass(frozen=True, slots=True)
class Options:
    """What a run was asked to do, every value checked."""

    models: tuple[str, ...]
    concepts: str
    concepts_revision: str | None
    sets: SetSample | None
    templates: tuple[int, ...]
    conditions: tuple[str, ...]
    shots: int
    matcher: str
    metrics: tuple[str, ...]
    backend: Literal["auto", "huggingface", "openai", "replay"]
    base_url: str | None
    outputs: Path | None
    quantization: Literal["4bit", "8bit", "none"] | None
    dtype: str
    device: str
    batch_size: int | None
    max_new_tokens: int | None
    seed: int
    cache: Path | None
    refresh: bool
    output: Path
    gate: Literal["auto", "require", "off"]
    thresholds: Path | None
    write_thresholds: bool
    show_misses: int
    trust_remote_code: bool
    allow_pickle: bool


@dataclass(frozen=True, slots=True)
class Declaration:
    """One option: its name without `--ocg-`, how its text is read, and what `--help` says.

    `has_ini` false marks what belongs to one run only; a flag is an option without a value.
    """

    name: str
    read: Callable[[str], Any]
    default: str | None
    help: str
    metavar: str = ""
    has_ini: bool = True
    is_flag: bool = False
    is_repeatable: bool = False

    @property
    def option(self) -> str:
        """The option as typed."""
        return f"--ocg-{self.name}"

    @property
    def field(self) -> str:
        """Its name in `Options`."""
        return self.name.replace("-", "_")

    @property
    def dest(self) -> str:
        """Its name in pytest's namespace, and as an ini key."""
        return f"ocg_{self.field}"


DECLARATIONS: tuple[Declaration, ...] = (
    Declaration(
        "concepts",
        str,
        "commongen-lite",
        "concept sets: commongen-lite (from the hub or its local cache), everyday (shipped), or a JSON or JSONL file",
        "NAME|PATH",
    ),
    Declaration("concepts-revision", str, None, "the hub revision of commongen-lite to use", "REV"),
    Declaration(
        "sets",
        values.set_sample,
        None,
        "take a sample of N concept sets, stratified by part-of-speech make-up",
        "N[:SEED]",
    ),
    Declaration("templates", values.template_ids, "0,1,2,3,4,5", "instruction templates to ask with", "LIST"),
    Declaration(
        "condition",
        values.conditions,
        "ordered",
        "ordered (in the specified order), original (the same without that phrase), or both",
        "NAME",
    ),
    Declaration(
        "shots", values.number(0, 8), "0", "worked examples before the question; 1 is the paper's one-shot", "N"
    ),
    Declaration(
        "matcher",
        values.matcher,
        "inflection",
        "when a word is a concept: inflection (lemma or inflected form) or lemma (bare spaCy lemma)",
        "NAME",
    ),
    Declaration(
        "metrics",
        values.names,
        "cheap",
        "cheap (everything that needs no scoring model), all, or a list of metric names",
        "LIST",
    ),
    Declaration(
        "backend", values.choice("auto", "huggingface", "openai", "replay"), "auto", "where replies come from", "NAME"
    ),
    Declaration("base-url", str, None, "an OpenAI-compatible server to ask", "URL"),
    Declaration(
        "outputs",
        Path,
        None,
        "judge replies made elsewhere: a JSONL file (implies --ocg-backend replay)",
        "FILE",
        has_ini=False,
    ),
    Declaration(
        "quantization",
        values.choice("4bit", "8bit", "none"),
        None,
        "how weights are loaded; without it the model's registry entry decides",
        "NAME",
    ),
    Declaration(
        "dtype",
        values.choice("auto", "float32", "bfloat16", "float16"),
        "auto",
        "the type computed in; auto is float32 on CPU",
        "NAME",
    ),
    Declaration("device", str, "auto", "auto, cpu, cuda, cuda:1, mps", "NAME"),
    Declaration("batch-size", values.batch_size, "auto", "prompts generated together", "N|auto"),
    Declaration(
        "max-new-tokens",
        values.number(1, 1_000_000),
        None,
        "cap on the length of a reply; default 128, more for reasoning models",
        "N",
    ),
    Declaration("seed", values.number(0, 2**32 - 1), "0", "random seed, recorded with the results", "N"),
    Declaration("cache", Path, None, "folder of the reply cache; default is the user's cache folder", "DIR"),
    Declaration("refresh", values.flag, "false", "generate again what is in the cache", has_ini=False, is_flag=True),
    Declaration("output", Path, "ocg-results", "folder for generations.jsonl and results.json", "DIR"),
    Declaration(
        "gate",
        values.choice("auto", "require", "off"),
        "auto",
        "let thresholds decide the exit status: auto, require (10 where they cannot be applied), off",
        "MODE",
    ),
    Declaration("thresholds", Path, None, "a threshold file, or a folder of MODEL.toml files", "PATH"),
    Declaration(
        "write-thresholds",
        values.flag,
        "false",
        "write thresholds from this run's results to --ocg-thresholds, or to thresholds/MODEL.toml",
        has_ini=False,
        is_flag=True,
    ),
    Declaration(
        "show-misses", values.number(0, 1_000_000), "5", "misses to print, spread over part-of-speech patterns", "N"
    ),
    Declaration("trust-remote-code", values.flag, "false", "run code that comes with a model", is_flag=True),
    Declaration(
        "allow-pickle", values.flag, "false", "load weights that are pickles, which can run code", is_flag=True
    ),
)


def declare_options(parser: pytest.Parser) -> None:
    """Declare `--model` and every `--ocg-` option with its ini twin."""
    group = parser.getgroup("ocg", "Ordered CommonGen: does a model use these words, in this order?")
    group.addoption(
        *([MODEL_OPTION] if MODEL_OPTION not in parser._opt2dest else []),
        "--ocg-model",
        action="append",
        dest="ocg_model",
        metavar="NAME",
        default=None,
        help="model to test: a short name (`ocg models` lists them), a hub id, a local folder or .gguf file, or "
        "openai:NAME; repeatable",
    )
    for declaration in DECLARATIONS:
        shown = f"{declaration.help} (default: {declaration.default})" if declaration.default else declaration.help
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
                help=shown.replace("%", "%%"),
            )
        if declaration.has_ini:
            parser.addini(declaration.dest, f"see {declaration.option}", default=None)


def requested_models(config: pytest.Config) -> tuple[str, ...]:
    """The names given with `--model`, each once, in the order given."""
    given = cast("list[str] | None", config.getoption("ocg_model", None)) or []
    return tuple(dict.fromkeys(given))


def read_options(config: pytest.Config) -> Options:
    """The checked options: command line first, then the ini file, then the default.

    Raises OptionError naming the option, the value and what is accepted.
    """
    read: dict[str, Any] = {}
    for declaration in DECLARATIONS:
        text, origin = config.getoption(declaration.dest), declaration.option
        if text is None and declaration.has_ini:
            text, origin = config.getini(declaration.dest), f"ini value {declaration.dest}"
        text = declaration.default if text is None else str(text)
        try:
            read[declaration.field] = None if text is None else declaration.read(text)
        except ValueError as error:
            raise OptionError(f"{origin}: {error}") from error
    read["conditions"] = read.pop("condition")
    if read["outputs"] is not None:
        if read["backend"] not in ("auto", "replay"):
            raise OptionError(f"--ocg-outputs judges replies made elsewhere; drop --ocg-backend {read['backend']!r}")
        read["backend"] = "replay"
    elif read["backend"] == "replay":
        raise OptionError("--ocg-backend replay needs --ocg-outputs FILE, the replies to judge")
    return Options(models=requested_models(config), **read)
