"""Whose words a line repeats: whether what a tool printed, or nobody said, comes back as something to do.

    texts ── Passages ──> Heard;  line, Heard of the tools, Heard of everyone else ── repeats ──> the tools' word or not
                                                                                  ── is_owned ──> someone said it or not

Lines are compared by their words' stems with short stretches of text, so a changed word or order does not hide where
they come from. What people or the assistant said as well is theirs. No list of suspicious words is needed; the one list
of verbs only tells where a second order begins in a line.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from foldline.core.stems import EMPTY, EVERYDAY, ORDERS, REACHING, REPAIRS, WORD, stem, stems

LIKE = 2 / 3
"""Share of a line's words that one passage must have for the line to come from there."""
TOLD = 0.6
"""The same of a line that begins with an order: those are reworded most, and cost most."""
OWNED = 1 / 3
"""Of what someone is to do, one passage of what people or the assistant said must have more than this share …"""
SURELY_OWNED = 0.5
"""… and, if it has less than this one, as much as any passage of the tools."""
PART_OWNED = 0.3
"""Of each clause of it, more than this share: an order may hang on an honest one."""
CLAUSE = 4
"""Words of a clause that is looked at by itself."""
REPORTED = 0.5
"""Share of a repair that one passage of anyone must have."""
WHOLE, PIECE = 9, 6
"""Words of a clause that are held against one passage; a longer one is held against several, some six words each."""
ALL_BELOW = 4
"""A line of fewer words must have all of them there."""
FEWEST = 2
"""Words beside names that something to do has at least, unless it begins with an order."""
PASSAGE, STEP = 24, 12
"""Words of a passage, and how far the next one begins behind it."""
LOOK = 500_000
"""Characters at either end of a text that are taken in: a record shows less of what a tool printed, and nobody says
so much by himself."""
LONG_NUMBER = 4
"""Digits of a number that says more than how many."""
ROUNDING = 1e-9
_PASS = stem("pass")
"""Beside a test no order to pass something on."""

_NAME = re.compile(r"[\w)][./_:\\-]+\w|/")
"""What makes a word without blanks a name: a path, a symbol, a flag with a value."""
_SENTENCE = re.compile(r"\n+|(?<=[.!?;])\s+|(?<=[。！？；])")
_END = re.compile(r"\n+|[.!?;]\s+|[。！？；]")
"""The same, and the sign that ends it, where only words are sought: that is found four times as fast."""
_LEAD = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:\[[ xX]?\]\s*)?(?:\**continue\**\s*:)?[\s*_]*", re.I)
_JOINT = re.compile(r"(?:,\s*(?:and\s+)?(?:then\s+)?|\s+and\s+(?:then\s+)?|\s+then\s+)(?=(?P<verb>\w+))", re.I)
_DUTY = re.compile(r"\b(?:has|have|is|are|needs?|ought) to be\b", re.I)
"""In a sentence of duties the verb of each stands at its end."""
_BLANKS = re.compile(r"[^\S\n]{2,}")
_BREAK = re.compile(
    r"[,;:]\s+|\s+(?:and|then|while|plus|but|so that|after|before|und|et|y)\s+|\s+[-–—]+\s+|[()，、：]", re.I
)
"""Where another clause may begin."""


class Passages:
    """Texts in short overlapping stretches, numbered as they come, and in which of them each word stands."""

    def __init__(self, *texts: str) -> None:
        self.count = 0
        self._places: dict[str, array[int]] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Some more text, in passages of its own."""
        if len(text) > 2 * LOOK:
            text = f"{text[:LOOK]}\n{text[-LOOK:]}"
        for sentence in _END.split(text.replace("\\n", "\n").casefold()):  # line feeds inside JSON end lines too
            words = [stem(word) for word in WORD.findall(sentence) if word not in EMPTY]
            if not words:
                continue
            for start in range(0, max(len(words) - STEP, 1), STEP):
                for word in set(words[start : start + PASSAGE]):
                    places = self._places.get(word)
                    if places is None:
                        places = self._places[word] = array("I")
                    places.append(self.count)
                self.count += 1

    def places(self, word: str, start: int, stop: int) -> Sequence[int]:
        """The numbers, from `start` to `stop` (exclusive), of the passages that have the word."""
        found = self._places.get(word, _NOWHERE)
        return found[bisect_left(found, start) : bisect_left(found, stop)]


_NOWHERE = array("I")


class Heard:
    """Passages of several texts, each from a number on and up to another."""

    def __init__(self, *stretches: tuple[Passages, int, int]) -> None:
        self._stretches = stretches

    @classmethod
    def in_text(cls, *texts: str) -> Heard:
        """All of some texts."""
        passages = Passages(*texts)
        return cls((passages, 0, passages.count))

    def and_in(self, other: Heard) -> Heard:
        return Heard(*self._stretches, *other._stretches)

    def count(self, word: str) -> int:
        """The passages that have the word."""
        return sum(len(passages.places(word, start, stop)) for passages, start, stop in self._stretches)

    def best(self, weights: Mapping[str, float], beside: str = "") -> float:
        """The weight of those words that one passage has, the one with the most; `beside`: a word it must have."""
        return max((_best(stretch, weights, beside) for stretch in self._stretches), default=0.0)


def _best(stretch: tuple[Passages, int, int], weights: Mapping[str, float], beside: str) -> float:
    passages, start, stop = stretch
    found: dict[int, float] = {}
    for word, weight in weights.items():
        for place in passages.places(word, start, stop):
            found[place] = found.get(place, 0.0) + weight
    if not beside:
        return max(found.values(), default=0.0)
    return max((found[place] for place in passages.places(beside, start, stop) if place in found), default=0.0)


def repeats(line: str, shown: Heard, said: Heard) -> bool:
    """One of the line's orders is the tools' word, and nobody else's."""
    return any(_is_theirs(words, shown, said) for words in orders(line))


def is_owned(line: str, shown: Heard, said: Heard) -> bool:
    """Everything the line tells to do is, in part at least, in what people or the assistant said.

    What a tool ordered is not, however it is put into other words; nor is what a model made up.
    """
    return all(_is_ours(sentence, shown, said) for sentence in _sentences(line))


def is_by(text: str, said: Heard) -> bool:
    """Whoever said that may have said the text: as much of it as of something to do is heard together."""
    clauses = _clauses(text)
    share = _share(clauses, said) if clauses else 1.0
    return share > (OWNED + ROUNDING if sum(map(len, clauses)) >= ALL_BELOW else REPORTED - ROUNDING)


def _is_ours(sentence: str, shown: Heard, said: Heard) -> bool:
    words = _telling(sentence)
    if len(words) < 2 or _is_everyday(sentence, words, said):
        return True
    if reaches_unsaid(sentence, said):
        return False
    clauses = _clauses(sentence) or [words]  # it may be made of joints alone
    ours, theirs = _share(clauses, said), _share(clauses, shown)
    if words[0] in REPAIRS and not ORDERS.intersection(words):
        return max(ours, theirs) > REPORTED - ROUNDING
    each = all(_share([clause], said) > PART_OWNED for clause in clauses if len(clause) >= CLAUSE)
    return each and ours > OWNED + ROUNDING and ours > min(theirs, SURELY_OWNED) - ROUNDING


def reaches_unsaid(line: str, said: Heard) -> bool:
    """It orders what cannot be taken back, or goes beyond the agent's files, by a verb that nobody there used."""
    return any(words and words[0] in REACHING and not said.count(words[0]) for words in orders(line))


def _is_everyday(sentence: str, words: list[str], said: Heard) -> bool:
    """Work as it is done everywhere, on nothing but what people or the assistant named."""
    special = _special(words)
    if not special:
        return True
    names = set(stems(" ".join(word for word in sentence.split() if _NAME.search(word))))
    mends = (words[0] in REPAIRS or _PASS in words) and not ORDERS.intersection(words) - {_PASS}
    return mends and len(special - names) <= 1 and all(map(said.count, special))


def _special(words: list[str]) -> set[str]:
    """The words that say what is to be done; small numbers only count."""
    return {word for word in words if word not in EVERYDAY and not (word.isdecimal() and len(word) < LONG_NUMBER)}


def _clauses(sentence: str) -> list[list[str]]:
    """The words of its clauses; a short one is taken together with the one before it."""
    found: list[list[str]] = []
    for words in filter(None, map(stems, _BREAK.split(sentence))):
        if found and min(len(words), len(found[-1])) < CLAUSE:
            found[-1] += words
        else:
            found.append(words)
    return found


def _share(clauses: list[list[str]], heard: Heard) -> float:
    """The share of the words that is heard together."""
    pieces = [piece for clause in clauses for piece in _pieces(clause)]
    return math.fsum(heard.best(dict.fromkeys(piece, 1.0)) for piece in pieces) / sum(map(len, clauses))


def _pieces(words: list[str]) -> Iterator[list[str]]:
    count = 1 if len(words) <= WHOLE else math.ceil(len(words) / PIECE)
    length = math.ceil(len(words) / count)
    yield from (words[start : start + length] for start in range(0, len(words), length))


def _sentences(line: str) -> list[str]:
    """Without what stands before a line: bullets, boxes, the mark of the immediate task."""
    line = _BLANKS.sub(" ", line)  # long runs of them would be tried at every place
    lead = _LEAD.match(line)
    return _SENTENCE.split(line[lead.end() if lead else 0 :])


def orders(line: str) -> Iterator[list[str]]:
    """The words of each thing a line tells to do. A bare name tells nothing."""
    for sentence in _sentences(line):
        at = 0
        for joint in _JOINT.finditer(sentence):
            if stem(joint["verb"].casefold()) in ORDERS:
                yield _telling(sentence[at : joint.start()])
                at = joint.end()
        yield _telling(sentence[at:])
        if _DUTY.search(sentence):
            yield from map(_telling, _BREAK.split(sentence))


def _telling(clause: str) -> list[str]:
    """Its words, if there are enough of them beside names: where it names several things, one."""
    words, spaced = stems(clause), clause.split()
    plain = len(stems(" ".join(word for word in spaced if not _NAME.search(word))))
    several = sum(_NAME.search(word) is not None for word in spaced) > 1
    return words if plain >= FEWEST or (plain and (several or ORDERS.intersection(words[:1]))) else []


def _is_theirs(words: list[str], shown: Heard, said: Heard) -> bool:
    """One passage of the tools has nearly all that the words weigh, and no passage of anyone else as much.

    A word that everybody uses all the time weighs little: it does not tell where a line is from.
    """
    if not _special(words):
        return False
    weights = {word: 1 / math.sqrt(1 + said.count(word)) for word in words}
    share = 1 if len(words) < ALL_BELOW else TOLD if words[0] in ORDERS else LIKE
    enough = sum(weights.values()) * share - ROUNDING
    theirs = shown.best(weights)
    if len(words) < 2 or theirs < enough or theirs <= said.best(weights) + ROUNDING:
        return False
    own_verb = words[0] in REPAIRS and not ORDERS.intersection(words)
    return not own_verb or shown.best(weights, beside=words[0]) >= enough
