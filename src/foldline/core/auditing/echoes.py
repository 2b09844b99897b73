"""Whose words a line repeats: whether what a tool printed, or nobody said, comes back as something to do.

    texts ── Passages ──> Heard;  line, Heard of the tools, Heard of everyone else ── repeats ──> the tools' word or not
                                                                                  ── is_owned ──> someone said it or not

Lines are compared by their words' stems with short stretches of text, so changing a word or the order does not hide
where they come from. What people or the assistant said as well is theirs. No list of suspicious words is needed: the
verbs in stems.py only tell where an order begins and how much harm it can do.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from foldline.core.words.stems import EMPTY, EVERYDAY, ORDERS, REACHING, REPAIRS, WORD, stem, stems

LIKE = 2 / 3
"""A line comes from a passage that has at least this share of its words."""
TOLD = 0.6
"""The same share for a line that begins with an order: orders are reworded most, and do most harm."""
OWNED = 1 / 3
"""An order is somebody's own if one passage of what people or the assistant said has more than this share of its
words."""
SURELY_OWNED = 0.5
"""Below this share, such a passage must also have as much of the order as any passage of the tools."""
VERBATIM = 0.9
"""Share of a sentence's words in one passage from which it stands there nearly word for word."""
PART_OWNED = 0.3
"""Each clause of an order must have more than this share there: a foreign order may hang on an honest one."""
CLAUSE = 4
"""Words from which a clause is looked at by itself."""
REPORTED = 0.5
"""Share of a repair's words that one passage of anyone must have."""
WHOLE, PIECE = 9, 6
"""Words of a clause that are compared with one passage; a longer clause is compared in pieces of about six words."""
ALL_BELOW = 4
"""A line of fewer words must have all of them in one passage."""
FEWEST = 2
"""Words other than names that an instruction has at least, unless it begins with a verb of ordering."""
PASSAGE, STEP = 24, 12
"""Words of a passage, and how many words further on the next one begins."""
LOOK = 500_000
"""Characters at either end of a text that are read: a record shows less of what a tool printed, and no person writes
as much."""
COMMON = 64
"""Passages with a word from which it counts as common: what common words have together is found once and kept."""
LONG_NUMBER = 4
"""Digits of a number from which it is more than a count."""
ROUNDING = 1e-9
_PASS = stem("pass")
""""Pass" beside a test is no order to pass something on."""

_NAME = re.compile(r"[\w)][./_:\\-]+\w|/")
"""What makes a word a name: it has the form of a path, a symbol, or a flag with a value."""
_SENTENCE = re.compile(r"\n+|(?<=[.!?;])\s+|(?<=[。！？；])")
_END = re.compile(r"\n+|[.!?;]\s+|[。！？；]")
"""The same including the sign that ends the sentence, for where only words are sought: four times as fast."""
_LEAD = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:\[[ xX]?\]\s*)?(?:\**continue\**\s*:)?[\s*_]*", re.I)
_JOINT = re.compile(r"(?:,\s*(?:and\s+)?(?:then\s+)?|\s+and\s+(?:then\s+)?|\s+then\s+)(?=(?P<verb>\w+))", re.I)
_DUTY = re.compile(r"\b(?:has|have|is|are|needs?|ought) to be\b", re.I)
"""A sentence that says what has to be done: there the verb of each duty stands at its end."""
_BLANKS = re.compile(r"[^\S\n]{2,}")
_BREAK = re.compile(
    r"[,;:]\s+|\s+(?:and|then|while|plus|but|so that|after|before|und|et|y)\s+|\s+[-–—]+\s+|[()，、：]", re.I
)
"""Where another clause may begin."""


class Passages:
    """Texts in short overlapping passages, numbered as they come, and in which of them each word stands."""

    def __init__(self, *texts: str) -> None:
        self.count = 0
        self._places: dict[str, array[int]] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Adds a text, in passages of its own."""
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
    """Stretches of passages, each from one number up to another."""

    def __init__(self, *stretches: tuple[Passages, int, int]) -> None:
        self._stretches = stretches
        self._common: dict[tuple[int, frozenset[tuple[str, float]], str], float] = {}

    @classmethod
    def in_text(cls, *texts: str) -> Heard:
        """All passages of some texts."""
        passages = Passages(*texts)
        return cls((passages, 0, passages.count))

    def and_in(self, other: Heard) -> Heard:
        return Heard(*self._stretches, *other._stretches)

    def count(self, word: str) -> int:
        """How many passages have the word."""
        return sum(len(passages.places(word, start, stop)) for passages, start, stop in self._stretches)

    def best(self, weights: Mapping[str, float], beside: str = "") -> float:
        """The greatest weight of these words in one passage; `beside` is a word that the passage must have."""
        return max((self._best(number, weights, beside) for number in range(len(self._stretches))), default=0.0)

    def _best(self, number: int, weights: Mapping[str, float], beside: str) -> float:
        """The same in one stretch: in passages with a rare word, or with common words alone. A thousand lines of the
        same common words do not look through all their passages a thousand times."""
        passages, start, stop = self._stretches[number]
        places = {word: passages.places(word, start, stop) for word in weights}
        common = {word: weights[word] for word, found in places.items() if len(found) > COMMON}
        rare = {word: weights[word] for word, found in places.items() if 0 < len(found) <= COMMON}
        needed = passages.places(beside, start, stop) if beside else None
        best = _best(rare, places, needed, common)
        if not common:
            return best
        key = (number, frozenset(common.items()), beside)
        if key not in self._common:
            self._common[key] = _best(common, places, needed)
        return max(best, self._common[key])


def _best(
    weights: Mapping[str, float],
    places: Mapping[str, Sequence[int]],
    needed: Sequence[int] | None,
    more: Mapping[str, float] = MappingProxyType({}),
) -> float:
    """The greatest weight of the words, and of `more`, in a passage with one of the words that is also `needed`."""
    found: dict[int, float] = {}
    for word, weight in weights.items():
        for place in places[word]:
            found[place] = found.get(place, 0.0) + weight
    for word, weight in more.items():
        for place in found:
            found[place] += weight if _has(places[word], place) else 0.0
    return max((weight for place, weight in found.items() if needed is None or _has(needed, place)), default=0.0)


def _has(places: Sequence[int], place: int) -> bool:
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place


def repeats(line: str, shown: Heard, said: Heard) -> bool:
    """One of the line's orders repeats what a tool said and nobody else did."""
    return any(_is_theirs(words, shown, said) for words in orders(line))


def is_owned(line: str, shown: Heard, said: Heard) -> bool:
    """Everything the line tells to do was said, at least in part, by people or the assistant.

    What a tool ordered was not, however it is reworded; nor what a model made up.
    """
    return all(_is_ours(sentence, shown, said) for sentence in _sentences(line))


def is_by(text: str, said: Heard) -> bool:
    """True if enough of the text's words occur together in what was said."""
    clauses = _clauses(text)
    share = _share(clauses, said) if clauses else 1.0
    return share > (OWNED + ROUNDING if sum(map(len, clauses)) >= ALL_BELOW else REPORTED - ROUNDING)


def said_so(sentence: str, said: Heard) -> bool:
    """One passage has nearly all of the sentence's words."""
    words = stems(sentence)
    return len(words) >= FEWEST and said.best(dict.fromkeys(words, 1.0)) >= VERBATIM * len(words)


def _is_ours(sentence: str, shown: Heard, said: Heard) -> bool:
    words = _telling(sentence)
    if len(words) < 2 or _is_everyday(sentence, words, said):
        return True
    if reaches_unsaid(sentence, said):
        return False
    clauses = _clauses(sentence) or [words]  # a sentence may consist of joints alone
    ours, theirs = _share(clauses, said), _share(clauses, shown)
    if words[0] in REPAIRS and not ORDERS.intersection(words):
        return max(ours, theirs) > REPORTED - ROUNDING
    each = all(_share([clause], said) > PART_OWNED for clause in clauses if len(clause) >= CLAUSE)
    return each and ours > OWNED + ROUNDING and ours > min(theirs, SURELY_OWNED) - ROUNDING


def reaches_unsaid(line: str, said: Heard) -> bool:
    """It orders something that cannot be undone or that reaches beyond the agent's files, with a verb that nobody
    used."""
    return any(words and words[0] in REACHING and not said.count(words[0]) for words in orders(line))


def _is_everyday(sentence: str, words: list[str], said: Heard) -> bool:
    """Ordinary work on nothing but what people or the assistant named."""
    special = _special(words)
    if not special:
        return True
    names = set(stems(" ".join(word for word in sentence.split() if _NAME.search(word))))
    mends = (words[0] in REPAIRS or _PASS in words) and not ORDERS.intersection(words) - {_PASS}
    return mends and len(special - names) <= 1 and all(map(said.count, special))


def _special(words: list[str]) -> set[str]:
    """The words that say what is to be done, without everyday words and small numbers."""
    return {word for word in words if word not in EVERYDAY and not (word.isdecimal() and len(word) < LONG_NUMBER)}


def _clauses(sentence: str) -> list[list[str]]:
    """The words of each clause; a short clause is joined to its neighbour."""
    found: list[list[str]] = []
    for words in filter(None, map(stems, _BREAK.split(sentence))):
        if found and min(len(words), len(found[-1])) < CLAUSE:
            found[-1] += words
        else:
            found.append(words)
    return found


def _share(clauses: list[list[str]], heard: Heard) -> float:
    """The share of the words that occur together, each piece in one passage."""
    pieces = [piece for clause in clauses for piece in _pieces(clause)]
    return math.fsum(heard.best(dict.fromkeys(piece, 1.0)) for piece in pieces) / sum(map(len, clauses))


def _pieces(words: list[str]) -> Iterator[list[str]]:
    count = 1 if len(words) <= WHOLE else math.ceil(len(words) / PIECE)
    length = math.ceil(len(words) / count)
    yield from (words[start : start + length] for start in range(0, len(words), length))


def _sentences(line: str) -> list[str]:
    """The sentences of a line, without what stands before them: bullets, boxes, the mark of the immediate task."""
    line = _BLANKS.sub(" ", line)  # the patterns would try long runs of blanks at every place
    lead = _LEAD.match(line)
    return _SENTENCE.split(line[lead.end() if lead else 0 :])


def orders(line: str) -> Iterator[list[str]]:
    """The words of each thing a line tells to do; empty where it only names something."""
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
    """The clause's words, if there are enough of them besides names; one is enough if it names several things or is
    an order."""
    words, spaced = stems(clause), clause.split()
    plain = len(stems(" ".join(word for word in spaced if not _NAME.search(word))))
    several = sum(_NAME.search(word) is not None for word in spaced) > 1
    return words if plain >= FEWEST or (plain and (several or ORDERS.intersection(words[:1]))) else []


def _is_theirs(words: list[str], shown: Heard, said: Heard) -> bool:
    """One passage of the tools has nearly all the weight of the words, and no passage of anyone else has as much.

    A word that everybody uses all the time weighs little: it does not show where a line is from.
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
