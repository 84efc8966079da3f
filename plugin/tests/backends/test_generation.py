"""What a backend may return for a prompt; anything else is refused before it is stored."""

from __future__ import annotations

import pytest

from pytest_ocg.backends.base import ErrorKind, Generation


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"prompt_tokens": -1}, "prompt_tokens .* not -1"),
        ({"prompt_tokens": 10**13}, "up to 1,000,000,000,000, not 10000000000000"),
        ({"completion_tokens": 12.0}, "completion_tokens .* not 12.0"),
        ({"completion_tokens": True}, "completion_tokens .* not True"),
        ({"finish_reason": 7}, "finish_reason of a generation must be a text, not 7"),
        ({"detail": None}, "detail of a generation must be a text, not None"),
        ({"text": 3}, "text of a generation must be a text, not 3"),
        ({"text": None}, "needs either a text or an error"),
        ({"error": ErrorKind.EMPTY}, "needs either a text or an error"),
    ],
)
def test_a_field_that_cannot_be_written_is_refused(fields, said):
    with pytest.raises(ValueError, match=said):
        Generation(**{"text": "A dog.", **fields})


def test_a_subclass_of_str_becomes_a_str():
    made = Generation(Text("A dog."), finish_reason=Text("length"))
    assert (type(made.text), type(made.finish_reason)) == (str, str)
    assert made == Generation("A dog.", finish_reason="length")


IMPOSSIBLE = """
from pytest_ocg import Generation, ScriptedBackend

def pytest_ocg_make_backend(spec, settings):
    return ScriptedBackend(lambda prompt: Generation("A dog.", prompt_tokens=-1))
"""


def test_a_count_that_is_impossible_ends_the_run_with_its_name_before_anything_is_stored(bench):
    bench.pytester.makeconftest(IMPOSSIBLE)
    result = bench.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*prompt_tokens of a generation must be None or a whole number*not -1*"])
