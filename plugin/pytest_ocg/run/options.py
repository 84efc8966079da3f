"""All options: name, reader, default and `--help` text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pytest_ocg.inputs.settings import (
    DEFAULT_MAX_NEW_TOKENS,
    MODEL_FORMS,
    QUANTIZATIONS,
    BackendChoice,
    GateMode,
    Quantization,
)
from pytest_ocg.run import option_readers as values

if TYPE_CHECKING:
    from pytest_ocg.inputs.selection import SetSample, Shard

MODEL_HELP = f"the model to test: {MODEL_FORMS}; repeatable"


@dataclass(frozen=True, slots=True)
class Declaration:
    """One option: its name without `--ocg-`, the function that reads its text, and its `--help` text.

    `has_ini` is false for an option that makes sense for one run only. A flag is an option without a value.
    """

    name: str
    read: Callable[[str], Any]
    default: str | None
    help: str
    metavar: str = ""
    has_ini: bool = True
    is_flag: bool = False

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
        "concept sets: commongen-lite (from the hub or its local cache), everyday (shipped), or a JSON, JSONL or "
        "Parquet file",
        "NAME|PATH",
    ),
    Declaration("concepts-revision", str, None, "the hub revision of commongen-lite to use", "REV"),
    Declaration(
        "sets",
        values.set_sample,
        None,
        "use a sample of N concept sets, stratified by part-of-speech make-up",
        "N[:SEED]",
    ),
    Declaration(
        "shard",
        values.shard,
        None,
        "run only part I of N; parts are whole concept sets (after --ocg-sets); ocg merge combines their results",
        "I/N",
        has_ini=False,
    ),
    Declaration("templates", values.template_ids, "0,1,2,3,4,5", "ids of the instruction templates to use", "LIST"),
    Declaration(
        "condition",
        values.conditions,
        "ordered",
        "ordered (prompts ask for the specified order), original (prompts without that phrase), or both",
        "NAME",
    ),
    Declaration(
        "shots", values.number(0, 8), "0", "worked examples before the question; 1 is the paper's one-shot", "N"
    ),
    Declaration(
        "matcher",
        values.matcher,
        "inflection",
        "how concepts are matched: inflection (lemma or inflected form) or lemma (spaCy lemma only)",
        "NAME",
    ),
    Declaration(
        "metrics",
        values.names,
        "auto",
        "cheap (metrics without a scoring model), all (also pBLEURT and perplexity), auto (all if there is a CUDA "
        "device, otherwise cheap), or a list of metric names",
        "LIST",
    ),
    Declaration("perplexity-model", str, "gpt2-xl", "the model for perplexity; any causal language model", "NAME"),
    Declaration(
        "bleurt-model",
        str,
        "BLEURT-20",
        "the model for pBLEURT: BLEURT-20, -D12, -D6, -D3, or a folder",
        "NAME",
    ),
    Declaration(
        "backend",
        values.choice(*get_args(BackendChoice)),
        "auto",
        "the backend that provides the replies: auto (by the name of the model), huggingface, openai or replay",
        "NAME",
    ),
    Declaration("base-url", str, None, "URL of an OpenAI-compatible server", "URL"),
    Declaration("concurrency", values.number(1, 1024), "16", "concurrent requests to a server, in each worker", "N"),
    Declaration(
        "outputs",
        Path,
        None,
        "judge the replies in this JSONL file instead of generating them (implies --ocg-backend replay)",
        "FILE",
        has_ini=False,
    ),
    Declaration(
        "quantization",
        values.choice(*QUANTIZATIONS),
        None,
        "quantization of the weights: 4bit, 8bit or none; default is that of the model's registry entry, else none",
        "NAME",
    ),
    Declaration(
        "dtype",
        values.choice("auto", "float32", "bfloat16", "float16"),
        "auto",
        "number type of the computation: float32, bfloat16, float16, or auto (float32 on CPU, else a 16-bit type)",
        "NAME",
    ),
    Declaration("device", str, "auto", "device of a local model: auto, cpu, cuda, cuda:1 or mps", "NAME"),
    Declaration(
        "gpus-per-worker",
        values.number(1, 1024),
        "1",
        "GPUs for each worker under -n, for models that need more than one GPU",
        "N",
    ),
    Declaration("batch-size", values.batch_size, "auto", "number of prompts per batch", "N|auto"),
    Declaration(
        "max-new-tokens",
        values.number(1, 1_000_000),
        None,
        f"cap on the length of a reply; default {DEFAULT_MAX_NEW_TOKENS}, more for reasoning models",
        "N",
    ),
    Declaration("seed", values.number(0, 2**32 - 1), "0", "random seed, recorded with the results", "N"),
    Declaration(
        "cache", Path, None, "folder of the reply cache; default is pytest-ocg in the user's cache folder", "DIR"
    ),
    Declaration(
        "refresh",
        values.flag,
        "false",
        "generate replies again, even if they are in the cache",
        has_ini=False,
        is_flag=True,
    ),
    Declaration("output", Path, "ocg-results", "folder for generations.jsonl and results.json", "DIR"),
    Declaration(
        "report",
        values.names,
        None,
        "reports to write at the end, each by its suffix (.html, .md, .tex, .csv, .parquet), separated by commas",
        "FILE[,FILE]",
    ),
    Declaration(
        "gate",
        values.choice(*get_args(GateMode)),
        "auto",
        "whether thresholds decide the exit status: auto, require (exit status 10 if they cannot be applied), off",
        "MODE",
    ),
    Declaration(
        "thresholds",
        Path,
        None,
        "a threshold file, a folder of MODEL.toml files, or published (thresholds of the paper's models); default is "
        "thresholds/MODEL.toml if it exists",
        "PATH",
    ),
    Declaration(
        "baseline",
        Path,
        None,
        "an earlier run: its folder, or its results.json beside its generations.jsonl; max_drop and max_rise are "
        "measured from it, paired by concept set",
        "PATH",
    ),
    Declaration(
        "write-thresholds",
        values.flag,
        "false",
        "write thresholds from this run's results to --ocg-thresholds, or to thresholds/MODEL.toml",
        has_ini=False,
        is_flag=True,
    ),
    Declaration(
        "show-misses",
        values.number(0, 1_000_000),
        "5",
        "number of misses, and of cases without a reply, to print, spread over the part-of-speech patterns",
        "N",
    ),
    Declaration("trust-remote-code", values.flag, "false", "run code from the model repository", is_flag=True),
    Declaration(
        "allow-pickle", values.flag, "false", "load weights from pickle files, which can run code", is_flag=True
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a run, with checked values."""

    models: tuple[str, ...]
    concepts: str
    concepts_revision: str | None
    sets: SetSample | None
    shard: Shard | None
    templates: tuple[int, ...]
    conditions: tuple[str, ...]
    shots: int
    matcher: str
    metrics: tuple[str, ...]
    perplexity_model: str
    bleurt_model: str
    backend: BackendChoice
    base_url: str | None
    concurrency: int
    outputs: Path | None
    quantization: Quantization | None
    dtype: str
    device: str
    gpus_per_worker: int
    batch_size: int | None
    max_new_tokens: int | None
    seed: int
    cache: Path | None
    refresh: bool
    output: Path
    report: tuple[Path, ...]
    gate: GateMode
    thresholds: Path | None
    baseline: Path | None
    write_thresholds: bool
    show_misses: int
    trust_remote_code: bool
    allow_pickle: bool
