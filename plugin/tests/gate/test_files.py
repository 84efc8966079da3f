from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path

import pytest

from pytest_ocg.errors import ThresholdError
from pytest_ocg.gate.files import (
    MAX_FILE_BYTES,
    baseline_rows,
    check_writable,
    file_name,
    find_thresholds,
    load_thresholds,
    thresholds_for,
    write_thresholds,
)
from pytest_ocg.gate.judge import evaluate
from pytest_ocg.inputs.files import resource

MODEL = "smollm2-135m"
TEXT = f'schema = 1\nmodel = "{MODEL}"\n[selection.full.metrics.coverage_ordered]\nmin = 20.0\n'


@pytest.fixture
def results(make_results):
    return make_results()


@pytest.fixture
def rootdir(tmp_path):
    (tmp_path / "thresholds").mkdir()
    (tmp_path / "thresholds" / f"{MODEL}.toml").write_text(TEXT, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("smollm2-135m", "smollm2-135m.toml"),
        ("llama3.1-405b", "llama3.1-405b.toml"),
        ("openai:gpt-4o", "openai_gpt-4o.toml"),
        ("openai_gpt-4o", "openai_gpt-4o.toml"),
        ("owner/Name_1+x", "owner--Name_1+x.toml"),
        ("owner/name@v2", "owner--name+v2.toml"),
        ("../../etc/passwd", "passwd.toml"),
        ("/abs/model.gguf", "model.gguf.toml"),
        ("a\x00b\nc", "a_b_c.toml"),
        ("..\\..\\x", "model.._.._x.toml"),
        (".hidden", "model.hidden.toml"),
    ],
)
def test_a_models_file_is_named_as_the_model_is_in_test_ids(model, name):
    assert file_name(model) == name


@pytest.mark.parametrize("model", ["", "..", "///", "é", "\ud800", "x" * 5000, "../" * 5000, "-", "x/../../y", "CON/."])
def test_no_model_name_leaves_the_folder(tmp_path, model):
    name = file_name(model)
    assert Path(name).name == name
    assert (tmp_path / name).resolve().parent == tmp_path.resolve()
    assert name.endswith(".toml")
    assert 6 <= len(name) <= 130
    assert find_thresholds(model, tmp_path) is None


def test_long_names_that_differ_late_have_different_files():
    assert file_name("x" * 200 + "a") != file_name("x" * 200 + "b")


def test_thresholds_are_found_under_the_root_directory(rootdir):
    assert find_thresholds(MODEL, rootdir=rootdir) == rootdir / "thresholds" / f"{MODEL}.toml"
    assert find_thresholds("no-such-model", rootdir=rootdir) is None


def test_shipped_thresholds_hold_nobody_who_did_not_ask_for_them(rootdir):
    assert find_thresholds("gemma2-9b", rootdir=rootdir) is None
    assert find_thresholds("gemma2-9b") is None
    assert find_thresholds("gemma2-9b", Path("published"), rootdir=rootdir) == resource("thresholds") / "gemma2-9b.toml"
    assert find_thresholds(MODEL, Path("published"), rootdir=rootdir) is None


def test_shipped_thresholds_are_not_written_over(results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ThresholdError, match=r"'published' are those that come with the package, and are not written; name a file"
    ):
        write_thresholds(Path("published"), results, results["rows"][0])


def test_an_override_folder_hides_all_others(rootdir, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    assert find_thresholds(MODEL, folder, rootdir=rootdir) is None
    (folder / f"{MODEL}.toml").write_text(TEXT, encoding="utf-8")
    assert find_thresholds(MODEL, folder, rootdir=rootdir) == folder / f"{MODEL}.toml"


def test_an_override_file_is_taken_for_any_model_and_its_model_decides(rootdir):
    path = rootdir / "thresholds" / f"{MODEL}.toml"
    assert find_thresholds("anything", path) == path
    assert {model: limits.model for model, limits in thresholds_for(["a", MODEL], path).items()} == {
        "a": MODEL,
        MODEL: MODEL,
    }


@pytest.mark.parametrize("written", ["openai:gpt-4o", "openai_gpt-4o"])
def test_a_file_may_name_its_model_as_given_or_as_in_test_ids(tmp_path, results, written):
    path = tmp_path / "openai_gpt-4o.toml"
    path.write_text(TEXT.replace(MODEL, written), encoding="utf-8")
    results["selection"]["sets"] = None
    [row] = results["rows"]
    row["model"] = "openai_gpt-4o"
    limits = thresholds_for([row["model"]], tmp_path)[row["model"]]
    assert evaluate(results, row, limits).line() == "gate: PASSED openai_gpt-4o (1 limit holds)"
    write_thresholds(tmp_path, results, row)
    assert tomllib.loads(path.read_text(encoding="utf-8"))["model"] == written


def test_one_file_is_refused_for_two_models_and_a_folder_is_not(tmp_path):
    with pytest.raises(
        ThresholdError,
        match=r"thresholds '.*two.toml' are one file, which cannot hold those of 'a' and 'b'; name a folder that "
        r"exists with --ocg-thresholds, or run one model",
    ):
        check_writable(tmp_path / "two.toml", ["a", "b"])
    check_writable(tmp_path / "two.toml", ["a"])
    check_writable(tmp_path, ["a", "b"])
    check_writable(None, ["a", "b"])


def test_an_override_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(
        ThresholdError,
        match=r"thresholds '.*nowhere' do not exist; give a threshold file, a folder of them, which holds "
        r"'a--b.toml' for model 'a/b', or 'published'",
    ):
        find_thresholds("a/b", tmp_path / "nowhere")


def test_a_link_to_nothing_does_not_turn_the_gate_off(tmp_path):
    (tmp_path / f"{MODEL}.toml").symlink_to(tmp_path / "gone")
    with pytest.raises(ThresholdError, match=rf"thresholds '.*{MODEL}.toml' do not exist; give a TOML file"):
        thresholds_for([MODEL], tmp_path)


def test_a_folder_that_cannot_be_reached_does_not_turn_the_gate_off(tmp_path):
    (tmp_path / "thresholds").symlink_to("thresholds")
    with pytest.raises(ThresholdError, match=r"thresholds '.*smollm2-135m.toml' cannot be reached \(.*\); make them"):
        find_thresholds(MODEL, rootdir=tmp_path)


def test_only_models_with_thresholds_come_back(rootdir):
    assert list(thresholds_for([MODEL, "no-such-model"], rootdir=rootdir)) == [MODEL]


def test_every_shipped_file_can_be_loaded_and_is_named_for_its_model():
    for path in resource("thresholds").glob("*.toml"):
        assert file_name(load_thresholds(path).model) == path.name


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"schema = 1\n# \xff", "is not UTF-8 at byte 13; save it as UTF-8"),
        (b"#" * (MAX_FILE_BYTES + 1), f"are over {MAX_FILE_BYTES} bytes, too large"),
        (b"", "schema is None"),
    ],
)
def test_a_file_that_cannot_be_thresholds_is_refused(tmp_path, content, said):
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(ThresholdError) as caught:
        load_thresholds(path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + TEXT.encode(), TEXT.replace("\n", "\r\n").encode()])
def test_files_written_on_other_systems_are_read(tmp_path, content):
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    assert load_thresholds(path).model == MODEL


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes in its file system")
def test_a_folder_or_a_pipe_is_no_threshold_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, said in ((tmp_path, "are a folder"), (tmp_path / "pipe", "are not a regular file")):
        with pytest.raises(ThresholdError, match=said):
            load_thresholds(path)


def test_what_is_written_can_be_loaded_and_the_run_holds_it(tmp_path, results):
    path = write_thresholds(tmp_path / "new" / "x.toml", results, results["rows"][0])
    assert path == (tmp_path / "new" / "x.toml").resolve()
    verdict = evaluate(results, results["rows"][0], load_thresholds(path))
    assert verdict.line() == "gate: PASSED smollm2-135m (5 limits hold)"
    assert [file.name for file in path.parent.iterdir()] == ["x.toml"]


def test_a_folder_gets_a_file_named_for_the_model(tmp_path, results):
    assert write_thresholds(tmp_path, results, results["rows"][0]).name == f"{MODEL}.toml"


def test_a_refused_renewal_leaves_the_file_as_it_is(rootdir, results):
    path = rootdir / "thresholds" / f"{MODEL}.toml"
    results["selection"].update(run=3, complete=False)
    with pytest.raises(ThresholdError, match=r"need a whole run without errors: partial run \(3 of 576 cases\)"):
        write_thresholds(path, results, results["rows"][0])
    assert path.read_text(encoding="utf-8") == TEXT
    assert len(list(path.parent.iterdir())) == 1


def test_a_renewed_file_keeps_its_mode_and_its_place_behind_a_link(rootdir, tmp_path, results):
    path = rootdir / "thresholds" / f"{MODEL}.toml"
    path.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    assert write_thresholds(link, results, results["rows"][0]) == path.resolve()
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert (
        tomllib.loads(path.read_text(encoding="utf-8"))["selection"]["smoke"]["metrics"]["coverage_ordered"]["min"]
        == 20.4
    )


def test_a_place_that_cannot_be_written_is_named(tmp_path, results):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ThresholdError, match=r"x.toml: cannot be written \(.*\); choose another place with"):
        write_thresholds(tmp_path / "file" / "x.toml", results, results["rows"][0])


@pytest.mark.parametrize("conditions", [("ordered", "original"), ("original", "ordered"), ("ordered",)])
def test_a_baseline_is_taken_from_the_ordered_row(make_results, conditions):
    assert [row["condition"] for row in baseline_rows(make_results(*conditions))] == ["ordered"]


def test_a_baseline_is_taken_from_what_was_run(make_results):
    assert [row["condition"] for row in baseline_rows(make_results("original"))] == ["original"]
