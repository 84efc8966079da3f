"""The Hugging Face hub: its library, imported on use, and one error of ours for each of those it raises."""

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
class Wanted:
    """What is asked of the hub: what messages call it, and what to do where it cannot be had.

    `other_revision` is the way out where the revision does not exist, `instead` where nothing can be had at all; both
    follow a comma or a semicolon.
    """

    name: str
    revision: str | None
    error: type[OcgError]
    other_revision: str
    instead: str


@contextmanager
def asking(wanted: Wanted) -> Iterator[Any]:
    """The hub's library (`huggingface_hub`); whatever it raises inside becomes one error that says what to do."""
    name, instead = wanted.name, wanted.instead
    missing = f"{name} is not in the local hub cache and the hub cannot be reached"
    if wanted.revision is not None:
        missing = f"{name} at revision {wanted.revision!r} is not in the local hub cache and the hub cannot be reached"
    try:
        library = importlib.import_module("huggingface_hub")
        errors: Any = importlib.import_module("huggingface_hub.errors")
    except ImportError as cause:
        raise wanted.error(
            f"{name}: huggingface_hub cannot be imported ({cause}): `pip install huggingface_hub`, or {instead}"
        ) from cause
    try:
        yield library
    except errors.GatedRepoError as cause:
        raise wanted.error(
            f"{name} is gated: accept its licence on its hub page, then log in with `hf auth login` or set HF_TOKEN"
        ) from cause
    except errors.RevisionNotFoundError as cause:
        raise wanted.error(f"{name} has no revision {wanted.revision!r}; {wanted.other_revision}") from cause
    except errors.RepositoryNotFoundError as cause:
        raise wanted.error(
            f"{name} is not on the hub, or private and you are not logged in: check the spelling, "
            f"log in with `hf auth login`, or {instead}"
        ) from cause
    except errors.HFValidationError as cause:
        raise wanted.error(f"{name} is no hub id, which is ORG/NAME: check the spelling, or {instead}") from cause
    except (errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError) as cause:
        raise wanted.error(f"{missing} (offline): connect once to download it, or {instead}") from cause
    # The hub's HTTP error derives from that of the HTTP library it is built on, which differs between its versions.
    except (*errors.HfHubHTTPError.__bases__, OSError, ValueError) as cause:
        reason = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
        raise wanted.error(f"{missing} ({reason}): connect once to download it, or {instead}") from cause


def cached_file(repository: str, file_name: str, revision: str | None) -> Path | None:
    """The path of a file of a model that is in the local cache; None where it is not, or the name is no hub id."""
    library: Any = importlib.import_module("huggingface_hub")
    errors: Any = importlib.import_module("huggingface_hub.errors")
    try:
        found = library.try_to_load_from_cache(repository, file_name, revision=revision)
    except errors.HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None
