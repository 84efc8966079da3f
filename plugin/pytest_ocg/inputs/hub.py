"""The Hugging Face hub: its library, imported on use, and its exceptions translated into errors of this package."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ocg.errors import OcgError

TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class HubRequest:
    """A repository on the hub: its name in messages, and what the user can do if it is not available.

    `other_revision` is the advice if the revision does not exist, `instead` the advice in all other cases; both follow
    a comma or a semicolon.
    """

    name: str
    revision: str | None
    error: type[OcgError]
    other_revision: str
    instead: str


@contextmanager
def hub_library(request: HubRequest) -> Iterator[Any]:
    """The module `huggingface_hub`; its exceptions inside the block become one error that says what to do."""
    name, instead = request.name, request.instead
    missing = f"{name} is not in the local hub cache and the hub cannot be reached"
    if request.revision is not None:
        missing = f"{name} at revision {request.revision!r} is not in the local hub cache and the hub cannot be reached"
    try:
        library = importlib.import_module("huggingface_hub")
        errors: Any = importlib.import_module("huggingface_hub.errors")
    except ImportError as cause:
        raise request.error(
            f"{name}: huggingface_hub cannot be imported ({cause}); run `pip install huggingface_hub`, or {instead}"
        ) from cause
    try:
        yield library
    except errors.GatedRepoError as cause:
        raise request.error(
            f"{name} is gated: accept its licence on its hub page, then log in with `hf auth login` or set HF_TOKEN"
        ) from cause
    except errors.RevisionNotFoundError as cause:
        raise request.error(f"{name} has no revision {request.revision!r}; {request.other_revision}") from cause
    except errors.RepositoryNotFoundError as cause:
        raise request.error(
            f"{name} is not on the hub, or private and you are not logged in: check the spelling, "
            f"log in with `hf auth login`, or {instead}"
        ) from cause
    except errors.HFValidationError as cause:
        raise request.error(f"{name} is not a hub id of the form ORG/NAME: check the spelling, or {instead}") from cause
    except (errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError) as cause:
        raise request.error(f"{missing} (offline): connect once to download it, or {instead}") from cause
    # HfHubHTTPError derives from the error of the HTTP library below it, which differs between versions of the hub.
    except (*errors.HfHubHTTPError.__bases__, OSError, ValueError) as cause:
        reason = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
        raise request.error(f"{missing} ({reason}): connect once to download it, or {instead}") from cause


def cached_file(repository: str, file_name: str, revision: str | None) -> Path | None:
    """The path of a model file in the local cache; None if it is not there or `repository` is not a hub id."""
    library: Any = importlib.import_module("huggingface_hub")
    errors: Any = importlib.import_module("huggingface_hub.errors")
    try:
        found = library.try_to_load_from_cache(repository, file_name, revision=revision)
    except errors.HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None
