"""pytest-ordered-commongen: Ordered CommonGen as a pytest plugin and a release gate.

These are the public names. Each is imported from its module when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ocg.backends.base import Backend, ErrorKind, Generation, GenerationSettings, GenerationStopped
    from pytest_ocg.backends.scripted import ScriptedBackend
    from pytest_ocg.errors import BackendError, MetricError, ModelError, OcgError
    from pytest_ocg.inputs.cases import Case
    from pytest_ocg.inputs.concepts import Concept, ConceptSet
    from pytest_ocg.inputs.models import ModelSpec, Price
    from pytest_ocg.inputs.prompts import Message, Prompt
    from pytest_ocg.metrics.base import Measurement, Metric, Replies, Score, SetStatistic, measurement
    from pytest_ocg.run.record import Outcome, Record

    __version__: str

__all__ = [
    "Backend",
    "BackendError",
    "Case",
    "Concept",
    "ConceptSet",
    "ErrorKind",
    "Generation",
    "GenerationSettings",
    "GenerationStopped",
    "Measurement",
    "Message",
    "Metric",
    "MetricError",
    "ModelError",
    "ModelSpec",
    "OcgError",
    "Outcome",
    "Price",
    "Prompt",
    "Record",
    "Replies",
    "Score",
    "ScriptedBackend",
    "SetStatistic",
    "__version__",
    "measurement",
]

_MODULES = {
    "Backend": "backends.base",
    "BackendError": "errors",
    "Case": "inputs.cases",
    "Concept": "inputs.concepts",
    "ConceptSet": "inputs.concepts",
    "ErrorKind": "backends.base",
    "Generation": "backends.base",
    "GenerationSettings": "backends.base",
    "GenerationStopped": "backends.base",
    "Measurement": "metrics.base",
    "Message": "inputs.prompts",
    "Metric": "metrics.base",
    "MetricError": "errors",
    "ModelError": "errors",
    "ModelSpec": "inputs.models",
    "OcgError": "errors",
    "Outcome": "run.record",
    "Price": "inputs.models",
    "Prompt": "inputs.prompts",
    "Record": "run.record",
    "Replies": "metrics.base",
    "Score": "metrics.base",
    "ScriptedBackend": "backends.scripted",
    "SetStatistic": "metrics.base",
    "measurement": "metrics.base",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        found: Any = version("pytest-ordered-commongen")
    elif name in _MODULES:
        found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
