"""Verdicts that are reached once and kept, and backends that do what no backend should.

A verdict is kept by what was asked and what came, and by the rules that it was reached under. A backend that breaks
ends the run with one message, which names the model and the way to know more.
"""

import pytest

from pytest_ocg.run import runner
from pytest_ocg.run.cache.cache import Cache
from pytest_ocg.run.judging.coverage import judge
from pytest_ocg.run.judging.words import Word
from pytest_ocg.run.runner import Judge

REPLY = "a dog catches the frisbee"
ASKED = ("dog", "catch")


class Analyser:
    """Cuts at spaces; what it was asked to read is noted."""

    read: list[str] = []  # noqa: RUF012 - emptied for each test

    def analyse(self, texts):
        Analyser.read += texts
        return [words_of(text) for text in texts]


def words_of(text):
    return tuple(Word(text.index(word), word, word.removesuffix("es")) for word in text.split())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "Analyser", Analyser)
    Analyser.read = []
    with Cache.open(tmp_path, pytest.fail) as opened:
        yield opened


def test_a_verdict_is_what_the_rules_say_of_the_words_of_the_reply(cache):
    asked = [ASKED, ("catch", "dog"), ("dog", "throw")]
    expected = [judge(words_of(REPLY), concepts) for concepts in asked]
    assert Judge(cache, "inflection").coverages([REPLY] * 3, asked) == expected
    assert [verdict.in_order for verdict in expected] == [True, False, False]
    assert [verdict.order_break for verdict in expected] == [None, "dog", None]
    assert Analyser.read == [REPLY]


def test_a_question_answered_before_is_answered_alike_without_looking_at_words(cache, monkeypatch):
    first = Judge(cache, "inflection").coverages([REPLY, "rain", REPLY], [ASKED, ASKED, ("frisbee",)])
    monkeypatch.setattr(runner, "find_concepts", None)
    monkeypatch.setattr(runner, "unpack_words", None)
    assert Judge(cache, "inflection").coverages([REPLY, "rain", REPLY], [ASKED, ASKED, ("frisbee",)]) == first


def test_words_read_before_serve_another_question(cache):
    Judge(cache, "inflection").coverages([REPLY], [ASKED])
    [verdict] = Judge(cache, "inflection").coverages([REPLY], [("frisbee", "dog")])
    assert (verdict.missing, verdict.order_break) == ((), "dog")
    assert Analyser.read == [REPLY]


def test_another_matcher_reaches_its_own_verdict(cache):
    reply = "he rides"
    [by_form] = Judge(cache, "inflection").coverages([reply], [("ride",)])
    [by_lemma] = Judge(cache, "lemma").coverages([reply], [("ride",)])
    assert (by_form.is_covered, by_lemma.is_covered) == (True, False)


@pytest.mark.parametrize("concepts", [("dog",), ("dog", "catch", "frisbee", "throw")])
@pytest.mark.parametrize("reply", ["", "rain", "dog", "dog dog catches\nfrisbee \ud800"])
def test_verdicts_of_any_number_of_concepts_survive_the_cache(cache, reply, concepts):
    first = Judge(cache, "inflection").coverages([reply], [concepts])
    assert Judge(cache, "inflection").coverages([reply], [concepts]) == first
    assert len(first[0].positions) == len(concepts)


BROKEN = """
from pytest_ocg.backends.scripted import ScriptedBackend, quarter

class Broken(ScriptedBackend):
    def generate(self, prompts):
        with open("asked.log", "a") as log:
            log.write("asked\\n")
        made = super().generate(prompts)
        if prompts[0].concepts[0] == "bake":
            return made
        {generate}

    def provenance(self):
        {provenance}
        return super().provenance()

def pytest_ocg_make_backend(spec, settings):
    return Broken(quarter, batch_size=6)
"""


def broken(*, generate="return made", provenance="pass"):
    return BROKEN.format(generate=generate, provenance=provenance)


@pytest.mark.parametrize(
    ("conftest", "message"),
    [
        (
            broken(generate="raise RuntimeError('of torch')"),
            "*RuntimeError: of torch*",
        ),
        (broken(generate="return None"), "*TypeError: 'NoneType' object is not iterable*"),
        (broken(generate="return made[1:]"), "*5 generations for 6 prompts*"),
        (
            broken(generate="return ['a'] * 6"),
            "*'a' for a prompt*",
        ),
        (broken(provenance="1 / 0"), "*ZeroDivisionError: division by zero*"),
    ],
    ids=["error", "None", "too few", "texts", "provenance"],
)
def test_a_backend_that_breaks_ends_the_run_with_one_message(bench, conftest, message):
    bench.pytester.makeconftest(conftest)
    result = bench.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    shown = result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines([f"*scripted_quarter: {message}"])
    assert "Traceback" not in shown
    assert shown.count("conftest.py") == 0


def test_it_is_asked_once_and_what_it_made_before_is_kept(bench):
    bench.pytester.makeconftest(broken(generate="raise RuntimeError('of torch')"))
    bench.run()
    asked = (bench.path / "asked.log").read_text().count("asked")
    assert bench.results("ocg-results/partial")["selection"]["run"] == (asked - 1) * 6 > 0
    bench.pytester.makeconftest(broken())
    bench.run()
    assert bench.results()["rows"][0]["counts"]["cached"] == (asked - 1) * 6


def test_the_traceback_is_in_the_log_file_and_not_on_the_terminal(bench):
    bench.pytester.makeconftest(broken(generate="raise RuntimeError('of torch')"))
    result = bench.run("-n", "0", "--log-file", "run.log")
    assert "conftest.py" not in result.stdout.str() + result.stderr.str()
    log = (bench.path / "run.log").read_text()
    assert "scripted_quarter: the backend failed" in log
    assert "conftest.py" in log
    assert log.rstrip().endswith("RuntimeError: of torch")


def test_workers_end_with_the_same_message(bench):
    bench.pytester.makeconftest(broken(generate="raise RuntimeError('of torch')"))
    result = bench.run("-n", "2")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*scripted_quarter: *RuntimeError: of torch*"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_a_reply_that_is_none_ends_the_run_naming_what_was_asked(bench):
    bench.pytester.makeconftest(
        "from pytest_ocg.backends.scripted import ScriptedBackend\n"
        "def pytest_ocg_make_backend(spec, settings):\n"
        "    return ScriptedBackend(lambda prompt: None, name='mine')\n"
    )
    result = bench.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["*scripted backend 'mine': its function returned None for 'bake cake kitchen smile'; *"]
    )
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("lambda prompt: 'x'", "model 'scripted_quarter': pytest_ocg_make_backend returned <function *>, which has no "
         "identity, preferred_batch_size, generate, provenance, close; return an object with *pytest_ocg.Backend*"),
        ("ScriptedBackend", "scripted_quarter: the backend failed with TypeError: *identity() missing 1 required *"),
    ],
    ids=["function", "class"],
)  # fmt: skip
def test_what_is_no_backend_is_a_usage_error(bench, made, message):
    bench.pytester.makeconftest(
        "from pytest_ocg.backends.scripted import ScriptedBackend\n"
        f"def pytest_ocg_make_backend(spec, settings):\n    return {made}\n"
    )
    result = bench.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
