import pytest

from pytest_ocg.backends.huggingface.chat import ChatFormat, chat_format, cut_at_marker, encode, render
from pytest_ocg.errors import ModelError
from pytest_ocg.inputs.prompts import Message, fold_system

TURNS = "{% for message in messages %}[{{ message['role'] }}]{{ message['content'] }}{% endfor %}"
RAISES = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + TURNS
DROPS = (
    "{% for message in messages %}{% if message['role'] != 'system' %}[{{ message['role'] }}]{{ message['content'] }}"
    "{% endif %}{% endfor %}"
)
ALTERNATES = (
    "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}[{{ message['role'] }}]{{ message['content'] }}"
    "{% endfor %}"
)
DATED = "{{ strftime_now('%Y-%m-%d') }} {% if not date_string is defined %}today{% else %}{{ date_string }}{% endif %}"
SYSTEM, USER = Message("system", "Be brief."), Message("user", "Hi.")
SHOT = (Message("user", "Yes?"), Message("assistant", "No."))


@pytest.mark.parametrize(
    ("template", "role", "text"),
    [
        (TURNS, "native", "[system]Be brief.[user]Yes?[assistant]No.[user]Hi."),
        (RAISES, "folded", "[user]Be brief.\n\nYes?[assistant]No.[user]Hi."),
        (DROPS, "folded", "[user]Be brief.\n\nYes?[assistant]No.[user]Hi."),
        (ALTERNATES, "folded", "[user]Be brief.\n\nYes?[assistant]No.[user]Hi."),
        (None, "plain", "Be brief.\n\nYes?\n\nNo.\n\nHi."),
    ],
)
def test_the_system_text_reaches_the_model_with_every_template(template, role, text, make_tokenizer):
    tokenizer = make_tokenizer(template)
    chat = chat_format(tokenizer)
    assert chat.system_role == role
    assert (chat.template_sha256 is None) is (template is None)
    assert render(tokenizer, chat, (SYSTEM, *SHOT, USER)) == text


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("nothing", "omits the user's text"),
        ("{{ raise_exception('never') }}", "refuses the turns user: never"),
        ("{{ messages[0]['content'] + 1 }}", "refuses the turns user: "),
    ],
)
def test_a_template_that_never_works_is_refused(template, message, make_tokenizer):
    with pytest.raises(ModelError, match=message):
        chat_format(make_tokenizer(template))


def test_a_date_in_the_template_is_the_same_every_day(make_tokenizer):
    tokenizer = make_tokenizer(DATED + TURNS)
    text = render(tokenizer, chat_format(tokenizer), (USER,))
    assert text == "2024-07-26 26 Jul 2024[user]Hi."


@pytest.mark.parametrize(
    ("turns", "folded"),
    [
        ((SYSTEM, USER), (Message("user", "Be brief.\n\nHi."),)),
        ((USER,), (USER,)),
        ((SYSTEM,), ()),
        ((), ()),
        ((SYSTEM, *SHOT, USER), (Message("user", "Be brief.\n\nYes?"), SHOT[1], USER)),
    ],
)
def test_folding_puts_the_system_text_before_the_first_user_turn(turns, folded):
    assert fold_system(turns) == folded


@pytest.mark.parametrize("adds_start", [True, False])
@pytest.mark.parametrize(
    ("text", "starts_with"), [("<s>A dog", 1), ("<s><s>A dog", 2), ("A dog", 0), ("A <s> dog", 0), ("", 0)]
)
def test_there_is_exactly_one_start_token_if_the_tokenizer_adds_one(adds_start, text, starts_with, make_tokenizer):
    tokenizer = make_tokenizer(adds_start=adds_start)
    ids = encode(tokenizer, text)
    leading = next((place for place, token in enumerate(ids) if token != tokenizer.bos_token_id), len(ids))
    assert leading == (1 if adds_start else starts_with)
    assert tokenizer.decode(ids[leading:]) == text.removeprefix("<s>" * starts_with)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("A dog.", "A dog."),
        ("A dog.<|im_end|>\n<|im_start|>user\nMore.", "A dog."),
        ("A dog.\n<|user|>\nMore.<|im_end|>", "A dog.\n"),
        ("<|im_start|>A dog.", "<|im_start|>A dog."),
        ("\n<|user|>A dog.<|user|>", "\n<|user|>A dog.<|user|>"),
        ("", ""),
    ],
)
def test_a_leaked_next_turn_is_cut(text, cut):
    chat = ChatFormat("0" * 64, "native", ("<|im_end|>",), ("<|im_start|>", "<|user|>"))
    assert cut_at_marker(text, chat) == cut


def test_only_markers_in_the_template_of_the_model_count(make_tokenizer):
    chat = chat_format(make_tokenizer(TURNS + "<|im_end|><|user|>"))
    assert (chat.end_markers, chat.start_markers) == (("<|im_end|>",), ("<|user|>",))
    assert cut_at_marker("A [INST] tag", chat) == "A [INST] tag"
