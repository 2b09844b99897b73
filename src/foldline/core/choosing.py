"""Which of the agent's lines a log has room for.

    lines, what tools told ── Stock ── within(room) ──> the chosen lines, in order
                                    ── kept(room) ────> more of them, which the next fold chooses from

First come lines that say what was wrong. Then the newest lines, each with the piece of code that it begins; then older
ones, a few that stand together at a time. What is not new is weighed by what it is worth for its tokens: the names in
it that no chosen line has yet, more if they are recent, more if few lines have them, and more if it was written again
and again, such as the files and commands that the agent goes back to. Last comes what tools told. Each line stands
once, where it was written last, but for those that hold others together. What is known of the lines whatever the room
is worked out once: a fold may try several. Where lines come from is in worklog.py, in which order they stand in
laying.py.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from types import MappingProxyType
from typing import TypeAlias

from foldline.core.laying import laid_out
from foldline.core.loglines import CAUSE, GAP, GOALS, OFTEN, Line, closes

Size: TypeAlias = Callable[[str], int]

CAUSES_SHARE = 0.1
"""Share of the log's room for lines in which the agent says what was wrong: readers miss that most …"""
APART = 12
"""… and messages between two of them: nearer ones are mostly about the same thing."""
NEWEST_SHARE = 0.7
"""Share of the log's room for these and the newest lines, before anything else is weighed."""
MOST_OFTEN = 8
"""How often a line was written counts by its square, up to this: for its tokens, a line that was written five times is
written again seven times as often as one of the newest, and one that was written three times four times."""
OFTEN_BEFORE = 2
"""How often more a line was written, at the least, that an earlier log says was often used."""
KEPT = 3
"""How much longer than the log that is shown the one is that the next fold chooses from."""
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
"""The first lines of a call's text that count as new, all of them: code is read as a whole or not at all. The rest is
on the disk."""
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
        """What was wrong, the newest of the agent's lines, the rest by worth, then what tools told last."""
        shelf = _Shelf(max(room, 0), size)
        recent = self._take_own(shelf)
        self._take_told(shelf)
        return laid_out(self.lines, shelf.chosen, self._often(shelf.chosen, recent))

    def kept(self, room: int, size: Size) -> list[Line]:
        """What the next fold chooses from, where this one shows a log in `room`: the lines of a longer one. Their
        messages are counted back from the end, and each says how often it was written."""
        shelf = _Shelf(room * KEPT, size)
        self._take_own(shelf)
        shelf.room -= room * (KEPT - 1)
        self._take_told(shelf)
        chosen = {place: line._replace(times=self._written(place, line)) for place, line in shelf.chosen.items()}
        laid = laid_out(self.lines, chosen, frozenset())
        return [line._replace(message=line.message - self.count) for line in laid]

    def _written(self, place: int, line: Line) -> int | None:
        """How often a line was written, told of one of those that are alike; not known of what tools told."""
        if place >= len(self.lines):
            return None
        return self._times[line.text, line.is_spoken] if place in self._once else 0

    def _take_own(self, shelf: _Shelf) -> frozenset[int]:
        """Takes the agent's lines, and tells which of them were taken for being new."""
        room = shelf.room
        self._take_by_worth(shelf, self._causes, int(room * (1 - CAUSES_SHARE)))
        newest = {place: line for place, line in self._newest.items() if place not in shelf.chosen}
        shelf.take_newest(newest, int(room * (1 - NEWEST_SHARE)), NEWEST_MISSES, self._closing, self._heads)
        recent = frozenset(shelf.chosen)
        self._take_by_worth(shelf, self._runs(shelf.chosen))
        return recent

    def _take_told(self, shelf: _Shelf) -> None:
        if shelf.room > LEAST_TOLD:
            shelf.take_newest(self._untold, 0, MOST_MISSES)

    def _often(self, chosen: Mapping[int, Line], recent: Container[int]) -> frozenset[int]:
        """Files and commands of older calls of which nothing else is shown, and that were used more than once."""
        shown = Counter(line.entry for line in chosen.values())
        alone = (place for place, line in chosen.items() if line.is_goal and line.is_done and shown[line.entry] == 1)
        return frozenset(place for place in alone if place not in recent and self._times[chosen[place].text, False] > 1)

    @cached_property
    def _once(self) -> dict[int, Line]:
        return _once(self.lines)

    @cached_property
    def _causes(self) -> list[tuple[int, ...]]:
        """Lines that say what was wrong; of several that follow on each other the last, which knows most."""
        found: list[int] = []
        for place in reversed(self._once):
            line = self._once[place]
            if line.weight >= CAUSE and not (found and self._once[found[-1]].message - line.message < APART):
                found.append(place)
        return [(place,) for place in found]

    @cached_property
    def _newest(self) -> dict[int, Line]:
        lines = ((place, line) for place, line in self._once.items() if line.kind in ("whole", "inner"))
        return {place: line for place, line in lines if place not in self._late}

    @cached_property
    def _heads(self) -> dict[int, int]:
        """For each line of a call the place of the one that says what the call is about: arguments without it
        tell nothing."""
        first: dict[tuple[int, str, int, bool], int] = {}
        newest = self._newest
        for place, line in newest.items():
            if line.entry not in first and not line.is_spoken and GOALS.match(line.text):
                first[line.entry] = place
        return {place: first[line.entry] for place, line in newest.items() if line.entry in first}

    @cached_property
    def _late(self) -> frozenset[int]:
        """The lines inside an argument that come behind the first ones of their call."""
        inner: Counter[tuple[int, str, int, bool]] = Counter()
        found = set()
        for place, line in enumerate(self.lines):
            inner[line.entry] += line.kind == "inner"
            if inner[line.entry] > OF_A_CALL:
                found.add(place)
        return frozenset(found)

    @cached_property
    def _closing(self) -> dict[int, Line]:
        """Lines that stand with the one before them, though they tell nothing new: code without them looks torn."""
        once, late = self._once, self._late
        found = ((place, line) for place, line in enumerate(self.lines) if place not in once)
        return {place: line for place, line in found if closes(line.text) or _is_code(line, far=place in late)}

    @cached_property
    def _untold(self) -> dict[int, Line]:
        """What tools told, that of an earlier log first."""
        known = {line.text for line in self._once.values()}
        before = {place: line for place, line in self._once.items() if line.kind == "told"}
        return before | _once((line for line in self.told() if line.text not in known), len(self.lines))

    @cached_property
    def _named(self) -> dict[int, frozenset[str]]:
        known: dict[str, str] = {}
        return {place: names(line, known) for place, line in self._once.items()}

    @cached_property
    def _weights(self) -> dict[int, float]:
        """What each line tells, and how often it was written; what was told in passing counts once."""
        return {
            place: line.weight
            * (1 if line.kind == "aside" else min(self._times[line.text, line.is_spoken], MOST_OFTEN) ** 2)
            for place, line in self._once.items()
        }

    @cached_property
    def _times(self) -> Counter[tuple[str, bool]]:
        """How often each line was written, in speech or in calls, as far as known."""
        found: Counter[tuple[str, bool]] = Counter()
        for line in self.lines:
            found[line.text, line.is_spoken] += line.is_done if line.times is None else line.times
            found[line.text, False] += OFTEN_BEFORE * (line.label == OFTEN and line.times is None)
        return found

    @cached_property
    def _worths(self) -> dict[str, float]:
        """What each name is worth: how lately it was written, and how rare it is.

        Of lines that were read from an earlier log only the order is known: they are taken to be spread over its
        messages.
        """
        lines, named = self._once, self._named
        apart = self.before / max(-min((line.message for line in lines.values() if line.reread), default=0), 1)
        spread = Counter(name for found in named.values() for name in found)
        last = {name: _place(lines[number], apart) for number, found in named.items() for name in found}
        fade = math.log(2) / max(HALF_LIFE * (self.before + self.count), 1)
        return {
            name: (PLAIN if name[0] == " " else 1.0) * math.exp(fade * (at - self.count)) / math.sqrt(spread[name])
            for name, at in last.items()
        }

    def _take_by_worth(self, shelf: _Shelf, runs: Iterable[tuple[int, ...]], least: int = 0) -> None:
        """Greedy by worth for tokens, as many as leave so many. A line's worth only falls as others are chosen: a stale
        one is weighed again."""
        lines, named, worth, weights = self._once, self._named, self._worths, self._weights
        covered: set[str] = {name for place in shelf.chosen for name in named.get(place, ())}

        def value(run: tuple[int, ...]) -> float:
            mine: set[str] = set()
            found, tokens = 0.0, float(LABEL_TOKENS)
            for place in run:
                new = [name for name in named[place] if name not in covered and name not in mine]
                mine.update(new)
                found += weights[place] * math.fsum([worth[name] for name in new])
                tokens += len(lines[place].text) / 4
            return found / tokens

        heap = [(-value(run), run) for run in runs]
        heapq.heapify(heap)
        misses = 0
        while heap and misses < MOST_MISSES:
            stale, run = heapq.heappop(heap)
            now = -value(run)
            if now > stale * NEARLY:
                if now < 0:
                    heapq.heappush(heap, (now, run))
            elif shelf.takes_all({place: lines[place] for place in run}, least):
                covered |= frozenset().union(*(named[place] for place in run))
            elif len(run) > 1:
                for half in (run[: len(run) // 2], run[len(run) // 2 :]):
                    heapq.heappush(heap, (-value(half), half))
            else:
                misses += 1

    def _runs(self, chosen: Container[int]) -> Iterator[tuple[int, ...]]:
        """The lines that are not chosen yet, by their places, as many as stand together in one text or call."""
        own = ((place, line) for place, line in self._once.items() if line.kind != "told")
        free = ((place, line) for place, line in own if place not in chosen)
        for _, group in groupby(free, key=lambda item: item[1].entry):
            places = [place for place, _ in group]
            runs = (tuple(places[at : at + TOGETHER]) for at in range(0, len(places), TOGETHER))
            yield from (run for run in runs if self._tells(run))

    def _tells(self, run: Sequence[int]) -> bool:
        """It names something, in more than a word."""
        return any(map(self._named.get, run)) and sum(len(self._once[place].text) for place in run) >= TOLD


def _place(line: Line, apart: float) -> float:
    """About which message it is from, the first of those at hand being 0."""
    return line.message * apart if line.reread else line.message


def _is_code(line: Line, *, far: bool) -> bool:
    """A line that belongs to the piece of code that it stands in; far behind its beginning, if it is short."""
    return line.kind == "inner" and line.text != GAP and (not far or len(line.text) <= SHORT)


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
        name = line.label if line.is_tools or line.reread else line.label.partition(" ")[0]
        return self.size(name) + LABEL_MARKS

    def take_newest(
        self,
        lines: dict[int, Line],
        least: int,
        most: int,
        closing: Mapping[int, Line] = MappingProxyType({}),
        heads: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        """Takes the last lines, down to so many tokens, each with the head of its call and with those behind it that
        close it; no more than `most` that do not fit are passed over."""
        misses = 0
        for place in reversed(lines):
            if place in self.chosen:
                continue
            head = heads.get(place, place)
            new = {at: lines[at] for at in (head, place) if at in lines and at not in self.chosen}
            if self.takes_all(new, least):
                at, entry = place + 1, lines[place].entry
                while at in closing and closing[at].entry == entry and self.takes(at, closing[at], least):
                    at += 1
            elif (misses := misses + 1) >= most:
                return


def _once(lines: Iterable[Line], first: int = 0) -> dict[int, Line]:
    """Each line where it was written last, by its place; those aside that only close others, and marks of gaps."""
    found = ((place, line) for place, line in enumerate(lines, first) if line.text != GAP and not closes(line.text))
    last = {line.text: (place, line) for place, line in found}
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
