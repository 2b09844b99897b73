"""Words for a full-text index: what of a text is indexed, what a query asks for, how well a text answers it.

    text ── spaced, humps ──> what the index is told        query ── ask ──> Asked ── match ──> in the index's language
    Asked, texts ── scores ──> how well each answers        Asked, text ── snippet ──> the place that answers

The index splits at everything but letters and digits, and knows words by their stems; so parse_config and a path are
phrases to it. What it cannot do is done here: parts of camelCase, characters of scripts without spaces. Pure; knows
nothing of tables or messages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from foldline.core.words.text import head

MARKS = "⟪", "⟫"
"""The marks around a match in a snippet. No text has them by chance, and a screen can colour what stands between
them."""
MAX_TERMS = 32
"""The first words of a query that count. Pasted error messages are longer, and their first lines say the most."""
SNIPPET = 240
"""Characters of a snippet: two or three lines of a terminal."""
_LEAD = 60
"""Characters of a snippet that stand before the first match."""
_PLACES = 8
"""Places of each word that are tried for a snippet."""
_SATURATION, _LENGTH_WEIGHT = 1.2, 0.6
"""BM25's constants: the tenth mention adds little; a long text needs more mentions, though fewer than prose would."""
_SCORED = 8_000
"""Characters of a text that are read for its score: the rest of a log repeats itself."""

_CJK = re.compile(
    r"[\u2e80-\u30ff\u3105-\u312f\u31a0-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_HUMP = re.compile(r"[A-Z](?:(?<=[a-z0-9].)|(?=[A-Z][a-z]))")
"""A capital letter in the middle of a word: the quickest way to see that a text has none."""
_WORD = re.compile(r"[A-Za-z0-9]{1,100}+")
_BACK = 40
"""Characters before its first inner capital in which a word may begin: anything longer is encoded data."""
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BULK = re.compile(r"[A-Za-z0-9+/=]{256,}+")
"""Base64 of pictures and the like. Nobody searches for it, and every piece would be a word of its own."""
_SHORT = 2_000
"""Texts up to this length are indexed as they are: looking for encoded data takes longer than indexing it."""
_PIECE = re.compile(r'"([^"]*)"?|([^\s"]+)')
_WORDS = re.compile(r"[^\W_]+")


def spaced(text: str) -> str:
    """The text as the index should see it: scripts without spaces taken apart, encoded data left out."""
    if not text.isascii():
        text = _CJK.sub(r" \g<0> ", text)
    return _BULK.sub(" ", text) if len(text) > _SHORT else text


def humps(text: str) -> str:
    """The parts of all words in camelCase, each word once."""
    return " ".join(_SEAM.sub(" ", word) for word in dict.fromkeys(_humped(text)))


def _humped(text: str) -> Iterator[str]:
    end = 0
    for hump in _HUMP.finditer(text):
        start = hump.start()
        if start < end:
            continue
        limit = max(end, start - _BACK)
        while start > limit and text[start - 1].isalnum() and text[start - 1].isascii():
            start -= 1
        word = _WORD.match(text, start)
        assert word  # the hump itself matches
        end = word.end()
        yield word[0]


@dataclass(frozen=True, slots=True)
class Term:
    """One word or phrase of a query: what to ask the index, and the ways it may be written in a text."""

    match: str
    needles: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """A query, split into its terms."""

    terms: tuple[Term, ...]

    def match(self, joint: str = "AND") -> str:
        """The query in the index's language: all of the terms, or any of them with OR."""
        return f" {joint} ".join(term.match for term in self.terms)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Any of the terms in a text, the longest first."""
        needles = sorted({needle for term in self.terms for needle in term.needles}, key=len, reverse=True)
        return re.compile(f"(?:{'|'.join(map(re.escape, needles))})[A-Za-z0-9]{{0,20}}+", re.I)


def ask(query: str) -> Asked:
    """Reads a query: words, "quoted phrases", paths, identifiers, error messages. Any text is a valid query."""
    clean = query.encode("utf-8", "replace").decode().replace("\0", " ")
    pieces = (quoted or word for quoted, word in _PIECE.findall(clean))
    terms = dict.fromkeys(_term(piece) for piece in pieces if _WORDS.search(piece))
    return Asked(tuple(terms)[:MAX_TERMS])


def _term(piece: str) -> Term:
    split = _SEAM.sub(" ", piece)
    ways = dict.fromkeys((spaced(piece), spaced(split)))
    match = " OR ".join('"' + way.strip() + '"' for way in ways)
    return Term(f"({match})", tuple(_needles(piece, split)))


def _needles(piece: str, split: str) -> Iterator[str]:
    """The ways to write it: as it is, in other cases of identifiers, and by its stem."""
    yield piece.strip("'`.,;:!?()[]{}<>").lower() or piece.lower()
    words = [word.lower() for word in _WORDS.findall(split)]
    if len(words) > 1:
        yield from (joint.join(words) for joint in ("_", "-", "", " ", "."))
    elif len(words[0]) > 5 and words[0].isascii():
        yield words[0][: max(len(words[0]) - 3, 4)]


def scores(asked: Asked, texts: Sequence[str]) -> list[float]:
    """How well each text answers, where all of them do: by BM25, with rarity measured among these texts."""
    lowered = [text[:_SCORED].lower() for text in texts]
    average = sum(map(len, lowered)) / len(lowered) if lowered else 1
    totals = [0.0] * len(lowered)
    for term in asked.terms:
        counts = [max(map(text.count, term.needles)) for text in lowered]
        having = sum(map(bool, counts))
        rarity = math.log(1 + (len(counts) - having + 0.5) / (having + 0.5))
        for at, count in enumerate(counts):
            size = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * len(lowered[at]) / (average or 1)
            totals[at] += rarity * count * (1 + _SATURATION) / (count + _SATURATION * size)
    return totals


def snippet(asked: Asked, text: str, length: int = SNIPPET) -> str:
    """The place of a text that has most of what was asked, the first of several, with the matches between marks."""
    start = max(_place(asked, text, length) - _LEAD, 0)
    piece = head(text[start : start + length + 1], length)
    shown = _marked(asked, " ".join(piece.split()))
    return f"{'…' if start else ''}{shown}{'…' if start + len(piece) < len(text) else ''}"


def _place(asked: Asked, text: str, length: int) -> int:
    """The place around which most different terms stand. A rare term points to it, with common ones beside it."""
    lowered = text.replace("\u0130", "i").lower()  # the one letter that grows in lower case
    best, most = 0, 0
    for at in sorted({at for term in asked.terms for at in _places(lowered, term.needles)}):
        around = lowered[max(at - _LEAD, 0) : at + length - _LEAD]
        near = sum(any(needle in around for needle in term.needles) for term in asked.terms)
        if near > most:
            best, most = at, near
    return best


def _places(text: str, needles: Iterable[str]) -> Iterator[int]:
    """The first few places where one of the needles stands."""
    for needle in needles:
        at = text.find(needle)
        for _ in range(_PLACES):
            if at < 0:
                break
            yield at
            at = text.find(needle, at + 1)


def _marked(asked: Asked, text: str) -> str:
    return asked.pattern.sub(lambda match: f"{MARKS[0]}{match[0]}{MARKS[1]}", text) if asked.terms else text
