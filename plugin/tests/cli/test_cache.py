from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest

from pytest_ocg.backends.base import Generation
from pytest_ocg.cli import main
from pytest_ocg.cli.cache import size_text
from pytest_ocg.errors import counted
from pytest_ocg.run.cache import cache as cache_module
from pytest_ocg.run.cache.cache import FILE_NAME, Cache


class Terminal(io.StringIO):
    """Standard input with a person at it."""

    def isatty(self):
        return True


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache: two replies by gemma2-9b, of the 1st and the 3rd, and 1,200 by gpt-4o of the 2nd."""
    with Cache.open(tmp_path, pytest.fail) as cache:
        for day, model, rows in ((1, "gemma2-9b", 1), (2, "gpt-4o", 1200), (3, "gemma2-9b", 1)):
            moment = datetime(2026, 11, day, 9, 30, tzinfo=UTC).timestamp()
            monkeypatch.setattr(cache_module.time, "time", lambda moment=moment: moment)
            batch = [(f"{model} {day} {row:04}", Generation("x" * 100)) for row in range(rows)]
            cache.add_replies(batch, model=model, provenance={"day": day})
    return tmp_path


def ocg(*arguments):
    stream = io.StringIO()
    return main(["cache", *map(str, arguments)], stream), stream.getvalue()


def left(folder):
    with Cache.open(folder, pytest.fail) as cache:
        return {usage.model: usage.replies for usage in cache.usage()}


ALL = {"gemma2-9b": 2, "gpt-4o": 1200}


def test_it_shows_what_is_there_by_model(folder):
    status, said = ocg("--cache", folder)
    *table, blank, total = said.splitlines()
    assert status == 0
    assert table == [
        "model      replies      size  provenances             first              last",
        "---------  -------  --------  -----------  ----------------  ----------------",
        "gemma2-9b        2     254 B            2  2026-11-01 09:30  2026-11-03 09:30",
        "gpt-4o       1,200  148.8 kB            1  2026-11-02 09:30  2026-11-02 09:30",
    ]
    assert blank == ""
    assert total.startswith("1,202 replies of 2 models, ")
    assert total.endswith(f"B on disk: {folder / FILE_NAME}")


def test_it_shows_the_same_as_json(folder):
    status, said = ocg("--json", "--cache", folder)
    shown = json.loads(said)
    assert status == 0
    assert shown["path"] == str(folder / FILE_NAME)
    assert shown["size_bytes"] >= 1200 * 100
    assert shown["models"][0] == {
        "model": "gemma2-9b",
        "replies": 2,
        "provenances": 2,
        "payload_bytes": 254,
        "first_stored": "2026-11-01T09:30:00+00:00",
        "last_stored": "2026-11-03T09:30:00+00:00",
    }
    assert [model["model"] for model in shown["models"]] == ["gemma2-9b", "gpt-4o"]


def test_an_empty_cache_is_shown_as_empty(tmp_path):
    Cache.open(tmp_path, pytest.fail).close()
    status, said = ocg("--cache", tmp_path)
    assert (status, said.partition(",")[0]) == (0, "0 replies of 0 models")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], None),
        (["--json"], {"size_bytes": 0, "models": []}),
        (["prune", "--all"], None),
        (["prune", "--all", "--json"], {"deleted": 0}),
    ],
)
def test_a_missing_cache_is_not_created(tmp_path, arguments, expected):
    path = tmp_path / "none" / FILE_NAME
    status, said = ocg("--cache", path.parent, *arguments)
    assert status == 0
    assert not path.parent.exists()
    if expected is None:
        assert said == f"there is no reply cache at {path} yet\n"
    else:
        assert json.loads(said) == {"path": str(path), **expected}


def test_the_default_is_the_users_cache_folder(monkeypatch, folder):
    monkeypatch.setattr("pytest_ocg.cli.cache.default_cache_directory", lambda: folder)
    assert str(folder) in ocg()[1]


def test_a_damaged_cache_is_set_aside_with_a_note(folder, capsys):
    (folder / FILE_NAME).write_text("nonsense " * 100)
    status, said = ocg("--cache", folder, "--json")
    assert (status, json.loads(said)["models"]) == (0, [])
    assert "it was renamed to 'replies.sqlite.damaged-" in capsys.readouterr().err


def test_a_model_name_cannot_write_to_the_terminal(tmp_path):
    with Cache.open(tmp_path, pytest.fail) as cache:
        cache.add_replies([("k", Generation("x"))], model="a\x1b[31mb\nc", provenance={})
    assert ocg("--cache", tmp_path)[1].splitlines()[2].startswith(r"a\x1b[31mb c  ")


@pytest.mark.parametrize(
    ("choice", "deleted", "remains"),
    [
        (["--model", "gpt-4o"], 1200, {"gemma2-9b": 2}),
        (["--model", "gemma2-9b"], 2, {"gpt-4o": 1200}),
        (["--before", "2026-11-02"], 1, {"gemma2-9b": 1, "gpt-4o": 1200}),
        (["--before", "2026-11-03"], 1201, {"gemma2-9b": 1}),
        (["--before", "2026-11-03", "--model", "gemma2-9b"], 1, {"gemma2-9b": 1, "gpt-4o": 1200}),
        (["--before", "2026-11-01"], 0, ALL),
        (["--all"], 1202, {}),
    ],
)
def test_prune_shows_and_deletes_the_chosen_replies(folder, choice, deleted, remains):
    status, said = ocg("prune", "--cache", folder, *choice, "--yes")
    assert status == 0
    for model, replies in ALL.items():
        going = replies - remains.get(model, 0)
        assert [line.split()[:2] for line in said.splitlines() if line.startswith(model)] == (
            [[model, f"{going:,}"]] if going else []
        )
    assert said.splitlines()[-1].startswith(f"{counted(deleted, 'reply')} deleted, ")
    assert left(folder) == remains


@pytest.mark.parametrize(
    ("answer", "status", "remains"),
    [
        ("y\n", 0, {}),
        ("Yes\n", 0, {}),
        ("n\n", 1, ALL),
        ("\n", 1, ALL),
        ("", 1, ALL),
        ("yesterday\n", 1, ALL),
    ],
)
def test_prune_asks_at_a_terminal_and_accepts_only_yes(monkeypatch, capsys, folder, answer, status, remains):
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    ended, said = ocg("prune", "--all", "--cache", folder)
    assert ended == status
    assert capsys.readouterr().err == f"Delete 1,202 replies in {folder / FILE_NAME}? [y/N] "
    assert said.splitlines()[-1].startswith("nothing was deleted" if status else "1,202 replies deleted, ")
    assert left(folder) == remains


@pytest.mark.parametrize("stdin", [io.StringIO("y\n"), None])
def test_prune_without_a_terminal_needs_yes(monkeypatch, capsys, folder, stdin):
    monkeypatch.setattr("sys.stdin", stdin)
    status, _ = ocg("prune", "--model", "gpt-4o", "--cache", folder)
    assert status == 2
    assert capsys.readouterr().err == (
        "ocg: nothing was deleted, because there is no terminal to ask on; "
        f"add --yes to delete 1,200 replies in {folder / FILE_NAME}\n"
    )
    assert left(folder) == ALL


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "needs a choice of replies: add --model NAME, --before YYYY-MM-DD, both, or --all"),
        (["--all", "--model", "gpt-4o"], "--all cannot be used with --model or --before; remove one of them"),
        (["--before", "yesterday"], "--before: 'yesterday' is not a date; write it like 2026-01-31"),
        (["--before", "2026-02-30"], "--before: '2026-02-30' is not a date; write it like 2026-01-31"),
        (["--model", "gemma2-9"], "no replies of the model 'gemma2-9'; did you mean 'gemma2-9b'?"),
        (["--model", "zzz"], "no replies of the model 'zzz'; the cache has 'gemma2-9b', 'gpt-4o'"),
    ],
)
def test_an_unclear_choice_is_an_error_and_nothing_is_deleted(capsys, folder, arguments, said):
    status, _ = ocg("prune", "--cache", folder, "--yes", *arguments)
    assert status == 2
    assert said in capsys.readouterr().err
    assert left(folder) == ALL


@pytest.mark.parametrize(
    "arguments",
    [
        ["--cache", "{}", "--json", "prune", "--model", "gpt-4o", "--yes"],
        ["prune", "--model", "gpt-4o", "--yes", "--json", "--cache", "{}"],
    ],
)
def test_prune_writes_json_for_any_position_of_the_options(folder, capsys, arguments):
    status, said = ocg(*(argument.format(folder) for argument in arguments))
    assert (status, json.loads(said)) == (0, {"path": str(folder / FILE_NAME), "deleted": 1200})
    assert "gpt-4o" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1050, "1.1 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (6_469_356, "6.5 MB"),
        (2_500_000_000, "2.5 GB"),
        (3_000_000_000_000, "3.0 TB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_a_size_has_a_short_unit(size_bytes, text):
    assert size_text(size_bytes) == text
