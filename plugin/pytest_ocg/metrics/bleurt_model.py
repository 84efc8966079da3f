"""A BLEURT-20 checkpoint as bleurt-pytorch saves it, read into transformers' RemBERT and asked for scores."""

from __future__ import annotations

import importlib
import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_ocg.backends.huggingface.devices import Device
from pytest_ocg.backends.huggingface.halving import is_out_of_memory
from pytest_ocg.backends.huggingface.loading import check_device
from pytest_ocg.backends.huggingface.sources import Source
from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.models import HUGGINGFACE, ModelSpec, resolve_model
from pytest_ocg.metrics.bleurt_tokens import MAX_TOKENS, EncodedPair, PairTokenizer
from pytest_ocg.suggestion import did_you_mean

CHECKPOINTS: Mapping[str, str] = MappingProxyType(
    {name: f"lucadiliello/{name}" for name in ("BLEURT-20", "BLEURT-20-D12", "BLEURT-20-D6", "BLEURT-20-D3")}
)
DTYPE = "float32"
SMALLER = "use a smaller checkpoint such as BLEURT-20-D12, or a device with more memory"

_RENAMED = {r"^bleurt\.": "rembert.", r"\.embedding_projection\.": ".embedding_hidden_mapping_in."}
_UNUSED_WEIGHTS = "embeddings.position_ids"
_SAME_NAME = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
              "hidden_act", "max_position_embeddings", "type_vocab_size", "layer_norm_eps")  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoadedBleurt:
    """A checkpoint in memory."""

    model: Any
    tokenizer: PairTokenizer
    device: Device


def bleurt_spec(name: str) -> ModelSpec:
    """Where the checkpoint is had: one of `CHECKPOINTS`, a hub id ORG/NAME or ORG/NAME@REVISION, or a local folder.

    Raises ModelError for anything else.
    """
    by_folded = {known.casefold(): source for known, source in CHECKPOINTS.items()}
    if name.casefold() in by_folded:
        return ModelSpec(name, HUGGINGFACE, by_folded[name.casefold()])
    choices = f"Choose {', '.join(CHECKPOINTS)}, a hub id ORG/NAME, or the folder of such a checkpoint"
    try:
        spec = resolve_model(name, {})
    except ModelError as cause:
        near = did_you_mean(name, CHECKPOINTS) or "."
        raise ModelError(f"BLEURT model {name!r} is not there{near} {choices}") from cause
    if spec.backend != HUGGINGFACE or Path(spec.source).suffix == ".gguf":
        raise ModelError(f"BLEURT model {name!r} is no BLEURT checkpoint. {choices}")
    return spec


def load_bleurt(source: Source, device: Device, *, allow_pickle: bool) -> LoadedBleurt:
    """The checkpoint of a source whose files are on this machine; raises ModelError that says what is wrong with it."""
    torch: Any = importlib.import_module("torch")
    check_device(device, torch)
    path = source.path
    assert path is not None, f"{source.name} was not fetched"
    with _explained(source, device):
        library: Any = importlib.import_module("transformers")
        config = library.RemBertConfig(**rembert_settings(json.loads((path / "config.json").read_text("utf-8"))))
        tokenizer = PairTokenizer(path / "spm.model")
        if tokenizer.vocabulary_size > config.vocab_size:
            raise ValueError(f"spm.model has {tokenizer.vocabulary_size} pieces, the weights {config.vocab_size}")
        model, found = library.RemBertForSequenceClassification.from_pretrained(
            path,
            config=config,
            dtype=getattr(torch, device.dtype),
            key_mapping=_RENAMED,
            use_safetensors=None if allow_pickle else True,
            weights_only=True,
            output_loading_info=True,
        )
        strange = {name for name in found["unexpected_keys"] if not name.endswith(_UNUSED_WEIGHTS)}
        wrong = sorted({*found["missing_keys"], *strange, *map(str, found["mismatched_keys"])})
        if wrong:
            raise ValueError(f"{len(wrong)} weights are missing or do not fit, such as {wrong[0]!r}")
        return LoadedBleurt(model.to(device.name).eval(), tokenizer, device)


def rembert_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """A BLEURT-20 configuration in RemBERT's terms; raises ValueError where it is of something else."""
    if config.get("model_type") != "bleurt" or not config.get("embedding_size"):
        raise ValueError(
            f"config.json is of model_type {config.get('model_type')!r} with embedding_size "
            f"{config.get('embedding_size')!r}, not of BLEURT-20"
        )
    missing = [name for name in _SAME_NAME if name not in config]
    if missing:
        raise ValueError(f"config.json has no {missing[0]!r}")
    if config["max_position_embeddings"] < MAX_TOKENS:
        raise ValueError(f"it reads {config['max_position_embeddings']!r} tokens, not {MAX_TOKENS}")
    return {
        **{name: config[name] for name in _SAME_NAME},
        "input_embedding_size": config["embedding_size"],
        "pad_token_id": config.get("pad_token_id", 0),
        "num_labels": 1,
    }


def score_encoded(loaded: LoadedBleurt, batch: Sequence[EncodedPair]) -> list[float]:
    """The score of each pair, padded to the longest of them; padding is masked and changes nothing."""
    torch: Any = importlib.import_module("torch")
    width = max(len(pair.tokens) for pair in batch)
    tokens, mask, segments = [], [], []
    for pair in batch:
        length, start = len(pair.tokens), pair.candidate_start
        tokens.append([*pair.tokens, *[0] * (width - length)])
        mask.append([1] * length + [0] * (width - length))
        segments.append([0] * start + [1] * (length - start) + [0] * (width - length))
    rows = [torch.tensor(values, device=loaded.device.name) for values in (tokens, mask, segments)]
    with torch.inference_mode():
        logits = loaded.model(input_ids=rows[0], attention_mask=rows[1], token_type_ids=rows[2]).logits
        scores: list[float] = logits.flatten().float().tolist()
    return scores


@contextmanager
def _explained(source: Source, device: Device) -> Iterator[None]:
    """Turns what loading raises into one error that names the checkpoint and what to do."""
    weights: Any = importlib.import_module("safetensors")
    settings: Any = importlib.import_module("huggingface_hub.errors")
    known = (OSError, ValueError, KeyError, TypeError, RuntimeError, MemoryError, pickle.UnpicklingError,
             weights.SafetensorError, settings.StrictDataclassError)  # fmt: skip
    shown = f"BLEURT model {source.name!r} cannot be loaded"
    try:
        yield
    except known as cause:
        if is_out_of_memory(cause):
            raise ModelError(f"{shown}: out of memory on {device.name}; {SMALLER}") from cause
        gist = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
        raise ModelError(
            f"{shown}: {gist}; it must be a complete BLEURT-20 checkpoint as bleurt-pytorch saves them, "
            f"such as {CHECKPOINTS['BLEURT-20']}"
        ) from cause
