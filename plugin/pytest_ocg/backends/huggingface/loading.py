"""Loads a model and its tokenizer, ready to decode greedily whatever the checkpoint asks for."""

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
from pytest_ocg.errors import BackendError, ModelError

_NOT_DECODING = frozenset(
    {"transformers_version", "_from_model_config", "bos_token_id", "eos_token_id", "pad_token_id", "use_cache",
     "decoder_start_token_id", "max_length", "max_new_tokens"}
)  # fmt: skip
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth")
_TOKENIZERS = ("tokenizer*", "*.model", "vocab*", "*.tiktoken")
_SERVE = "serve it elsewhere and pass --ocg-base-url"


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in memory and how it is to be spoken to.

    `ignored` are the decoding values of the checkpoint's generation config that greedy decoding does not use.
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
    """A backend that loads a model or replies from this machine, and can say in advance that it will not."""

    def check_loading(self, gpus: int | None) -> None:
        """Raise ModelError or BackendError for what would go wrong in loading.

        `gpus` is how many GPUs each worker is dealt, None where the model gets all that are visible.
        """
        ...


def load_model(source: Source, device: Device, settings: GenerationSettings) -> LoadedModel:
    """The model of a source whose files are on this machine; raises ModelError or BackendError with a way out."""
    torch: Any = importlib.import_module("torch")
    check_device(device, torch)
    path = source.path
    assert path is not None, f"{source.name} was not fetched"
    with _explained(source, device, settings):
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
    """Every token that ends a reply: those configured, the tokenizer's own, and what ends a turn in the template."""
    found: set[int] = set()
    for entry in (*configured, tokenizer.eos_token_id):
        found.update([entry] if isinstance(entry, int) else entry or ())
    vocabulary = tokenizer.get_vocab()
    found.update(vocabulary[marker] for marker in chat.end_markers if marker in vocabulary)
    return frozenset(found)


def check_code(source: Source, config: Mapping[str, Any], *, trust_remote_code: bool, note: str) -> None:
    """Raise ModelError, with what is noted about the model, where it needs code of its own that may not be run.

    Many models come with code that transformers has itself by now.
    """
    if trust_remote_code or "auto_map" not in config:
        return
    known = importlib.import_module("transformers.models.auto.configuration_auto").CONFIG_MAPPING_NAMES
    if config.get("model_type") not in known:
        noted = f" ({note})" if note else ""
        raise ModelError(
            f"model {source.name!r} needs code from its own repository{noted}; read that code, then pass "
            f"--ocg-trust-remote-code, or {_SERVE}"
        )


def check_files(source: Source) -> None:
    """Raise ModelError where the source is a folder without weights, or without a tokenizer."""
    if source.kind != "folder" or source.path is None:
        return
    for shown, patterns in (("weights", _WEIGHTS), ("tokenizer", _TOKENIZERS)):
        if not any(True for pattern in patterns for _ in source.path.glob(pattern)):
            raise ModelError(
                f"model {source.name!r} has no {shown}: its folder holds none of {', '.join(patterns)}; "
                "name the folder of a complete checkpoint"
            )


def require_device(device: Device) -> None:
    """Raise BackendError where torch does not have the device; imported only where the machine shows no such device."""
    if device.kind not in ("cpu", automatic_device()):
        check_device(device, importlib.import_module("torch"))


def check_device(device: Device, torch: Any) -> None:
    """Raise BackendError where torch does not have the device or number format that was planned without asking it."""
    has_cuda = torch.cuda.is_available()
    if device.kind == "cuda" and not has_cuda:
        raise BackendError(
            f"device {device.name!r} is not there for torch {torch.__version__}: install a torch built for this GPU's "
            "driver, or pass --ocg-device cpu"
        )
    if device.kind == "mps" and not torch.backends.mps.is_available():
        raise BackendError(f"device 'mps' is not there for torch {torch.__version__}: pass --ocg-device cpu")
    if device.kind == "cpu" and device.is_automatic and has_cuda:
        raise BackendError("torch has a GPU that was not found in advance: pass --ocg-device cuda, or --ocg-device cpu")
    if device.kind == "cuda" and device.dtype == "bfloat16" and not torch.cuda.is_bf16_supported():
        raise BackendError("this GPU does not compute in bfloat16: pass --ocg-dtype float16")


def _load(path: Path, device: Device, settings: GenerationSettings, torch: Any) -> tuple[Any, Any]:
    library: Any = importlib.import_module("transformers")
    dtype = getattr(torch, device.dtype)
    common: dict[str, Any] = {"trust_remote_code": settings.trust_remote_code}
    arguments: dict[str, Any] = {"dtype": dtype, "output_loading_info": True}
    if not settings.allow_pickle:
        arguments["use_safetensors"] = True
    if device.kind != "cpu":
        # Several visible GPUs are one to a model: a large one is spread over them.
        arguments["device_map"] = "auto" if device.name == "cuda" else {"": device.name}
    with ExitStack() as stack:
        if path.is_file():
            stack.enter_context(gguf_files.read_once())
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
            f"{len(found['missing_keys'])} weights are missing, such as {min(found['missing_keys'])!r}: "
            "use a complete checkpoint"
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
            f"--ocg-quantization 4bit, show it more GPUs, or {_SERVE}"
        )


@contextmanager
def _explained(source: Source, device: Device, settings: GenerationSettings) -> Iterator[None]:
    """Turns what loading raises into one error that names the model and what to do."""
    safetensors: Any = importlib.import_module("safetensors")
    shown = f"model {source.name!r} cannot be loaded"
    try:
        yield
    except ModelError as cause:
        raise ModelError(f"{shown}: {cause}") from cause
    except ImportError as cause:
        if (cause.name or "").partition(".")[0] == "transformers":
            raise ModelError(_outdated(shown, cause)) from cause
        raise ModelError(f"{shown}: {_gist(cause)}; install what is missing, or {_SERVE}") from cause
    except (AttributeError, NameError, TypeError) as cause:
        if not settings.trust_remote_code:
            raise
        raise ModelError(_outdated(shown, cause)) from cause
    except (OSError, ValueError, KeyError, RuntimeError, MemoryError, safetensors.SafetensorError) as cause:
        if is_out_of_memory(cause):
            raise BackendError(
                f"{shown}: out of memory on {device.name}; pass --ocg-quantization 4bit, or use a smaller model"
            ) from cause
        if "trust_remote_code" in str(cause):
            raise ModelError(
                f"{shown}: it needs code from its own repository; read that code, then pass --ocg-trust-remote-code"
            ) from cause
        raise ModelError(
            f"{shown}: {_gist(cause)}; check that its files are complete and of a causal language model "
            f"that the installed transformers knows, or {_SERVE}"
        ) from cause


def _outdated(shown: str, cause: BaseException) -> str:
    version = importlib.import_module("transformers").__version__
    return f"{shown}: the code it comes with does not run on transformers {version} ({_gist(cause)}); {_SERVE}"


def _gist(cause: BaseException) -> str:
    """The first line of what was said."""
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]
