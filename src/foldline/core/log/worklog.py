"""The agent's work in its own lines: what it said, and what it called with which arguments. And what tools answered.

    messages, deeds ── entries, outcomes, answers ──> LogLine, LogLine, …

A line keeps its words and its indentation, but no secrets. Lines of files that the agent read are in readings.py. Which
lines are worth their tokens is decided in choosing.py; what they look like is in logtext.py.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice, pairwise
from types import MappingProxyType
from typing import Any, TypeAlias

from foldline.core.log.loglines import LOOKED, TOOL, WHY, Kind, LogLine, closes, weight_of
from foldline.core.prune import without_reminders
from foldline.core.words.markup import fenced
from foldline.core.words.masks import masked, merged, replaced
from foldline.core.words.secretfinder import secrets
from foldline.core.words.text import beginning, head
from foldline.core.work.deeds import Deed, judges
from foldline.core.work.ending import closing_line, last_line
from foldline.core.work.errors_seen import is_refused
from foldline.core.work.plans import plans
from foldline.core.work.reaching import reaches
from foldline.core.work.telling import telling_line
from foldline.core.work.tools import call_touches, command_of, hands_over, reads, searches
from foldline.model import Message, Origin, Text, ToolCall, ToolResult

LONGEST = 2_000
"""Characters of a line: longer than any paragraph, shorter than a dump."""
MOST_WRITTEN, MOST_LINES = 2_000, 600
"""Lines of one text or argument of the agent's, and of one answer, taken from both ends: anything longer is a dump."""
DEEPEST = 4
"""Levels of an argument that are split into lines; a value below them stands as JSON."""
PASSING = frozenset(
    {"prompt", "activeForm", "explanation", "justification", "subagent_type"}  # for a person or a sub-agent, in passing
    | {"output_mode", "head_limit", "timeout", "limit", "offset", "-A", "-B", "-C", "-n", "-i"}  # how, not what
    | {"old_string", "old_str", "old_text", "oldString", "oldText"}  # what an edit took away
)
"""Arguments that are seldom used again, or say little to a reader."""
REPORTED = 16
"""Lines of a sub-agent's report that are kept: what it found and did stands first."""
NUMBERED = re.compile(r"\s*(\d{1,6})(?:→|\t|\s?\|)")
"""A line number before a line of a file, as tools that read files show it."""
FIRST_LINES = 3
"""The first lines by which one sees whether a tool shows line numbers."""
HIDDEN = "\ufffc"
"""Stands in for a secret that a tool printed: lines with it are left out, since notes outlive results."""
_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
_WORD = re.compile(r"\w{3}|[^\W\x00-\x7f]")
"""A word of three letters or digits; or one letter of a script in which words may be shorter."""
_IMPORTS = re.compile(
    r"\s*(?:import\b|from\s+\S+\s+import\b|#include\b|use\s+[\w:]+|using\s+\w|(?:const|let|var)\s.*=\s*require\(|"
    r"package\s+\w|(?:[\w.]+\s+)?\"[\w.@-]+(?:/[\w.@-]+)*\"[,;]?\s*$)"
)
"""A line of a file that only imports something."""
_FENCES = ("```", "~~~")


Called: TypeAlias = tuple[int, str, str]
"""A call, known by its message, id and arguments: ids may be used again."""


def entries(
    messages: Sequence[Message],
    undone: Mapping[Called, str] = MappingProxyType({}),
    ran: Mapping[int, ToolCall] = MappingProxyType({}),
) -> Iterator[LogLine]:
    """Every line of the agent's, in order, without its lists of tasks: the notes have those.

    `undone` are the calls that did not succeed, with the suffix of their label; `ran` the commands that stand in the
    text of a message, as agents without tool calls write them.
    """
    for index, message in enumerate(messages):
        if message.origin is not Origin.ASSISTANT:
            continue
        reports = index + 1 < len(messages) and messages[index + 1].origin is Origin.USER
        for nth, part in enumerate(message.parts):
            if isinstance(part, Text):
                yield from _written(part.text, index, nth, reports, undone, ran.get(index))
            elif isinstance(part, ToolCall) and not plans(part.name):
                yield from _run(part, index, nth, undone)


def _written(
    text: str, index: int, nth: int, reports: bool, undone: Mapping[Called, str], ran: ToolCall | None
) -> Iterator[LogLine]:
    """The lines of what the agent says in a text. Code in it counts as such, and a command that it ran as a call."""
    for piece, is_code in _pieces(text):
        words = masked(piece)
        if ran is not None and is_code and piece.strip() == command_of(ran).strip():
            yield from _run(ran, index, nth, undone)
        elif is_code:
            yield from (LogLine(line, "", index, kind="inner") for line in _lines(words, closing=True))
        else:
            told = _lines(words, closing=True)
            yield from (LogLine(line, "", index, max(WHY * reports, weight_of(line)), reports=reports) for line in told)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """A text in pieces, and whether each stands between fences. The fences are left out."""
    if not any(fence in text for fence in _FENCES):
        yield text, False
        return
    lines = text.splitlines()
    for is_code, group in groupby(zip(lines, fenced(lines), strict=True), key=lambda line: line[1]):
        yield "\n".join(line for line, _ in group if not line.lstrip().startswith(_FENCES)), is_code


def _run(call: ToolCall, index: int, nth: int, undone: Mapping[Called, str]) -> Iterator[LogLine]:
    """The lines of a call."""
    outcome = undone.get((index, call.id, call.arguments), "")
    plain = not outcome and (bool(command_of(call)) or "pattern" in call.parsed())
    yield from (line._replace(call=nth, plain=plain) for line in _called(call, index, outcome))


def outcomes(done: Iterable[Deed], start: int) -> Iterator[LogLine]:
    """What each command came to when it last ran, in a line of its own output: why it failed, how a check ended. And
    what sub-agents reported. What was done beyond the files at hand is in the notes.

    `start` is the message from which the deeds' places count.
    """
    last = {deed.goal: deed for deed in done if deed.result is not None and not is_refused(deed)}
    for deed in last.values():
        if deed.result is None or (not deed.failed and reaches(deed)):
            continue
        if deed.verdict == "unknown" and hands_over(deed.call):
            continue  # the sub-agent is still at work
        if hands_over(deed.call):
            report = islice(_lines(masked(deed.result.text)), REPORTED)
            yield from (LogLine(line, f"{TOOL}: {subject(deed.call)}", deed.answer - start, WHY) for line in report)
        elif deed.command:
            told = telling_line(deed.result) if deed.failed else closing_line(deed.result)
            told = told or (last_line(deed.result) if deed.verdict == "ok" and judges(deed.command) else "")
            yield from (LogLine(line, TOOL, deed.answer - start) for line in _lines(told))


def answers(messages: Sequence[Message]) -> Iterator[LogLine]:
    """Every line that a tool said, in order."""
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
                told = _lines(without_secrets(without_reminders(part.text)), numbered)
                yield from (LogLine(line, label, index, kind="told") for line in told if HIDDEN not in line)
            elif isinstance(part, Text) and message.origin is Origin.TOOL:
                told = _lines(without_secrets(part.text))
                yield from (LogLine(line, TOOL, index, kind="told") for line in told if HIDDEN not in line)


def _next(calls: deque[ToolCall] | None) -> ToolCall | None:
    """The call that a result answers: the first that waits, where several of a step share an id."""
    if not calls:
        return None
    return calls.popleft() if len(calls) > 1 else calls[0]


def _called(call: ToolCall, index: int, outcome: str) -> Iterator[LogLine]:
    """The arguments of a call, each by its name."""
    label, tells = subject(call) + outcome, LOOKED if reads(call) or searches(call) else 1.0
    arguments = call.parsed()
    if not arguments:
        raw = tuple(_lines(masked(call.arguments), closing=True))
        inner: Kind = "inner" if len(raw) > 1 else "whole"
        yield from (LogLine(line, label, index, tells, inner) for line in raw)
    for name, value in arguments.items():
        if value is False:  # an option that was not set says nothing
            continue
        lines = tuple(_lines(masked(f"{name}: {_plain(value)}"), closing=True))
        for number, line in enumerate(lines):
            imports = len(lines) > 1 and _IMPORTS.match(line, 0 if number else len(name) + 2)
            if name in PASSING or isinstance(value, bool) or imports:
                yield LogLine(line, label, index, kind="aside")
            elif len(lines) > 1:
                yield LogLine(line, label, index, kind="inner")
            else:
                yield LogLine(line, label, index, tells)


def subject(call: ToolCall) -> str:
    """The tool's name, and the file it works on."""
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
    """The lines that say something; those of the agent's own with the ones that only close others."""
    lines = text.splitlines()
    numbered = numbered and are_numbered([*islice(filter(str.strip, lines), FIRST_LINES)], least=1)
    most = MOST_WRITTEN if closing else MOST_LINES
    if len(lines) > most:
        lines = lines[: most * 3 // 4] + lines[-most // 4 :]
    for raw in lines:
        number = NUMBERED.match(raw) if numbered else None
        line = cleaned(raw[number.end() :] if number else raw)
        told = _WORD.search(line) or (closing and closes(line))
        if told and not line.lstrip().startswith(_FENCES):
            yield line


def without_secrets(text: str) -> str:
    """The text with a sign in place of each secret, even one of several lines."""
    found = merged(secrets(text))
    return replaced(text, found, lambda *_: HIDDEN) if found else text


def are_numbered(lines: Sequence[str], least: int) -> bool:
    """A tool has put numbers before the lines, each one more than the last. At least so many lines must show that."""
    found = [NUMBERED.match(line) for line in lines[:FIRST_LINES]]
    numbers = [int(match[1]) for match in found if match]
    return len(numbers) == len(found) >= least and all(two == one + 1 for one, two in pairwise(numbers))


def cleaned(line: str) -> str:
    """The line without colours and trailing blanks, cut at the end of a word where it is very long."""
    if "\x1b" in line:
        line = _COLOURS.sub("", line)
    return beginning(line.rstrip(), LONGEST)
