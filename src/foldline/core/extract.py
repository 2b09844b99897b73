"""The summary that needs no model: goal, work log and the immediate task, all in words that were really said.

    messages, facts, room ── extract ──> Summary

The log holds what the agent itself wrote: what it said, ran, and put into files. It goes on with more of the same, and
says in a few words what tools told it in many. The newest lines come first of all; then older ones, by what they are
worth for their tokens: the names in them that no chosen line has yet, more if they are recent, more if few lines have
them. Each line stands once, where it was written last.
It always succeeds. The user's words, tasks, errors and files are not here: the notes carry them in any case.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from foldline.core.deeds import Deed
from foldline.core.facts import Facts
from foldline.core.shorten import shorten
from foldline.core.styles import CHECKPOINT
from foldline.core.summary import Section, Summary
from foldline.core.text import beginning
from foldline.core.tools import command_of
from foldline.core.worklog import ASIDE, Line, answers, below, carried, closes, entries, outcomes, shown, subject
from foldline.model import Message, Origin

Size: TypeAlias = Callable[[str], int]
Counts: TypeAlias = tuple[int, int]
"""Messages before a span, and in it."""

VERSION = "extract/6"
LOG = "Work Log"
NEWEST_SHARE = 0.6
"""Share of the log's room for the newest lines, before anything is weighed."""
PLAIN = 0.3
"""What a plain word is worth beside a name: prose tells what was found and done, with or without names."""
HALF_LIFE = 0.25
"""After this share of the span's messages, a name is worth half."""
TASK_SHARE = 8
"""The task and the goal each take at most this part of the room: both stand elsewhere in full."""
EARLIER_SHARE = 2
"""What a model wrote before takes at most this part of the room."""
PASSING = frozenset({"immediate", "next", "active", "context"})
"""Sections of an earlier summary that are out of date, or are carried line by line."""
LEAST_TOLD = 200
"""Tokens that must be left before what tools told is quoted."""
LITTLE, MUCH = 40, 5
"""Parts of the room that may stay free: less than the one is not worth another try; where it is more than the other,
all lines are in."""
LABEL_TOKENS = 6
"""About what the label above a line costs."""
LABEL_MARKS = 3
"""Tokens of a label besides the tool's name: brackets, an empty line, sometimes a number or a file."""
NEARLY = 0.999
"""A line whose worth fell by less than this is taken as it stands."""
MOST_MISSES = 100
"""Lines that did not fit any more, after which no more are tried."""
HEADING_TOKENS = 8
"""About what a section's heading and the empty line before it cost."""
LENGTHS = (600, 300, 120, 40)
"""Characters of a quotation in the goal and the task: as many as there is room for."""
BEGINNING = 120
"""Characters of a first request that is too long for the goal."""
REQUEST = 120
"""Characters of the latest request in the task: it stands in the view as it is."""

_WORD = re.compile(r"\w+(?:[./:-]\w+)*")
_TELLING = re.compile(r"[\d_./:]|[a-z][A-Z]")
_LETTER = re.compile(r"[^\W\d_]")
_SHORTEST_NAME = 4
_SHORTEST_WORD = 5


def extract(
    messages: Sequence[Message],
    facts: Facts,
    room: int,
    size: Size,
    *,
    first: int = 0,
    previous: Summary | None = None,
    done: Sequence[Deed] = (),
    start: int = 0,
) -> Summary:
    """The best summary of these messages in `room` tokens, `first` being the number of the first of them.

    `done` is what was done in them, `start` where that counts from.
    """
    share = room // TASK_SHARE
    task = _longest(lambda length: _task(facts, length), share, size)
    goal = _longest(lambda length: _goal(facts, length), share, size, LENGTHS[:-1])
    room -= _cost(task, size) + _cost(goal, size) + HEADING_TOKENS
    earlier = _earlier(previous, room // EARLIER_SHARE, size)
    room -= sum(_cost(section.text, size) for section in earlier)
    failed = frozenset((deed.at - start, deed.call.id, deed.call.arguments) for deed in done if deed.failed)
    own = sorted((*entries(messages, failed), *outcomes(done, start)), key=lambda line: line.message)
    lines = [*(carried(previous.get("context")) if previous else ()), *own]
    log = _log(lines, messages, first, room, size)
    doing = _longest(lambda length: _doing(messages, facts, first, length, log), share - size(task), size)
    if doing:
        task = f"{task}\n{doing}".lstrip()
        log = _log(lines, messages, first, room - _cost(doing, size), size)
    written = {section.key: section for section in earlier}
    titles = {heading.key: heading.title for heading in CHECKPOINT.headings} | {"context": LOG}
    made = {"goal": goal, "context": log, "immediate": task}
    written |= {key: Section(key, titles[key], text) for key, text in made.items() if text}
    return Summary("checkpoint", tuple(written[key] for key in titles if key in written), VERSION)


def _log(lines: Sequence[Line], messages: Sequence[Message], first: int, room: int, size: Size) -> str:
    """The lines in as much room as there is. Lines have fewer tokens together than each by itself: so twice, where that
    left room for more of them."""
    asked = [index for index, message in enumerate(messages) if message.origin is Origin.USER]
    sized = lru_cache(maxsize=None)(size)

    def made(wanted: int) -> str:
        return shown(_choose(lines, answers(messages), (first, len(messages)), wanted, sized), first, asked)

    text = made(room)
    spare = room - size(text)
    if room // LITTLE > spare >= 0 or spare > room // MUCH:
        return text
    again = made(room + spare)
    return max((found for found in (text, again) if size(found) <= room), key=len, default=min(text, again, key=len))


def _earlier(previous: Summary | None, room: int, size: Size) -> tuple[Section, ...]:
    """What a model wrote before: it is kept as it stands, as far as there is room."""
    if previous is None or previous.style != CHECKPOINT.name:
        return ()
    lasting = tuple(section for section in previous.sections if section.key not in PASSING)
    return shorten(Summary(previous.style, lasting, previous.version), room, size).summary.sections


def _cost(text: str, size: Size) -> int:
    return size(text) + HEADING_TOKENS if text else 0


def _longest(write: Callable[[int], str], room: int, size: Size, lengths: Sequence[int] = LENGTHS) -> str:
    """The text with the longest quotations that fit; nothing when none do."""
    return next((text for text in map(write, lengths) if _cost(text, size) <= room), "")


def _quote(text: str, length: int) -> str:
    return f"“{below(beginning(text, length))}”"


def _goal(facts: Facts, length: int) -> str:
    """What the user asked first; by its beginning where it is long, for then it stands below."""
    said = facts.first("user")
    return f"First asked: {_quote(said.text, length if len(said.text) <= length else BEGINNING)}" if said else ""


def _task(facts: Facts, length: int) -> str:
    """What to take up: the latest request, which stands in the view itself, or what waits for the user."""
    asked, waiting, first = facts.first("immediate"), facts.first("approval"), facts.first("user")
    if waiting:
        return f"CONTINUE once the user has answered what the assistant asked: {_quote(waiting.text, length)}"
    if asked is None:
        return ""
    if first and first.at == asked.at:
        return "CONTINUE with what was asked first."
    question = next((fact.about for fact in facts.of("decision") if fact.at == asked.at and fact.about), "")
    answering = f" (in answer to {_quote(question, length)})" if question else ""
    return f"CONTINUE: {_quote(asked.text, min(length, REQUEST))}{answering}"


def _doing(messages: Sequence[Message], facts: Facts, first: int, length: int, log: str) -> str:
    """What was said last about the task, and the last thing tried, where the log had no room for it. What comes after
    the messages stands in the view."""
    stop = first + len(messages)
    said, waiting = facts.first("doing"), facts.first("approval")
    spoken, lines = waiting or said, []
    if said and not waiting and said.at < stop and not _is_told(said.text, log):
        lines.append(f"The assistant last said: {_quote(said.text, length)}")
    last = next((message for message in reversed(messages[-6:]) if message.calls), None)
    if last and not (spoken and spoken.at >= stop) and not any(line.text in log for line in entries([last])):
        command = command_of(last.calls[-1]).strip()
        tried = f": {_quote(command, min(length, 120))}" if command else ""
        lines.append(f"The last call was {subject(last.calls[-1])}{tried}")
    return "\n".join(lines)


def _is_told(words: str, log: str) -> bool:
    """The log has the last of these words' lines."""
    return words.strip().rsplit("\n", 1)[-1].strip() in log


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


class _Shelf:
    """The lines that were chosen, by their places, and the tokens that are left. A label costs once."""

    def __init__(self, room: int, size: Size) -> None:
        self.room, self.size = room, size
        self.chosen: dict[int, Line] = {}
        self.labels: set[tuple[int, str]] = set()

    def takes(self, place: int, line: Line, least: int = 0) -> bool:
        """Takes a line if at least so many tokens are left then."""
        name = line.label if line.is_tools or line.message < 0 else line.label.partition(" ")[0]
        label = 0 if (line.message, line.label) in self.labels else self.size(name) + LABEL_MARKS
        tokens = self.size(line.text) + (3 if line.is_tools else 1) + label
        if self.room - tokens < least:
            return False
        self.room -= tokens
        self.chosen[place] = line
        self.labels.add((line.message, line.label))
        return True


def _choose(lines: Sequence[Line], told: Iterable[Line], counts: Counts, room: int, size: Size) -> list[Line]:
    """The newest of the agent's lines, then the rest by worth, then what tools told last. Each line once."""
    shelf = _Shelf(max(room, 0), size)
    once = _once(lines)
    closing = {place: line for place, line in enumerate(lines) if closes(line.text)}
    newest = {place: line for place, line in once.items() if line.weight > ASIDE}
    _newest(shelf, newest, int(room * (1 - NEWEST_SHARE)), closing)
    _by_worth(shelf, once, counts)
    if shelf.room > LEAST_TOLD:
        known = {line.text for line in once.values()}
        untold = (line for line in told if line.text not in known)
        _newest(shelf, _once(untold, len(lines)), 0, {})
    return [line for _, line in sorted(shelf.chosen.items(), key=lambda item: (item[1].message, item[0]))]


def _once(lines: Iterable[Line], first: int = 0) -> dict[int, Line]:
    """Each line where it was written last, by its place; those aside that only close others."""
    last = {line.text: (place, line) for place, line in enumerate(lines, first) if not closes(line.text)}
    return dict(sorted(last.values(), key=lambda item: item[0]))


def _newest(shelf: _Shelf, lines: dict[int, Line], least: int, closing: Mapping[int, Line]) -> None:
    """Takes the last lines, down to so many tokens, each with those behind it that close it."""
    misses = 0
    for place, line in reversed(lines.items()):
        if shelf.takes(place, line, least):
            at = place + 1
            while at in closing and shelf.takes(at, closing[at], least):
                at += 1
        elif (misses := misses + 1) >= MOST_MISSES:
            return


def _by_worth(shelf: _Shelf, lines: Mapping[int, Line], counts: Counts) -> None:
    """Greedy by worth for tokens. A line's worth only falls as others are chosen, so a stale one is weighed again."""
    known: dict[str, str] = {}
    named = {place: names(line, known) for place, line in lines.items()}
    worth = _worths(lines, named, counts)
    covered: set[str] = {name for place in shelf.chosen for name in named.get(place, ())}

    def value(place: int) -> float:
        new = math.fsum(worth[name] for name in named[place] if name not in covered)
        return lines[place].weight * new / (LABEL_TOKENS + len(lines[place].text) / 4)

    heap = [(-value(place), place) for place in lines if named[place] and place not in shelf.chosen]
    heapq.heapify(heap)
    misses = 0
    while heap and misses < MOST_MISSES:
        stale, place = heapq.heappop(heap)
        now = -value(place)
        if now > stale * NEARLY:
            if now < 0:
                heapq.heappush(heap, (now, place))
        elif shelf.takes(place, lines[place]):
            covered |= named[place]
        else:
            misses += 1


def _worths(lines: Mapping[int, Line], named: Mapping[int, frozenset[str]], counts: Counts) -> dict[str, float]:
    """What each name is worth: how lately it was written, and how rare it is.

    Of lines that an earlier summary carried on only the order is known: they are taken to be spread over its messages.
    """
    before, count = counts
    apart = before / max(-min((line.message for line in lines.values()), default=0), 1)
    spread = Counter(name for found in named.values() for name in found)
    last = {name: lines[number].message for number, found in named.items() for name in found}
    fade = math.log(2) / max(HALF_LIFE * (before + count), 1)
    return {
        name: (PLAIN if name[0] == " " else 1.0)
        * math.exp(fade * (at * (apart if at < 0 else 1) - count))
        / math.sqrt(spread[name])
        for name, at in last.items()
    }
