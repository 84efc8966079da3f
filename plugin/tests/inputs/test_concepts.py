"""Concept sets: what is read, what is refused and with which message."""

from __future__ import annotations

import collections
import hashlib
import json
import sys
from pathlib import Path

import pytest

from pytest_ocg.errors import ConceptError, OptionError
from pytest_ocg.inputs import concept_sources
from pytest_ocg.inputs.concepts import Concept, ConceptSet, load_dataset
from pytest_ocg.inputs.selection import whole_run

SHARED = Path(__file__).parents[4] / "shared" / "data" / "commongen_lite_4.jsonl"
DOG = {"concept_set": ["dog_N", "catch_V"]}
CAT = {"concept_set": ["cat_N", "sleep_V", "sofa_N"]}

PASS = "pass a JSON, JSONL or Parquet file"


def write(path: Path, content: object) -> Path:
    """Bytes as they are, text in UTF-8, a list of rows as JSONL or (for `.json`) as a JSON list."""
    if isinstance(content, list):
        rows = [json.dumps(row) for row in content]
        content = json.dumps(content) if path.suffix == ".json" else "".join(f"{row}\n" for row in rows)
    path.write_bytes(content if isinstance(content, bytes) else str(content).encode())
    return path


def message_of(path: Path) -> str:
    with pytest.raises(ConceptError) as caught:
        load_dataset(str(path))
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("sets.jsonl", [DOG, CAT]),
        ("sets.json", [DOG, CAT]),
        ("sets.txt", json.dumps([DOG, CAT], indent=2)),
        ("no_newline_at_the_end.jsonl", f"{json.dumps(DOG)}\n{json.dumps(CAT)}"),
        ("windows_lines.jsonl", f"{json.dumps(DOG)}\r\n\r\n{json.dumps(CAT)}\r\n"),
        ("byte_order_mark.jsonl", b"\xef\xbb\xbf" + f"{json.dumps(DOG)}\n{json.dumps(CAT)}\n".encode()),
        ("byte_order_mark.json", b"\xef\xbb\xbf \n" + json.dumps([DOG, CAT]).encode()),
        ("other_fields.json", [DOG | {"id": "a", "output": ["\u2028"], "generator": "m", "instruction": "# x"}, CAT]),
        ("line_separator.jsonl", '{"prompt": "a\u2028b", "concept_set": ["dog_N", "catch_V"]}\n' + json.dumps(CAT)),
    ],
)
def test_a_json_list_and_a_jsonl_file_load_alike_with_other_fields_ignored(tmp_path, name, content):
    dataset = load_dataset(str(write(tmp_path / name, content)))
    assert dataset.sets == (
        ConceptSet("cs000", (Concept("dog", "N"), Concept("catch", "V"))),
        ConceptSet("cs001", (Concept("cat", "N"), Concept("sleep", "V"), Concept("sofa", "N"))),
    )
    assert dataset.name == name
    assert dataset.dropped == 0
    assert dataset.sha256 == hashlib.sha256(b"cat_N sleep_V sofa_N\ncatch_V dog_N").hexdigest()


def test_identity_depends_on_content_and_not_on_order_or_layout(tmp_path):
    one = load_dataset(str(write(tmp_path / "one.jsonl", [DOG, CAT])))
    other = load_dataset(str(write(tmp_path / "other.json", [CAT, {"concept_set": ["catch_V", "dog_N"]}])))
    changed = load_dataset(str(write(tmp_path / "changed.json", [CAT, {"concept_set": ["catch_N", "dog_N"]}])))
    assert one.sha256 == other.sha256
    assert one.sha256 != changed.sha256


@pytest.mark.parametrize("word", ["t-shirt", "o'clock", "o\u2019clock", "café", "Ärger", "犬", "हिन्दी", "4x4", "Paris"])
def test_words_may_have_hyphens_apostrophes_accents_and_digits(tmp_path, word):
    dataset = load_dataset(str(write(tmp_path / "sets.jsonl", [{"concept_set": [f"{word}_N", "see_V"]}])))
    assert dataset.sets[0].concepts[0] == Concept(word, "N")


def test_composed_and_decomposed_accents_are_the_same_word(tmp_path):
    message = message_of(write(tmp_path / "sets.jsonl", [{"concept_set": ["caf\u00e9_N", "cafe\u0301_N"]}]))
    assert "concept_set[1] is 'café_N', but concept_set[0] has the same word" in message


@pytest.mark.parametrize(
    ("concepts", "expected"),
    [
        (["dog_N"], "concept_set has 1 concept; 2 to 8 are allowed"),
        ([], "concept_set has 0 concepts; 2 to 8 are allowed"),
        ([f"w{n}_N" for n in range(9)], "concept_set has 9 concepts; 2 to 8 are allowed"),
        ("dog_N#catch_V", """concept_set must be a list such as ["dog_N", "catch_V"], not 'dog_N#catch_V'"""),
        (None, """concept_set must be a list such as ["dog_N", "catch_V"], not None"""),
        (["dog_N", 7], "concept_set[1] must be a string such as 'dog_N', not 7"),
        (["dog_N", ["catch_V"]], "concept_set[1] must be a string such as 'dog_N', not ['catch_V']"),
        (["dog", "catch_V"], "concept_set[0] is 'dog'; a concept is a word and its tag, N for a noun or V for a verb"),
        (["dog_A", "catch_V"], "concept_set[0] is 'dog_A'; a concept is a word and its tag"),
        (["dog_n", "catch_V"], "concept_set[0] is 'dog_n'; a concept is a word and its tag"),
        (["dog_N ", "catch_V"], "concept_set[0] is 'dog_N '; a concept is a word and its tag"),
        (["dog_N", "_V"], "concept_set[1] is '_V'; its word must be 1 to 64 letters"),
        (["dog_N", " _V"], "concept_set[1] is ' _V'; its word must be 1 to 64 letters"),
        (["ice cream_N", "eat_V"], "concept_set[0] is 'ice cream_N'; its word must be"),
        (["ice_cream_N", "eat_V"], "concept_set[0] is 'ice_cream_N'; its word must be"),
        (["and/or_N", "eat_V"], "concept_set[0] is 'and/or_N'; its word must be"),
        (["dog::cat_N", "eat_V"], "concept_set[0] is 'dog::cat_N'; its word must be"),
        (["[dog]_N", "eat_V"], "concept_set[0] is '[dog]_N'; its word must be"),
        (["-dog_N", "eat_V"], "concept_set[0] is '-dog_N'; its word must be"),
        (["do\x00g_N", "eat_V"], r"concept_set[0] is 'do\x00g_N'; its word must be"),
        (["do\x1bg_N", "eat_V"], r"concept_set[0] is 'do\x1bg_N'; its word must be"),
        (["do\u202eg_N", "eat_V"], r"concept_set[0] is 'do\u202eg_N'; its word must be"),
        (["do\ud800g_N", "eat_V"], r"concept_set[0] is 'do\ud800g_N'; its word must be"),
        (["d" * 65 + "_N", "eat_V"], "ddd_N'; its word must be 1 to 64 letters"),
        (["d" * 999 + "_N", "eat_V"], f"'{'d' * 77}...{'d' * 76}_N'; its word must be 1 to 64 letters"),
        (["dog_N", "eat_V", "dog_N"], "concept_set[2] is 'dog_N', but concept_set[0] has the same word"),
        (["cut_N", "cut_V"], "concept_set[1] is 'cut_V', but concept_set[0] has the same word"),
        (["Dog_N", "dog_N"], "concept_set[1] is 'dog_N', but concept_set[0] has the same word"),
    ],
)
@pytest.mark.parametrize(("name", "place"), [("sets.jsonl", ":2"), ("sets.json", "[1]")])
def test_a_concept_set_that_cannot_be_used_is_named_by_file_place_and_field(tmp_path, concepts, expected, name, place):
    path = write(tmp_path / name, [CAT, {"concept_set": concepts}])
    message = message_of(path)
    assert message.startswith(f"{path}{place}: concept_set")
    assert expected in message


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", " contains no concept set"),
        (" \n\n", " contains no concept set"),
        ("[]", " contains no concept set"),
        ('{"concepts": ["dog_N", "eat_V"]}', ":1: the field 'concept_set' is missing"),
        ('{"concept-set": ["dog_N", "eat_V"]}', ":1: the field 'concept_set' is missing; did you mean 'concept-set'?"),
        ('[{"concept_set": ["dog_N", "eat_V"]}, 3]', "[1]: must be an object with a list under 'concept_set', not 3"),
        ('"dog_N"', ":1: must be an object with a list under 'concept_set', not 'dog_N'"),
        ('{"concept_set": ["dog_N", "eat_V"]}\n{"concept_set"', ":2 is not valid JSON, column 15"),
        ('[{"concept_set":\n["dog_N" "eat_V"]}]', " is not valid JSON at line 2, column 10"),
        ('{\n"concept_set": ["dog_N", "eat_V"]\n}', ":1 is not valid JSON, column 2"),
        ("[" * 100_000, " cannot be read as JSON: maximum recursion depth"),
        ('{"n": ' + "1" * 5000 + "}", ":1 cannot be read as JSON: Exceeds the limit"),
        (
            b'{"concept_set": ["dog_N", "eat_V"]}\n{"concept_set": ["caf\xe9_N", "eat_V"]}',
            ":2 is not UTF-8 text (byte 0xe9)",
        ),
        ('{"concept_set": ["dog_N", "eat_V"]}'.encode("utf-16"), ":1 is not UTF-8 text (byte 0xff)"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_line(tmp_path, content, expected):
    path = write(tmp_path / "sets", content)
    assert message_of(path).startswith(f"{path}{expected}")


def test_the_same_set_twice_is_refused_with_both_places(tmp_path):
    path = write(tmp_path / "sets.jsonl", [DOG, CAT, {"concept_set": ["catch_V", "dog_N"]}])
    assert message_of(path) == (
        f"{path}:3: concept_set has the same concepts as {path}:1 (catch_V dog_N); remove one of them"
    )


def test_a_folder_a_missing_file_and_a_huge_file_are_refused(tmp_path, monkeypatch):
    assert message_of(tmp_path) == f"concept file '{tmp_path}' is a folder; {PASS}"
    missing = tmp_path / "sets.jsonl"
    assert message_of(missing) == (
        f"concept file '{missing}' does not exist (pass commongen-lite, everyday or the path of a file)"
    )
    write(missing, [DOG])
    monkeypatch.setattr(concept_sources, "MAX_FILE_BYTES", 20)
    assert message_of(missing) == (
        f"concept file '{missing}' is too large: {missing.stat().st_size} bytes, the limit is 20; {PASS}"
    )
    table = write(tmp_path / "sets.parquet", "PAR1" * 10)
    assert message_of(table) == f"concept file '{table}' is too large: 40 bytes, the limit is 20; {PASS}"


def test_a_device_is_refused_instead_of_read_for_ever():
    assert message_of(Path("/dev/zero")) == f"concept file '/dev/zero' is not a regular file; {PASS}"


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("everyday ", "; did you mean 'everyday'?"),
        ("commongen_lite", "; did you mean 'commongen-lite'?"),
        ("Everyday", "; did you mean 'everyday'?"),
        ("", ""),
        ("a\0b", ""),
        ("x" * 5000, ""),
    ],
)
def test_an_unknown_source_is_refused_with_the_nearest_name(source, hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConceptError) as caught:
        load_dataset(source)
    assert str(caught.value) == (
        f"concept file {source!r} does not exist{hint} (pass commongen-lite, everyday or the path of a file)"
    )


def test_a_revision_works_only_with_commongen_lite():
    with pytest.raises(OptionError, match=r"--ocg-concepts-revision 'main' works only with commongen-lite, not with"):
        load_dataset("everyday", revision="main")


def test_a_parquet_file_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    path = write(tmp_path / "train.parquet", b"PAR1")
    assert message_of(path) == (
        f"{path}: reading Parquet needs pyarrow, which is not installed; run `pip install pyarrow`, "
        "or convert the file to JSONL"
    )


def test_everyday_ships_with_the_package():
    dataset = load_dataset("everyday")
    assert dataset.name == "everyday"
    assert len(dataset.sets) == 200
    assert all(len(entry.concepts) == 4 for entry in dataset.sets)
    assert [dataset.sets[0].id, dataset.sets[199].id] == ["cs000", "cs199"]


@pytest.mark.skipif(not SHARED.exists(), reason="the 192 sets of CommonGen-lite are not on this machine")
def test_the_papers_sets_have_its_make_up():
    dataset = load_dataset(str(SHARED))
    make_ups = collections.Counter(entry.make_up for entry in dataset.sets)
    assert make_ups == {"NNVV": 109, "NNNV": 74, "NVVV": 6, "NNNN": 2, "VVVV": 1}
    assert whole_run(dataset.sets, [0]).cases_per_row == 4608


def test_ten_thousand_sets_load_and_are_numbered_alike(tmp_path):
    path = write(tmp_path / "sets.jsonl", [{"concept_set": [f"w{n}x{k}_N" for k in range(4)]} for n in range(10_000)])
    dataset = load_dataset(str(path))
    assert len(dataset.sets) == 10_000
    assert dataset.sets[9999].id == "cs9999"
