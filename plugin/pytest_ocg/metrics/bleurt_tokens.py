"""Pairs of texts as a BLEURT-20 checkpoint reads them: token for token what bleurt-pytorch's tokenizer makes."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_TOKENS = 512

_START, _SEPARATOR = "[CLS]", "[SEP]"
_FRAME_TOKENS = 3  # one start, two separators
_SPECIAL = re.compile(r"(\[CLS\]|\[SEP\]|\[PAD\]|\[UNK\]|\[MASK\])")


@dataclass(frozen=True, slots=True)
class EncodedPair:
    """The token numbers of one pair: start, reference, separator, then from `candidate_start` candidate, separator."""

    tokens: tuple[int, ...]
    candidate_start: int


class PairTokenizer:
    """The checkpoint's sentencepiece model, and how it frames and cuts a pair.

    A special token that is spelt out in a text becomes that token, as in bleurt-pytorch; a lone surrogate, which cannot
    be written as UTF-8, becomes U+FFFD.
    """

    def __init__(self, file: Path) -> None:
        """Read `file`; raises OSError or ValueError where it is no sentencepiece model with BERT's frame tokens."""
        library: Any = importlib.import_module("sentencepiece")
        content = file.read_bytes()
        self._processor: Any = library.SentencePieceProcessor()
        try:
            is_loaded = bool(content) and self._processor.LoadFromSerializedProto(content)
        except RuntimeError as cause:
            raise ValueError(f"{file.name} is no sentencepiece model") from cause
        if not is_loaded:
            raise ValueError(f"{file.name} is no sentencepiece model")
        missing = [piece for piece in (_START, _SEPARATOR) if self._known(piece) is None]
        if missing:
            raise ValueError(f"{file.name} has no piece {missing[0]!r}")
        self._start: int = self._processor.piece_to_id(_START)
        self._separator: int = self._processor.piece_to_id(_SEPARATOR)
        self._texts: dict[str, tuple[int, ...]] = {}

    @property
    def vocabulary_size(self) -> int:
        """How many pieces there are; token numbers are below it."""
        return int(self._processor.get_piece_size())

    def encode(self, text: str) -> tuple[int, ...]:
        """The token numbers of a text alone, unframed and uncut; made once for each different text."""
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = tuple(self._encode(text))
        return known

    def pair_tokens(self, reference: str, candidate: str) -> int:
        """How many tokens the framed pair has before any cut."""
        return len(self.encode(reference)) + len(self.encode(candidate)) + _FRAME_TOKENS

    def encode_pair(self, reference: str, candidate: str) -> EncodedPair:
        """The framed pair, cut to `MAX_TOKENS` at the ends of its texts, from whichever is longer at the time."""
        first, second = self.encode(reference), self.encode(candidate)
        kept_first, kept_second = kept_tokens(len(first), len(second), MAX_TOKENS - _FRAME_TOKENS)
        head = (self._start, *first[:kept_first], self._separator)
        return EncodedPair((*head, *second[:kept_second], self._separator), len(head))

    def _encode(self, text: str) -> list[int]:
        tokens: list[int] = []
        for part in _SPECIAL.split(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")):
            special = self._known(part) if _SPECIAL.fullmatch(part) else None
            if special is not None:
                tokens.append(special)
            elif part:
                tokens += self._processor.piece_to_id(self._processor.encode(part, out_type=str))
        return tokens

    def _known(self, piece: str) -> int | None:
        number = int(self._processor.piece_to_id(piece))
        return number if self._processor.id_to_piece(number) == piece else None


def kept_tokens(first: int, second: int, room: int) -> tuple[int, int]:
    """How many tokens of each text stay, when the longer one (of equal ones the second) gives one up until both fit."""
    excess = first + second - room
    if excess <= 0:
        return first, second
    leveling = min(excess, abs(first - second))
    if first > second:
        first -= leveling
    else:
        second -= leveling
    excess -= leveling
    return first - excess // 2, second - (excess - excess // 2)
