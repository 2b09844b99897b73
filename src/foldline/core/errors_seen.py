"""Errors that tools reported, and what cured them.

    deeds ── troubles ──> Trouble (the telling line, what was done before it was gone)

A trouble is the telling line of a failed result. It is cured when the same command, or the same tool on the same file,
succeeds later; the cure names what was changed in between. Where another check passed since, that is said. Where a call
was refused, it is what was said then. To look at a file that is not there is no trouble. Lines stand as they were.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from foldline.core.deeds import FRAME, Deed
from foldline.core.text import beginning, head
from foldline.core.tools import reads
from foldline.model import ToolResult

LONGEST_LINE = 300
"""Characters of an error line that are kept: longer ones carry dumps."""
SHORTEST_LINE = 8
"""A telling line has more characters than this: "FAIL" says nothing by itself."""
LONGEST_GOAL = 80
"""Characters of what was tried: enough to know it again."""
MOST = 24
"""Troubles kept, the newest; those without a cure first."""
LATEST = 200
"""Deeds, the newest, among which a check that passed is sought."""
MOST_FILES = 4
"""Files that a cure names, the last ones changed."""
_TELLING = re.compile(
    r"(?:E[ \t]{2,}\S|FAILED[ \t]|ERROR\b|error(?:\[\w{1,20}\])?:|\S{0,200}(?:Error|Exception|Failure)\b[^\n]{0,20}:|"
    r"fatal:|panic:|npm ERR!|[ \t]{0,40}--- FAIL|thread '[^'\n]{1,60}' panicked)"
)
_SUMMING = re.compile(r"FAIL\b")
"""A line that says of a whole package that something in it failed: told where no other line tells more."""
_HINTING = re.compile(
    r"\b(?:error|failed|failure|cannot|can't|could not|unable|not found|no such|denied|refused|undefined|unknown|"
    r"invalid|missing|conflict|expected|unexpected|aborted|timed out)\b",
    re.I,
)
_REFUSED = re.compile(r"\s*the user doesn't want to\b", re.I)
"""How a client begins when the user refused a call …"""
_REMARK = re.compile(r"the user said:\s*(?=\S)", re.I)
"""… and what it puts before the reason."""
REFUSED = "refused"
"""In place of a cure: nothing failed."""
_SILENT = re.compile(
    r"\s*(?:[(\[<]?(?:\w+ completed with )?no (?:output|content|matches found)[)\]>]?\.?"
    r"|command exited with (?:exit )?code \d+)\s*$",
    re.I,
)
"""A line that says only that there is nothing to say, or that the command failed."""
_ENDED = re.compile(
    r"\b\d{1,6} (?:passed|failed|failures?|errors?|warnings?|problems?|issues?|tests?|specs?|files? changed)\b"
    r"|^(?:ok|OK|PASS|Success|BUILD)\b|^\[[\w/.-]{1,80} [0-9a-f]{7,40}\]"
    r"|\b(?:up to date|successfully|succeeded|clean)\b"
)
"""A line in which a check, a build or a commit says how it ended."""
_PASSED = re.compile(
    r"\b[1-9]\d{0,5} passed\b|^(?:ok|OK|PASS|Success)(?=[\s:]|$)|\bsucceeded\b"
    r"|\b0 (?:failed|failures?|errors?|problems?|issues?)\b"
)
"""… and in which a check says that it passed."""
_BROKE = re.compile(r"\b[1-9]\d{0,5} (?:failed|failures?|errors?|problems?|issues?)\b|\bnot succeeded\b|\bFAIL")
"""… or that it did not."""
_ENDS = 600
"""Characters at the end of an output in which that is sought."""
_LOOK = 20_000
"""Characters at either end of a result that are searched."""


class Trouble(NamedTuple):
    """A quoted error, the message whose result holds it, what was tried, and what was done before it was gone ("" while
    it is not)."""

    text: str
    message: int
    tried: str = ""
    cure: str = ""


class _Open(NamedTuple):
    deed: Deed
    changes: int
    """Files that had been changed when it was last seen."""


def troubles(done: Sequence[Deed]) -> tuple[Trouble, ...]:
    """The errors in what was done, newest last, uncured ones kept before cured ones where there are too many."""
    waiting: dict[str, _Open] = {}
    cured: list[Trouble] = []
    refused: list[Trouble] = []
    changed: list[str] = []
    for deed in done:
        goal = deed.goal
        if is_refused(deed):
            refused.append(_refused(deed))
        elif deed.result is not None and deed.failed and not reads(deed.call):
            waiting.pop(goal, None)
            waiting[goal] = _Open(deed, len(changed))
        elif deed.verdict == "ok":
            if goal in waiting:
                cured.append(_healed(waiting.pop(goal), changed))
            changed += [touch.path for touch in deed.touched if touch.action in ("edited", "written")]
    failed = any(item.deed.command for item in waiting.values())
    passed = next(filter(_passes, reversed(done[-LATEST:])), None) if failed else None
    left = [_since(item, passed) for item in waiting.values()]
    open_ = [*(trouble for trouble in left if not trouble.cure), *refused]
    cured += [trouble for trouble in left if trouble.cure]
    in_order = attrgetter("message")
    return _kept(sorted(open_, key=in_order), sorted(cured, key=in_order))


def _passes(deed: Deed) -> bool:
    """A check that says at its end that all is well."""
    ended = closing_line(deed.result) if deed.command and deed.result and not deed.failed else ""
    return _PASSED.search(ended) is not None and _BROKE.search(ended) is None


def _since(item: _Open, passed: Deed | None) -> Trouble:
    """An error of a command that was not run again with success, and the check that passed since, if one did."""
    told = _told(item)
    if not item.deed.command or passed is None or passed.answer < item.deed.answer:
        return told
    return told._replace(cure=f"perhaps cured: {tried(passed)} passed later")


def _kept(uncured: Sequence[Trouble], cured: Sequence[Trouble]) -> tuple[Trouble, ...]:
    most_urgent = [trouble for trouble in (*reversed(uncured), *reversed(cured)) if trouble.text][:MOST]
    return tuple(sorted(most_urgent, key=lambda trouble: trouble.message))


def _told(item: _Open) -> Trouble:
    return Trouble(telling_line(item.deed.result) if item.deed.result else "", item.deed.answer, tried(item.deed))


def is_refused(deed: Deed) -> bool:
    """The user did not let it be done."""
    return deed.failed and deed.result is not None and _REFUSED.match(deed.result.text) is not None


def _refused(deed: Deed) -> Trouble:
    """What was said when a call was refused; a later one that succeeds does not take that back."""
    text = deed.result.text if deed.result else ""
    told = _REMARK.search(text)
    words = text[told.end() :].strip() if told else text.strip().partition(".")[0]
    return Trouble(beginning(words.partition("\n")[0], LONGEST_LINE), deed.answer, tried(deed), REFUSED)


def succeeded(done: Iterable[Deed]) -> frozenset[str]:
    """What was tried with success."""
    return frozenset(tried(deed) for deed in done if deed.verdict == "ok" and not deed.failed)


def tried(deed: Deed) -> str:
    """What was to be done, in a few words."""
    goal = beginning(" ".join((deed.command or deed.goal).split()), LONGEST_GOAL)
    return f"`{goal}`" if deed.command else goal


def telling_line(result: ToolResult) -> str:
    """The line that says what went wrong: the last telling one, else the last that hints at it, else the first."""
    text = result.text
    searched = text if len(text) <= 2 * _LOOK else text[:_LOOK] + "\n" + text[-_LOOK:]
    return head(next(_candidates(searched), "").strip(), LONGEST_LINE)


def closing_line(result: ToolResult) -> str:
    """The last line near the end that says how a check ended, if one does: that all passed, what was committed."""
    lines = result.text[-_ENDS:].splitlines()
    return next((head(line.strip(), LONGEST_LINE) for line in reversed(lines) if _ENDED.search(line)), "")


def _candidates(text: str) -> Iterator[str]:
    lines = [line for line in text.splitlines() if line.strip() and not FRAME.match(line) and not _SILENT.match(line)]
    long = [line for line in lines if len(line.strip()) > SHORTEST_LINE]
    yield from (line for line in reversed(long) if _TELLING.match(line))
    yield from (line for line in reversed(long) if _SUMMING.match(line))
    yield from (line for line in reversed(long) if _HINTING.search(line))
    yield from (*long[:1], *lines[:1])


def _healed(item: _Open, changed: Sequence[str]) -> Trouble:
    files = list(dict.fromkeys(map(posixpath.basename, changed[item.changes :])))[-MOST_FILES:]
    how = f"after changes to {', '.join(files)}" if files else "on a later try"
    told = _told(item)
    return told._replace(cure=f"{told.tried} succeeded {how}")
