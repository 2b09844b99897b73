"""How a command ended, by the last lines of its output: what a check says of itself, and whether it passed.

    result ── closing_line ──> "12 passed in 0.3s"
           ── says_passed ───> True

What went wrong is in telling.py; whether a call failed at all is in deeds.py.
"""

from __future__ import annotations

import re

from foldline.core.words.masks import ended
from foldline.core.words.text import head
from foldline.core.work.telling import LONGEST_LINE, names_place
from foldline.model import ToolResult

LONGEST_LAST = 80
"""Characters of a last line at most: a longer one is part of a dump."""
_ENDS = 600
"""Characters at the end of an output that are looked at."""
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
"""A line in which a check says that it passed."""
_BROKE = re.compile(
    r"error|fail|fatal|panic|killed|fault|interrupt|\bnot (?:ok|met|succeeded)\b|would (?:be )?reformat|did not run|"
    r"\b0 passed",
    re.I,
)
"""Words for something wrong: a check did not pass if a line near its end has one."""
_NONE = re.compile(
    r"\b(?:0|no) (?:failed|failing|failures?|errors?|problems?|issues?)\b|\b(?:failed|failures|errors): 0\b", re.I
)
"""Words that say that nothing is wrong: they are taken out before `_BROKE` is sought."""
_ALL_WELL = re.compile(r"ok[ \t]+\S+[ \t]+(?:\d[\d.]*m?s|\(cached\))")
"""The last line of a check that prints it only when nothing failed: indented lines that name a place in a file are
then no faults."""


def closing_line(result: ToolResult) -> str:
    """The last line near the end that says how a check ended, if one does: that all passed, what was committed."""
    if not any(map(_ENDED.search, result.text[-_ENDS:].splitlines())):  # most outputs, which need not be masked
        return ""
    lines = ended(result.text, _ENDS).splitlines()
    return next((head(line.strip(), LONGEST_LINE) for line in reversed(lines) if _ENDED.search(line)), "")


def last_line(result: ToolResult) -> str:
    """The last line of an output, unless it is part of a dump: a quiet check is told by it."""
    lines = result.text[-_ENDS:].strip().splitlines()
    if not lines or len(lines[-1]) > LONGEST_LAST:
        return ""
    return ended(result.text, _ENDS).strip().splitlines()[-1].strip()


def says_passed(result: ToolResult) -> bool:
    """The output says at its end that all is well."""
    lines = result.text[-_ENDS:].rstrip().splitlines()
    well = bool(lines) and _ALL_WELL.match(lines[-1]) is not None
    ill = (
        _BROKE.search(_NONE.sub("", line)) or (names_place(line) and not (well and line[0].isspace())) for line in lines
    )
    return any(map(_PASSED.search, lines)) and not any(ill)
