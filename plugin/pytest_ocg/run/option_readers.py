"""Functions that convert the text of an option to a value; each raises ValueError, which says what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_ocg.errors import did_you_mean

if TYPE_CHECKING:
    from pytest_ocg.inputs.selection import SetSample, Shard

# Some readers import what they need when they are called, so that a session without the plugin starts fast.


def choice(*allowed: str) -> Callable[[str], str]:
    """A reader of one of the allowed words."""

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is not one of {', '.join(allowed)}{did_you_mean(text, allowed)}")
        return text

    return read


def number(low: int, high: int) -> Callable[[str], int]:
    """A reader of a whole number from low to high."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError(f"{text!r} is not a whole number") from None
        if not low <= value <= high:
            raise ValueError(f"{value} is outside {low} to {high}")
        return value

    return read


def flag(text: str) -> bool:
    """True or false, in the words that pytest accepts for ini flags."""
    word = text.strip().lower()
    if word in ("true", "1", "yes", "on"):
        return True
    if word in ("false", "0", "no", "off", ""):
        return False
    raise ValueError(f"{text!r} is neither true nor false")


def set_sample(text: str) -> SetSample:
    """`N` or `N:SEED`."""
    from pytest_ocg.inputs.selection import SetSample

    count, _, seed = text.partition(":")
    try:
        return SetSample(number(1, 10_000_000)(count), number(0, 2**32 - 1)(seed) if seed else 0)
    except ValueError as error:
        raise ValueError(f"{text!r} is not N or N:SEED, such as 12 or 12:7 ({error})") from None


def shard(text: str) -> Shard:
    """`I/N`, with I from 1 to N."""
    from pytest_ocg.inputs.selection import Shard

    index, _, count = text.partition("/")
    try:
        whole = number(1, 10_000)(count)
        return Shard(number(1, whole)(index), whole)
    except ValueError as error:
        raise ValueError(f"{text!r} is not I/N with I from 1 to N, such as 2/3 ({error})") from None


def template_ids(text: str) -> tuple[int, ...]:
    """The ids of templates of the benchmark, sorted, each once."""
    from pytest_ocg.inputs.prompts import load_templates

    known = [template.id for template in load_templates().templates]
    ids = []
    for part in text.split(","):
        try:
            chosen = number(min(known), max(known))(part.strip())
            if chosen not in known:
                raise ValueError(f"there is no template {chosen}")
            ids.append(chosen)
        except ValueError as error:
            raise ValueError(f"{text!r} is not a list of template ids such as 0,3 ({error})") from None
    return tuple(sorted(set(ids)))


def conditions(text: str) -> tuple[str, ...]:
    """The conditions to run."""
    from pytest_ocg.inputs.prompts import CONDITIONS

    return CONDITIONS if choice(*CONDITIONS, "both")(text) == "both" else (text,)


def matcher(text: str) -> str:
    """A matcher's name."""
    from pytest_ocg.run.judging.coverage import MATCHERS

    return choice(*MATCHERS)(text)


def batch_size(text: str) -> int | None:
    """A number of prompts, or None for `auto`."""
    return None if text == "auto" else number(1, 100_000)(text)


def names(text: str) -> tuple[str, ...]:
    """The words of a list separated by commas, each once, in the order given."""
    listed = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not listed:
        raise ValueError(f"{text!r} names nothing")
    return listed
