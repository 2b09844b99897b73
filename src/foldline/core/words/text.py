"""Cutting text without hurting it: never inside a character, nor, where it can be helped, inside a grapheme."""

from __future__ import annotations

import re
import unicodedata

_FIRST_WORD = re.compile(r"\S+(?=\s)")
_JOINER = "\u200d"
_MAX_STEPS = 16
"""Characters by which a cut moves to keep a grapheme whole. Longer clusters are attacks or art, and may be cut."""

LONGEST_WORD = 100
"""Characters of a word at most: anything longer is a text without blanks, and may be cut anywhere."""


def head(text: str, length: int) -> str:
    """At most the first `length` characters."""
    if len(text) <= length:
        return text
    end = max(length, 0)
    for _ in range(_MAX_STEPS):
        if not _inside(text, end):
            break
        end -= 1
    return text[:end]


def beginning(text: str, length: int) -> str:
    """The text, or its beginning up to the end of a word, with a sign that more follows."""
    if len(text) <= length:
        return text
    short = head(text, length)
    words = short.rsplit(None, 1)
    whole = text[len(short)].isspace() or short[-1:].isspace() or len(words) < 2 or len(words[1]) > LONGEST_WORD
    return f"{(short if whole else words[0]).rstrip()} …"


def ending(text: str, length: int) -> str:
    """The text, or its end, from the beginning of a word on."""
    short = tail(text, length)
    if len(short) == len(text) or text[-len(short) - 1 : -len(short)].isspace():
        return short
    word = _FIRST_WORD.match(short)
    return short if word is None or len(word[0]) > LONGEST_WORD else short[word.end() :].lstrip()


def ends(text: str, length: int) -> str:
    """The text, or its beginning and its end with a sign between them: what a question is about may stand in either."""
    if len(text) <= length:
        return text
    return f"{beginning(text, length // 2)} {tail(text, length // 2).partition(' ')[2] or tail(text, length // 2)}"


def tail(text: str, length: int) -> str:
    """At most the last `length` characters."""
    start = max(len(text) - max(length, 0), 0)
    for _ in range(_MAX_STEPS):
        if not _inside(text, start):
            break
        start += 1
    return text[start:]


def sendable(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair, which no provider takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _inside(text: str, at: int) -> bool:
    """The position lies inside a grapheme: before a mark that joins what precedes it, or behind a joiner."""
    if not 0 < at < len(text):
        return False
    return text[at - 1] == _JOINER or _extends(text[at]) or (text[at - 1] == "\r" and text[at] == "\n")


def _extends(character: str) -> bool:
    """A combining mark, a joiner, a variation selector, a skin tone."""
    if character < "\u0300":
        return False
    return (
        character == _JOINER
        or unicodedata.category(character) in ("Mn", "Mc", "Me")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )
