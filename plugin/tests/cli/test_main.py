from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_ocg
from pytest_ocg import cli
from pytest_ocg.cli import COMMANDS, main
from pytest_ocg.errors import OcgError

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(pytest_ocg.__file__).parent.parent)}
HEAVY = {
    "torch",
    "transformers",
    "spacy",
    "openai",
    "pytest",
    "_pytest",
    "numpy",
    "sacrebleu",
    "huggingface_hub",
    "accelerate",
    "bitsandbytes",
    "gguf",
    "scipy",
    "jinja2",
    "psutil",
}
posix = pytest.mark.skipif(os.name != "posix", reason="pipes end otherwise there")
NAMES = [command.name for command in COMMANDS]


def python(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


def raising(error):
    def run(arguments, stream):
        raise error

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--help"],
        ["--version"],
        *([name, "--help"] for name in NAMES),
        ["models"],
        ["cache", "--cache", "nowhere"],
    ],
)
def test_no_command_imports_what_is_heavy(arguments, tmp_path):
    script = (
        "import sys\nfrom pytest_ocg.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write('loaded: ' + ' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    ended = python("-c", script, *arguments, cwd=tmp_path)
    loaded = set(ended.stderr.rpartition("loaded: ")[2].split())
    assert ended.returncode == 0
    assert "pytest_ocg" in loaded
    assert loaded & HEAVY == set()


def test_a_command_imports_no_other_command(tmp_path):
    script = (
        "import sys\nfrom pytest_ocg.cli import main\nmain(sys.argv[1:])\n"
        "print(*(name for name in ('cache', 'gate', 'models') if f'pytest_ocg.cli.{name}' in sys.modules))"
    )
    ended = python("-c", script, "cache", "--cache", "nowhere", cwd=tmp_path)
    assert ended.stdout.splitlines()[-1] == "cache"


def test_the_help_names_every_command(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    for command in COMMANDS:
        assert f"\n    {command.name}" in said
        assert command.summary in " ".join(said.split())


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_its_own_help(capsys, name):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: ocg {name} ")


def test_the_description_of_a_command_keeps_its_capitals(capsys):
    with pytest.raises(SystemExit):
        main(["report", "--help"])
    assert "Write the report of a run: HTML, Markdown or LaTeX." in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["nosuch"], ["cache", "--nosuch"], ["cache", "nosuch"]])
def test_a_wrong_command_line_is_status_2_with_the_usage(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: ocg")


def test_the_version_is_shown(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("ocg ")


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (OcgError("the thing 'x' is wrong; do y"), 2, "ocg: the thing 'x' is wrong; do y\n"),
        (KeyboardInterrupt(), 130, "ocg: interrupted\n"),
        (BrokenPipeError(), 141, ""),
    ],
)
def test_what_stops_a_command_is_a_status_and_at_most_one_line(monkeypatch, capsys, error, status, said):
    monkeypatch.setattr("pytest_ocg.cli.cache.run", raising(error))
    stream = io.StringIO()
    assert main(["cache"], stream) == status
    assert (stream.getvalue(), *capsys.readouterr()) == ("", "", said)


def test_a_mistake_in_the_program_is_not_hidden(monkeypatch):
    monkeypatch.setattr("pytest_ocg.cli.cache.run", raising(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["cache"], io.StringIO())


def test_the_status_of_a_command_is_the_status_of_the_program(monkeypatch):
    monkeypatch.setattr("pytest_ocg.cli.cache.run", lambda arguments, stream: 10)
    assert main(["cache"], io.StringIO()) == 10


def test_results_go_to_the_stream_given(tmp_path, capsys):
    stream = io.StringIO()
    assert main(["cache", "--cache", str(tmp_path), "--json"], stream) == 0
    assert json.loads(stream.getvalue())["models"] == []
    assert capsys.readouterr() == ("", "")


@posix
def test_a_closed_pipe_is_not_a_traceback(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "pytest_ocg.cli", "cache", "--cache", str(tmp_path)],
            env=ENVIRONMENT,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (cli.BROKEN_PIPE, "")
