"""The agent's work in its own lines: what it said, and what it called with which arguments. And what tools answered.

    messages, deeds ── entries, outcomes, seen, answers ──> Line, Line, …

A line keeps its words and its indentation. Which lines are worth their tokens is decided in choosing.py; what they look
like is in logtext.py.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from types import MappingProxyType
from typing import Any, TypeAlias

from foldline.core.deeds import FRAME, Deed, judges
from foldline.core.ending import closing_line, last_line
from foldline.core.errors_seen import is_refused
from foldline.core.loglines import GAP, LOOKED, TOOL, WHY, Kind, Line, closes, weight_of
from foldline.core.plans import plans
from foldline.core.prune import without_reminders
from foldline.core.reaching import reaches
from foldline.core.telling import telling_line
from foldline.core.text import beginning, head
from foldline.core.tools import call_touches, command_of, hands_over, reads, searches
from foldline.model import Message, Origin, Text, ToolCall, ToolResult

LONGEST = 2_000
"""Characters of a line: longer than any paragraph, shorter than a dump."""
MOST_LINES = 600
"""Lines of one text or argument, from both ends: what is longer is a dump."""
DEEPEST = 4
"""Levels of an argument that are taken apart; below, it stands as JSON."""
PASSING = frozenset(
    {"prompt", "activeForm", "explanation", "justification", "subagent_type"}  # for a person or a helper, in passing
    | {"output_mode", "head_limit", "timeout", "limit", "offset", "-A", "-B", "-C", "-n", "-i"}  # how, not what
    | {"old_string", "old_str", "old_text", "oldString", "oldText"}  # what was there before an edit is there no more
)
"""Arguments that are seldom taken up again, or tell a reader little."""
PART = 80
"""Lines of a file that were read by themselves: the agent was looking for that place, and is about to work there …"""
WHOLE_FILE = 0.3
"""… and what a line of a longer reading weighs beside them."""
FRAMED, NUMBERED = 6, 3
"""Lines at either end of a result in which a shell speaks of the run; and at its beginning that show whether a tool
numbers them."""
MOST_SEEN = 3_000
"""Lines of files that are looked through: more than any log has room for."""
REPORTED = 16
"""Lines of a helper's report: what it found and did stands first."""
_NUMBERED = re.compile(r"\s*(\d{1,6})(?:→|\t|\s?\|)")
"""A line number before a line of a file, as tools that read files show it."""
_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
_WORD = re.compile(r"\w{3}|[^\W\x00-\x7f]")
"""Three letters or digits; one letter of a script in which words may be shorter, or have signs between letters."""
_IMPORTS = re.compile(
    r"\s*(?:import\b|from\s+\S+\s+import\b|#include\b|use\s+[\w:]+|using\s+\w|(?:const|let|var)\s.*=\s*require\(|"
    r"package\s+\w|(?:[\w.]+\s+)?\"[\w.@-]+(?:/[\w.@-]+)*\"[,;]?\s*$)"
)
"""A line of a file that only says what it needs."""
_FENCES = ("```", "~~~")
_SHOWS = re.compile(
    r"(?:cd [^\s;&|<>]+ && )?(?:(?:cat|nl|head|tail|bat)(?:[ \t][^;&|<>\n]*)?|sed -n[^;&|<>\n]*)"
    r"(?:\|[ \t]*(?:cat|nl|head|tail|sed -n)\b[^;&|<>\n]*){0,4}"
)
"""A command that shows a file, or a part of it, and nothing besides."""
_STUB = re.compile(r"\[… [\d,]{1,12} characters left out here; original [0-9a-f]{8}")
"""Where a result was shortened."""


Called: TypeAlias = tuple[int, str, str]
"""A call by its message, id and arguments: ids may be used again."""


def entries(messages: Sequence[Message], undone: Mapping[Called, str] = MappingProxyType({})) -> Iterator[Line]:
    """Every line of the agent's, in order, its lists of tasks aside: the notes have those.

    `undone` are the calls that did not succeed, and what is said of each.
    """
    for index, message in enumerate(messages):
        if message.origin is not Origin.ASSISTANT:
            continue
        reports = index + 1 < len(messages) and messages[index + 1].origin is Origin.USER
        for nth, part in enumerate(message.parts):
            if isinstance(part, Text):
                told = _lines(part.text, closing=True)
                yield from (
                    Line(line, "", index, max(WHY * reports, weight_of(line)), reports=reports) for line in told
                )
            elif isinstance(part, ToolCall) and not plans(part.name):
                outcome = undone.get((index, part.id, part.arguments), "")
                plain = not outcome and (bool(command_of(part)) or "pattern" in part.parsed())
                yield from (line._replace(call=nth, plain=plain) for line in _called(part, index, outcome))


def outcomes(done: Iterable[Deed], start: int) -> Iterator[Line]:
    """What each command came to when it was last run, in a line of its own output: why it failed, how a check ended.
    And what helpers reported. What was done beyond the files at hand is in the notes.

    `start` is where deeds count from.
    """
    last = {deed.goal: deed for deed in done if deed.result is not None and not is_refused(deed)}
    for deed in last.values():
        if deed.result is None or (not deed.failed and reaches(deed)):
            continue
        if deed.verdict == "unknown" and hands_over(deed.call):
            continue  # its helper is at work
        if hands_over(deed.call):
            report = islice(_lines(deed.result.text), REPORTED)
            yield from (Line(line, f"{TOOL}: {subject(deed.call)}", deed.answer - start, WHY) for line in report)
        elif deed.command:
            told = telling_line(deed.result) if deed.failed else closing_line(deed.result)
            told = told or (last_line(deed.result) if deed.verdict == "ok" and judges(deed.command) else "")
            yield from (Line(line, TOOL, deed.answer - start) for line in _lines(told))


def seen(done: Sequence[Deed], start: int) -> Iterator[Line]:
    """What files said that were read, the newest of it: the agent copies from there what it changes."""
    for number, lines in reversed(list(_newest_read(done))):
        call, at = done[number].call, done[number].answer - start
        label, weight = f"{TOOL}: {subject(call)}", 1.0 if len(lines) <= PART else WHOLE_FILE
        yield from (Line(line, label, at, weight, "seen", call=number, times=0) for line in lines)


def _newest_read(done: Sequence[Deed]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The deeds that only read files, from the last one back, with what these said; as many as are looked through."""
    most = MOST_SEEN
    for number in range(len(done) - 1, -1, -1):
        deed = done[number]
        if deed.result is None or not _shows_file(deed):
            continue
        lines = tuple(_of_file(without_reminders(deed.result.text), shell=bool(deed.command)))
        most -= len(lines)
        if most < 0:
            return
        yield number, lines


def _shows_file(deed: Deed) -> bool:
    """It read one file, and shows nothing else."""
    return len(deed.touched) == 1 and deed.touched[0].action == "read" and shows(deed.call)


def shows(call: ToolCall) -> bool:
    """It shows a file, and nothing besides."""
    return reads(call) or _SHOWS.fullmatch(command_of(call).strip()) is not None


def _of_file(text: str, shell: bool) -> Iterator[str]:
    """The lines of a file as they are, but for empty ones, with a mark where some are missing; without what the shell
    says of the run."""
    lines = [line for line in text.splitlines() if line.strip()]
    lines = [line for at, line in enumerate(lines) if not (shell and _at_an_end(at, lines) and FRAME.match(line))]
    numbered = _are_numbered(lines, least=2 if shell else 1)
    missing = len(lines) - MOST_LINES
    for at, raw in enumerate(lines):
        if missing > 0 and MOST_LINES * 3 // 4 <= at < MOST_LINES * 3 // 4 + missing:
            if at == MOST_LINES * 3 // 4:
                yield GAP
            continue
        number = _NUMBERED.match(raw) if numbered else None
        line = cleaned(raw[number.end() :] if number else raw)
        if line.strip():
            yield GAP if _STUB.match(line.strip()) else line


def _at_an_end(at: int, lines: Sequence[str]) -> bool:
    return at < FRAMED or at >= len(lines) - FRAMED


def _are_numbered(lines: Sequence[str], least: int) -> bool:
    """A tool has put numbers before the lines, each one more than the last; so many lines show that."""
    found = [_NUMBERED.match(line) for line in lines[:NUMBERED]]
    numbers = [int(match[1]) for match in found if match]
    return len(numbers) == len(found) >= least and all(two == one + 1 for one, two in pairwise(numbers))


def answers(messages: Sequence[Message]) -> Iterator[Line]:
    """Every line of a tool, in order."""
    asked: dict[str, deque[ToolCall]] = {}
    for index, message in enumerate(messages):
        asked |= {call.id: deque() for call in message.calls}
        for call in message.calls:
            asked[call.id].append(call)
        for part in message.parts:
            if isinstance(part, ToolResult):
                answered = _next(asked.get(part.call_id))
                label = f"{TOOL}: {subject(answered) if answered else 'a tool'}"
                numbered = answered is not None and reads(answered)
                told = _lines(without_reminders(part.text), numbered)
                yield from (Line(line, label, index, kind="told") for line in told)
            elif isinstance(part, Text) and message.origin is Origin.TOOL:
                yield from (Line(line, TOOL, index, kind="told") for line in _lines(part.text))


def _next(calls: deque[ToolCall] | None) -> ToolCall | None:
    """The call that a result answers: where several of a step share an id, the first that waits."""
    if not calls:
        return None
    return calls.popleft() if len(calls) > 1 else calls[0]


def _called(call: ToolCall, index: int, outcome: str) -> Iterator[Line]:
    """The arguments of a call, each by its name."""
    label, tells = subject(call) + outcome, LOOKED if reads(call) or searches(call) else 1.0
    arguments = call.parsed()
    if not arguments:
        raw = tuple(_lines(call.arguments, closing=True))
        inner: Kind = "inner" if len(raw) > 1 else "whole"
        yield from (Line(line, label, index, tells, inner) for line in raw)
    for name, value in arguments.items():
        if value is False:  # what was not asked for tells nothing
            continue
        lines = tuple(_lines(f"{name}: {_plain(value)}", closing=True))
        for number, line in enumerate(lines):
            imports = len(lines) > 1 and _IMPORTS.match(line, 0 if number else len(name) + 2)
            if name in PASSING or isinstance(value, bool) or imports:
                yield Line(line, label, index, kind="aside")
            elif len(lines) > 1:
                yield Line(line, label, index, kind="inner")
            else:
                yield Line(line, label, index, tells)


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


def _lines(text: str, numbered: bool = False, closing: bool = False) -> Iterator[str]:
    lines = text.splitlines()
    numbered = numbered and _are_numbered([*islice(filter(str.strip, lines), NUMBERED)], least=1)
    if len(lines) > MOST_LINES:
        lines = lines[: MOST_LINES * 3 // 4] + lines[-MOST_LINES // 4 :]
    for raw in lines:
        number = _NUMBERED.match(raw) if numbered else None
        line = cleaned(raw[number.end() :] if number else raw)
        told = _WORD.search(line) or (closing and closes(line))
        if told and not line.lstrip().startswith(_FENCES):
            yield line


def cleaned(line: str) -> str:
    """The line's own words, cut at a word's end where it is very long."""
    if "\x1b" in line:
        line = _COLOURS.sub("", line)
    return beginning(line.rstrip(), LONGEST)
