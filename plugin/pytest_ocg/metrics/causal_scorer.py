"""How likely texts are to a causal language model on this machine."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.huggingface.devices import Device
from pytest_ocg.backends.huggingface.halving import run_in_batches
from pytest_ocg.backends.huggingface.loading import LoadedModel, load_model
from pytest_ocg.backends.huggingface.memory import free_memory
from pytest_ocg.backends.huggingface.quiet import quiet_libraries
from pytest_ocg.backends.huggingface.sources import Source
from pytest_ocg.metrics.context import ScoringContext

DTYPE = "float32"
"""On every device: in 16 bits a perplexity moves by a percent, and with the batch it is in."""

BATCH_TEXTS = {"cpu": 16, "mps": 64, "cuda": 128}
BATCH_TOKENS = {"cpu": 1024, "mps": 4096, "cuda": 8192}

_LONGEST = 10**9  # tokenizers that do not know a limit say 10**30
_FILL_TOKEN = 0


@dataclass(frozen=True, slots=True)
class TextLoss:
    """The mean negative log likelihood of a text's tokens in nats, and whether it is of its beginning alone.

    None for a text that has no token to score; it may be no finite number where the model gave none.
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
    """Load the model, hand the losses of all texts to `keep` a batch at a time, and give the memory back.

    A text's tokens are those its model's tokenizer makes, start token included where it makes one, cut to what the
    model reads; all but the first are scored, except for the tokenizer's pad token. This is how lmppl counts. Raises
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
    with quiet_libraries():
        loaded = load_model(source, device, settings)
        pad_token = loaded.tokenizer.pad_token_id
        rows = _rows(loaded, texts)
        scored: list[_Row] = []
        short: list[_Row] = []
        for row in rows:
            (scored if any(token != pad_token for token in row.tokens[1:]) else short).append(row)
        if short:
            keep({row.text: TextLoss(None) for row in short})
        # The longest first: what does not fit into memory shows at once.
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
            # By the tokenizer, since it may put a token at the end that stays.
            cut = tokenizer(_encodable(text), truncation=True, max_length=limit)["input_ids"]
            yield _Row(text, cut, is_cut=True)


def _losses(loaded: LoadedModel, rows: Sequence[_Row]) -> list[float]:
    """The mean loss of each row, each alone as in any company.

    Rows are filled up on the right and nothing is masked: a causal model does not look there, whatever stands there.
    """
    torch: Any = importlib.import_module("torch")
    tokenizer, model = loaded.tokenizer, loaded.model
    longest = max(len(row.tokens) for row in rows)
    filled = [[*row.tokens, *[_FILL_TOKEN] * (longest - len(row.tokens))] for row in rows]
    tokens = torch.tensor(filled, device=model.device)
    # Without a pad token, lmppl adds one and takes its probability out again, along with all that no token stands for.
    width = len(tokenizer) if tokenizer.pad_token is None else None
    with torch.inference_mode():
        # The last token of the longest row predicts nothing that is asked for.
        logits = model(input_ids=tokens[:, :-1], use_cache=False).logits
        sums, counts = [], []
        for row, scores, target in zip(rows, logits, tokens.to(logits.device), strict=True):
            # A row at a time: the loss needs as much memory again as its logits.
            size = len(row.tokens)
            target = target[1:size]
            each = torch.nn.functional.cross_entropy(scores[: size - 1, :width].float(), target, reduction="none")
            if tokenizer.pad_token_id is not None:
                each = each[target != tokenizer.pad_token_id]
            sums.append(each.double().sum())
            counts.append(len(each))
        return [total / count for total, count in zip(torch.stack(sums).tolist(), counts, strict=True)]


def _encodable(text: str) -> str:
    """The text with each lone surrogate, which no tokenizer takes, as U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
