"""Tokens estimated without a tokenizer: a histogram of byte classes, times weights.

Here lives the estimator and its weights, standard library only. Exact counting is in `foldline.tokens`;
how the weights were found is in `bench/fit_estimator.py`, which also prints the errors.

    text → UTF-8 → each byte becomes the letter of its class → count letters and pairs of letters → Σ count × weight

Token borders fall mostly where classes change, so a pair such as "a stop, then a letter" says more than its letters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from foldline.model import Notice

SLICE = 1 << 17
"""Characters looked at in one go: a few milliseconds of work, so that other threads get their turn."""

ERROR = 0.40
"""How far the truth may lie from an estimate, either way, as a share of it.

Of chunks of 4,000 characters never fitted on, 99 in 100 of every kind lie within 0.34; the worst of 10,000 are terminal
drawings, three times too high, and logs, half too low.
"""

SHORT_ERROR = 8
"""Tokens that an estimate may be off besides: a few words are too few for statistics."""

_CLASSES: tuple[tuple[str, bytes], ...] = (
    ("l", bytes(range(0x61, 0x7B))),  # small letters
    ("u", bytes(range(0x41, 0x5B))),  # capitals
    ("d", b"0123456789"),
    (" ", b" \t\r"),
    ("n", b"\n"),
    ("q", b"\"'`()[]{}<>"),  # quotes and brackets
    ("j", b"_-/\\"),  # what joins words in names and paths
    ("o", b"@#$%^&*+=|~"),  # operators
    ("1", bytes(range(0xC2, 0xC4))),  # first bytes of two: Latin with accents
    ("2", bytes(range(0xC4, 0xE0))),  # Cyrillic, Greek, Arabic, Hebrew
    ("3", bytes(range(0xE0, 0xE2))),  # first bytes of three: Indic scripts, Thai
    ("4", b"\xe2\xee\xef"),  # dashes, arrows, box drawing, wide forms
    ("5", b"\xe3"),  # kana and CJK punctuation
    ("6", bytes(range(0xE4, 0xEA))),  # Han
    ("7", bytes(range(0xEA, 0xEE))),  # Hangul
    ("9", bytes(range(0xF0, 0xF8))),  # first bytes of four: emoji
)
_OTHER = "."  # stops, commas, colons, control characters
_LATER_BYTES = bytes(range(0x80, 0xC0))
"""The second and later bytes of a character: its first byte stands for the whole."""

WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "l": 0.043,  # one in twenty small letters starts a further token inside a word
        "u": 0.277,  # capitals
        "d": 0.473,  # digits: tokens hold up to three
        " ": 0.733,  # a space, alone or before a word
        "n": 1.705,  # line feeds
        ".": 0.491,  # stops, commas, colons
        "q": 0.204,  # quotes and brackets
        "j": 0.543,  # joiners
        "o": 0.041,  # operators
        "1": 1.284,  # Latin with accents
        "2": 0.255,  # Cyrillic, Greek, Arabic, Hebrew
        "3": 0.311,  # Indic, Thai
        "4": 1.497,  # dashes, arrows, box drawing
        "5": 0.568,  # kana
        "6": 0.691,  # Han
        "7": 0.491,  # Hangul
        "9": 2.5,  # emoji
        ".l": 0.744,  # punctuation, then a word that has no space to carry it
        "ql": 0.902,
        "jl": 1.298,
        "ol": 1.56,
        "lu": 0.481,  # camelCase
        "ul": 0.673,  # Capitalised
        "dl": 1.18,  # digits, then letters: hex, identifiers
        "du": 1.904,
        "ud": 0.911,
        "  ": -1.401,  # indentation is one token
        "nn": -2.558,  # an empty line
        "..": -0.252,
        "qq": -0.388,
        "oo": -0.079,
        "jj": -1.032,  # rules, paths going up
        "44": -2.845,  # rules drawn with box characters
        "llllllllllllllll": 7.667,  # no word is so long: random letters
    }
)
"""Tokens for each byte of a class, and what each pair or run of classes adds to that."""


def _table() -> bytes:
    table = bytearray(_OTHER.encode() * 256)
    for letter, members in _CLASSES:
        for byte in members:
            table[byte] = ord(letter)
    return bytes(table)


_TABLE = _table()
_WIDE = frozenset("12345679")
"""Classes without any ASCII member."""
_ASCII_TERMS = tuple((key.encode(), weight) for key, weight in WEIGHTS.items() if key[0] not in _WIDE)
_WIDE_TERMS = tuple((key.encode(), weight) for key, weight in WEIGHTS.items() if key[0] in _WIDE)


def classes(text: str) -> bytes:
    """The text with every character replaced by the letter of its class."""
    return text.encode("utf-8", "replace").translate(_TABLE, _LATER_BYTES)


def estimate(text: str) -> int:
    """About how many tokens o200k_base would make of the text. Never fails, whatever is in it."""
    if not text:
        return 0
    return max(1, math.ceil(sum(_slice(text[at : at + SLICE]) for at in range(0, len(text), SLICE))))


def _slice(text: str) -> float:
    count = classes(text).count
    total = sum(count(key) * weight for key, weight in _ASCII_TERMS)
    if not text.isascii():
        total += sum(count(key) * weight for key, weight in _WIDE_TERMS)
    return total


@dataclass(frozen=True, slots=True)
class Estimator:
    """The counter that needs nothing installed. `notices` say why it is used where an exact one was wanted."""

    notices: tuple[Notice, ...] = ()
    name: str = "estimate"
    error: float = ERROR

    def count(self, text: str) -> int:
        return estimate(text)
