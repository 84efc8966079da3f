"""Prompts: the exact texts of the benchmark, and what a template file must be."""

from __future__ import annotations

import itertools

import pytest

from pytest_ocg.errors import OptionError, TemplateError
from pytest_ocg.inputs.files import resource
from pytest_ocg.inputs.prompts import CONDITIONS, Message, build_prompt, load_templates

SYSTEM = Message("system", "You are a helpful assistant. Please generate only an answer.")
DOG = ("dog", "catch", "throw", "frisbee")
TEXTS = {
    (0, "ordered"): "Concepts: dog catch throw frisbee\n\n"
    "Write a sentence that includes all these words in the specified order.\n\nAnswer:",
    (1, "ordered"): "Keywords: dog catch throw frisbee\n\n"
    "What is a sentence that includes all these keywords in the specified order?\n\nAnswer:",
    (2, "ordered"): "Here are some concepts: dog catch throw frisbee\n\n"
    "What is a sentence about these concepts in the specified order?\n\nAnswer:",
    (3, "ordered"): "Produce a sentence which mentions all of these concepts in the specified order: "
    "dog catch throw frisbee\n\nAnswer:",
    (4, "ordered"): "Write a sentence about the following things in the specified order:\n\n"
    "dog catch throw frisbee\n\nAnswer:",
    (5, "ordered"): "Generate a sentence that includes all the following words in the specified order: "
    "dog catch throw frisbee\n\nAnswer:",
    (0, "original"): "Concepts: dog catch throw frisbee\n\nWrite a sentence that includes all these words.\n\nAnswer:",
    (1, "original"): "Keywords: dog catch throw frisbee\n\n"
    "What is a sentence that includes all these keywords?\n\nAnswer:",
    (2, "original"): "Here are some concepts: dog catch throw frisbee\n\n"
    "What is a sentence about these concepts?\n\nAnswer:",
    (3, "original"): "Produce a sentence which mentions all of these concepts: dog catch throw frisbee\n\nAnswer:",
    (4, "original"): "Write a sentence about the following things:\n\ndog catch throw frisbee\n\nAnswer:",
    (5, "original"): "Generate a sentence that includes all the following words: dog catch throw frisbee\n\nAnswer:",
}


@pytest.fixture(scope="module")
def templates():
    return load_templates()


@pytest.mark.parametrize(("template", "condition"), TEXTS)
def test_zero_shot_prompts_are_the_benchmarks_own_word_for_word(templates, template, condition):
    prompt = build_prompt(templates, DOG, template=template, condition=condition, shots=0)
    assert prompt.messages == (SYSTEM, Message("user", TEXTS[template, condition]))
    assert (prompt.concepts, prompt.template, prompt.condition, prompt.shots) == (DOG, template, condition, 0)


@pytest.mark.parametrize(("template", "condition"), TEXTS)
def test_one_shot_prompts_show_the_papers_ideal_example_in_the_same_template_and_condition(
    templates, template, condition
):
    prompt = build_prompt(templates, DOG, template=template, condition=condition, shots=1)
    assert prompt.messages == (
        SYSTEM,
        Message("user", TEXTS[template, condition].replace(" ".join(DOG), "apple place tree pick")),
        Message("assistant", "My favorite words are apple, place, tree, and pick."),
        Message("user", TEXTS[template, condition]),
    )


def test_more_shots_add_examples_before_the_question_and_keep_the_first(templates):
    prompts = [build_prompt(templates, DOG, template=3, condition="ordered", shots=shots) for shots in range(9)]
    for shots, prompt in enumerate(prompts):
        assert [message.role for message in prompt.messages] == ["system"] + ["user", "assistant"] * shots + ["user"]
        assert prompt.messages[:-1] == prompts[8].messages[: 1 + 2 * shots]
        assert prompt.messages[-1] == prompts[0].messages[-1]


def test_examples_are_all_different_and_share_no_word_with_each_other(templates):
    words = [word for example in templates.examples for word in example.concepts]
    assert len(templates.examples) == 8
    assert len(words) == len(set(words)) == 32


def test_concepts_may_be_any_number_in_any_order(templates):
    prompt = build_prompt(templates, ["b", "a"], template=0, condition="original", shots=0)
    assert prompt.concepts == ("b", "a")
    assert prompt.messages[1].content.startswith("Concepts: b a\n\n")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"template": 6}, "template 6 does not exist; choose from 0, 1, 2, 3, 4, 5"),
        ({"template": -1}, "template -1 does not exist; choose from 0, 1, 2, 3, 4, 5"),
        ({"condition": "both"}, "condition 'both': must be one of ordered, original"),
        ({"shots": 9}, "shots 9: must be from 0 to 8, the number of worked examples"),
        ({"shots": -1}, "shots -1: must be from 0 to 8, the number of worked examples"),
    ],
)
def test_a_prompt_that_does_not_exist_is_refused_with_the_choices(templates, choice, message):
    with pytest.raises(OptionError) as caught:
        build_prompt(templates, DOG, **({"template": 0, "condition": "ordered", "shots": 0} | choice))
    assert str(caught.value) == message


def test_the_prompts_of_a_whole_run_share_their_example_turns(templates):
    lists = list(itertools.permutations(DOG)) * 192
    built = [
        build_prompt(templates, words, template=template.id, condition="ordered", shots=1)
        for template in templates.templates
        for words in lists
    ]
    assert len(built) == 27_648
    assert len({id(prompt.messages[1]) for prompt in built}) == len(templates.templates)


def test_the_hash_is_of_the_content_and_not_of_the_layout(templates, tmp_path):
    text = resource("fixtures", "templates.toml").read_text(encoding="utf-8")
    path = tmp_path / "templates.toml"
    path.write_text("# a comment\n" + text.replace("\n\n[[", "\n\n\n[["), encoding="utf-8-sig")
    assert load_templates(path).sha256 == templates.sha256
    for old, new in [
        ("generate only", "write only"),
        ("Keywords:", "Words:"),
        ("My favorite", "The best"),
        ("id = 5", "id = 6"),
        (" in the specified order", " in order"),
    ]:
        path.write_text(text.replace(old, new), encoding="utf-8")
        assert load_templates(path).sha256 != templates.sha256, old


MINIMAL = """
system = "S"
order_phrase = " in order"
examples = []
[[templates]]
id = 0
text = "Use {concepts} in order."
"""


def test_a_users_file_may_have_one_template_and_no_examples(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(MINIMAL, encoding="utf-8")
    own = load_templates(path)
    texts = [
        build_prompt(own, DOG, template=0, condition=condition, shots=0).messages[1].content for condition in CONDITIONS
    ]
    assert texts == ["Use dog catch throw frisbee in order.", "Use dog catch throw frisbee."]
    with pytest.raises(OptionError, match="shots 1: must be from 0 to 0"):
        build_prompt(own, DOG, template=0, condition="ordered", shots=1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('system = "S"', 'system = " "', ": system must be a string that is not blank, not ' '"),
        ('system = "S"', "system = 1", ": system must be a string that is not blank, not 1"),
        ('system = "S"', 'sistem = "S"', ": unknown key 'sistem'; did you mean 'system'? (known keys: system,"),
        ('system = "S"', "", ": the key 'system' is missing"),
        ('order_phrase = " in order"', "", ": the key 'order_phrase' is missing"),
        ("examples = []", "examples = 3", ": examples must be a list of [[examples]] tables, not 3"),
        ("examples = []", "examples = [3]", ": examples[0]: must be a table, not 3"),
        ("examples = []", 'examples = [{concepts = ["a"]}]', ": examples[0]: the key 'answer' is missing"),
        (
            "examples = []",
            'examples = [{concepts = "a", answer = "a"}]',
            ": examples[0]: concepts must be a list of words, not 'a'",
        ),
        (
            "examples = []",
            'examples = [{concepts = ["a", "b"], answer = "b a"}]',
            ": examples[0]: answer must use the concepts in their order, but 'b' does not follow: 'b a'",
        ),
        ("id = 0", "id = true", ": templates[0]: id must be a whole number from 0, not True"),
        ("id = 0", "id = -1", ": templates[0]: id must be a whole number from 0, not -1"),
        ("id = 0", 'id = "0"', ": templates[0]: id must be a whole number from 0, not '0'"),
        ("id = 0", "", ": templates[0]: the key 'id' is missing"),
        ("id = 0", "id = 0\ntexts = 1", ": templates[0]: unknown key 'texts'; did you mean 'text'?"),
        (
            "{concepts}",
            "{concept}",
            ": templates[0]: text must contain '{concepts}', the placeholder for the concepts, once",
        ),
        (
            "{concepts}",
            "{concepts} {concepts}",
            ": templates[0]: text must contain '{concepts}', the placeholder for the "
            "concepts, once, not 2 times: 'Use {concepts} {concepts} in order.'",
        ),
        (" in order.", ".", ": templates[0]: text must contain ' in order', the order_phrase, once, not 0 times"),
        ("[[templates]]", "[[template]]", ": unknown key 'template'; did you mean 'templates'?"),
        (
            'in order."',
            'in order."\n[[templates]]\nid = 0\ntext = "{concepts} in order"',
            ": templates must be one or more with different ids, not [0, 0]",
        ),
        ("id = 0", "id = ", " is not valid TOML: "),
    ],
)
def test_a_broken_template_file_is_refused_with_file_and_key(tmp_path, old, new, message):
    path = tmp_path / "own.toml"
    assert old in MINIMAL
    path.write_text(MINIMAL.replace(old, new), encoding="utf-8")
    with pytest.raises(TemplateError) as caught:
        load_templates(path)
    assert str(caught.value).startswith(f"{path}{message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, " cannot be read: No such file or directory"),
        (b"system = '\xff'", " is not UTF-8 text: byte 10 is 0xff"),
        (b"x = " + b"[" * 100_000, " is not valid TOML: "),
    ],
)
def test_a_file_that_is_not_there_or_not_toml_is_refused(tmp_path, content, message):
    path = tmp_path / "own.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TemplateError) as caught:
        load_templates(path)
    assert str(caught.value).startswith(f"{path}{message}")
