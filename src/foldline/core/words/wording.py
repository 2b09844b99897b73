"""What the words of a line tell: its names and phrases, how much of it tells anything, and what others have told.

    text ── Wording ──> names, phrases ── Covered.left ──> the share of a line's worth that is new

Lines that differ in a word or two are about the same thing, and a log needs only one of them. What a line is worth is
in worth.py, which lines are chosen in choosing.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

PHRASE = 3
"""Words or signs in a row that make a phrase."""
PHRASES_SHARE, NAMES_SHARE = 0.5, 0.4
"""Shares of a line's worth that are lost where other lines have its phrases, and its names, already. Phrases show
that a line was written before in nearly the same words; names show what it is about."""
LEAST_TELLING = 20
"""Characters from which a line, or several together, say something: `path: src` alone does not."""
SHORTEST_NAME, SHORTEST_WORD = 4, 5
"""Characters of a name at least; and of a word that names nothing and still counts."""

Phrase: TypeAlias = tuple[str, ...]

_WORD = re.compile(r"\w+(?:[./:-]\w+)*")
_UNIT = re.compile(r"\w+|[^\w\s]")
_TELLING = re.compile(r"[\d_./:]|[a-z][A-Z]")
_LETTER = re.compile(r"[^\W\d_]")
_RULER = re.compile(r"([\W_])\1{2,}")


def telling(text: str) -> int:
    """Characters of a line that say something: rulers, padding and indentation do not."""
    return len(_RULER.sub(r"\1", text.strip()))


def phrases(text: str) -> frozenset[Phrase]:
    """The phrases of a text: all words and signs that stand in a row; a text that is shorter than a phrase counts as
    one."""
    units = _UNIT.findall(text)
    if len(units) < PHRASE:
        return frozenset({tuple(units)} if units else ())
    return frozenset(zip(*(units[at:] for at in range(PHRASE)), strict=False))


class Wording:
    """Names and phrases of texts, each of which is analysed once."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}
        self._phrases: dict[str, frozenset[Phrase]] = {}
        self._words: dict[str, str] = {}

    def names(self, text: str) -> frozenset[str]:
        """The words that name something: those with signs, digits or an inner capital; and other long words, as "
        word"."""
        found = self._names.get(text)
        if found is None:
            found = self._names[text] = frozenset(filter(None, map(self._name, _WORD.findall(text))))
        return found

    def phrases(self, text: str) -> frozenset[Phrase]:
        found = self._phrases.get(text)
        if found is None:
            found = self._phrases[text] = phrases(text)
        return found

    def _name(self, word: str) -> str:
        name = self._words.get(word)
        if name is None:
            name = self._words[word] = _name(word)
        return name


class Covered:
    """The names and phrases that some lines already have."""

    def __init__(self, wording: Wording, texts: Iterable[str] = ()) -> None:
        self._wording = wording
        self._names: set[str] = set()
        self._phrases: set[Phrase] = set()
        self.add(texts)

    def add(self, texts: Iterable[str]) -> None:
        for text in texts:
            self._names |= self._wording.names(text)
            self._phrases |= self._wording.phrases(text)

    def left(self, text: str) -> float:
        """The share of a line's worth that is left beside those lines. A line without names loses the whole share of
        the names."""
        names, phrases = self._wording.names(text), self._wording.phrases(text)
        new = PHRASES_SHARE * len(phrases - self._phrases) / max(len(phrases), 1)
        new += NAMES_SHARE * len(names - self._names) / max(len(names), 1)
        return 1 - PHRASES_SHARE - NAMES_SHARE + new


def _name(word: str) -> str:
    if len(word) < SHORTEST_NAME or not _LETTER.search(word):
        return ""
    if _TELLING.search(word):
        return word
    return f" {word.lower()}" if len(word) >= SHORTEST_WORD else ""
