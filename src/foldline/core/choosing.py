"""Which of the agent's lines a log has room for.

    lines, what tools told ── Stock ── within(room) ──> the chosen lines, in order

What was written again and again comes first: the files and commands that the agent goes back to. Then the newest
lines, each with the brackets and short lines behind it; then older ones, a few that stand together at a time, by what
they are worth for their tokens: the names in them that no chosen line has yet, more if they are recent, more if few
lines have them; then what tools told last. Each line stands once, where it was written last, but for those that only
hold others together. What is known of the lines whatever the room is worked out once: a fold may try several. Where
lines come from and how they are shown is in worklog.py.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import TypeAlias

from foldline.core.worklog import ASIDE, TORN, Line, closes

Size: TypeAlias = Callable[[str], int]

AGAIN_SHARE = 0.2
"""Share of the log's room for lines that were written more than once. For its tokens, a line that was written five
times is written again seven times as often as one of the newest, a line that was written three times four times."""
NEWEST_SHARE = 0.7
"""Share of the log's room for these and the newest lines, before anything else is weighed."""
PLAIN = 0.3
"""What a plain word is worth beside a name: prose tells what was found and done, with or without names."""
HALF_LIFE = 0.25
"""After this share of the span's messages, a name is worth half."""
LEAST_TOLD = 200
"""Tokens that must be left before what tools told is quoted."""
LABEL_TOKENS = 6
"""About what the label above a line costs."""
LABEL_MARKS = 3
"""Tokens of a label besides the tool's name: brackets, an empty line, sometimes a number or a file."""
TOGETHER = 6
"""Older lines of one text or call that are weighed as one: a line by itself is hard to understand."""
TOLD = 20
"""Characters of such lines that say something: `path: src` alone does not."""
OF_A_CALL = 48
"""The first lines of a call's text that count as new: a file that was written whole is not all of the latest work."""
SHORT = 24
"""Characters of a line of code that is shown once more, in its place."""
NEARLY = 0.999
"""A line whose worth fell by less than this is taken as it stands."""
MOST_MISSES = 100
"""Lines that did not fit any more, after which no more are tried …"""
NEWEST_MISSES = 3
"""… among the newest: what is short and much older is not new."""

_WORD = re.compile(r"\w+(?:[./:-]\w+)*")
_TELLING = re.compile(r"[\d_./:]|[a-z][A-Z]")
_LETTER = re.compile(r"[^\W\d_]")
_SHORTEST_NAME = 4
_SHORTEST_WORD = 5


class Stock:
    """The lines of some messages. `told` gives those of tools, where they are wanted; `before` is the number of the
    messages before them, `count` their own."""

    def __init__(
        self, lines: Sequence[Line], told: Callable[[], Iterable[Line]], before: int = 0, count: int = 0
    ) -> None:
        self.lines, self.told = lines, told
        self.before, self.count = before, count

    def within(self, room: int, size: Size) -> list[Line]:
        """What the agent wrote again and again, its newest lines, the rest by worth, then what tools told last."""
        shelf = _Shelf(max(room, 0), size)
        self._take_again(shelf, int(room * (1 - AGAIN_SHARE)))
        newest = {place: line for place, line in self._newest.items() if place not in shelf.chosen}
        shelf.take_newest(newest, int(room * (1 - NEWEST_SHARE)), NEWEST_MISSES, self._closing)
        self._take_by_worth(shelf)
        if shelf.room > LEAST_TOLD:
            shelf.take_newest(self._untold, 0, MOST_MISSES, {})
        return [line for _, line in sorted(shelf.chosen.items(), key=lambda item: (item[1].message, item[0]))]

    @cached_property
    def _once(self) -> dict[int, Line]:
        return _once(self.lines)

    @cached_property
    def _again(self) -> list[int]:
        """The lines that were written more than once, by how often and how lately, for their tokens."""
        times = Counter(line.text for line in self.lines)
        fade = math.log(2) / max(HALF_LIFE * len(self.lines), 1)

        def worth(place: int) -> float:
            line = self._once[place]
            return line.weight * times[line.text] * math.exp(fade * place) / (LABEL_TOKENS + len(line.text) / 4)

        again = (place for place, line in self._once.items() if times[line.text] > 1 and line.weight > ASIDE)
        return sorted((place for place in again if len(self._once[place].text) >= TOLD), key=worth, reverse=True)

    @cached_property
    def _newest(self) -> dict[int, Line]:
        inner: Counter[tuple[int, str, int, bool]] = Counter()
        found: dict[int, Line] = {}
        for place, line in self._once.items():
            inner[_entry(line)] += line.weight == TORN
            if line.weight > ASIDE and (line.weight != TORN or inner[_entry(line)] <= OF_A_CALL):
                found[place] = line
        return found

    @cached_property
    def _closing(self) -> dict[int, Line]:
        """Lines that stand with the one before them, though they tell nothing new: code without them looks torn."""
        once = self._once
        found = ((place, line) for place, line in enumerate(self.lines) if place not in once)
        return {place: line for place, line in found if closes(line.text) or _is_short(line)}

    @cached_property
    def _untold(self) -> dict[int, Line]:
        known = {line.text for line in self._once.values()}
        return _once((line for line in self.told() if line.text not in known), len(self.lines))

    @cached_property
    def _named(self) -> dict[int, frozenset[str]]:
        known: dict[str, str] = {}
        return {place: names(line, known) for place, line in self._once.items()}

    @cached_property
    def _worths(self) -> dict[str, float]:
        """What each name is worth: how lately it was written, and how rare it is.

        Of lines that an earlier summary carried on only the order is known: they are taken to be spread over its
        messages.
        """
        lines, named = self._once, self._named
        apart = self.before / max(-min((line.message for line in lines.values()), default=0), 1)
        spread = Counter(name for found in named.values() for name in found)
        last = {name: lines[number].message for number, found in named.items() for name in found}
        fade = math.log(2) / max(HALF_LIFE * (self.before + self.count), 1)
        return {
            name: (PLAIN if name[0] == " " else 1.0)
            * math.exp(fade * (at * (apart if at < 0 else 1) - self.count))
            / math.sqrt(spread[name])
            for name, at in last.items()
        }

    def _take_again(self, shelf: _Shelf, least: int) -> None:
        """As many as leave so many tokens."""
        for place in self._again:
            if not shelf.takes(place, self._once[place], least):
                return

    def _take_by_worth(self, shelf: _Shelf) -> None:
        """Greedy by worth for tokens. A line's worth only falls as others are chosen: a stale one is weighed again."""
        lines, named, worth = self._once, self._named, self._worths
        covered: set[str] = {name for place in shelf.chosen for name in named.get(place, ())}

        def value(run: tuple[int, ...]) -> float:
            mine: set[str] = set()
            found, tokens = 0.0, float(LABEL_TOKENS)
            for place in run:
                new = [name for name in named[place] if name not in covered and name not in mine]
                mine.update(new)
                found += lines[place].weight * math.fsum([worth[name] for name in new])
                tokens += len(lines[place].text) / 4
            return found / tokens

        heap = [(-value(run), run) for run in self._runs(shelf.chosen)]
        heapq.heapify(heap)
        misses = 0
        while heap and misses < MOST_MISSES:
            stale, run = heapq.heappop(heap)
            now = -value(run)
            if now > stale * NEARLY:
                if now < 0:
                    heapq.heappush(heap, (now, run))
            elif shelf.takes_all({place: lines[place] for place in run}):
                covered |= frozenset().union(*(named[place] for place in run))
            elif len(run) > 1:
                for half in (run[: len(run) // 2], run[len(run) // 2 :]):
                    heapq.heappush(heap, (-value(half), half))
            else:
                misses += 1

    def _runs(self, chosen: Container[int]) -> Iterator[tuple[int, ...]]:
        """The lines that are not chosen yet, by their places, as many as stand together in one text or call."""
        free = ((place, line) for place, line in self._once.items() if place not in chosen)
        for _, group in groupby(free, key=lambda item: _entry(item[1])):
            places = [place for place, _ in group]
            runs = (tuple(places[at : at + TOGETHER]) for at in range(0, len(places), TOGETHER))
            yield from (run for run in runs if self._tells(run))

    def _tells(self, run: Sequence[int]) -> bool:
        """It names something, in more than a word."""
        return any(map(self._named.get, run)) and sum(len(self._once[place].text) for place in run) >= TOLD


def _is_short(line: Line) -> bool:
    return line.weight == TORN and len(line.text) <= SHORT


def _entry(line: Line) -> tuple[int, str, int, bool]:
    """What lines stand together by. What was told in passing stands alone."""
    return line.message, line.label, line.call, line.weight > ASIDE


class _Shelf:
    """The lines that were chosen, by their places, and the tokens that are left. A label costs once."""

    def __init__(self, room: int, size: Size) -> None:
        self.room, self.size = room, size
        self.chosen: dict[int, Line] = {}
        self.labels: set[tuple[int, str]] = set()

    def takes(self, place: int, line: Line, least: int = 0) -> bool:
        """Takes a line if at least so many tokens are left then."""
        return self.takes_all({place: line}, least)

    def takes_all(self, lines: Mapping[int, Line], least: int = 0) -> bool:
        """Takes lines of one entry, or none of them."""
        tokens = sum(self.size(line.text) + (3 if line.is_tools else 1) for line in lines.values())
        first = next(iter(lines.values()))
        tokens += 0 if (first.message, first.label) in self.labels else self._label(first)
        if self.room - tokens < least:
            return False
        self.room -= tokens
        self.chosen |= lines
        self.labels.add((first.message, first.label))
        return True

    def _label(self, line: Line) -> int:
        if line.is_plain:
            return 1
        name = line.label if line.is_tools or line.message < 0 else line.label.partition(" ")[0]
        return self.size(name) + LABEL_MARKS

    def take_newest(self, lines: dict[int, Line], least: int, most: int, closing: Mapping[int, Line]) -> None:
        """Takes the last lines, down to so many tokens, each with those behind it that close it; no more than `most`
        that do not fit are passed over."""
        misses = 0
        for place in reversed(lines):
            if self.takes(place, lines[place], least):
                at = place + 1
                while at in closing and self.takes(at, closing[at], least):
                    at += 1
            elif (misses := misses + 1) >= most:
                return


def _once(lines: Iterable[Line], first: int = 0) -> dict[int, Line]:
    """Each line where it was written last, by its place; those aside that only close others."""
    last = {line.text: (place, line) for place, line in enumerate(lines, first) if not closes(line.text)}
    return dict(sorted(last.values(), key=lambda item: item[0]))


def names(line: Line, known: dict[str, str]) -> frozenset[str]:
    """The words that name something: with signs, digits or an inner capital; and other long ones, as " word".

    `known` remembers what was found out about each word.
    """
    found = set()
    for word in _WORD.findall(line.text):
        name = known.get(word)
        if name is None:
            name = known[word] = _name(word)
        if name:
            found.add(name)
    return frozenset(found)


def _name(word: str) -> str:
    if len(word) < _SHORTEST_NAME or not _LETTER.search(word):
        return ""
    if _TELLING.search(word):
        return word
    return f" {word.lower()}" if len(word) >= _SHORTEST_WORD else ""
