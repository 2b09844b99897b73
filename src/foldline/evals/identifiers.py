"""The identifiers of the metrics: paths, symbols, errors, hashes, URLs, ids, long numbers, flags.

These patterns are the ruler. What is measured never sees them, and they take nothing from what is measured: the
compactor finds names in its own way, in core/, and a change there moves nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

LONGEST = 200
"""Characters above which a match is data (a minified line, base64), not a name."""

_ENDINGS = "py|go|jsx?|tsx?|rs|c|h|cc|cpp|java|rb|sh|md|jsonl?|ya?ml|toml|txt|cfg|ini|sql|html|css|lock|mod|sum|log|rst"
_KINDS = (
    ("url", r"https?://[^\s\"'<>()\[\]{}|\\^`]+"),
    ("uuid", r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
    ("path", r"(?<![\w/])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w"),
    ("file", r"\b[\w-]+(?:\.[\w-]+)*\.(?:" + _ENDINGS + r")\b"),
    ("flag", r"(?<![\w-])--[a-z][\w-]+"),
    ("error", r"\b[A-Z]\w*(?:Error|Exception|Warning|Failure)\b"),
    ("hash", r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"),
    ("symbol", r"\b[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+\b"),
    ("symbol", r"\b_*[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b"),
    ("symbol", r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b"),
    ("symbol", r"\b[a-z]+[a-z0-9]*(?:[A-Z][a-z0-9]*)+\b"),
    ("symbol", r"\b[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+\b"),
    ("id", r"\b[A-Za-z]+[-_]?\d{2,}[A-Za-z0-9_-]*\b"),
    ("number", r"(?<![\w.])\d{4,}(?![\w.]*\w)"),
)  # fmt: skip
_ANY = re.compile("|".join(pattern for _, pattern in _KINDS))
_CHUNK = re.compile(r"[\w./:@+~#?=&%,;-]{3,}")
"""What stands between blanks, brackets and quotes: no identifier reaches beyond it."""
_TRAILING = ".,;:!?"


@lru_cache(maxsize=1024)  # a prefix and its results are looked through by several strategies at several budgets
def find(text: str) -> tuple[tuple[str, int, int], ...]:
    """Every identifier with the place where it stands, in order."""
    return tuple(look(text))


def look(text: str) -> Iterator[tuple[str, int, int]]:
    """The same for a text that is looked at once."""
    for chunk in _CHUNK.finditer(text):
        at = chunk.start()
        for name, start, stop in _inside(chunk[0]):
            yield name, at + start, at + stop


@lru_cache(maxsize=200_000)  # the same few words make up most of a session
def _inside(chunk: str) -> tuple[tuple[str, int, int], ...]:
    """The identifiers of a text without blanks, leftmost and first kind first."""
    found = ((match[0].rstrip(_TRAILING), match.start()) for match in _ANY.finditer(chunk))
    return tuple((name, at, at + len(name)) for name, at in found if 3 <= len(name) <= LONGEST)


def identifiers(text: str) -> set[str]:
    """The identifiers of a text."""
    return {name for chunk in set(_CHUNK.findall(text)) for name, _, _ in _inside(chunk)}


def kind_of(name: str) -> str:
    """What sort of identifier it is; "" for what is none."""
    return next((kind for kind, pattern in _KINDS if re.fullmatch(pattern, name)), "")


def occurrences(name: str, text: str) -> Iterator[int]:
    """Where a name stands by itself, not as a piece of a longer word."""
    at = text.find(name)
    while at >= 0:
        if _whole(name, text, at):
            yield at
        at = text.find(name, at + 1)


def last(name: str, text: str) -> int:
    """Where it does so for the last time; -1 where it never does."""
    at = text.rfind(name)
    while at >= 0 and not _whole(name, text, at):
        at = text.rfind(name, 0, at + len(name) - 1)
    return at


def _whole(name: str, text: str, at: int) -> bool:
    """What stands there is no piece of a longer word."""
    end = at + len(name)
    whole_left = at == 0 or not (_wordy(text[at - 1]) and _wordy(name[0]))
    return whole_left and (end == len(text) or not (_wordy(text[end]) and _wordy(name[-1])))


def stands(name: str, text: str) -> bool:
    return next(occurrences(name, text), None) is not None


def _wordy(character: str) -> bool:
    return character.isalnum() or character == "_"
