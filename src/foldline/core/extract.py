"""The summary that needs no model: goal, findings and the immediate task, all in words that were really said.

    messages, facts, room ── extract ──> Summary

Findings are lines of the conversation. First come those that the agent itself wrote (what it said, ran, and put into
files), the newest first: what it goes on with is mostly more of the same. Then lines of any kind by what they are worth
for their tokens: a line is worth the names in it that no chosen line has yet, more if the agent itself wrote them, more
if they are recent, more if few lines have them.
It always succeeds. The user's words, tasks, errors and files are not here: the notes carry them in any case.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence, Set
from typing import TypeAlias

from foldline.core.facts import Facts
from foldline.core.findings import Line, candidates, carried, shown
from foldline.core.styles import CHECKPOINT
from foldline.core.summary import Section, Summary
from foldline.core.text import head
from foldline.core.tools import command_of
from foldline.model import Message

Size: TypeAlias = Callable[[str], int]

VERSION = "extract/3"
AGENT_SHARE = 0.8
"""Share of the room that goes to the newest of what the agent itself wrote, before anything is weighed."""
AGENT_WROTE = 3.0
"""How much more a name is worth that the agent itself has written: it has used it, and is likely to use it again."""
PLAIN = 0.3
"""What a plain word of the agent's is worth: its prose tells what was found and done, with or without names."""
HALF_LIFE = 0.25
"""After this share of the span's messages, a name is worth half."""
LABEL_TOKENS = 8
"""About what the label above a line costs."""
NEARLY = 0.999
"""A line whose worth fell by less than this is taken as it stands."""
MOST_MISSES = 100
"""Lines that did not fit any more, after which no more are tried."""
HEADING_TOKENS = 8
"""About what a section's heading and the empty line before it cost."""
LENGTHS = (600, 300, 120, 40)
"""Characters of a quotation in the goal and the task: as many as there is room for."""

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
) -> Summary:
    """The best summary of these messages in `room` tokens, `first` being the number of the first of them."""
    task = _longest(lambda length: _task(messages, facts, length), room // 2, size)
    room -= _cost(task, size)
    goal = _longest(lambda length: _goal(facts, length), room // 2, size)
    room -= _cost(goal, size) + HEADING_TOKENS
    lines = [*(carried(previous.get("context")) if previous else ()), *candidates(messages)]
    context = shown(_choose(lines, len(messages), room, size), first)
    titles = {heading.key: heading.title for heading in CHECKPOINT.headings}
    found = [(key, text) for key, text in (("goal", goal), ("context", context), ("immediate", task)) if text]
    return Summary("checkpoint", tuple(Section(key, titles[key], text) for key, text in found), VERSION)


def _cost(text: str, size: Size) -> int:
    return size(text) + HEADING_TOKENS if text else 0


def _longest(write: Callable[[int], str], room: int, size: Size) -> str:
    """The text with the longest quotations that fit; nothing when none do."""
    return next((text for text in map(write, LENGTHS) if _cost(text, size) <= room), "")


def _quote(text: str, length: int) -> str:
    return f"“{text}”" if len(text) <= length else f"“{head(text, length)} …”"


def _goal(facts: Facts, length: int) -> str:
    """What the user asked first."""
    said = facts.first("user")
    return f"First asked: {_quote(said.text, length)}" if said else ""


def _task(messages: Sequence[Message], facts: Facts, length: int) -> str:
    """What to take up: the latest request, what was said last about it, and the last thing tried."""
    asked, doing, waiting = facts.first("immediate"), facts.first("doing"), facts.first("approval")
    lines = []
    if asked:
        question = next((fact.about for fact in facts.of("decision") if fact.at == asked.at and fact.about), "")
        answering = f" (in answer to {_quote(question, length)})" if question else ""
        lines.append(f"CONTINUE: {_quote(asked.text, length)}{answering}")
    if waiting:
        lines.append(f"The assistant asked, and has no answer yet: {_quote(waiting.text, length)}")
    elif doing:
        lines.append(f"The assistant last said: {_quote(doing.text, length)}")
    calls = [call for message in messages[-6:] for call in message.calls]
    if calls:
        tried = (command_of(calls[-1]) or calls[-1].arguments).strip()
        lines.append(f"The last call was {calls[-1].name}: {_quote(tried, min(length, 200))}")
    return "\n".join(lines)


def names(line: Line, known: dict[str, str]) -> frozenset[str]:
    """The words that name something: with signs, digits or an inner capital. In prose other long words too, as " word".

    `known` remembers what was found out about each word.
    """
    found = set()
    for word in _WORD.findall(line.text):
        name = known.get(word)
        if name is None:
            name = known[word] = _name(word)
        if name and (name[0] != " " or line.label == "assistant"):
            found.add(name)
    return frozenset(found)


def _name(word: str) -> str:
    if len(word) < _SHORTEST_NAME or not _LETTER.search(word):
        return ""
    if _TELLING.search(word):
        return word
    return f" {word.lower()}" if len(word) >= _SHORTEST_WORD else ""


class _Shelf:
    """Lines that were chosen, by number, and the tokens that are left. A label costs once."""

    def __init__(self, lines: Sequence[Line], size: Size) -> None:
        self.lines, self.size = lines, size
        self.chosen: list[int] = []
        self.labels: set[tuple[int, str]] = set()

    def cost(self, number: int) -> int:
        line = self.lines[number]
        label = 0 if (line.message, line.label) in self.labels else self.size(line.label) + 4
        return self.size(line.text) + 2 + label

    def take(self, number: int) -> None:
        line = self.lines[number]
        self.chosen.append(number)
        self.labels.add((line.message, line.label))


def _choose(lines: Sequence[Line], count: int, room: int, size: Size) -> list[Line]:
    """The agent's own newest lines, then the rest by worth."""
    shelf = _Shelf(lines, size)
    room -= _newest(shelf, int(room * AGENT_SHARE))
    _by_worth(shelf, count, room)
    return [lines[number] for number in sorted(shelf.chosen)]


def _newest(shelf: _Shelf, room: int) -> int:
    """Takes what the agent wrote last, each line once. The tokens it took."""
    used = misses = 0
    seen: set[str] = set()
    for number in range(len(shelf.lines) - 1, -1, -1):
        line = shelf.lines[number]
        if line.is_tools or line.text in seen:
            continue
        seen.add(line.text)
        tokens = shelf.cost(number)
        if used + tokens <= room:
            shelf.take(number)
            used += tokens
        else:
            misses += 1
            if misses >= MOST_MISSES:
                break
    return used


def _by_worth(shelf: _Shelf, count: int, room: int) -> None:
    """Greedy by worth for tokens. A line's worth only falls as others are chosen, so a stale one is weighed again."""
    lines = shelf.lines
    known: dict[str, str] = {}
    named = [names(line, known) for line in lines]
    worth = _worths(lines, named, count)
    there = {lines[number].text for number in shelf.chosen}
    covered: set[str] = {name for number in shelf.chosen for name in named[number]}

    def value(number: int) -> float:
        new = sum(worth[name] for name in named[number] if name not in covered)
        return new / (LABEL_TOKENS + len(lines[number].text) / 4)

    open_ = (number for number in range(len(lines)) if named[number] and lines[number].text not in there)
    heap = [(-value(number), number) for number in open_]
    heapq.heapify(heap)
    misses = 0
    while heap and room > 0 and misses < MOST_MISSES:
        stale, number = heapq.heappop(heap)
        now = -value(number)
        if now > stale * NEARLY:
            if now < 0:
                heapq.heappush(heap, (now, number))
            continue
        tokens = shelf.cost(number)
        misses += tokens > room
        if tokens <= room:
            shelf.take(number)
            covered |= named[number]
            room -= tokens


def _worths(lines: Sequence[Line], named: Sequence[frozenset[str]], count: int) -> dict[str, float]:
    """What each name is worth: by who wrote it, how lately, and how rare it is."""
    spread = Counter(name for found in named for name in found)
    last: dict[str, int] = {}
    agents: set[str] = set()
    for line, found in zip(lines, named, strict=True):
        last.update(dict.fromkeys(found, line.message))
        if not line.is_tools:
            agents |= found
    fade = math.log(2) / max(HALF_LIFE * count, 1)
    return {
        name: _weight(name, agents) * math.exp(fade * (at - count)) / math.sqrt(spread[name])
        for name, at in last.items()
    }


def _weight(name: str, agents: Set[str]) -> float:
    if name[0] == " ":
        return PLAIN
    return AGENT_WROTE if name in agents else 1.0
