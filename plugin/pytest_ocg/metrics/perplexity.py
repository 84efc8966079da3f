"""Perplexity: how likely replies are for a causal language model; values are equal to those of lmppl.

Defined in docs/definitions.md, Perplexity.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.huggingface.devices import Device, plan_device
from pytest_ocg.backends.huggingface.loading import LoadedModel, load_model
from pytest_ocg.backends.huggingface.runtime import free_memory, run_in_batches, silence_libraries
from pytest_ocg.backends.huggingface.sources import Source, fetch, find_source
from pytest_ocg.errors import BackendError, ModelError
from pytest_ocg.inputs.models import HUGGINGFACE, ModelSpec, load_registry, resolve_model
from pytest_ocg.metrics.base import Measurement, Replies, ScoringContext, SetStatistic, measurement

DTYPE = "float32"
"""On every device: in 16 bits a perplexity differs by a percent, and depends on its batch."""

BATCH_TEXTS = {"cpu": 16, "mps": 64, "cuda": 128}
BATCH_TOKENS = {"cpu": 1024, "mps": 4096, "cuda": 8192}

_LONGEST = 10**9  # a tokenizer without a limit has 10**30
_FILL_TOKEN = 0


@dataclass(frozen=True, slots=True)
class TextLoss:
    """The mean negative log likelihood of a text's tokens in nats, and whether only its beginning was scored.

    None for a text without a token to score; not finite if the model's output is not.
    """

    mean_nats: float | None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class _Row:
    text: str
    tokens: Sequence[int]
    is_cut: bool


def score_texts(
    source: Source,
    texts: Sequence[str],
    device: Device,
    context: ScoringContext,
    keep: Callable[[Mapping[str, TextLoss]], None],
) -> None:
    """Load the model, call `keep` with the losses of each batch of texts, and free the memory.

    The tokens are those of the model's tokenizer, with its start token if it adds one, cut to the length that the model
    can read. All tokens except the first and the tokenizer's pad token are scored; lmppl counts in the same way. Raises
    ModelError or BackendError.
    """
    try:
        _score_texts(source, texts, device, context, keep)
    finally:
        free_memory()


def _score_texts(
    source: Source,
    texts: Sequence[str],
    device: Device,
    context: ScoringContext,
    keep: Callable[[Mapping[str, TextLoss]], None],
) -> None:
    settings = GenerationSettings(
        dtype=DTYPE,
        device=context.device,
        trust_remote_code=context.trust_remote_code,
        allow_pickle=context.allow_pickle,
    )
    with silence_libraries():
        loaded = load_model(source, device, settings)
        pad_token = loaded.tokenizer.pad_token_id
        rows = _rows(loaded, texts)
        scored: list[_Row] = []
        short: list[_Row] = []
        for row in rows:
            (scored if any(token != pad_token for token in row.tokens[1:]) else short).append(row)
        if short:
            keep({row.text: TextLoss(None) for row in short})
        # The longest first, so that a text that does not fit into memory fails at the start.
        scored.sort(key=lambda row: (-len(row.tokens), row.text))
        most_texts = context.batch_size or BATCH_TEXTS[device.kind]
        most_tokens = BATCH_TOKENS[device.kind]
        while scored:
            length = len(scored[0].tokens)
            size = max(1, min(most_texts, most_tokens // length))
            batch, scored = scored[:size], scored[size:]
            done = run_in_batches(
                batch,
                size,
                lambda part: _losses(loaded, part),
                free_memory=free_memory,
                notice=context.notice,
                noun="text",
                way_out="use a smaller scoring model, or a device with more memory",
            )
            if done.size < size:
                most_tokens = done.size * length
            keep({row.text: TextLoss(loss, row.is_cut) for row, loss in zip(batch, done.results, strict=True)})


def _rows(loaded: LoadedModel, texts: Sequence[str]) -> Iterator[_Row]:
    tokenizer = loaded.tokenizer
    limit = min(tokenizer.model_max_length, loaded.context_tokens or _LONGEST, _LONGEST)
    whole = tokenizer([_encodable(text) for text in texts])["input_ids"]
    for text, tokens in zip(texts, whole, strict=True):
        if len(tokens) <= limit:
            yield _Row(text, tokens, is_cut=False)
        else:
            # The tokenizer cuts, because it may add a last token that must stay.
            cut = tokenizer(_encodable(text), truncation=True, max_length=limit)["input_ids"]
            yield _Row(text, cut, is_cut=True)


def _losses(loaded: LoadedModel, rows: Sequence[_Row]) -> list[float]:
    """The mean loss of each row; the other rows do not change it.

    Rows are padded on the right without a mask, because a causal model does not read what follows a token.
    """
    torch: Any = importlib.import_module("torch")
    tokenizer, model = loaded.tokenizer, loaded.model
    longest = max(len(row.tokens) for row in rows)
    filled = [[*row.tokens, *[_FILL_TOKEN] * (longest - len(row.tokens))] for row in rows]
    tokens = torch.tensor(filled, device=model.device)
    # Without a pad token, lmppl adds one and excludes its output, and all outputs that belong to no token.
    width = len(tokenizer) if tokenizer.pad_token is None else None
    with torch.inference_mode():
        # No scored token follows the last token of the longest row.
        logits = model(input_ids=tokens[:, :-1], use_cache=False).logits
        sums, counts = [], []
        for row, scores, target in zip(rows, logits, tokens.to(logits.device), strict=True):
            # One row at a time, because the loss needs as much memory as the logits.
            size = len(row.tokens)
            target = target[1:size]
            each = torch.nn.functional.cross_entropy(scores[: size - 1, :width].float(), target, reduction="none")
            if tokenizer.pad_token_id is not None:
                each = each[target != tokenizer.pad_token_id]
            sums.append(each.double().sum())
            counts.append(len(each))
        return [total / count for total, count in zip(torch.stack(sums).tolist(), counts, strict=True)]


def _encodable(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which no tokenizer accepts."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


DEFAULT_MODEL = "gpt2-xl"
LARGEST_LOSS = 650.0
"""In nats per token: up to this value, the sum of the perplexities of 100,000 replies is finite."""

_GPT2 = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
_TOO_SHORT, _CUT = 1.0, 2.0


def open_perplexity(context: ScoringContext) -> Perplexity:
    """The metric with `context.perplexity_model`, which is not yet looked up or loaded."""
    return Perplexity(context)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The perplexity of a text, None if it has none, and whether only its beginning was scored."""

    value: float | None
    is_cut: bool = False


class Perplexity:
    """Mean over replies of exp(mean negative log likelihood per token); the first token is not scored.

    Each different reply is scored once; its score is stored in `context.store`.
    """

    name: ClassVar[str] = "perplexity"

    def __init__(self, context: ScoringContext) -> None:
        self._context = context
        self._source: Source | None = None

    def signature(self) -> str:
        """The model's content and number format, the scored tokens, and the averages.

        Does not import torch or download weights. Raises ModelError if the model is not available.
        """
        source = self._find()
        # The folder of a local model does not change its values.
        name = source.name if source.path is None or source.kind == "hub" else source.path.name
        return (
            f"model:{name}|version:{(source.revision or source.content or '')[:16]}|dtype:{DTYPE}"
            "|tokens:all-but-first|mean:tokens,replies,templates"
        )

    def measure(self, replies: Replies) -> Measurement:
        """Perplexity, from 1; `count` is the number of replies that have one. A full store loads no model.

        Replies without a token to score or without a finite perplexity are left out and counted. Raises ModelError if
        the model is not available, cannot be loaded, or does not fit into memory with the longest reply.
        """
        signature = self.signature()
        outcomes = self._outcomes(sorted({text for texts in replies.values() for text in texts}), signature)
        statistics, left_out, cut = {}, 0, 0
        for key, texts in replies.items():
            found = [outcomes[text] for text in texts]
            values = [outcome.value for outcome in found if outcome.value is not None]
            left_out += len(found) - len(values)
            cut += sum(outcome.is_cut for outcome in found)
            if values:
                statistics[key] = SetStatistic(math.fsum(values), len(values))
        reason = f"none of {left_out} replies has two tokens and a finite perplexity" if left_out else "no replies"
        return measurement(statistics, signature, reason=reason, left_out=left_out, cut=cut)

    def _find(self) -> Source:
        if self._source is None:
            context = self._context
            spec = _resolve(context.perplexity_model)
            self._source = find_source(spec, allow_pickle=context.allow_pickle, notice=context.notice)
        return self._source

    def _outcomes(self, texts: Sequence[str], signature: str) -> Mapping[str, _Outcome]:
        outcomes = self._stored(texts, signature)
        new = [text for text in texts if text not in outcomes]
        if new:
            self._score(new, signature, outcomes)
        return outcomes

    def _stored(self, texts: Sequence[str], signature: str) -> dict[str, _Outcome]:
        values = self._context.store.scores(signature, texts)
        notes = self._context.store.scores(_notes(signature), texts)
        return {
            text: _Outcome(values.get(text), notes.get(text) == _CUT)
            for text in texts
            if text in values or notes.get(text) == _TOO_SHORT
        }

    def _score(self, texts: Sequence[str], signature: str, outcomes: dict[str, _Outcome]) -> None:
        context = self._context
        done = 0

        def keep(losses: Mapping[str, TextLoss]) -> None:
            nonlocal done
            made = {text: _Outcome(perplexity(loss.mean_nats), loss.is_cut) for text, loss in losses.items()}
            short = {text: _TOO_SHORT for text, loss in losses.items() if loss.mean_nats is None}
            cut = {text: _CUT for text, outcome in made.items() if outcome.is_cut}
            # Notes first: if the run is killed in between, the text is scored again and its note is not lost.
            context.store.add_scores(_notes(signature), {**short, **cut})
            context.store.add_scores(
                signature, {text: outcome.value for text, outcome in made.items() if outcome.value is not None}
            )
            outcomes.update(made)
            done += len(losses)
            context.progress(self.name, done, len(texts))

        context.progress(self.name, 0, len(texts))
        device = plan_device(context.device, DTYPE)
        source = fetch(self._find(), allow_pickle=context.allow_pickle, notice=context.notice)
        try:
            score_texts(source, texts, device, context, keep)
        except BackendError as cause:
            raise ModelError(f"perplexity cannot be measured: {cause}") from cause


def perplexity(mean_nats: float | None) -> float | None:
    """e to the power of the mean loss; None if the loss is None, NaN or above `LARGEST_LOSS`."""
    if mean_nats is None or not mean_nats <= LARGEST_LOSS:
        return None
    return math.exp(mean_nats)


def _notes(signature: str) -> str:
    return f"{signature}|notes"


def _resolve(name: str) -> ModelSpec:
    gpt2 = {short: ModelSpec(short, HUGGINGFACE, f"openai-community/{short}") for short in _GPT2}
    spec = resolve_model(name, {**load_registry(), **gpt2})
    if spec.backend != HUGGINGFACE:
        raise ModelError(
            f"perplexity model {name!r} has the backend {spec.backend!r}, which does not return the probability of a "
            f"text; choose a model with available weights, such as {DEFAULT_MODEL}"
        )
    return spec
