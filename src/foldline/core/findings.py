"""Lines of a conversation that may be worth keeping: cut out, cleaned, and labelled with who said them.

    messages ── candidates ──> Line, Line, …        chosen lines ── shown ──> text ── carried ──> the same lines

A line keeps its words: only line numbers, timestamps and colours are taken off it. Lines of tools are quoted, and
stand below a label that says so; they keep that label when a later summary carries them on. What a line is worth is
decided in extract.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from foldline.core.deeds import FRAME
from foldline.core.text import head
from foldline.core.tools import call_touches, command_of
from foldline.model import Message, Origin, Text, ToolCall, ToolResult

SHORTEST, LONGEST = 16, 320
"""Characters of a line that can be a finding: shorter ones say nothing alone, longer ones are dumps."""
MOST_LINES = 160
"""Lines of one result that are looked at, from both ends."""
TOOL = "tool output"
_WRITTEN = ("new_string", "newText", "new_str", "content", "file_text", "new_source", "replacement_text")
"""Arguments that hold what an edit puts into a file."""
_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
_PREFIX = re.compile(
    r"\s*(?:\d{1,6}(?:→|\t|\s?\|)\s?|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?[\d.,+:Z]{0,12}\]?\s+)?\s*(?:[-*+•]\s+)?"
)
"""Line numbers, timestamps and list marks before a line's own words."""
_BOILERPLATE = re.compile(
    r"(?:import|package|using|use|require|#include|#!)\b|from \S+ import\b|(?:const|var|let) \S+ = require\b"
    r"|export \* from|@|</?\w+>$|[=\-_*#~+ ]+$"
)
_LABEL = re.compile(r"\[([^\[\]]{1,200})\]$")
_INDENT = "  "


class Line(NamedTuple):
    """A candidate: its text, the label of who said it, and the index of its message (-1: an earlier summary)."""

    text: str
    label: str
    message: int

    @property
    def is_tools(self) -> bool:
        return TOOL in self.label


def candidates(messages: Sequence[Message]) -> Iterator[Line]:
    """Every line that could be kept, in order."""
    asked: dict[str, str] = {}
    for index, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, Text) and message.origin is Origin.ASSISTANT:
                yield from _lines(part.text.splitlines(), "assistant", index)
            elif isinstance(part, Text) and message.origin is Origin.TOOL:
                yield from _lines(_ends(part.text), TOOL, index)
            elif isinstance(part, ToolCall):
                asked[part.id] = _subject(part)
                yield from _call_lines(part, asked[part.id], index)
            elif isinstance(part, ToolResult):
                yield from _lines(_ends(part.text), f"{TOOL}: {asked.get(part.call_id, 'a tool')}", index)


def _call_lines(call: ToolCall, subject: str, index: int) -> Iterator[Line]:
    """The command that was run, or what was written into a file."""
    command = command_of(call)
    if command:
        yield from _lines([head(command.split("\n", 1)[0], LONGEST)], "ran", index)
        return
    arguments = call.parsed()
    written = (arguments[name] for name in _WRITTEN if isinstance(arguments.get(name), str))
    yield from _lines(_ends("\n".join(written)), f"wrote: {subject}", index)


def _subject(call: ToolCall) -> str:
    """What a call is about, in a few words: its file, its command, or its name alone."""
    path = next((touch.path for touch in call_touches(call)), "")
    about = command_of(call).split("\n", 1)[0] or path
    return re.sub(r"[\[\]\n\r]", " ", f"{call.name} {head(about, 80)}").strip()


def _ends(text: str) -> list[str]:
    lines = text.splitlines()
    return lines if len(lines) <= MOST_LINES else lines[: MOST_LINES * 3 // 4] + lines[-MOST_LINES // 4 :]


def _lines(texts: Sequence[str], label: str, index: int) -> Iterator[Line]:
    for raw in texts:
        if len(raw) < SHORTEST:
            continue
        text = cleaned(raw)
        if SHORTEST <= len(text) <= LONGEST and " " in text and not _BOILERPLATE.match(text) and not FRAME.match(text):
            yield Line(text, label, index)


def cleaned(line: str) -> str:
    """The line's own words."""
    if "\x1b" in line:
        line = _COLOURS.sub("", line)
    match = _PREFIX.match(line)
    return line[match.end() if match else 0 :].rstrip()


def shown(chosen: Iterable[Line], first: int) -> str:
    """The lines below their labels. `first` is the number of the first message in the whole history."""
    found: list[str] = []
    for (message, label), lines in groupby(chosen, key=lambda line: (line.message, line.label)):
        if label:
            found.append(f"[{first + message + 1} {label}]" if message >= 0 else f"[{label}]")
        found += [f"{_INDENT if label else ''}{_quoted(line)}" for line in lines]
    return "\n".join(found)


def _quoted(line: Line) -> str:
    if not line.is_tools:
        return line.text
    return f"`` {line.text} ``" if "`" in line.text else f"`{line.text}`"


def carried(text: str) -> Iterator[Line]:
    """The lines of an earlier summary, with the labels they had there."""
    label = ""
    for raw in text.splitlines():
        found = _LABEL.match(raw)
        if found:
            label = found.group(1)
            continue
        if not raw.startswith(_INDENT):
            label = ""
        line = Line(raw.strip(), label, -1)
        if line.is_tools:
            mark = "`` " if line.text.startswith("`` ") else "`"
            line = line._replace(text=line.text.removeprefix(mark).removesuffix(mark[::-1]))
        if line.text:
            yield line
