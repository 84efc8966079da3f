"""Makes judged records from cases: replies come from the cache, or in a batch from the backend."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ocg.backends.base import Backend, Generation, GenerationStopped, wrap_backend_errors
from pytest_ocg.errors import BackendError, counted
from pytest_ocg.inputs.cases import Batch, Case
from pytest_ocg.inputs.prompts import Prompt
from pytest_ocg.run.cache.cache import Cache
from pytest_ocg.run.cache.keys import generation_keys
from pytest_ocg.run.judging.coverage import (
    Coverage,
    contains_concept_list,
    coverage_at,
    find_concepts,
    matcher_signature,
    pack_positions,
    unpack_positions,
)
from pytest_ocg.run.judging.words import Analyser, Words, analyser_signature, pack_words, unpack_words
from pytest_ocg.run.plan import Plan
from pytest_ocg.run.record import Outcome, Record

Lemmas = Sequence[str]


class Judge:
    """Keeps the analyser between batches; spaCy is loaded only for a reply that was not analysed before."""

    def __init__(self, cache: Cache, matcher: str) -> None:
        self._cache = cache
        self._matcher = matcher
        self._analyser = Analyser()
        self._words_signature = analyser_signature()
        self._verdict_signature = f"positions:1|{matcher_signature(matcher)}"

    def coverages(self, replies: Sequence[str], concepts: Sequence[Lemmas]) -> list[Coverage]:
        """One verdict per reply and its lemmas asked for; equal pairs are judged once.

        Raises MatcherError if the analyser is not available or fails its self-check.
        """
        questions = [f"{' '.join(asked)}\n{reply}" for reply, asked in zip(replies, concepts, strict=True)]
        cached = self._cache.analyses(self._verdict_signature, questions)
        verdicts = {question: unpack_positions(packed) for question, packed in cached.items()}
        open_questions = {
            question: (reply, asked)
            for question, reply, asked in zip(questions, replies, concepts, strict=True)
            if question not in verdicts
        }
        if open_questions:
            words = self._words([reply for reply, _ in open_questions.values()])
            fresh = {
                question: find_concepts(words[reply], asked, self._matcher)
                for question, (reply, asked) in open_questions.items()
            }
            self._cache.add_analyses(
                self._verdict_signature, {question: pack_positions(found) for question, found in fresh.items()}
            )
            verdicts.update(fresh)
        return [coverage_at(asked, verdicts[question]) for question, asked in zip(questions, concepts, strict=True)]

    def _words(self, replies: Sequence[str]) -> dict[str, Words]:
        """The words of each different reply."""
        different = list(dict.fromkeys(replies))
        packed = self._cache.analyses(self._words_signature, different)
        fresh = [reply for reply in different if reply not in packed]
        words = {reply: unpack_words(text) for reply, text in packed.items()}
        if fresh:
            words.update(zip(fresh, self._analyser.analyse(fresh), strict=True))
            self._cache.add_analyses(self._words_signature, {reply: pack_words(words[reply]) for reply in fresh})
        return words


@dataclass(frozen=True, slots=True)
class BatchRun:
    """The cost of one batch, for progress and provenance.

    `provenances` has, by id, each provenance that this runner has not reported before.
    """

    model: str
    cases: int
    generated: int
    seconds: float
    provenances: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Runner:
    """Runs batches, with one model loaded at a time, and returns the record of each case."""

    def __init__(
        self,
        plan: Plan,
        batches: Sequence[Batch],
        *,
        identities: Mapping[str, Mapping[str, Any]],
        cache: Cache,
        open_backend: Callable[[str], Backend],
        before_generating: Callable[[Batch, int], None],
    ) -> None:
        self._plan = plan
        self._identities = identities
        self._cache = cache
        self._judge = Judge(cache, plan.options.matcher)
        self._open_backend = open_backend
        self._before_generating = before_generating
        self._batch_of = {case.id: batch for batch in batches for case in batch.cases}
        self._records: dict[str, Record] = {}
        self._reported_provenances: set[str] = set()
        self._backend: Backend | None = None
        self._model: str | None = None

    def record(self, case: Case) -> tuple[Record, BatchRun | None]:
        """The judged record of the case, and the run of its batch if it was made by this call.

        Raises BackendError, CacheError or MatcherError; after these no other case can be judged.
        """
        ran = None
        if case.id not in self._records:
            ran = self._run(self._batch_of[case.id])
        record = self._records[case.id]
        if record.outcome is not Outcome.ERROR:  # an error is not in the cache, and a second call must return it too
            del self._records[case.id]
        return record, ran

    def close(self) -> None:
        """Free the model; the cache belongs to the caller."""
        if self._backend is not None:
            self._backend.close()
        self._backend = self._model = None

    def _run(self, batch: Batch) -> BatchRun:
        backend = self._backend_of(batch.model)
        prompts = [self._plan.prompt(case) for case in batch.cases]
        keys = generation_keys(self._identities[batch.model], prompts)
        stored = {} if self._plan.options.refresh else self._cache.replies(keys)
        missing = [place for place, key in enumerate(keys) if key not in stored]
        seconds, made_by = 0.0, ""
        generations = {key: entry.generation for key, entry in stored.items()}
        if missing:
            self._before_generating(batch, len(missing))
            started = time.monotonic()
            try:
                with wrap_backend_errors(batch.model):
                    made = _generated(backend, batch.model, [prompts[place] for place in missing])
            except GenerationStopped as stopped:
                self._store(batch.model, backend, {keys[missing[at]]: made for at, made in stopped.made.items()})
                raise
            seconds = time.monotonic() - started
            fresh = {keys[place]: generation for place, generation in zip(missing, made, strict=True)}
            made_by = self._store(batch.model, backend, fresh)
            generations.update(fresh)
        sources = [stored[key].made_by if key in stored else made_by for key in keys]
        self._add_records(batch, [generations[key] for key in keys], sources, [key in stored for key in keys])
        return BatchRun(batch.model, len(batch.cases), len(missing), seconds, self._new_provenances(sources))

    def _store(self, model: str, backend: Backend, fresh: Mapping[str, Generation]) -> str:
        """Store the replies in the cache and return the id of their provenance."""
        with wrap_backend_errors(model):
            provenance = backend.provenance()
        return self._cache.add_replies(
            list(fresh.items()), model=model, provenance=provenance, replace=self._plan.options.refresh
        )

    def _add_records(
        self, batch: Batch, generations: Sequence[Generation], sources: Sequence[str], cached: Sequence[bool]
    ) -> None:
        answered = [
            (place, generation.text) for place, generation in enumerate(generations) if generation.text is not None
        ]
        coverages = self._judge.coverages(
            [text for _, text in answered], [batch.cases[place].lemmas for place, _ in answered]
        )
        coverage_at = {place: coverage for (place, _), coverage in zip(answered, coverages, strict=True)}
        for place, (case, generation) in enumerate(zip(batch.cases, generations, strict=True)):
            is_echo = generation.text is not None and contains_concept_list(generation.text, case.lemmas)
            self._records[case.id] = Record(
                case, generation, coverage_at.get(place), is_echo, cached[place], sources[place]
            )

    def _new_provenances(self, sources: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        new = sorted(set(sources) - self._reported_provenances)
        self._reported_provenances.update(new)
        return {entry: self._cache.provenance(entry) for entry in new}

    def _backend_of(self, model: str) -> Backend:
        if self._backend is None or self._model != model:
            self.close()
            self._backend = self._open_backend(model)
            self._model = model
        return self._backend


def _generated(backend: Backend, model: str, prompts: Sequence[Prompt]) -> list[Generation]:
    """The generations of the backend; raises BackendError unless there is one Generation for each prompt."""
    made = list(backend.generate(prompts))
    if len(made) != len(prompts):
        raise BackendError(
            f"{model}: the backend returned {counted(len(made), 'generation')} for {counted(len(prompts), 'prompt')}; "
            "its generate must return one for each prompt, in the same order"
        )
    wrong = [one for one in made if not isinstance(one, Generation)]
    if wrong:
        raise BackendError(
            f"{model}: the backend returned {wrong[0]!r} for a prompt; its generate must return Generations"
        )
    return made
