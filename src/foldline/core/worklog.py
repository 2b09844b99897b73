"""The agent's work in its own lines: what it said, and what it called with which arguments. And what tools answered.

    messages ── entries, answers ──> Line, Line, …    chosen lines ── shown ──> text ── carried ──> the same lines

A line keeps its words and its indentation. There is an empty line before each message. A call stands behind a label
with the tool, and the file where no line names it; the first message after the user spoke has its number:

    [12] The parser drops empty rows.
    [Edit] file_path: src/rows.py
    new_string: return [row for row in rows if row]

    [tool output: Edit rows.py] `The file was changed.`

Lines of tools are quoted, and labelled as theirs. A later summary carries the labels on. Which lines are worth their
tokens is decided in extract.py.
"""

from __future__ import annotations

import json
import posixpath
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from typing import Any, NamedTuple

from foldline.core.plans import plans
from foldline.core.text import beginning, head
from foldline.core.tools import call_touches
from foldline.model import Message, Origin, Text, ToolCall, ToolResult

LONGEST = 2_000
"""Characters of a line: longer than any paragraph, shorter than a dump."""
MOST_LINES = 160
"""Lines of one text or argument, from both ends: a file that was written whole is on the disk."""
DEEPEST = 4
"""Levels of an argument that are taken apart; below, it stands as JSON."""
PASSING = frozenset({"description", "prompt", "activeForm", "explanation", "justification"})
"""Arguments in which the agent tells a person or a helper what it does: seldom taken up again."""
ASIDE = 0.3
"""Weight of their lines."""
TORN = 0.5
"""Weight of a line from inside an argument: mostly a file's, which says little without the others."""
TOOL = "tool output"
_NUMBERED = re.compile(r"\s*\d{1,6}(?:→|\t|\s?\|)")
"""A line number before a line of a file, as tools show it."""
_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
_WORD = re.compile(r"\w{3}")
_LABEL = re.compile(r"\[([^\[\]]{1,200})\](?: (.*))?$")
_FENCES = ("```", "~~~")


class Line(NamedTuple):
    """A line, the label of the entry it is in, and the index of its message (below 0: of an earlier summary)."""

    text: str
    label: str
    message: int
    weight: float = 1.0
    """What it tells a reader who has only this line, beside what others tell."""

    @property
    def is_tools(self) -> bool:
        return TOOL in self.label


def entries(messages: Sequence[Message], failed: Set[tuple[str, str]] = frozenset()) -> Iterator[Line]:
    """Every line of the agent's, in order, its lists of tasks aside: the notes have those.

    `failed` are the calls that did, by id and arguments.
    """
    for index, message in enumerate(messages):
        if message.origin is not Origin.ASSISTANT:
            continue
        for part in message.parts:
            if isinstance(part, Text):
                yield from (Line(line, "", index) for line in _lines(part.text))
            elif isinstance(part, ToolCall) and not plans(part.name):
                yield from _called(part, index, ", failed" if (part.id, part.arguments) in failed else "")


def answers(messages: Sequence[Message]) -> Iterator[Line]:
    """Every line of a tool, in order."""
    asked: dict[str, str] = {}
    for index, message in enumerate(messages):
        asked |= {call.id: subject(call) for call in message.calls}
        for part in message.parts:
            if isinstance(part, ToolResult):
                label = f"{TOOL}: {asked.get(part.call_id, 'a tool')}"
                yield from (Line(line, label, index) for line in _lines(part.text, numbered=True))
            elif isinstance(part, Text) and message.origin is Origin.TOOL:
                yield from (Line(line, TOOL, index) for line in _lines(part.text))


def _called(call: ToolCall, index: int, outcome: str) -> Iterator[Line]:
    """The arguments of a call, each by its name."""
    label = subject(call) + outcome
    arguments = call.parsed()
    if not arguments:
        yield from (Line(line, label, index) for line in _lines(call.arguments))
    for name, value in arguments.items():
        for number, line in enumerate(_lines(f"{name}: {_plain(value)}")):
            yield Line(line, label, index, ASIDE if name in PASSING else TORN if number else 1.0)


def subject(call: ToolCall) -> str:
    """The tool, and the file it is about."""
    path = next((touch.path for touch in call_touches(call)), "")
    file = head(posixpath.basename(path), 40)
    return re.sub(r"[\[\]\s]+", " ", f"{head(call.name, 60)} {file}").strip()


def _plain(value: Any, depth: int = 1) -> str:
    """A value as a reader would note it, with its line ends as they are."""
    if isinstance(value, str):
        return value
    if depth > DEEPEST or not isinstance(value, (Mapping, list)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "\n".join(_plain(inner, depth + 1) for inner in value)
    return "\n".join(f"{name}: {_plain(inner, depth + 1)}" for name, inner in value.items())


def _lines(text: str, numbered: bool = False) -> Iterator[str]:
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        lines = lines[: MOST_LINES * 3 // 4] + lines[-MOST_LINES // 4 :]
    for raw in lines:
        line = cleaned(_NUMBERED.sub("", raw, count=1) if numbered else raw)
        if _WORD.search(line) and not line.lstrip().startswith(_FENCES):
            yield line


def cleaned(line: str) -> str:
    """The line's own words, cut at a word's end where it is very long."""
    if "\x1b" in line:
        line = _COLOURS.sub("", line)
    return beginning(line.rstrip(), LONGEST)


def shown(chosen: Iterable[Line], first: int, asked: Sequence[int] = ()) -> str:
    """The lines behind their labels. `first` is the number of the first message in the whole history, `asked` are the
    indices of the user's messages, in order."""
    found: list[str] = []
    turn = -1
    for message, entry in groupby(chosen, key=lambda line: line.message):
        now = bisect(asked, message)
        number = str(first + message + 1) if now != turn and message >= 0 else ""
        turn = now if message >= 0 else turn
        found += ["", *_entry(entry, number)]
    return "\n".join(found[1:])


def _entry(lines: Iterable[Line], number: str) -> Iterator[str]:
    """The lines of one message; what it says behind a call stands by itself."""
    for place, (label, group) in enumerate(groupby(lines, key=lambda line: line.label)):
        same = list(group)
        head, *rest = map(_quoted, same)
        marks = " ".join(filter(None, ("" if place else number, label if same[0].message < 0 else _label(label, same))))
        if place and not marks:
            yield ""
        yield f"[{marks}] {head}" if marks else _plainly(head)
        yield from map(_plainly, rest)


def _label(label: str, lines: Sequence[Line]) -> str:
    """The label without the file, where a line has that."""
    name, _, rest = label.partition(" ")
    file, comma, outcome = rest.partition(", ")
    named = file and not lines[0].is_tools and any(line.text.endswith(file) for line in lines)
    return f"{name}{comma}{outcome}" if named else label


def _plainly(text: str) -> str:
    """A line that could be taken for the beginning of an entry is moved in."""
    return f" {text}" if _LABEL.match(text) else text


def _quoted(line: Line) -> str:
    if not line.is_tools:
        return line.text
    return f"`` {line.text} ``" if "`" in line.text else f"`{line.text}`"


def carried(text: str) -> Iterator[Line]:
    """The lines of an earlier summary, with the labels they had there; its messages are counted back from its end."""
    label, lines = "", text.splitlines()
    message = -1 - sum(not raw.strip() for raw in lines)
    for raw in lines:
        if not raw.strip():
            label, message = "", message + 1
            continue
        found = _LABEL.match(raw)
        label, words = (found.group(1), found.group(2) or "") if found else (label, raw)
        line = Line(words.rstrip(), label, message)
        if line.is_tools:
            quoted = line.text.strip()
            mark = "`` " if quoted.startswith("`` ") else "`"
            line = line._replace(text=quoted.removeprefix(mark).removesuffix(mark[::-1]))
        if line.text.strip():
            yield line
