"""The plan of a run; it follows from the options alone, before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pytest_ocg.backends.base import GenerationSettings
from pytest_ocg.errors import OptionError, counted
from pytest_ocg.inputs.cases import Case, expand_cases
from pytest_ocg.inputs.concepts import ConceptSet, Dataset, load_dataset
from pytest_ocg.inputs.models import HOSTED, OPENAI, ModelSpec, id_names, load_registry, resolve_model
from pytest_ocg.inputs.prompts import Prompt, Templates, build_prompt, load_templates
from pytest_ocg.inputs.selection import Whole, cut_shard, sample_sets, whole_run
from pytest_ocg.inputs.settings import DEFAULT_MAX_NEW_TOKENS
from pytest_ocg.run.options import Options


@dataclass(frozen=True)
class Plan:
    """The cases of a run and its settings; the keys of `specs` are the model names in case ids.

    `whole` is the size of the unsharded run, None if the run is not a shard.
    """

    options: Options
    dataset: Dataset
    sets: tuple[ConceptSet, ...]
    templates: Templates
    specs: Mapping[str, ModelSpec]
    whole: Whole | None = None

    @cached_property
    def cases(self) -> list[Case]:
        """Every case of the run, in the same order in every process."""
        return expand_cases(
            list(self.specs),
            self.sets,
            conditions=self.options.conditions,
            templates=self.options.templates,
            shots=self.options.shots,
        )

    def prompt(self, case: Case) -> Prompt:
        """The prompt of the case."""
        return build_prompt(
            self.templates, case.lemmas, template=case.template, condition=case.condition, shots=case.shots
        )

    def settings(self, model: str) -> GenerationSettings:
        """The generation settings of this model: from the options, else from its registry entry, else the default."""
        options, spec = self.options, self.specs[model]
        return GenerationSettings(
            max_new_tokens=options.max_new_tokens or spec.max_new_tokens or DEFAULT_MAX_NEW_TOKENS,
            seed=options.seed,
            batch_size=options.batch_size,
            quantization=options.quantization or spec.quantization,
            dtype=options.dtype,
            device=options.device,
            trust_remote_code=options.trust_remote_code,
            allow_pickle=options.allow_pickle,
            concurrency=options.concurrency,
        )


def make_plan(options: Options, extra_models: Mapping[str, ModelSpec]) -> Plan:
    """The plan for these options; `extra_models` adds to the shipped registry.

    Raises OptionError, ConceptError, TemplateError or ModelError, before anything is generated.
    """
    registry = {**load_registry(), **extra_models}
    specs = [_spec(name, options, registry) for name in options.models]
    dataset = load_dataset(options.concepts, revision=options.concepts_revision)
    sample = options.sets
    sets = dataset.sets if sample is None else sample_sets(dataset.sets, sample.number, sample.seed)
    whole = None
    if options.shard is not None:
        whole = whole_run(sets, options.templates)
        sets = cut_shard(sets, options.shard)
        if not sets:
            raise OptionError(
                f"--ocg-shard {options.shard}: this shard is empty, because the run has only "
                f"{counted(whole.sets, 'concept set')}; use at most {counted(whole.sets, 'shard')}"
            )
    named = dict(zip(id_names(specs), specs, strict=True))
    return Plan(options, dataset, sets, load_templates(), named, whole)


def _spec(name: str, options: Options, registry: Mapping[str, ModelSpec]) -> ModelSpec:
    if options.backend == "replay":
        known = registry.get(name) or registry.get(name.lower()) or ModelSpec(name, "replay", "")
        return replace(known, backend="replay", source=str(options.outputs), revision=None)
    if name.startswith("scripted:"):
        return ModelSpec(name, "scripted", name.removeprefix("scripted:"))
    is_served = options.base_url is not None or options.backend == OPENAI
    if is_served and name not in registry and name.lower() not in registry:
        spec = _served(name, registry)
    else:
        spec = resolve_model(name, registry)
    if options.backend != "auto":
        spec = replace(spec, backend=options.backend)
    if not options.base_url or options.base_url == spec.base_url:
        return spec
    # The key and the price in the registry belong to the server in the registry.
    return replace(spec, backend="openai", base_url=options.base_url, key_variable=None, price=None)


def _served(name: str, registry: Mapping[str, ModelSpec]) -> ModelSpec:
    """The model with this name on a server; any name is allowed, also a path that does not exist here.

    The registry settings of a hub id (reasoning tags, cap, name in the paper) also apply to a server.
    """
    hosted = name.removeprefix(HOSTED)
    for spec in registry.values():
        if spec.source.casefold() == hosted.casefold():
            return replace(spec, name=name, source=hosted)
    return replace(resolve_model(f"{HOSTED}{hosted}", registry), name=name)
