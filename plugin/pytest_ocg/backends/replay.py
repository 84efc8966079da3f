"""Replies made elsewhere, read from a file and matched by concepts, template and condition."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_ocg.backends.base import ErrorKind, Generation, GenerationSettings, generation_of
from pytest_ocg.errors import BackendError
from pytest_ocg.inputs.files import read_bytes
from pytest_ocg.inputs.models import ModelSpec
from pytest_ocg.inputs.prompts import CONDITIONS, Prompt

PromptKey = tuple[tuple[str, ...], int, str]
BATCH_SIZE = 512
MAX_FILE_BYTES = 1024 * 1024 * 1024


class ReplayBackend:
    """Answers from a JSONL file of objects with `concepts`, `template`, `condition`, `reply` and, optionally, `model`.

    `generations.jsonl` of an earlier run has that shape. `concepts` are lemmas in the order asked for, as a list or as
    one text with spaces; tags (`dog_N`) are removed. `template` defaults to 0 and `condition` to `ordered`. If a row
    names a model, it counts only for this model. A prompt without a row is an error of kind `missing`.
    """

    def __init__(self, spec: ModelSpec, settings: GenerationSettings, notice: Callable[[str], None]) -> None:
        self._path = Path(spec.source)
        self._model = spec.name
        self._replies: dict[PromptKey, Generation] | None = None

    def identity(self) -> Mapping[str, Any]:
        """The file's sha256 and the model's name; raises BackendError if the file cannot be read."""
        return {"backend": "replay", "model": self._model, "sha256": hashlib.sha256(self._bytes()).hexdigest()}

    def preferred_batch_size(self) -> int:
        """A large number, because nothing is computed."""
        return BATCH_SIZE

    def check_loading(self, gpus: int | None) -> None:
        """Raise BackendError with the line number if a row cannot be read, or if no row is of this model."""
        self._loaded()

    def generate(self, prompts: Sequence[Prompt]) -> list[Generation]:
        """The file's replies; raises BackendError with file and line if a row cannot be read."""
        replies = self._loaded()
        return [
            replies.get((prompt.concepts, prompt.template, prompt.condition), _missing(prompt)) for prompt in prompts
        ]

    def provenance(self) -> Mapping[str, Any]:
        """The file that the replies come from; how they were generated is not known."""
        return {**self.identity(), "outputs": self._path.name}

    def close(self) -> None:
        """Free the replies."""
        self._replies = None

    def _loaded(self) -> Mapping[PromptKey, Generation]:
        if self._replies is None:
            self._replies = self._read()
        return self._replies

    def _bytes(self) -> bytes:
        name, hint = f"reply file {str(self._path)!r}", "pass a JSONL file of replies with --ocg-outputs"
        return read_bytes(self._path, name, MAX_FILE_BYTES, BackendError, hint)

    def _read(self) -> dict[PromptKey, Generation]:
        replies: dict[PromptKey, Generation] = {}
        for number, line in enumerate(self._bytes().splitlines(), 1):
            if not line.strip():
                continue
            try:
                key, model, generation = _row(json.loads(line.decode("utf-8-sig")))
            except (ValueError, RecursionError) as error:
                raise BackendError(f"{self._path}, line {number}: {error}") from error
            if model is not None and model.lower() != self._model.lower():
                continue
            if key in replies and replies[key] != generation:
                concepts, template, condition = key
                raise BackendError(
                    f"{self._path}, line {number}: a second, different reply for {' '.join(concepts)!r}, template "
                    f"{template}, condition {condition!r}; keep one of them"
                )
            replies[key] = generation
        if not replies:
            raise BackendError(
                f"{self._path} has no reply of {self._model!r}; the file is empty or its rows name other models"
            )
        return replies


def _missing(prompt: Prompt) -> Generation:
    return Generation(
        None, ErrorKind.MISSING, f"no row for template {prompt.template}, condition {prompt.condition}", "none"
    )


def _row(row: Any) -> tuple[PromptKey, str | None, Generation]:
    if not isinstance(row, dict):
        raise ValueError(f"the line must be a JSON object, not {type(row).__name__}")
    concepts = row.get("concepts")
    words = concepts.split() if isinstance(concepts, str) else concepts
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise ValueError(f"'concepts' must be a list of words in the order asked for, not {concepts!r}")
    lemmas = tuple(word.removesuffix("_N").removesuffix("_V") for word in words)
    template, condition, model = row.get("template", 0), row.get("condition", "ordered"), row.get("model")
    if not isinstance(template, int) or isinstance(template, bool):
        raise ValueError(f"'template' must be a number, not {template!r}")
    if condition not in CONDITIONS:
        raise ValueError(f"'condition' must be {' or '.join(map(repr, CONDITIONS))}, not {condition!r}")
    if model is not None and not isinstance(model, str):
        raise ValueError(f"'model' must be a name, not {model!r}")
    return (lemmas, template, condition), model, _generation(row)


def _generation(row: Mapping[str, Any]) -> Generation:
    reply, error = row.get("reply"), row.get("error")
    if isinstance(reply, str):
        return generation_of(reply, finish_reason="length" if row.get("finish_reason") == "length" else "stop")
    if reply is None and isinstance(error, str) and error in set(ErrorKind):
        return Generation(None, ErrorKind(error), str(row.get("detail", "")))
    raise ValueError(f"'reply' must be a text, or null together with an 'error' kind, not {reply!r}")
