import pytest

from pytest_ocg.backends.base import answer_of, opens_reasoning

TAGS = ("<Thought>", "</Thought>")
OUTPUT = ("<Output>", "</Output>")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<Thought>Hm.</Thought>A dog.", "A dog."),
        ("Hm.</Thought>A dog.", "A dog."),
        ("<Thought>Hm.", None),
        ("<Thought>One.</Thought>No.<Thought>Two.</Thought>A dog.", "A dog."),
        ("<Thought>One.</Thought>Two.</Thought>A dog.", "A dog."),
        ("<Thought>Hm.</Thought>A dog.<Thought>Is it?", "A dog."),
        ("<Thought>Hm.</Thought> <Thought>Is it?", None),
        ("A dog.<Thought>Is it?", "A dog."),
        ("<Thought>Hm.</Thought>", ""),
        ("A dog.", "A dog."),
        ("", ""),
    ],
)
def test_only_what_follows_the_reasoning_block_is_the_answer(text, answer):
    assert answer_of(text, reasoning=TAGS) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Hm.", None),
        ("Hm.</think>A dog.", "A dog."),
        ("<think>Hm.</think>A dog.", "A dog."),
        ("", None),
    ],
)
def test_a_block_that_the_prompt_opened_must_be_closed(text, answer):
    assert answer_of(text, is_open=True) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>Hm.</think>\n\nA dog.", "\n\nA dog."),
        ("  \n<think>Hm.</think>A dog.", "A dog."),
        ("<think>Hm.", None),
        ("The tag </think> ends a block.", "The tag </think> ends a block."),
        ("Use <think> for thoughts.", "Use <think> for thoughts."),
    ],
)
def test_other_models_are_cut_only_if_the_reply_begins_with_reasoning(text, answer):
    assert answer_of(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<Thought>Hm.</Thought><Output>A dog.</Output>", "A dog."),
        ("<Thought>Hm.</Thought><Output>A dog.", "A dog."),
        ("<Thought>Hm.</Thought>A dog.", "A dog."),
        ("<Thought>Hm. <Output>A dog.</Output>", "A dog."),
        ("<Thought>Hm. <Output>A do", None),
        ("<Thought>Not <Output>a cat</Output>.</Thought><Output>A dog.</Output> Done.", "A dog."),
        ("<Thought>Hm.</Thought><Output>A cat.</Output><Output>A dog.</Output>", "A dog."),
    ],
)
def test_the_text_between_answer_tags_is_the_whole_answer(text, answer):
    assert answer_of(text, reasoning=TAGS, answer=OUTPUT) == answer


@pytest.mark.parametrize(
    ("prompt", "reasoning", "opens"),
    [
        ("assistant\n<think>\n", None, True),
        ("assistant\n<think>", None, True),
        ("assistant\n", None, False),
        ("<think>\n\n</think>\n\n", None, False),
        ("assistant\n<Thought>\n", TAGS, True),
        ("assistant\n<think>\n", TAGS, False),
    ],
)
def test_whether_the_prompt_opens_the_block(prompt, reasoning, opens):
    assert opens_reasoning(prompt, reasoning) is opens
