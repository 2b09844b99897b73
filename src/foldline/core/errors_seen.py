"""Errors that tools reported, and what cured them.

    messages, pairing ── troubles ──> Trouble (the telling line, what was done before it was gone)

A trouble is the telling line of a failed result. It is cured when the same command, or the same tool on the same file,
succeeds later; the cure names what was changed in between. Lines are quoted as they stand; nothing is concluded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from foldline.core.cycles import Pairing
from foldline.core.deeds import FRAME, Deed, deeds
from foldline.core.text import head
from foldline.core.tools import call_touches, command_of
from foldline.model import Message, ToolCall, ToolResult

LONGEST_LINE = 300
"""Characters of an error line that are kept: longer ones carry dumps."""
SHORTEST_LINE = 8
"""A telling line has more characters than this: "FAIL" says nothing by itself."""
MOST = 24
"""Troubles kept, the newest; those without a cure first."""
MOST_FILES = 4
"""Files that a cure names, the last ones changed."""
_TELLING = re.compile(
    r"(?:E[ \t]{2,}\S|FAILED[ \t]|ERROR\b|error(?:\[\w{1,20}\])?:|\S{0,200}(?:Error|Exception|Failure)\b[^\n]{0,20}:|"
    r"fatal:|panic:|npm ERR!|[ \t]{0,40}--- FAIL|FAIL\b|thread '[^'\n]{1,60}' panicked)"
)
_HINTING = re.compile(
    r"\b(?:error|failed|failure|cannot|can't|could not|unable|not found|no such|denied|refused|undefined|unknown|"
    r"invalid|missing|conflict|expected|unexpected|aborted|timed out)\b",
    re.I,
)
_TESTS_FAILED = re.compile(r"\b[1-9]\d{0,4} failed\b")
_TESTS_LOOK = 600
"""Characters at the end of a command's output in which a test run says how it went."""
_LOOK = 20_000
"""Characters at either end of a result that are searched."""


class Trouble(NamedTuple):
    """A quoted error, the message whose result holds it, and what was done before it was gone ("" while it is not)."""

    text: str
    message: int
    cure: str = ""


class _Open(NamedTuple):
    trouble: Trouble
    changes: int
    """Files that had been changed when it was last seen."""


def troubles(messages: Sequence[Message], pairing: Pairing) -> tuple[Trouble, ...]:
    """The errors of a span, newest last, uncured ones kept before cured ones where there are too many."""
    waiting: dict[str, _Open] = {}
    cured: list[Trouble] = []
    changed: list[str] = []
    for deed in deeds(messages, pairing):
        goal = _goal(deed.call)
        if deed.result is not None and failed(deed):
            trouble = Trouble(telling_line(deed.result), deed.answer)
            waiting.pop(goal, None)
            waiting[goal] = _Open(trouble, len(changed))
        elif deed.verdict == "ok":
            if goal in waiting:
                cured.append(_healed(waiting.pop(goal), goal, changed))
            changed += [touch.path for touch in deed.touched if touch.action in ("edited", "written")]
    return _kept([item.trouble for item in waiting.values()], cured)


def _kept(uncured: Sequence[Trouble], cured: Sequence[Trouble]) -> tuple[Trouble, ...]:
    most_urgent = [trouble for trouble in (*reversed(uncured), *reversed(cured)) if trouble.text][:MOST]
    return tuple(sorted(most_urgent, key=lambda trouble: trouble.message))


def failed(deed: Deed) -> bool:
    """The tool says so, or a test run in what a command printed."""
    if deed.verdict != "ok" or deed.result is None or not command_of(deed.call):
        return deed.verdict == "failed"
    return _TESTS_FAILED.search(deed.result.text[-_TESTS_LOOK:]) is not None


def telling_line(result: ToolResult) -> str:
    """The line that says what went wrong: the last telling one, else the last that hints at it, else the first."""
    text = result.text
    searched = text if len(text) <= 2 * _LOOK else text[:_LOOK] + "\n" + text[-_LOOK:]
    return head(next(_candidates(searched), "").strip(), LONGEST_LINE)


def _candidates(text: str) -> Iterator[str]:
    lines = [line for line in text.splitlines() if line.strip() and not FRAME.match(line)]
    long = [line for line in lines if len(line.strip()) > SHORTEST_LINE]
    yield from (line for line in reversed(long) if _TELLING.match(line))
    yield from (line for line in reversed(long) if _HINTING.search(line))
    yield from (*long[:1], *lines[:1])


def _goal(call: ToolCall) -> str:
    """What would have to succeed for an error to be gone: the command, the tool on its files, the very call."""
    command = command_of(call)
    if command:
        return f"`{command.strip()}`"
    paths = " ".join(touch.path for touch in call_touches(call))
    return f"{call.name} {paths or call.arguments}"


def _healed(item: _Open, goal: str, changed: Sequence[str]) -> Trouble:
    files = list(dict.fromkeys(changed[item.changes :]))[-MOST_FILES:]
    how = f"after changes to {', '.join(files)}" if files else "on a later try"
    return item.trouble._replace(cure=f"{head(goal, 120)} succeeded {how}")
