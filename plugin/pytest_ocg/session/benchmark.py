"""The state of one pytest session that runs the benchmark: options, plan and checks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pytest

from pytest_ocg.backends import open_backend
from pytest_ocg.backends.base import Backend, require_backend, wrap_backend_errors
from pytest_ocg.backends.huggingface.devices import automatic_device
from pytest_ocg.backends.huggingface.loading import Loadable
from pytest_ocg.errors import BackendError, ModelError, OcgError
from pytest_ocg.gate.files import check_writable, thresholds_for
from pytest_ocg.gate.thresholds import Thresholds
from pytest_ocg.inputs.models import OPENAI, Forecast, ModelSpec, estimated_tokens
from pytest_ocg.metrics import catalogue, choose_metrics, open_model_metric
from pytest_ocg.metrics.base import MetricFactory, ScoringContext
from pytest_ocg.report.formats import require_report
from pytest_ocg.results.files import Run, load_run
from pytest_ocg.results.writing import check_output
from pytest_ocg.run.cache.cache import Cache, default_cache_directory
from pytest_ocg.run.cache.keys import generation_keys
from pytest_ocg.run.judging.words import require_analyser
from pytest_ocg.run.options import DECLARATIONS, Options
from pytest_ocg.run.plan import Plan, make_plan


@dataclass
class Benchmark:
    """Created once in each process; under xdist the controller checks the models and sends the result to the workers.

    `identities`, `batch_sizes` and `thresholds` are keyed by the model name in case ids. `check` fills them and
    `baseline`: a file that is edited during the run does not change a verdict.
    """

    config: pytest.Config
    options: Options
    notices: list[str] = field(default_factory=list)
    identities: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    batch_sizes: dict[str, int] = field(default_factory=dict)
    thresholds: dict[str, Thresholds] = field(default_factory=dict)
    baseline: Run | None = None

    @cached_property
    def plan(self) -> Plan:
        """The plan; raises an OcgError if the options cannot be carried out."""
        registered: dict[str, ModelSpec] = {}
        for models in self.config.hook.pytest_ocg_models():
            registered.update(models)
        return make_plan(self.options, registered)

    @cached_property
    def own_metrics(self) -> Mapping[str, MetricFactory]:
        """The metrics that hooks added, by name."""
        metrics: dict[str, MetricFactory] = {}
        for found in self.config.hook.pytest_ocg_metrics():
            metrics.update(found)
        return metrics

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics to compute in addition to those of every run; raises MetricError for an unknown name."""
        has_gpu = automatic_device() == "cuda"
        return choose_metrics(self.options.metrics, has_gpu=has_gpu, own=tuple(self.own_metrics))

    @cached_property
    def planned_ids(self) -> frozenset[str]:
        """The ids of all planned cases."""
        return frozenset(case.id for case in self.plan.cases)

    def notice(self, text: str) -> None:
        """Keep a message for the user; the same text is kept once."""
        if text not in self.notices:
            self.notices.append(text)

    def open_backend(self, model: str) -> Backend:
        """A backend for the model: the one that a hook returns, otherwise the shipped one."""
        spec, settings = self.plan.specs[model], self.plan.settings(model)
        from_hook = self.config.hook.pytest_ocg_make_backend(spec=spec, settings=settings)
        return require_backend(from_hook, model) if from_hook is not None else open_backend(spec, settings, self.notice)

    def open_cache(self) -> Cache:
        """The reply cache; raises CacheError if its folder cannot be used."""
        return Cache.open(self.options.cache or default_cache_directory(), self.notice)

    @contextmanager
    def scoring(self, progress: Callable[[str, int, int], None]) -> Iterator[ScoringContext]:
        """The context that scoring models are opened with; the cache with their scores is open during it."""
        options = self.options
        with self.open_cache() as store:
            yield ScoringContext(
                store=store,
                perplexity_model=options.perplexity_model,
                bleurt_model=options.bleurt_model,
                device=options.device,
                batch_size=options.batch_size,
                trust_remote_code=options.trust_remote_code,
                allow_pickle=options.allow_pickle,
                progress=progress,
                notice=self.notice,
            )

    def forecasts(self, selected: Mapping[str, int]) -> Iterator[str]:
        """One line for each hosted model: the requests that follow and their highest cost.

        `selected` is the number of cases by model.
        """
        for model, number in selected.items():
            spec = self.plan.specs[model]
            if spec.backend == OPENAI:
                lengths = [estimated_tokens(self.plan.prompt(case)) for case in self.plan.cases if case.model == model]
                tokens = round(number * sum(lengths) / len(lengths))
                yield Forecast(number, tokens, self.plan.settings(model).max_new_tokens).describe(model, spec.price)

    def check(self) -> None:
        """Check before generation that models are available and that replies and results can be judged and written.

        Raises an OcgError for the first thing that fails.
        """
        require_analyser()
        check_output(self.options.output)
        for path in self.options.report:
            require_report(path)
        thresholds, will_write = self.options.thresholds, self.options.write_thresholds
        if will_write:
            check_writable(thresholds, self.plan.specs)
        if self.options.gate != "off" and not (will_write and thresholds is not None and not thresholds.exists()):
            self.thresholds = thresholds_for(self.plan.specs, thresholds, rootdir=self.config.rootpath)
        if self.options.baseline is not None:
            self.baseline = load_run(self.options.baseline)
        self.open_cache().close()
        is_distributed = self.config.pluginmanager.has_plugin("ocg-distribution")
        gpus = self.options.gpus_per_worker if is_distributed else None
        for model in self.plan.specs:
            with wrap_backend_errors(model):
                backend = self.open_backend(model)
                self.identities[model] = self.identities.get(model) or _plain_json(backend.identity())
                if isinstance(backend, Loadable):
                    self._check_loading(model, backend, gpus)
                self.batch_sizes[model] = backend.preferred_batch_size()
                backend.close()
        self._check_scoring()

    def is_cached(self) -> bool:
        """Whether the cache has every planned reply; False also if a model or the cache is not available."""
        try:
            with self.open_cache() as cache:
                for model in self.plan.specs:
                    with wrap_backend_errors(model):
                        backend = self.open_backend(model)
                        self.identities[model] = _plain_json(backend.identity())
                        backend.close()
                    if not self._is_cached(model, cache):
                        return False
        except OcgError:
            return False
        return True

    def _is_cached(self, model: str, cache: Cache) -> bool:
        cases = [case for case in self.plan.cases if case.model == model]
        steps = (cases[:1], cases)  # if the first reply is missing, the others are not looked up
        return not self.options.refresh and all(
            cache.has_replies(generation_keys(self.identities[model], [self.plan.prompt(case) for case in some]))
            for some in steps
        )

    def _check_scoring(self) -> None:
        """Raise an OcgError if a scoring model that the user named is not available; no model is loaded.

        If a scoring model that is only part of `all` is not available, only its own number is missing.
        """
        defaults = {declaration.field: declaration.default for declaration in DECLARATIONS}
        models = {name: str(catalogue.METRICS[name].model_option) for name in catalogue.needing("model")}
        named = [
            name
            for name, option in models.items()
            if name in self.metrics
            and (name in self.options.metrics or getattr(self.options, option) != defaults[option])
        ]
        if named:
            with self.scoring(lambda label, done, total: None) as context:
                for name in named:
                    open_model_metric(name, context).signature()

    def _check_loading(self, model: str, backend: Loadable, gpus: int | None) -> None:
        """Raise an error if the model cannot be loaded, unless the cache has every planned reply."""
        try:
            backend.check_loading(gpus)
        except (BackendError, ModelError):
            with self.open_cache() as cache:
                if not self._is_cached(model, cache):
                    raise


def _plain_json(identity: Mapping[str, Any]) -> dict[str, Any]:
    """The identity as it is written to files, without subclasses of plain types."""
    plain: dict[str, Any] = json.loads(json.dumps(dict(identity), allow_nan=False))
    return plain
