"""Test cases: every model, condition, template, concept set and order, with ids that `-k` can select."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_ocg.inputs.concepts import Concept, ConceptSet


@dataclass(frozen=True)
class Case:
    """One prompt of the benchmark: one model, one template, and one order of one concept set."""

    model: str
    condition: str
    shots: int
    template: int
    set_id: str
    concepts: tuple[Concept, ...]

    @cached_property
    def id(self) -> str:
        """The id in the test name: `gemma2-9b-ordered-t0-VNNV-cs042-catch_dog_frisbee_throw`.

        A one-shot case has `1shot` after its condition, so that `--lf` does not confuse it with the zero-shot case.
        """
        condition = f"{self.condition}-{self.shots}shot" if self.shots else self.condition
        words = "_".join(self.lemmas)
        return f"{self.model}-{condition}-t{self.template}-{self.pattern}-{self.set_id}-{words}"

    @cached_property
    def lemmas(self) -> tuple[str, ...]:
        """The concepts without their tags, in the order asked for."""
        return tuple(concept.lemma for concept in self.concepts)

    @cached_property
    def pattern(self) -> str:
        """The part-of-speech tags in the order asked for (docs/definitions.md, The task): `VNNV`."""
        return "".join(concept.tag for concept in self.concepts)


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases of one model that are generated together."""

    number: int
    model: str
    cases: tuple[Case, ...]


def expand_cases(
    models: Sequence[str],
    sets: Sequence[ConceptSet],
    *,
    conditions: Sequence[str],
    templates: Sequence[int],
    shots: int,
) -> list[Case]:
    """All cases; the model changes slowest and the order fastest. Equal arguments give equal lists."""
    ordered_sets = [(entry.id, list(itertools.permutations(entry.concepts))) for entry in sets]
    return [
        Case(model, condition, shots, template, set_id, order)
        for model, condition, template in itertools.product(models, conditions, templates)
        for set_id, orders in ordered_sets
        for order in orders
    ]


def cut_batches(cases: Sequence[Case], sizes: dict[str, int]) -> list[Batch]:
    """The cases, in the order given, cut into batches of one model with at most `sizes[model]` cases each."""
    batches: list[Batch] = []
    for model, group in itertools.groupby(cases, key=lambda case: case.model):
        of_model = list(group)
        for start in range(0, len(of_model), sizes[model]):
            batches.append(Batch(len(batches), model, tuple(of_model[start : start + sizes[model]])))
    return batches
