"""Greedy decoding of a batch: the shared prefix is computed once, and finished replies leave the batch."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KEEP_SHARE = 7 / 8

_PLAIN_ROPE_TYPES = frozenset({"default", "linear", "llama3", "yarn", "proportional"})
_HARMLESS_OVERRIDES = frozenset({"phi3"})
_CACHE_NAMES = ("cache", "past_key_values")


@dataclass(frozen=True, slots=True)
class Reply:
    """The new tokens of one prompt without the end token; `is_finished` if the end token came before the cap."""

    tokens: tuple[int, ...]
    is_finished: bool


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a loaded model is decoded.

    `step_limit` is the number of tokens, prompt and reply together, up to which this module's own loop gives the same
    reply as `model.generate`. It is 0 if the cache is not plain keys and values (state space and hybrid models), if
    positions cannot be passed, or if the model has its own generation code.
    """

    stop_tokens: frozenset[int]
    pad_token: int
    max_new_tokens: int
    step_limit: int

    def uses_own_loop(self, prompts: Sequence[Sequence[int]]) -> bool:
        """Whether this module's own loop decodes these prompts."""
        return max(map(len, prompts)) + self.max_new_tokens <= self.step_limit


def decode(model: Any, prompts: Sequence[Sequence[int]], plan: Decoding) -> list[Reply]:
    """The greedy reply to each prompt (token ids without padding), in order, all in one batch."""
    with importlib.import_module("torch").inference_mode():
        return (_decode_in_own_loop if plan.uses_own_loop(prompts) else _decode_by_generate)(model, prompts, plan)


def shared_prefix(prompts: Sequence[Sequence[int]]) -> int:
    """The number of tokens that all prompts begin with; each keeps at least one token of its own."""
    if len(prompts) < 2:
        return 0
    first, last = min(map(tuple, prompts)), max(map(tuple, prompts))  # all prompts share what these two share
    limit = min(map(len, prompts)) - 1
    return next((place for place in range(limit) if first[place] != last[place]), limit)


def step_limit(model: Any) -> int:
    """The `Decoding.step_limit` of a loaded model."""
    config = model.config
    if config.is_encoder_decoder or not type(model).__module__.startswith("transformers."):
        return 0
    mixin: Any = importlib.import_module("transformers").GenerationMixin
    names = ("generate", "_sample", "prepare_inputs_for_generation")
    overridden = [name for name in names if getattr(type(model), name) is not getattr(mixin, name)]
    if overridden and config.model_type not in _HARMLESS_OVERRIDES:
        return 0
    accepted = inspect.signature(model.forward).parameters
    if not {"position_ids", "attention_mask"} <= accepted.keys() or cache_name(model) is None:
        return 0
    text_config = config.get_text_config(decoder=True)
    if not _rope_types(text_config.to_dict()) <= _PLAIN_ROPE_TYPES:
        return 0
    library: Any = importlib.import_module("transformers.cache_utils")
    limit = getattr(text_config, "max_position_embeddings", None) or 1 << 20
    for layer in library.DynamicCache(config=text_config).layers:
        if type(layer) is library.DynamicSlidingWindowLayer:
            limit = min(limit, layer.sliding_window - 1)
        elif type(layer) is not library.DynamicLayer:
            return 0
    return int(limit)


def cache_name(model: Any) -> str | None:
    """The name of the cache argument of `model.forward`, which differs between transformers releases; None if none."""
    accepted = inspect.signature(model.forward).parameters
    return next((name for name in _CACHE_NAMES if name in accepted), None)


def _rope_types(config: Mapping[str, Any]) -> set[str]:
    """Every kind of rotary embedding in a config, at any depth."""
    found = {str(config[key]) for key in ("rope_type",) if config.get(key) is not None}
    for value in config.values():
        if isinstance(value, Mapping):
            found |= _rope_types(value)
    return found


def _decode_in_own_loop(model: Any, prompts: Sequence[Sequence[int]], plan: Decoding) -> list[Reply]:
    torch: Any = importlib.import_module("torch")
    device = model.device
    library: Any = importlib.import_module("transformers.cache_utils")
    cache = library.DynamicCache(config=model.config.get_text_config(decoder=True))
    forward_arguments: dict[str, Any] = {str(cache_name(model)): cache, "use_cache": True}
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        forward_arguments["logits_to_keep"] = 1

    prefix = shared_prefix(prompts)
    if prefix:
        model(input_ids=torch.tensor([prompts[0][:prefix]], device=device), **forward_arguments)
        cache.batch_repeat_interleave(len(prompts))
    tokens, mask = _left_padded([prompt[prefix:] for prompt in prompts], plan.pad_token, torch, device)
    positions = prefix + (mask.cumsum(-1) - 1).clamp(min=0)
    mask = torch.cat([mask.new_ones((len(prompts), prefix)), mask], dim=-1)
    is_ragged = bool((mask == 0).any())

    replies: list[list[int]] = [[] for _ in prompts]
    finished: set[int] = set()
    rows = list(range(len(prompts)))
    for step in range(plan.max_new_tokens):
        output = model(
            input_ids=tokens, attention_mask=mask if is_ragged else None, position_ids=positions, **forward_arguments
        )
        chosen = output.logits[:, -1].argmax(-1).to(device)
        for row, token in zip(rows, chosen.tolist(), strict=True):
            if row in finished:
                continue
            if token in plan.stop_tokens:
                finished.add(row)
            else:
                replies[row].append(token)
        unfinished = [place for place, row in enumerate(rows) if row not in finished]
        if not unfinished or step + 1 == plan.max_new_tokens:
            break
        positions = positions[:, -1:] + 1
        mask = torch.cat([mask, mask.new_ones((len(rows), 1))], dim=-1)
        if len(unfinished) <= KEEP_SHARE * len(rows):
            places = torch.tensor(unfinished)
            cache.batch_select_indices(places)
            places = places.to(device)
            chosen, positions, mask = chosen[places], positions[places], mask[places]
            rows = [rows[place] for place in unfinished]
        tokens = chosen[:, None]
    return [Reply(tuple(reply), row in finished) for row, reply in enumerate(replies)]


def _decode_by_generate(model: Any, prompts: Sequence[Sequence[int]], plan: Decoding) -> list[Reply]:
    torch: Any = importlib.import_module("torch")
    tokens, mask = _left_padded(prompts, plan.pad_token, torch, model.device)
    # The model's own generation config holds the greedy settings, the end tokens and the cap.
    output = model.generate(input_ids=tokens, attention_mask=mask)
    return [_reply(row[tokens.shape[1] :], plan.stop_tokens) for row in output.tolist()]


def _reply(tokens: Sequence[int], stop_tokens: frozenset[int]) -> Reply:
    end = next((place for place, token in enumerate(tokens) if token in stop_tokens), None)
    return Reply(tuple(tokens[:end]), end is not None)


def _left_padded(rows: Sequence[Sequence[int]], pad_token: int, torch: Any, device: Any) -> tuple[Any, Any]:
    """Token ids and attention mask, both of shape (rows, longest), with the padding in front."""
    width = max(map(len, rows))
    padding = [width - len(row) for row in rows]
    tokens = [[pad_token] * pad + list(row) for pad, row in zip(padding, rows, strict=True)]
    mask = [[0] * pad + [1] * (width - pad) for pad in padding]
    return torch.tensor(tokens, device=device), torch.tensor(mask, device=device)
