"""Loads a model and its tokenizer for greedy decoding, and ignores the decoding values of the checkpoint."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.backends.huggingface import gguf as gguf_files
from pytest_ocg.backends.huggingface.chat import ChatFormat, chat_format
from pytest_ocg.backends.huggingface.decoding import Decoding, step_limit
from pytest_ocg.backends.huggingface.devices import Device, automatic_device
from pytest_ocg.backends.huggingface.quantization import (
    count_quantized,
    quantization_config,
    quantize_experts,
    quantize_linears,
)
from pytest_ocg.backends.huggingface.runtime import is_out_of_memory
from pytest_ocg.backends.huggingface.sources import Source
from pytest_ocg.errors import BackendError, ModelError, counted

_NOT_DECODING = frozenset(
    {"transformers_version", "_from_model_config", "bos_token_id", "eos_token_id", "pad_token_id", "use_cache",
     "decoder_start_token_id", "max_length", "max_new_tokens"}
)  # fmt: skip
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth")
_TOKENIZERS = ("tokenizer*", "*.model", "vocab*", "*.tiktoken")
_SERVE = "serve it elsewhere and pass --ocg-base-url"


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in memory, with its tokenizer, chat format and decoding.

    `ignored` are the decoding values in the checkpoint's generation config that greedy decoding does not use.
    """

    model: Any
    tokenizer: Any
    chat: ChatFormat
    decoding: Decoding
    context_tokens: int | None
    quantized_layers: int
    ignored: Mapping[str, Any]


@runtime_checkable
class Loadable(Protocol):
    """A backend that loads a model or replies from this machine, and can check this in advance."""

    def check_loading(self, gpus: int | None) -> None:
        """Raise ModelError or BackendError if loading would fail.

        `gpus` is the number of GPUs for each worker, None if the model gets all visible ones.
        """
        ...


def load_model(source: Source, device: Device, settings: GenerationSettings) -> LoadedModel:
    """The model of a source whose files are on this machine; raises ModelError or BackendError with a way out."""
    torch: Any = importlib.import_module("torch")
    check_device(device, torch)
    path = source.path
    assert path is not None, f"{source.name} was not fetched"
    with _map_loading_errors(source, device, settings):
        tokenizer, model = _load(path, device, settings, torch)
    _check_placement(model, source, device)
    chat = chat_format(tokenizer)
    config = model.config.get_text_config(decoder=True)
    checkpoint: Mapping[str, Any] = model.generation_config.to_diff_dict()
    stop_tokens = end_tokens(tokenizer, chat, model.generation_config.eos_token_id, config.eos_token_id)
    pad_token = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else min(stop_tokens, default=0)
    model.generation_config = importlib.import_module("transformers").GenerationConfig(
        do_sample=False,
        num_beams=1,
        max_new_tokens=settings.max_new_tokens,
        eos_token_id=sorted(stop_tokens) or None,
        pad_token_id=pad_token,
        bos_token_id=tokenizer.bos_token_id,
    )
    return LoadedModel(
        model=model,
        tokenizer=tokenizer,
        chat=chat,
        decoding=Decoding(stop_tokens, pad_token, settings.max_new_tokens, step_limit(model)),
        context_tokens=getattr(config, "max_position_embeddings", None),
        quantized_layers=count_quantized(model, settings.quantization),
        ignored={key: value for key, value in sorted(checkpoint.items()) if key not in _NOT_DECODING},
    )


def end_tokens(tokenizer: Any, chat: ChatFormat, *configured: int | list[int] | None) -> frozenset[int]:
    """Every token that ends a reply: from the configuration, the tokenizer and the end of a turn in the template."""
    found: set[int] = set()
    for entry in (*configured, tokenizer.eos_token_id):
        found.update([entry] if isinstance(entry, int) else entry or ())
    vocabulary = tokenizer.get_vocab()
    found.update(vocabulary[marker] for marker in chat.end_markers if marker in vocabulary)
    return frozenset(found)


def check_code(source: Source, config: Mapping[str, Any], *, trust_remote_code: bool, note: str) -> None:
    """Raise ModelError, with the note on the model, if it needs code from its repository that may not run.

    Many models contain code that transformers now has too.
    """
    if trust_remote_code or "auto_map" not in config:
        return
    known_types = importlib.import_module("transformers.models.auto.configuration_auto").CONFIG_MAPPING_NAMES
    if config.get("model_type") not in known_types:
        remark = f" ({note})" if note else ""
        raise ModelError(
            f"model {source.name!r} needs code from its own repository{remark}; read that code, then pass "
            f"--ocg-trust-remote-code, or {_SERVE}"
        )


def check_files(source: Source) -> None:
    """Raise ModelError if the source is a folder without weights or without a tokenizer."""
    if source.kind != "folder" or source.path is None:
        return
    for part, patterns in (("weights", _WEIGHTS), ("tokenizer", _TOKENIZERS)):
        if not any(True for pattern in patterns for _ in source.path.glob(pattern)):
            raise ModelError(
                f"model {source.name!r} has no {part}: its folder contains none of {', '.join(patterns)}; "
                "pass the folder of a complete checkpoint"
            )


def require_device(device: Device) -> None:
    """Raise BackendError if torch does not have the device; imports torch only if the machine shows no such device."""
    if device.kind not in ("cpu", automatic_device()):
        check_device(device, importlib.import_module("torch"))


def check_device(device: Device, torch: Any) -> None:
    """Raise BackendError if torch does not have the device or number format that was planned without torch."""
    has_cuda = torch.cuda.is_available()
    if device.kind == "cuda" and not has_cuda:
        raise BackendError(
            f"device {device.name!r} is not available in torch {torch.__version__}: install a torch for this GPU's "
            "driver, or pass --ocg-device cpu"
        )
    if device.kind == "mps" and not torch.backends.mps.is_available():
        raise BackendError(f"device 'mps' is not available in torch {torch.__version__}: pass --ocg-device cpu")
    if device.kind == "cpu" and device.is_automatic and has_cuda:
        raise BackendError("torch has a GPU that was not detected before: pass --ocg-device cuda, or --ocg-device cpu")
    if device.kind == "cuda" and device.dtype == "bfloat16" and not torch.cuda.is_bf16_supported():
        raise BackendError("this GPU does not support bfloat16: pass --ocg-dtype float16")


def _load(path: Path, device: Device, settings: GenerationSettings, torch: Any) -> tuple[Any, Any]:
    library: Any = importlib.import_module("transformers")
    dtype = getattr(torch, device.dtype)
    common: dict[str, Any] = {"trust_remote_code": settings.trust_remote_code}
    arguments: dict[str, Any] = {"dtype": dtype, "output_loading_info": True}
    if not settings.allow_pickle:
        arguments["use_safetensors"] = True
    if device.kind != "cpu":
        # One model uses all visible GPUs: a large one is distributed over them.
        arguments["device_map"] = "auto" if device.name == "cuda" else {"": device.name}
    with ExitStack() as stack:
        if path.is_file():
            stack.enter_context(gguf_files.cached_parsing())
            common.update(gguf_files.gguf_arguments(path))
            arguments["quantization_config"] = gguf_files.unpacking_config()
            del arguments["use_safetensors"]
        else:
            arguments["quantization_config"] = quantization_config(settings.quantization, dtype)
            if settings.quantization != "none":
                arguments.setdefault("device_map", {"": device.name})
        arguments = {name: value for name, value in arguments.items() if value is not None}
        folder = path.parent if path.is_file() else path
        tokenizer = library.AutoTokenizer.from_pretrained(folder, **common)
        model, found = library.AutoModelForCausalLM.from_pretrained(folder, **common, **arguments)
    if found["missing_keys"]:
        raise ModelError(
            f"the checkpoint lacks {counted(len(found['missing_keys']), 'weight')}, such as "
            f"{min(found['missing_keys'])!r}; use a complete checkpoint"
        )
    if path.is_file() and settings.quantization != "none":
        quantize_linears(model, settings.quantization, dtype)
    if settings.quantization == "4bit":
        quantize_experts(model)
    return tokenizer, model.eval()


def _check_placement(model: Any, source: Source, device: Device) -> None:
    places = set(map(str, (getattr(model, "hf_device_map", None) or {}).values()))
    if device.kind == "cuda" and places & {"cpu", "disk"}:
        raise BackendError(
            f"model {source.name!r} does not fit into the memory of the visible GPUs in {device.dtype}: pass "
            f"--ocg-quantization 4bit, make more GPUs visible, or {_SERVE}"
        )


@contextmanager
def _map_loading_errors(source: Source, device: Device, settings: GenerationSettings) -> Iterator[None]:
    """Turns exceptions of loading into one error with the model and the way out."""
    safetensors: Any = importlib.import_module("safetensors")
    prefix = f"model {source.name!r} cannot be loaded"
    try:
        yield
    except ModelError as cause:
        raise ModelError(f"{prefix}: {cause}") from cause
    except ImportError as cause:
        if (cause.name or "").partition(".")[0] == "transformers":
            raise ModelError(_outdated(prefix, cause)) from cause
        raise ModelError(f"{prefix}: {_first_line(cause)}; install what is missing, or {_SERVE}") from cause
    except (AttributeError, NameError, TypeError) as cause:
        if not settings.trust_remote_code:
            raise
        raise ModelError(_outdated(prefix, cause)) from cause
    except (OSError, ValueError, KeyError, RuntimeError, MemoryError, safetensors.SafetensorError) as cause:
        if is_out_of_memory(cause):
            raise BackendError(
                f"{prefix}: out of memory on {device.name}; pass --ocg-quantization 4bit, or use a smaller model"
            ) from cause
        if "trust_remote_code" in str(cause):
            raise ModelError(
                f"{prefix}: it needs code from its own repository; read that code, then pass --ocg-trust-remote-code"
            ) from cause
        raise ModelError(
            f"{prefix}: {_first_line(cause)}; check that its files are complete and of a causal language model "
            f"that the installed transformers supports, or {_SERVE}"
        ) from cause


def _outdated(prefix: str, cause: BaseException) -> str:
    version = importlib.import_module("transformers").__version__
    return (
        f"{prefix}: the code in its repository does not run on transformers {version} ({_first_line(cause)}); {_SERVE}"
    )


def _first_line(cause: BaseException) -> str:
    """The first line of the message, or the name of the exception."""
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]
