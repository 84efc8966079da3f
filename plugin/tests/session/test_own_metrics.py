"""A metric of one's own: registered by a hook, measured like a shipped one, and harmless where it fails."""

import pytest

CONFTEST = """
from pytest_ocg.metrics.base import SetStatistic, measurement


class Words:
    name = "words"

    def signature(self):
        return "words|split:space"

    def measure(self, replies):
        {first}
        statistics = {{
            key: SetStatistic(float(sum(len(text.split()) for text in texts)), len(texts))
            for key, texts in replies.items()
        }}
        return measurement(statistics, self.signature(), reason="no reply")


def pytest_ocg_metrics():
    return {{{name!r}: Words}}
"""


def conftest(*, name="words", first="pass"):
    return CONFTEST.format(name=name, first=first)


def test_a_users_own_metric_is_in_the_table_and_the_results(bench):
    bench.pytester.makeconftest(conftest())
    result = bench.run("-v")
    [row] = bench.results()["rows"]
    score = row["metrics"]["words"]
    expected = [len(line["reply"].split()) for line in bench.generations()]
    assert score["value"] == pytest.approx(sum(expected) / len(expected))
    assert (score["signature"], score["n"]) == ("words|split:space", 72)
    assert set(row["statistics"]["words"]["0"]) == {"cs000", "cs001", "cs002"}
    result.stdout.fnmatch_lines(["model * words", f"scripted_quarter*{score['value']:.2f}"])


def test_it_can_be_asked_for_alone_and_left_out(bench):
    bench.pytester.makeconftest(conftest())
    bench.run("--ocg-metrics", "words")
    assert "pbleu" not in bench.results()["rows"][0]["statistics"]
    assert bench.results()["rows"][0]["metrics"]["words"]["value"] > 0
    bench.run("--ocg-metrics", "pbleu")
    assert "words" not in bench.results()["rows"][0]["metrics"]


def test_a_metric_that_fails_has_a_reason_and_the_others_have_values(bench):
    bench.pytester.makeconftest(conftest(first="raise ZeroDivisionError('of mine')"))
    result = bench.run()
    result.stdout.fnmatch_lines(["no value: words: words failed with ZeroDivisionError: of mine"])
    metrics = bench.results()["rows"][0]["metrics"]
    assert metrics["words"]["value"] is None
    assert metrics["pbleu"]["value"] is not None


@pytest.mark.parametrize("name", ["pbleu", "coverage_ordered", "all", "Words", "my words", ""])
def test_a_name_that_cannot_be_used_is_a_usage_error(bench, name):
    bench.pytester.makeconftest(conftest(name=name))
    result = bench.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: metric {name!r} cannot be added by that name*"])


def test_a_misspelt_name_of_ones_own_is_told_with_the_nearest(bench):
    bench.pytester.makeconftest(conftest())
    result = bench.run("--ocg-metrics", "wods")
    result.stderr.fnmatch_lines(["ERROR: unknown metric 'wods'; did you mean 'words'?*"])


OF_NUMPY = """
import numpy as np
from pytest_ocg import ScriptedBackend
from pytest_ocg.metrics.base import Measurement, Score, SetStatistic

class Name(str):
    pass

class Words:
    name = "words"

    def signature(self):
        return Name("words")

    def measure(self, replies):
        lengths = {key: np.array([len(text) for text in texts]) for key, texts in replies.items()}
        value = np.mean(np.concatenate(list(lengths.values())))
        sums = {key: SetStatistic(numbers.sum(), numbers.size) for key, numbers in lengths.items()}
        return Measurement(Score(value, np.int64(len(replies)), self.signature()), {}, sums)

class Mine(ScriptedBackend):
    def identity(self):
        return {**super().identity(), "version": Name("1")}

def pytest_ocg_metrics():
    return {"words": Words}

def pytest_ocg_make_backend(spec, settings):
    return Mine(lambda prompt: " ".join(prompt.concepts))
"""


def test_numbers_of_numpy_and_subclasses_of_str_are_written(bench):
    bench.pytester.makeconftest(OF_NUMPY)
    bench.run()
    [row] = bench.results()["rows"]
    lengths = [len(line["reply"]) for line in bench.generations()]
    assert row["metrics"]["words"]["value"] == pytest.approx(sum(lengths) / len(lengths))
    assert row["identity"]["version"] == "1"
