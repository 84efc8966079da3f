import json
from pathlib import Path

import pytest

from pytest_ocg.metrics.bleurt_model import MAX_TOKENS, PairTokenizer, kept_tokens

GOLDEN = Path(__file__).parents[1] / "golden" / "bleurt"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
FRAME_TOKENS = 3


@pytest.fixture(scope="module")
def tokenizer():
    return PairTokenizer(GOLDEN / "spm.model")


def cut_one_by_one(first: int, second: int, room: int) -> tuple[int, int]:
    """The rule itself: the longer text gives up its last token, of equally long ones the second, until both fit."""
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


@pytest.mark.parametrize("expected", EXPECTED["pairs"], ids=lambda row: "{}-{}".format(*row["pair"]))
def test_pairs_become_the_tokens_and_segments_that_bleurt_pytorch_makes(tokenizer, expected):
    reference, candidate = (EXPECTED["texts"][place] for place in expected["pair"])
    encoded = tokenizer.encode_pair(reference, candidate)
    assert list(encoded.tokens) == expected["input_ids"]
    assert [int(place >= encoded.candidate_start) for place in range(len(encoded.tokens))] == expected["token_type_ids"]
    assert (tokenizer.pair_tokens(reference, candidate) > MAX_TOKENS) == expected["is_cut"]


def test_the_reference_has_pairs_cut_on_either_side_special_tokens_and_empty_texts():
    cut = [row["pair"] for row in EXPECTED["pairs"] if row["is_cut"]]
    assert len(cut) == 6
    assert {len(row["input_ids"]) for row in EXPECTED["pairs"] if row["is_cut"]} == {MAX_TOKENS}
    assert any("[SEP]" in text for text in EXPECTED["texts"])
    assert EXPECTED["pairs"][0]["input_ids"] == [2, 3, 3]


def test_cutting_in_one_go_is_cutting_one_by_one():
    sizes = range(14)
    assert [kept_tokens(one, two, room) for one in sizes for two in sizes for room in range(30)] == [
        cut_one_by_one(one, two, room) for one in sizes for two in sizes for room in range(30)
    ]


def test_a_pair_of_exactly_the_most_tokens_is_whole_and_of_one_more_is_cut(tokenizer):
    fitting = "[MASK]" * (MAX_TOKENS - FRAME_TOKENS)
    longer = fitting + "[PAD]"
    assert [tokenizer.pair_tokens(text, "") for text in (fitting, longer)] == [MAX_TOKENS, MAX_TOKENS + 1]
    assert tokenizer.encode_pair(fitting, "").tokens[1:-2] == tokenizer.encode(fitting)
    assert tokenizer.encode_pair(longer, "").tokens == tokenizer.encode_pair(fitting, "").tokens


@pytest.mark.parametrize(
    ("text", "same_as"),
    [("\ud800 dogs", "\ufffd dogs"), ("dogs \udfff", "dogs \ufffd"), ("\ud83d\udc15", "\U0001f415")],
)
def test_texts_that_cannot_be_written_as_utf_8_are_read_with_a_replacement(tokenizer, text, same_as):
    assert tokenizer.encode(text) == tokenizer.encode(same_as)


@pytest.mark.parametrize("text", ["\x00", "\U0001f415\u200d\U0001f9ba", "dog " * 10_000, "\n"])
def test_odd_texts_have_tokens_within_the_vocabulary(tokenizer, text):
    assert all(0 <= token < tokenizer.vocabulary_size for token in tokenizer.encode(text))


@pytest.mark.parametrize("content", [b"", b"not a model"])
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path, content):
    (tmp_path / "spm.model").write_bytes(content)
    with pytest.raises(ValueError, match=r"spm\.model is not a sentencepiece model"):
        PairTokenizer(tmp_path / "spm.model")


def test_a_tokenizer_without_frame_tokens_is_refused(tmp_path):
    import io

    import sentencepiece

    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the dog catches the frisbee"] * 9), model_writer=written, vocab_size=40,
        hard_vocab_limit=False, minloglevel=2, num_threads=1,
    )  # fmt: skip
    (tmp_path / "spm.model").write_bytes(written.getvalue())
    with pytest.raises(ValueError, match=r"spm\.model has no piece '\[CLS\]'"):
        PairTokenizer(tmp_path / "spm.model")
