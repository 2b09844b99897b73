"""Errors that tools reported, and what cured them.

A trouble is the telling line of a failed result. It is cured when the same command, or the same tool on the same file,
succeeds later; the cure names what was changed in between. Lines are quoted as they stand; nothing is concluded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from foldline.core.cycles import Pairing
from foldline.core.text import head
from foldline.core.tools import command_of, file_touches, outcome
from foldline.model import Message, ToolCall, ToolResult

LONGEST_LINE = 300
"""Characters of an error line that are kept: longer ones carry dumps."""
SHORTEST_LINE = 14
"""Characters a telling line has at least: "FAIL" and "Exit code 126" say nothing by themselves."""
MOST = 24
"""Troubles kept, the newest; those without a cure first."""
_TELLING = re.compile(
    r"^(?:E\s{2,}\S|FAILED\s|ERROR\b|error(?:\[\w+\])?:|\S*(?:Error|Exception|Failure)\b[^\n]{0,20}:|fatal:|panic:|"
    r"npm ERR!|\s*--- FAIL|FAIL\b|thread '.{1,60}' panicked)",
    re.M,
)
_LOOK = 20_000
"""Characters at either end of a result that are searched."""


class Trouble(NamedTuple):
    """A quoted error, the message whose result holds it, and what was done before it was gone ("" while it is not)."""

    text: str
    message: int
    cure: str = ""


class _Open(NamedTuple):
    trouble: Trouble
    what: str
    changes: int


def troubles(messages: Sequence[Message], pairing: Pairing) -> tuple[Trouble, ...]:
    """The errors of a span, newest last, uncured ones kept before cured ones where there are too many."""
    waiting: dict[str, _Open] = {}
    cured: list[Trouble] = []
    changed: list[str] = []
    for cycle in pairing.cycles:
        for place, answer in zip(cycle.calls, cycle.answers, strict=True):
            if answer is None:
                continue
            call = messages[place.message].calls[place.nth]
            result = messages[answer.message].results[answer.nth]
            what = _deed(call)
            if failed(result):
                trouble = Trouble(telling_line(result), answer.message)
                waiting[what] = _Open(trouble, what, len(changed))
            else:
                if what in waiting:
                    cured.append(_healed(waiting.pop(what), changed))
                changed += [touch.path for touch in file_touches(call) if touch.action in ("edited", "written")]
    open_ones = [item.trouble for item in waiting.values() if item.trouble.text]
    room = max(MOST - len(open_ones), 0)
    kept = cured[len(cured) - room :] if room else []
    return tuple(sorted([*kept, *open_ones[-MOST:]], key=lambda trouble: trouble.message))


def failed(result: ToolResult) -> bool:
    """The tool says so, or a test run in its text does."""
    if outcome(result) == "failed":
        return True
    text = result.text
    return bool(re.search(r"\b[1-9]\d{0,4} failed\b", text[-600:]))


def telling_line(result: ToolResult) -> str:
    """The line that says what went wrong: the last telling one, else the first that is not empty."""
    text = result.text
    searched = text if len(text) <= 2 * _LOOK else text[:_LOOK] + "\n" + text[-_LOOK:]
    found = [searched[match.start() :].split("\n", 1)[0] for match in _TELLING.finditer(searched)]
    candidates = [*reversed(found), *searched.splitlines()]
    line = next((line for line in candidates if len(line.strip()) > SHORTEST_LINE), "")
    return head((line or searched).strip(), LONGEST_LINE)


def _deed(call: ToolCall) -> str:
    """What would have to succeed for the error to be gone."""
    command = command_of(call)
    paths = [touch.path for touch in file_touches(call)]
    return f"`{command.strip()}`" if command else f"{call.name} {' '.join(paths)}".strip()


def _healed(item: _Open, changed: Sequence[str]) -> Trouble:
    files = list(dict.fromkeys(changed[item.changes :]))[-4:]
    how = f"after changes to {', '.join(files)}" if files else "on a later try"
    return item.trouble._replace(cure=f"{head(item.what, 120)} succeeded {how}")
