"""Every option: its name, how its text is read, its default, and what `--help` says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_ocg.inputs.settings import DEFAULT_MAX_NEW_TOKENS, QUANTIZATIONS, Quantization
from pytest_ocg.run import option_readers as values

if TYPE_CHECKING:
    from pytest_ocg.inputs.selection import SetSample, Shard


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
    Declaration(
        "shard",
        values.shard,
        None,
        "run only the I-th of N parts, cut by whole concept sets (after --ocg-sets); ocg merge puts results together",
        "I/N",
        has_ini=False,
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
        "auto",
        "cheap (all that need no scoring model), all (pBLEURT and perplexity as well), auto (all where there is a CUDA "
        "device, else cheap), or a list of metric names",
        "LIST",
    ),
    Declaration(
        "perplexity-model", str, "gpt2-xl", "what perplexity is measured with: any causal language model", "NAME"
    ),
    Declaration(
        "bleurt-model",
        str,
        "BLEURT-20",
        "what pBLEURT is measured with: BLEURT-20, -D12, -D6, -D3, or a folder",
        "NAME",
    ),
    Declaration(
        "backend", values.choice("auto", "huggingface", "openai", "replay"), "auto", "where replies come from", "NAME"
    ),
    Declaration("base-url", str, None, "an OpenAI-compatible server to ask", "URL"),
    Declaration(
        "concurrency", values.number(1, 1024), "16", "requests to a server in flight at once, in each worker", "N"
    ),
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
        values.choice(*QUANTIZATIONS),
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
    Declaration(
        "gpus-per-worker", values.number(1, 1024), "1", "GPUs dealt to each worker under -n, for models over one", "N"
    ),
    Declaration("batch-size", values.batch_size, "auto", "prompts generated together", "N|auto"),
    Declaration(
        "max-new-tokens",
        values.number(1, 1_000_000),
        None,
        f"cap on the length of a reply; default {DEFAULT_MAX_NEW_TOKENS}, more for reasoning models",
        "N",
    ),
    Declaration("seed", values.number(0, 2**32 - 1), "0", "random seed, recorded with the results", "N"),
    Declaration("cache", Path, None, "folder of the reply cache; default is the user's cache folder", "DIR"),
    Declaration("refresh", values.flag, "false", "generate again what is in the cache", has_ini=False, is_flag=True),
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
        values.choice("auto", "require", "off"),
        "auto",
        "let thresholds decide the exit status: auto, require (10 where they cannot be applied), off",
        "MODE",
    ),
    Declaration(
        "thresholds",
        Path,
        None,
        "a threshold file, a folder of MODEL.toml files, or published: those of the paper's models; without it "
        "thresholds/MODEL.toml, if there is one",
        "PATH",
    ),
    Declaration(
        "baseline",
        Path,
        None,
        "results.json of an earlier run: max_drop and max_rise count from it, paired by concept set",
        "FILE",
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
        "show-misses", values.number(0, 1_000_000), "5", "misses to print, spread over part-of-speech patterns", "N"
    ),
    Declaration("trust-remote-code", values.flag, "false", "run code that comes with a model", is_flag=True),
    Declaration(
        "allow-pickle", values.flag, "false", "load weights that are pickles, which can run code", is_flag=True
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """What a run was asked to do, every value checked."""

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
    backend: Literal["auto", "huggingface", "openai", "replay"]
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
    gate: Literal["auto", "require", "off"]
    thresholds: Path | None
    baseline: Path | None
    write_thresholds: bool
    show_misses: int
    trust_remote_code: bool
    allow_pickle: bool
