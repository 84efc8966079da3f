"""Prompts: the instruction templates, and the turns that are built from them for one list of concepts.

Defined in docs/definitions.md, Prompts.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pytest_ocg.errors import OptionError, TemplateError
from pytest_ocg.inputs.files import check_keys, read_toml, resource, text_value

CONDITIONS = ("ordered", "original")
PLACEHOLDER = "{concepts}"


@dataclass(frozen=True, slots=True)
class Template:
    """One instruction in both conditions; `{concepts}` is the placeholder for the concepts."""

    id: int
    ordered: str
    original: str

    def text(self, condition: str) -> str:
        """The instruction in this condition."""
        return self.ordered if condition == "ordered" else self.original


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example for one-shot and few-shot prompts: concepts, and an answer that uses them in this order."""

    concepts: tuple[str, ...]
    answer: str


class Form(NamedTuple):
    """The turns before the question, and the question's text before and after the concepts."""

    opening: tuple[Message, ...]
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Templates:
    """The system text, the templates and the worked examples of a template file.

    `sha256` is over the content, so comments and layout of the file do not matter. `forms` has the key template,
    condition and shots; all prompts with the same key share its turns.
    """

    system: str
    templates: tuple[Template, ...]
    examples: tuple[Example, ...]
    sha256: str
    forms: Mapping[tuple[int, str, int], Form] = field(repr=False, compare=False)


def build_prompt(templates: Templates, concepts: Sequence[str], *, template: int, condition: str, shots: int) -> Prompt:
    """The turns of a prompt for the concepts in this order: system, two for each worked example, the question.

    Raises OptionError if the template, the condition or the number of shots does not exist.
    """
    form = templates.forms.get((template, condition, shots))
    if form is None:
        raise OptionError(_missing_form(templates, template, condition, shots))
    opening, before, after = form
    words = tuple(concepts)
    asked = Message("user", before + " ".join(words) + after)
    return Prompt(words, template, condition, shots, (*opening, asked))


def load_templates(path: Path | None = None) -> Templates:
    """The templates of a TOML file, by default the six of the benchmark.

    Raises TemplateError, which names the file and the key.
    """
    path = path or resource("fixtures", "templates.toml")
    keys = ("system", "order_phrase", "templates", "examples")
    table = check_keys(read_toml(path, TemplateError), keys, keys, str(path), TemplateError)
    system = text_value(table, "system", str(path), TemplateError)
    phrase = text_value(table, "order_phrase", str(path), TemplateError)
    templates = tuple(_template(entry, phrase, place) for place, entry in _entries(table, "templates", path))
    examples = tuple(_example(entry, place) for place, entry in _entries(table, "examples", path))
    ids = [template.id for template in templates]
    if not ids or len(set(ids)) != len(ids):
        raise TemplateError(f"{path}: templates must be one or more with different ids, not {ids!r}")
    content = [
        system,
        [[template.id, template.ordered, template.original] for template in templates],
        [[example.concepts, example.answer] for example in examples],
    ]
    digest = hashlib.sha256(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8")).hexdigest()
    return Templates(system, templates, examples, digest, _forms(system, templates, examples))


def _forms(system: str, templates: Sequence[Template], examples: Sequence[Example]) -> dict[tuple[int, str, int], Form]:
    forms = {}
    for template, condition in itertools.product(templates, CONDITIONS):
        before, _, after = template.text(condition).partition(PLACEHOLDER)
        turns = [Message("system", system)]
        forms[template.id, condition, 0] = Form(tuple(turns), before, after)
        for shots, example in enumerate(examples, 1):
            turns.append(Message("user", before + " ".join(example.concepts) + after))
            turns.append(Message("assistant", example.answer))
            forms[template.id, condition, shots] = Form(tuple(turns), before, after)
    return forms


def _entries(table: Mapping[str, Any], key: str, path: Path) -> list[tuple[str, object]]:
    entries = table[key]
    if not isinstance(entries, list):
        raise TemplateError(f"{path}: {key} must be a list of [[{key}]] tables, not {entries!r}")
    return [(f"{path}: {key}[{index}]", entry) for index, entry in enumerate(entries)]


def _template(entry: object, phrase: str, place: str) -> Template:
    table = check_keys(entry, ("id", "text"), ("id", "text"), place, TemplateError)
    identity, text = table["id"], text_value(table, "text", place, TemplateError)
    if type(identity) is not int or identity < 0:
        raise TemplateError(f"{place}: id must be a whole number from 0, not {identity!r}")
    for part, name in ((PLACEHOLDER, "the placeholder for the concepts"), (phrase, "the order_phrase")):
        if text.count(part) != 1:
            raise TemplateError(
                f"{place}: text must contain {part!r}, {name}, once, not {text.count(part)} times: {text!r}"
            )
    return Template(identity, text, text.replace(phrase, ""))


def _example(entry: object, place: str) -> Example:
    table = check_keys(entry, ("concepts", "answer"), ("concepts", "answer"), place, TemplateError)
    concepts, answer = table["concepts"], text_value(table, "answer", place, TemplateError)
    if not isinstance(concepts, list) or not all(isinstance(word, str) and word.strip() for word in concepts):
        raise TemplateError(f"{place}: concepts must be a list of words, not {concepts!r}")
    position = 0
    for word in concepts:
        found = answer.find(word, position)
        if found < 0:
            raise TemplateError(
                f"{place}: answer must use the concepts in their order, but {word!r} does not follow: {answer!r}"
            )
        position = found + len(word)
    return Example(tuple(concepts), answer)


def _missing_form(templates: Templates, template: int, condition: str, shots: int) -> str:
    ids = [entry.id for entry in templates.templates]
    if template not in ids:
        return f"template {template!r} does not exist; choose from {', '.join(map(str, ids))}"
    if condition not in CONDITIONS:
        return f"condition {condition!r}: must be one of {', '.join(CONDITIONS)}"
    return f"shots {shots!r}: must be from 0 to {len(templates.examples)}, the number of worked examples"


Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt of one case: the turns, and what they ask for.

    `concepts` are the lemmas in the order asked for. `messages` start with the system turn; a backend whose model has
    no system role moves it into the first user turn.
    """

    concepts: tuple[str, ...]
    template: int
    condition: str
    shots: int
    messages: tuple[Message, ...]


def fold_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The turns without a system turn; its text is put before the first user turn, with a blank line between."""
    system = [message.content for message in messages if message.role == "system"]
    turns = [message for message in messages if message.role != "system"]
    first = next((place for place, turn in enumerate(turns) if turn.role == "user"), None)
    if not system or first is None:
        return tuple(turns)
    turns[first] = Message("user", "\n\n".join([*system, turns[first].content]))
    return tuple(turns)
