"""Generation on this machine: a Hugging Face model with its chat template, decoded greedily in batches."""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_ocg.backends.base import (
    ErrorKind,
    Generation,
    GenerationSettings,
    answer_of,
    generation_of,
    opens_reasoning,
)
from pytest_ocg.backends.huggingface.chat import cut_at_marker, encode, render
from pytest_ocg.backends.huggingface.decoding import Reply, decode, shared_prefix
from pytest_ocg.backends.huggingface.devices import Device, memory_of, plan_device
from pytest_ocg.backends.huggingface.footprint import LoadPlan, check_footprint, size_of
from pytest_ocg.backends.huggingface.loading import (
    LoadedModel,
    check_code,
    check_files,
    load_model,
    require_device,
)
from pytest_ocg.backends.huggingface.quantization import check_quantization
from pytest_ocg.backends.huggingface.runtime import free_memory, run_in_batches, silence_libraries
from pytest_ocg.backends.huggingface.sources import Source, config_of, fetch, find_source
from pytest_ocg.errors import BackendError
from pytest_ocg.inputs.models import ModelSpec
from pytest_ocg.inputs.prompts import Prompt

PREFERRED_BATCH = {"cpu": 96, "mps": 96, "cuda": 192}

_PACKAGES = ("torch", "transformers", "tokenizers", "bitsandbytes", "accelerate", "gguf")


class HuggingFaceBackend:
    """A local model; the first `generate` loads it.

    Quantization and cap come from `settings`, not from `spec`.
    """

    def __init__(
        self, spec: ModelSpec, settings: GenerationSettings, notice: Callable[[str], None] = lambda text: None
    ) -> None:
        self._spec = spec
        self._settings = settings
        self._notice = notice
        self._device: Device | None = None
        self._source: Source | None = None
        self._loaded: LoadedModel | None = None
        self._batch_size: int | None = None
        self._shares_prefix = False
        self._is_closed = False

    def identity(self) -> Mapping[str, Any]:
        """Content, number format, quantization, cap and tags: everything that can change a reply except its prompt.

        Does not import torch or download weights. Raises ModelError or OptionError for what is not available.
        """
        source, device, settings = self._find(), self._plan(), self._settings
        return {
            "backend": "huggingface",
            # The folder of a local model does not change its replies.
            "source": source.name if source.path is None or source.kind == "hub" else source.path.name,
            "revision": source.revision,
            "content": source.content,
            "device": device.kind,
            "dtype": device.dtype,
            "quantization": settings.quantization,
            "max_new_tokens": settings.max_new_tokens,
            "decoding": "greedy",
            "reasoning": list(self._spec.reasoning) if self._spec.reasoning else None,
            "answer": list(self._spec.answer) if self._spec.answer else None,
        }

    def preferred_batch_size(self) -> int:
        """The number of prompts for one `generate`: from the settings, else by the kind of device."""
        return self._settings.batch_size or PREFERRED_BATCH[self._plan().kind]

    def check_loading(self, gpus: int | None) -> None:
        """Raise ModelError if the model has missing files, needs code that may not run, or does not fit into memory.

        Raises BackendError if the device is not available. Downloads only the model's configuration. `gpus` is the
        number of GPUs for each worker, None for all visible ones.
        """
        source, device, settings = self._find(), self._plan(), self._settings
        require_device(device)
        config = config_of(source)
        check_code(source, config, trust_remote_code=settings.trust_remote_code, note=self._spec.note)
        memory, size = memory_of(device, gpus), size_of(source, config)
        if memory is not None and size is not None:
            load = LoadPlan(device, settings.quantization, self.preferred_batch_size(), settings.max_new_tokens)
            check_footprint(source.name, size, load, memory, is_assigned=gpus is not None)
        check_files(source)

    def generate(self, prompts: Sequence[Prompt]) -> list[Generation]:
        """One generation per prompt, in order, without its reasoning block and without a leaked next turn.

        Raises ModelError if the model cannot be loaded, BackendError if prompt and cap do not fit into its context.
        """
        if self._is_closed:
            raise BackendError(f"model {self._spec.name!r} was asked to generate after it was closed")
        if not prompts:
            return []
        with silence_libraries():
            loaded = self._load()
            texts = [render(loaded.tokenizer, loaded.chat, prompt.messages) for prompt in prompts]
            rows = [encode(loaded.tokenizer, text) for text in texts]
            self._check_context(loaded, max(map(len, rows)))
            self._shares_prefix |= loaded.decoding.uses_own_loop(rows) and shared_prefix(rows) > 0
            batched = run_in_batches(
                rows,
                self._batch_size or self.preferred_batch_size(),
                lambda batch: decode(loaded.model, batch, loaded.decoding),
                free_memory=free_memory,
                notice=self._notice,
            )
            self._batch_size = batched.size
            return [
                self._generation(loaded, text, len(row), reply)
                for text, row, reply in zip(texts, rows, batched.results, strict=True)
            ]

    def provenance(self) -> Mapping[str, Any]:
        """The identity, versions and batch size, and once the model is loaded, its device, template and decoding."""
        known = {
            **self.identity(),
            "batch_size": self._batch_size or self.preferred_batch_size(),
            "versions": {package: _version(package) for package in _PACKAGES},
        }
        if self._loaded is None:
            return known
        torch: Any = importlib.import_module("torch")
        loaded, kind = self._loaded, self._plan().kind
        return {
            **known,
            "device_name": torch.cuda.get_device_name() if kind == "cuda" else platform.machine(),
            "threads": torch.get_num_threads(),
            "chat_template": loaded.chat.template_sha256 or "none",
            "system_role": loaded.chat.system_role,
            "prefix_reuse": self._shares_prefix,
            "quantized_layers": loaded.quantized_layers,
            "effective_decoding": {
                "do_sample": False,
                "num_beams": 1,
                "temperature": None,
                "top_p": None,
                "repetition_penalty": 1.0,
                "max_new_tokens": self._settings.max_new_tokens,
                "end_tokens": sorted(loaded.decoding.stop_tokens),
                "seed": self._settings.seed,
                "ignored": dict(loaded.ignored),
            },
        }

    def close(self) -> None:
        """Free the model and its memory."""
        was_loaded = self._loaded is not None
        self._loaded = None
        self._is_closed = True
        if was_loaded:
            free_memory()

    def _find(self) -> Source:
        if self._source is None:
            check_quantization(self._settings.quantization, self._plan().kind)
            self._source = find_source(self._spec, allow_pickle=self._settings.allow_pickle, notice=self._notice)
        return self._source

    def _plan(self) -> Device:
        if self._device is None:
            self._device = plan_device(self._settings.device, self._settings.dtype)
        return self._device

    def _load(self) -> LoadedModel:
        if self._loaded is None:
            self._source = fetch(self._find(), allow_pickle=self._settings.allow_pickle, notice=self._notice)
            self._loaded = load_model(self._source, self._plan(), self._settings)
            importlib.import_module("torch").manual_seed(self._settings.seed)
        return self._loaded

    def _check_context(self, loaded: LoadedModel, longest: int) -> None:
        limit, cap = loaded.context_tokens, self._settings.max_new_tokens
        if limit is not None and longest + cap > limit:
            raise BackendError(
                f"model {self._spec.name!r} has a context of {limit} tokens; a prompt of {longest} and a reply of up "
                f"to {cap} tokens do not fit: pass a smaller --ocg-max-new-tokens"
            )

    def _generation(self, loaded: LoadedModel, prompt: str, prompt_tokens: int, reply: Reply) -> Generation:
        whole = loaded.tokenizer.decode(reply.tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        text = cut_at_marker(whole, loaded.chat)
        finish_reason = "stop" if reply.is_finished or text != whole else "length"
        reasoning = self._spec.reasoning
        answer = answer_of(
            text, reasoning=reasoning, answer=self._spec.answer, is_open=opens_reasoning(prompt, reasoning)
        )
        if answer is None:
            return Generation(
                None,
                ErrorKind.TRUNCATED,
                "the reply never leaves its reasoning block",
                finish_reason,
                prompt_tokens,
                len(reply.tokens),
            )
        for token in loaded.tokenizer.all_special_tokens:
            answer = answer.replace(token, "")
        return generation_of(
            answer, finish_reason=finish_reason, prompt_tokens=prompt_tokens, completion_tokens=len(reply.tokens)
        )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
