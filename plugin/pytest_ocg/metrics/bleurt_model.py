"""A BLEURT-20 checkpoint as bleurt-pytorch saves it: its tokenizer, its weights in RemBERT, and its scores."""

from __future__ import annotations

import importlib
import json
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_ocg.backends.huggingface.devices import Device
from pytest_ocg.backends.huggingface.loading import check_device
from pytest_ocg.backends.huggingface.runtime import is_out_of_memory
from pytest_ocg.backends.huggingface.sources import Source
from pytest_ocg.errors import ModelError, did_you_mean
from pytest_ocg.inputs.models import HUGGINGFACE, ModelSpec, resolve_model

MAX_TOKENS = 512

_START, _SEPARATOR = "[CLS]", "[SEP]"
_FRAME_TOKENS = 3  # one start, two separators
_SPECIAL = re.compile(r"(\[CLS\]|\[SEP\]|\[PAD\]|\[UNK\]|\[MASK\])")


@dataclass(frozen=True, slots=True)
class EncodedPair:
    """The token numbers of one pair: start, reference, separator, candidate (from `candidate_start`), separator."""

    tokens: tuple[int, ...]
    candidate_start: int


class PairTokenizer:
    """The checkpoint's sentencepiece model; it frames and cuts pairs.

    A text like "[SEP]" becomes that special token, as in bleurt-pytorch. A lone surrogate, which UTF-8 cannot encode,
    becomes U+FFFD.
    """

    def __init__(self, file: Path) -> None:
        """Read `file`; raises OSError or ValueError if it is not a sentencepiece model with BERT's frame tokens."""
        library: Any = importlib.import_module("sentencepiece")
        content = file.read_bytes()
        self._processor: Any = library.SentencePieceProcessor()
        try:
            is_loaded = bool(content) and self._processor.LoadFromSerializedProto(content)
        except RuntimeError as cause:
            raise ValueError(f"{file.name} is not a sentencepiece model") from cause
        if not is_loaded:
            raise ValueError(f"{file.name} is not a sentencepiece model")
        missing = [piece for piece in (_START, _SEPARATOR) if self._known(piece) is None]
        if missing:
            raise ValueError(f"{file.name} has no piece {missing[0]!r}")
        self._start: int = self._processor.piece_to_id(_START)
        self._separator: int = self._processor.piece_to_id(_SEPARATOR)
        self._texts: dict[str, tuple[int, ...]] = {}

    @property
    def vocabulary_size(self) -> int:
        """The number of pieces; token numbers are below it."""
        return int(self._processor.get_piece_size())

    def encode(self, text: str) -> tuple[int, ...]:
        """The token numbers of a text, without frame and cut; computed once for each different text."""
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = tuple(self._encode(text))
        return known

    def pair_tokens(self, reference: str, candidate: str) -> int:
        """The number of tokens of the framed pair before a cut."""
        return len(self.encode(reference)) + len(self.encode(candidate)) + _FRAME_TOKENS

    def encode_pair(self, reference: str, candidate: str) -> EncodedPair:
        """The framed pair, cut to `MAX_TOKENS`: the longer text loses its last token until both texts fit."""
        first, second = self.encode(reference), self.encode(candidate)
        kept_first, kept_second = kept_tokens(len(first), len(second), MAX_TOKENS - _FRAME_TOKENS)
        head = (self._start, *first[:kept_first], self._separator)
        return EncodedPair((*head, *second[:kept_second], self._separator), len(head))

    def _encode(self, text: str) -> list[int]:
        tokens: list[int] = []
        for part in _SPECIAL.split(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")):
            special = self._known(part) if _SPECIAL.fullmatch(part) else None
            if special is not None:
                tokens.append(special)
            elif part:
                tokens += self._processor.piece_to_id(self._processor.encode(part, out_type=str))
        return tokens

    def _known(self, piece: str) -> int | None:
        number = int(self._processor.piece_to_id(piece))
        return number if self._processor.id_to_piece(number) == piece else None


def kept_tokens(first: int, second: int, room: int) -> tuple[int, int]:
    """The tokens of each text that stay if the longer text, or of equal texts the second, is cut until both fit."""
    excess = first + second - room
    if excess <= 0:
        return first, second
    leveling = min(excess, abs(first - second))
    if first > second:
        first -= leveling
    else:
        second -= leveling
    excess -= leveling
    return first - excess // 2, second - (excess - excess // 2)


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
    """The source of the checkpoint: one of `CHECKPOINTS`, a hub id ORG/NAME or ORG/NAME@REVISION, or a local folder.

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
        raise ModelError(f"BLEURT model {name!r} does not exist{near} {choices}") from cause
    if spec.backend != HUGGINGFACE or Path(spec.source).suffix == ".gguf":
        raise ModelError(f"BLEURT model {name!r} is not a BLEURT checkpoint. {choices}")
    return spec


def load_bleurt(source: Source, device: Device, *, allow_pickle: bool) -> LoadedBleurt:
    """The loaded checkpoint of a source whose files are on this machine; raises ModelError if it cannot be loaded."""
    torch: Any = importlib.import_module("torch")
    check_device(device, torch)
    path = source.path
    assert path is not None, f"{source.name} was not fetched"
    with _as_model_error(source, device):
        library: Any = importlib.import_module("transformers")
        config = library.RemBertConfig(**rembert_settings(json.loads((path / "config.json").read_text("utf-8"))))
        tokenizer = PairTokenizer(path / "spm.model")
        if tokenizer.vocabulary_size > config.vocab_size:
            raise ValueError(
                f"spm.model has {tokenizer.vocabulary_size} pieces, but the weights have {config.vocab_size}"
            )
        model, found = library.RemBertForSequenceClassification.from_pretrained(
            path,
            config=config,
            dtype=getattr(torch, device.dtype),
            key_mapping=_RENAMED,
            use_safetensors=None if allow_pickle else True,
            weights_only=True,
            output_loading_info=True,
        )
        unexpected = {name for name in found["unexpected_keys"] if not name.endswith(_UNUSED_WEIGHTS)}
        wrong = sorted({*found["missing_keys"], *unexpected, *map(str, found["mismatched_keys"])})
        if wrong:
            raise ValueError(f"weights that are missing or do not fit: {len(wrong)}, such as {wrong[0]!r}")
        return LoadedBleurt(model.to(device.name).eval(), tokenizer, device)


def rembert_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """A BLEURT-20 configuration with RemBERT's names; raises ValueError if it is of another model."""
    if config.get("model_type") != "bleurt" or not config.get("embedding_size"):
        raise ValueError(
            f"config.json has model_type {config.get('model_type')!r} and embedding_size "
            f"{config.get('embedding_size')!r}, so it is not of BLEURT-20"
        )
    missing = [name for name in _SAME_NAME if name not in config]
    if missing:
        raise ValueError(f"config.json has no {missing[0]!r}")
    if config["max_position_embeddings"] < MAX_TOKENS:
        raise ValueError(
            f"config.json has max_position_embeddings {config['max_position_embeddings']!r}, less than {MAX_TOKENS}"
        )
    return {
        **{name: config[name] for name in _SAME_NAME},
        "input_embedding_size": config["embedding_size"],
        "pad_token_id": config.get("pad_token_id", 0),
        "num_labels": 1,
    }


def score_encoded(loaded: LoadedBleurt, batch: Sequence[EncodedPair]) -> list[float]:
    """The score of each pair; pairs are padded to the longest one, and the mask excludes the padding."""
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
def _as_model_error(source: Source, device: Device) -> Iterator[None]:
    """Turns an exception of loading into a ModelError with the checkpoint and the way out."""
    weights: Any = importlib.import_module("safetensors")
    settings: Any = importlib.import_module("huggingface_hub.errors")
    known = (OSError, ValueError, KeyError, TypeError, RuntimeError, MemoryError, pickle.UnpicklingError,
             weights.SafetensorError, settings.StrictDataclassError)  # fmt: skip
    problem = f"BLEURT model {source.name!r} cannot be loaded"
    try:
        yield
    except known as cause:
        if is_out_of_memory(cause):
            raise ModelError(f"{problem}: out of memory on {device.name}; {SMALLER}") from cause
        first_line = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
        raise ModelError(
            f"{problem}: {first_line}; use a complete BLEURT-20 checkpoint as bleurt-pytorch saves it, "
            f"such as {CHECKPOINTS['BLEURT-20']}"
        ) from cause
