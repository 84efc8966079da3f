"""What a user is told of a backend that does what no backend should: once, with the model and the way to know more."""

import pytest

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
            "the backend failed with RuntimeError: of torch; its traceback is *",
        ),
        (broken(generate="return None"), "the backend failed with TypeError: 'NoneType' object is not iterable; *"),
        (
            broken(generate="return made[1:]"),
            "the backend returned 5 generations for 6 prompts; its generate must return*",
        ),
        (
            broken(generate="return ['a'] * 6"),
            "the backend returned 'a' for a prompt; its generate must return Generations*",
        ),
        (broken(provenance="1 / 0"), "the backend failed with ZeroDivisionError: division by zero; *"),
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
    result.stdout.fnmatch_lines(
        ["*scripted_quarter: the backend failed with RuntimeError: of torch; its traceback is *"]
    )
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_a_reply_that_is_none_ends_the_run_naming_what_was_asked(bench):
    bench.pytester.makeconftest(
        "from pytest_ocg.backends.scripted import ScriptedBackend\n"
        "def pytest_ocg_make_backend(spec, settings):\n"
        "    return ScriptedBackend(lambda prompt: None, name='mine')\n"
    )
    result = bench.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*scripted backend 'mine' was told to reply None to 'bake cake kitchen smile'; its *"])
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("lambda prompt: 'x'", "model 'scripted_quarter': pytest_ocg_make_backend returned <function *>, which has no "
         "identity, preferred_batch_size, generate, provenance, close; return an object with *base.Backend*"),
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
