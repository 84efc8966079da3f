"""Options: what is typed becomes a checked value, or a message that names it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_ocg.errors import OptionError
from pytest_ocg.inputs.selection import SetSample
from pytest_ocg.run import option_readers as option_values
from pytest_ocg.run.options import DECLARATIONS
from pytest_ocg.session.options import read_options


def options(pytester, *arguments):
    return read_options(pytester.parseconfig(*arguments))


def test_without_options_the_defaults_hold(pytester):
    read = options(pytester, "--model", "gemma2-9b")
    assert read.models == ("gemma2-9b",)
    assert (read.concepts, read.sets, read.templates) == ("commongen-lite", None, (0, 1, 2, 3, 4, 5))
    assert (read.conditions, read.shots, read.matcher, read.metrics) == (("ordered",), 0, "inflection", ("auto",))
    assert (read.backend, read.quantization, read.batch_size, read.max_new_tokens) == ("auto", None, None, None)
    assert (read.base_url, read.concurrency) == (None, 16)
    assert (read.gate, read.show_misses, read.refresh, read.output) == ("auto", 5, False, Path("ocg-results"))


def test_the_command_line_wins_over_the_ini_file_and_the_ini_file_over_the_default(pytester):
    pytester.makeini("[pytest]\nocg_concepts = everyday\nocg_templates = 1,2\nocg_trust_remote_code = true\n")
    read = options(pytester, "--model", "m", "--ocg-templates", "4")
    assert (read.concepts, read.templates, read.trust_remote_code) == ("everyday", (4,), True)


def test_models_keep_their_order_and_are_taken_once(pytester):
    read = options(pytester, "--model", "b", "--ocg-model", "a", "--model", "b")
    assert read.models == ("b", "a")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ocg-sets", "twelve"], "--ocg-sets: 'twelve' is not N or N:SEED, such as 12 or 12:7"),
        (["--ocg-sets", "0"], "0 is outside 1 to"),
        (
            ["--ocg-templates", "0,6"],
            "--ocg-templates: '0,6' is not a list of template ids such as 0,3 (6 is outside 0 to 5)",
        ),
        (["--ocg-condition", "orderd"], "'orderd' is not one of ordered, original, both; did you mean 'ordered'?"),
        (["--ocg-shots", "-1"], "--ocg-shots: -1 is outside 0 to 8"),
        (["--ocg-matcher", "lema"], "did you mean 'lemma'?"),
        (["--ocg-metrics", " , "], "--ocg-metrics: ' , ' names nothing"),
        (["--ocg-batch-size", "0"], "--ocg-batch-size: 0 is outside 1 to"),
        (["--ocg-concurrency", "0"], "--ocg-concurrency: 0 is outside 1 to 1024"),
        (["--ocg-batch-size", "many"], "'many' is not a whole number"),
        (["--ocg-quantization", "4"], "'4' is not one of 4bit, 8bit, none"),
        (
            ["--ocg-backend", "replay"],
            "--ocg-backend replay needs a file with the replies to judge; add --ocg-outputs FILE",
        ),
        (["--ocg-backend", "openai", "--ocg-outputs", "x"], "cannot be used with --ocg-backend 'openai'; remove"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_its_option(pytester, arguments, message):
    with pytest.raises(OptionError) as caught:
        options(pytester, "--model", "m", *arguments)
    assert message in str(caught.value)


def test_a_bad_ini_value_is_named_as_one(pytester):
    pytester.makeini("[pytest]\nocg_gate = always\n")
    with pytest.raises(OptionError, match="ini key ocg_gate: 'always' is not one of auto, require, off"):
        options(pytester, "--model", "m")


@pytest.mark.parametrize(
    ("text", "sample"), [("12", SetSample(12, 0)), ("12:7", SetSample(12, 7)), ("1:0", SetSample(1, 0))]
)
def test_a_sample_is_a_number_and_a_seed(text, sample):
    assert option_values.set_sample(text) == sample
    assert option_values.set_sample(str(sample)) == sample


def test_template_ids_are_those_of_the_template_file(monkeypatch):
    own = SimpleNamespace(templates=[SimpleNamespace(id=2), SimpleNamespace(id=7)])
    monkeypatch.setattr("pytest_ocg.inputs.prompts.load_templates", lambda: own)
    assert option_values.template_ids("7,2,7") == (2, 7)
    for text, said in (("2,1", "1 is outside 2 to 7"), ("3", "there is no template 3")):
        with pytest.raises(ValueError, match=rf"{text!r} is not a list of template ids such as 0,3 \({said}\)"):
            option_values.template_ids(text)


@pytest.mark.parametrize(("text", "value"), [("yes", True), ("1", True), ("off", False), ("", False), ("TRUE", True)])
def test_a_flag_reads_what_pytest_reads(text, value):
    assert option_values.flag(text) is value


def test_outputs_imply_the_replay_backend(pytester):
    assert options(pytester, "--model", "m", "--ocg-outputs", "x.jsonl").backend == "replay"


def test_every_lasting_option_has_an_ini_twin_and_every_option_a_help_text(pytester):
    config = pytester.parseconfig()
    for declaration in DECLARATIONS:
        assert declaration.help
        if declaration.has_ini:
            assert config.getini(declaration.dest) is None
