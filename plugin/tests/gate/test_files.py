from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest

from plugin.tests.nouns import results_of, rows_of
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
from pytest_ocg.results.rows import run_rows
from pytest_ocg.results.verdicts import Status

MODEL = "smollm2-135m"
TEXT = f'schema = 1\nmodel = "{MODEL}"\n[selection.full.metrics.coverage_ordered]\nmin = 20.0\n'


def write(path, results):
    """What is written to `path` from the only row of the results."""
    read = results_of(results)
    [measured] = run_rows(read)
    return write_thresholds(path, read, measured)


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


def test_shipped_thresholds_judge_a_run_only_on_request(rootdir):
    assert find_thresholds("gemma2-9b", rootdir=rootdir) is None
    assert find_thresholds("gemma2-9b") is None
    assert find_thresholds("gemma2-9b", Path("published"), rootdir=rootdir) == resource("thresholds") / "gemma2-9b.toml"
    assert find_thresholds(MODEL, Path("published"), rootdir=rootdir) is None


def test_shipped_thresholds_are_not_written_over(results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ThresholdError, match=r"'published'.*--ocg-thresholds"):
        write(Path("published"), results)
    assert list(tmp_path.iterdir()) == []


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
    results["rows"][0]["model"] = "openai_gpt-4o"
    limits = thresholds_for(["openai_gpt-4o"], tmp_path)["openai_gpt-4o"]
    assert evaluate(rows_of(results)[0], limits).status is Status.PASSED
    write(tmp_path, results)
    assert tomllib.loads(path.read_text(encoding="utf-8"))["model"] == written


def test_one_file_is_refused_for_two_models_and_a_folder_is_not(tmp_path):
    with pytest.raises(ThresholdError, match=r"'.*two\.toml'.*'a' and 'b'.*--ocg-thresholds"):
        check_writable(tmp_path / "two.toml", ["a", "b"])
    check_writable(tmp_path / "two.toml", ["a"])
    check_writable(tmp_path, ["a", "b"])
    check_writable(None, ["a", "b"])


def test_an_override_that_does_not_exist_is_refused(tmp_path):
    nowhere = tmp_path / "nowhere"
    with pytest.raises(ThresholdError) as caught:
        find_thresholds("a/b", nowhere)
    assert str(caught.value) == (
        f"thresholds path {str(nowhere)!r} does not exist; pass a threshold file, a folder with the file 'a--b.toml' "
        "for model 'a/b', or 'published'"
    )


def test_a_link_to_nothing_does_not_turn_the_gate_off(tmp_path):
    (tmp_path / f"{MODEL}.toml").symlink_to(tmp_path / "gone")
    with pytest.raises(ThresholdError, match=rf"{MODEL}\.toml'.*TOML file"):
        thresholds_for([MODEL], tmp_path)


def test_a_folder_that_cannot_be_accessed_does_not_turn_the_gate_off(tmp_path):
    (tmp_path / "thresholds").symlink_to("thresholds")
    with pytest.raises(ThresholdError, match=rf"'.*{MODEL}\.toml' cannot be accessed \(.*\)"):
        find_thresholds(MODEL, rootdir=tmp_path)


def test_only_models_with_thresholds_are_returned(rootdir):
    assert list(thresholds_for([MODEL, "no-such-model"], rootdir=rootdir)) == [MODEL]


def test_every_shipped_file_can_be_loaded_and_is_named_for_its_model():
    for path in resource("thresholds").glob("*.toml"):
        assert file_name(load_thresholds(path).model) == path.name


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"schema = 1\n# \xff", "UTF-8 at byte 13"),
        (b"#" * (MAX_FILE_BYTES + 1), f"the limit is {MAX_FILE_BYTES:,}"),
        (b"", "schema is None"),
    ],
)
def test_a_file_that_cannot_be_thresholds_is_refused(tmp_path, content, says):
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(ThresholdError) as caught:
        load_thresholds(path)
    assert str(path) in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + TEXT.encode(), TEXT.replace("\n", "\r\n").encode()])
def test_files_written_on_other_systems_are_read(tmp_path, content):
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    assert load_thresholds(path).model == MODEL


def test_a_written_file_can_be_loaded_and_its_run_passes(tmp_path, results):
    path = (tmp_path / "new" / "x.toml").resolve()
    written = write(tmp_path / "new" / "x.toml", results)
    assert written == load_thresholds(path)
    verdict = evaluate(rows_of(results)[0], written)
    assert verdict.line() == "gate: PASSED smollm2-135m (5 limits hold)"
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_gets_a_file_named_for_the_model(tmp_path, results):
    assert write(tmp_path, results).path == (tmp_path / f"{MODEL}.toml").resolve()


def test_a_refused_renewal_does_not_change_the_file(rootdir, results):
    path = rootdir / "thresholds" / f"{MODEL}.toml"
    results["selection"].update(run=3, complete=False)
    with pytest.raises(ThresholdError, match=r"partial run \(3 of 576 cases\)"):
        write(path, results)
    assert path.read_text(encoding="utf-8") == TEXT
    assert len(list(path.parent.iterdir())) == 1


def test_a_renewed_file_keeps_its_mode_and_stays_behind_its_link(rootdir, tmp_path, results):
    path = rootdir / "thresholds" / f"{MODEL}.toml"
    path.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    assert write(link, results).path == path.resolve()
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    smoke = tomllib.loads(path.read_text(encoding="utf-8"))["selection"]["smoke"]
    assert smoke["metrics"]["coverage_ordered"]["min"] == 20.4


def test_a_path_that_cannot_be_written_is_named(tmp_path, results):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ThresholdError, match=r"x\.toml cannot be written \(.*\).*--ocg-thresholds"):
        write(tmp_path / "file" / "x.toml", results)


@pytest.mark.parametrize(
    ("run", "taken"),
    [
        (("ordered", "original"), "ordered"),
        (("original", "ordered"), "ordered"),
        (("ordered",), "ordered"),
        (("original",), "original"),
    ],
)
def test_a_baseline_is_taken_from_the_ordered_row_if_there_is_one(make_results, run, taken):
    assert [one.row.condition for one in baseline_rows(rows_of(make_results(*run)))] == [taken]


def test_a_baseline_is_taken_from_a_row_of_each_model(make_results):
    results = make_results("original", "ordered", "original")
    results["rows"][2]["model"] = "other"
    found = baseline_rows(rows_of(results))
    assert [(one.row.model, one.row.condition) for one in found] == [(MODEL, "ordered"), ("other", "original")]
