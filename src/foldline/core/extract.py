"""The summary that needs no model: goal, findings and the immediate task, all in words that were really said.

    messages, facts, room ── extract ──> Summary

Findings are lines of the conversation, chosen by what they are worth for their tokens: a line is worth the names in it
that no chosen line has yet, more if the agent itself wrote them, more if they are recent, more if few lines have them.
It always succeeds. The user's words, tasks, errors and files are not here: the notes carry them in any case.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from foldline.core.facts import Facts
from foldline.core.sentences import asks
from foldline.core.styles import CHECKPOINT
from foldline.core.summary import Section, Summary
from foldline.core.text import head
from foldline.core.tools import command_of
from foldline.model import Message, Origin, Text, ToolCall, ToolResult

VERSION = "extract/1"
SHORTEST, LONGEST = 12, 320
"""Characters of a line that can be a finding: shorter ones say nothing alone, longer ones are dumps."""
MOST_LINES = 160
"""Lines of one result that are looked at, from both ends."""
AGENT_WROTE = 3.0
"""How much more a name is worth that the agent itself has written: it has used it, and is likely to use it again."""
HALF_LIFE = 0.25
"""After this share of the span's messages, a name is worth half."""
TASK_LENGTH = 600

_NAME = re.compile(r"[A-Za-z_][\w]*(?:[./:-][\w]+)*|\b\d{3,}\b")
_TELLING = re.compile(r"[\d_./:-]|[a-z][A-Z]")


class Line(NamedTuple):
    """A candidate: its text, who wrote it, in which message, and the names in it."""

    text: str
    speaker: str
    message: int
    names: tuple[str, ...]


def extract(
    messages: Sequence[Message],
    facts: Facts,
    room: int,
    size: Callable[[str], int],
    *,
    first: int = 0,
    previous: Summary | None = None,
) -> Summary:
    """The best summary of these messages in `room` tokens, `first` being the number of the first of them."""
    fixed = [("goal", _goal(facts)), ("immediate", immediate(messages, facts))]
    used = sum(size(text) for _, text in fixed)
    lines = [*_earlier(previous), *_candidates(messages)]
    chosen = _choose(lines, len(messages), max(room - used, 0), size)
    context = "\n".join(_shown(chosen, first))
    titles = {heading.key: heading.title for heading in CHECKPOINT.headings}
    found = [(key, text) for key, text in (fixed[0], ("context", context), fixed[1]) if text]
    return Summary("checkpoint", tuple(Section(key, titles[key], text) for key, text in found), VERSION)


def _goal(facts: Facts) -> str:
    """What the user asked first, and last."""
    said = facts.of("user")
    if not said:
        return ""
    goal = f"First asked: “{head(said[0].text, TASK_LENGTH)}”"
    return goal if len(said) == 1 else f"{goal}\nLatest: “{head(said[-1].text, TASK_LENGTH)}”"


def immediate(messages: Sequence[Message], facts: Facts) -> str:
    """What to take up: the latest request, what was said last about it, and the last thing tried."""
    asked, doing = facts.first("immediate"), facts.first("doing")
    lines = [f"CONTINUE: “{head(asked.text, TASK_LENGTH)}”"] if asked else []
    if doing:
        lines.append(f"The assistant last said: “{head(doing.text, TASK_LENGTH)}”")
    calls = [call for message in messages[-6:] for call in message.calls]
    if calls:
        lines.append(f"The last call was {calls[-1].name}: {head(command_of(calls[-1]) or calls[-1].arguments, 200)}")
    return "\n".join(lines)


def _earlier(previous: Summary | None) -> Iterator[Line]:
    """What the last checkpoint had found: candidates like all others, from before the first message."""
    for text in previous.get("context").split("\n") if previous else ():
        if len(text) >= SHORTEST:
            yield Line(text, "", -1, names(text))


def _candidates(messages: Sequence[Message]) -> Iterator[Line]:
    for index, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, Text) and message.origin is Origin.ASSISTANT:
                yield from _lines(part.text.split("\n"), "assistant", index)
            elif isinstance(part, ToolCall):
                text = command_of(part) or part.arguments
                yield from _lines([head(text, LONGEST)], f"call {part.name}", index)
            elif isinstance(part, ToolResult):
                yield from _lines(_ends(part.text), "tool output", index)


def _ends(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if len(lines) <= MOST_LINES else lines[: MOST_LINES * 3 // 4] + lines[-MOST_LINES // 4 :]


def _lines(texts: Sequence[str], speaker: str, index: int) -> Iterator[Line]:
    for text in texts:
        if SHORTEST <= len(text) <= LONGEST:
            found = names(text)
            if found:
                yield Line(text.strip(), speaker, index, found)


def names(text: str) -> tuple[str, ...]:
    """The words that name something: with signs, digits or an inner capital."""
    return tuple({name for name in _NAME.findall(text) if len(name) > 3 and _TELLING.search(name)})


def _choose(lines: Sequence[Line], count: int, room: int, size: Callable[[str], int]) -> list[Line]:
    """Greedy by worth for tokens. A line's worth only falls as others are chosen, so a stale one is weighed again."""
    worth = _worths(lines, count)
    covered: set[str] = set()
    heap = [(-sum(worth[name] for name in line.names) / _cost(line), number) for number, line in enumerate(lines)]
    heapq.heapify(heap)
    chosen: list[Line] = []
    while heap and room > 0:
        stale, number = heapq.heappop(heap)
        line = lines[number]
        now = -sum(worth[name] for name in line.names if name not in covered) / _cost(line)
        if now > stale * 0.999:
            if now < 0:
                heapq.heappush(heap, (now, number))
            continue
        tokens = size(line.text) + 6
        if tokens <= room:
            chosen.append(line)
            covered.update(line.names)
            room -= tokens
    return chosen


def _cost(line: Line) -> float:
    return 8 + len(line.text) / 4


def _worths(lines: Sequence[Line], count: int) -> dict[str, float]:
    """What each name is worth: by who wrote it, how lately, and how rare it is."""
    spread = Counter(name for line in lines for name in line.names)
    last: dict[str, int] = {}
    agents: set[str] = set()
    for line in lines:
        for name in line.names:
            last[name] = max(last.get(name, -1), line.message)
        if line.speaker == "assistant" or line.speaker.startswith("call"):
            agents.update(line.names)
    fade = math.log(2) / max(HALF_LIFE * count, 1)
    return {
        name: (AGENT_WROTE if name in agents else 1.0) * math.exp(-fade * (count - at)) / math.sqrt(spread[name])
        for name, at in last.items()
    }


def _shown(chosen: Sequence[Line], first: int) -> Iterator[str]:
    """The findings in their order; what a tool printed is quoted and says so."""
    for line in sorted(set(chosen), key=lambda line: line.message):
        if line.message < 0:
            yield line.text
        elif line.speaker == "tool output":
            yield f"- [{first + line.message + 1} tool output] `{line.text}`"
        else:
            yield f"- [{first + line.message + 1} {line.speaker}] {line.text}"


def waiting_for(messages: Sequence[Message]) -> str:
    """The question the assistant ended with, if it did."""
    return asks(messages[-1].text) if messages and messages[-1].role == "assistant" else ""
