"""Perplexity: how expected replies are to a causal language model (SPEC section 4), equal to lmppl's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pytest_ocg.backends.huggingface.devices import plan_device
from pytest_ocg.backends.huggingface.sources import Source, fetch, find_source
from pytest_ocg.errors import BackendError, ModelError
from pytest_ocg.inputs.models import HUGGINGFACE, ModelSpec, load_registry, resolve_model
from pytest_ocg.metrics.base import Measurement, Replies, SetStatistic, measurement
from pytest_ocg.metrics.causal_scorer import DTYPE, TextLoss, score_texts
from pytest_ocg.metrics.context import ScoringContext

DEFAULT_MODEL = "gpt2-xl"
LARGEST_LOSS = 650.0
"""In nats a token: up to it, the perplexities of a hundred thousand replies still add up to a finite number."""

_GPT2 = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
_TOO_SHORT, _CUT = 1.0, 2.0


def open_perplexity(context: ScoringContext) -> Perplexity:
    """The metric under `context.perplexity_model`, with nothing looked up or loaded yet."""
    return Perplexity(context)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The perplexity of a text, None where it has none, and whether it is of its beginning alone."""

    value: float | None
    is_cut: bool = False


class Perplexity:
    """Mean over replies of exp(mean negative log likelihood per token), the first token of each given, not scored.

    Each different reply is scored once and kept in `context.store`.
    """

    name: ClassVar[str] = "perplexity"

    def __init__(self, context: ScoringContext) -> None:
        self._context = context
        self._source: Source | None = None

    def signature(self) -> str:
        """The model's content and number format, which tokens are scored, and what is averaged.

        Imports no torch and downloads no weights. Raises ModelError where the model cannot be had.
        """
        source = self._find()
        # Where a local model lies does not change what it says.
        name = source.name if source.path is None or source.kind == "hub" else source.path.name
        return (
            f"model:{name}|version:{(source.revision or source.content or '')[:16]}|dtype:{DTYPE}"
            "|tokens:all-but-first|mean:tokens,replies,templates"
        )

    def measure(self, replies: Replies) -> Measurement:
        """Perplexity, from 1; `count` is in replies that have one, and no model is loaded where the store has them all.

        Replies without a token to score, or whose perplexity is no finite number, are left out and counted. Raises
        ModelError where the model cannot be had, loaded, or run on the longest reply.
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
            # First the notes: a run killed in between scores the text again, and does not forget that it was cut.
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
    """e to the mean loss, None where that is none, no number, or so large that a mean of such could be infinite."""
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
            f"perplexity model {name!r} is reached by the backend {spec.backend!r}, which does not tell how likely a "
            f"text is; name a model whose weights can be had, such as {DEFAULT_MODEL}"
        )
    return spec
