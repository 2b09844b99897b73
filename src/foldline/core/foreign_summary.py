"""A summary that somebody wrote into the conversation, as lines to quote: all that is left of what it stands for.

    text, length ── retold ──> Told (a line, what it is worth), …

Whose it is cannot be known, so it is quoted as it stood and lends nobody's word to anything. What was under way then is
past. Notes of our own come so too, where nobody remembers the fold that made them: then the user's words come first,
what they quote of still earlier notes stands with theirs, and of the log there is the end. Their titles stay behind
`## `, with which nothing else begins that is quoted here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from foldline.core.extract import LOG
from foldline.core.logtext import moved_in
from foldline.core.pieces import TITLES
from foldline.core.prompts import prompt
from foldline.core.styles import STYLES
from foldline.core.summary import parse
from foldline.core.text import beginning
from foldline.core.usertext import BEGINS, ENDS

SHARE, OURS = 0.25, 0.7
"""Part of the longest user message's characters that a summary may take, about a sixth of a checkpoint; and that notes
of our own may take, in which nearly every word is the user's or the agent's."""
BEHIND_SHARE = 4
"""What stands behind the notes takes at most this part of that: it may be a dump."""
LASTING = ("request", "messages", "pending", "errors", "solving", "files", "concepts")
"""What of a summary is told, in this order. What it was doing, and would do next, has been done since."""
GOAL = "Goal"
BESIDE = ""
"""What stands in no section."""
RULES, DECISIONS, SAID, TASKS = (TITLES[key] for key in ("rules", "decisions", "said", "tasks"))
PAST = frozenset({"Immediate Task", "In Progress", "Next Steps", "How to go on", "Your plan", TITLES["waiting"]})
"""Sections of notes that told how to go on then."""

_THINKS = re.compile(r"^\s*(?:<analysis>|Analysis:)", re.M)
_TELLS = re.compile(r"</analysis>|^Summary:", re.M)
"""Where a summary that was left in the conversation reasons, and where it tells what it found."""
_CLOSING = ("If you need specific details from before compaction", "Please continue the conversation")
"""How lines begin in which it bids the agent do something: that was for then …"""
CLOSING_LINES = 6
"""… among its last lines: elsewhere somebody says so."""
LATEST_THOUGHT = 600
"""Characters in which it begins to reason, if it does: who mentions that later does not."""
_FRAME = re.compile(r"(?:This conversation goes on from an earlier one\. )?These notes stand for [\d,]+ messages\. ")
_PROMPTS = ("resume-carried", "resume-kept")
"""What our notes say between their sections and how to go on, line by line."""
_OPENS = re.compile(r"## (?P<title>\S.*)|<(?P<files>[a-z]+-files)>|</[a-z]+-files>")
_FILES = re.compile(r"[a-z]+-files$")
_LEFT = re.compile(
    r"(?:> )?\((?:Left out for want of room: [a-z-]+ [\d,]{1,12}(?:, [a-z-]+ [\d,]{1,12}){0,20}|"
    r"[\d,]{1,12} more (?:lines )?left out (?:for want of room|here|before))\)$"
)
_NUMBER = re.compile(r"\d[\d,]{0,11}")


class Told(NamedTuple):
    """A line. Where there is no room for all of them, those that are worth least give way."""

    text: str
    worth: float


def retold(text: str, whole: int) -> list[Told]:
    """The lines of a summary, in order, as many as there is room for where the longest user message may have `whole`
    characters; and how many are missing."""
    notes, ends, behind = text.lstrip().partition(ENDS)
    if not ends or not notes.startswith(BEGINS):
        return _first([moved_in(line) for line in _lasting(_without_working(text))], int(whole * SHARE))
    length = int(whole * OURS)
    first = _first([moved_in(line) for line in behind.splitlines()], length // BEHIND_SHARE)
    return [*first, *_ours(_sections(notes), length - _length(first)), *_left_before(notes)]


def _first(lines: Sequence[str], length: int, worth: float = 0) -> list[Told]:
    """The first of some lines, each worth less than the one before it, and how many are missing."""
    told = [beginning(line, length // 2) for line in lines if line.strip()]
    shown = sum(so_far <= length for so_far in accumulate(map(len, told)))
    return [*(Told(line, worth - at) for at, line in enumerate(told[:shown])), *_missing(len(told) - shown)]


def _last(lines: Sequence[str], length: int, worth: float) -> list[Told]:
    """The same of the last ones; the newest is worth most."""
    told = [line for line in lines if line.strip()]
    shown = sum(so_far <= length for so_far in accumulate(len(line) for line in reversed(told)))
    last = [Told(line, worth - at) for at, line in enumerate(reversed(told[len(told) - shown :]))]
    return [*_missing(len(told) - shown), *reversed(last)]


def _missing(count: int, how: str = "more lines left out here") -> Iterator[Told]:
    if count:
        yield Told(f"({count:,} {how})", 1)


def _length(told: Iterable[Told]) -> int:
    return sum(len(line.text) for line in told)


def _without_working(text: str) -> str:
    """What it tells, without the reasoning before that, and without what it bids the agent do."""
    thinks = _THINKS.search(text, 0, LATEST_THOUGHT)
    tells = _TELLS.search(text, thinks.end()) if thinks else None
    lines = text[tells.end() if tells else 0 :].splitlines()
    last = len(lines) - CLOSING_LINES
    return "\n".join(line for at, line in enumerate(lines) if at < last or not line.startswith(_CLOSING))


def _lasting(told: str) -> Iterator[str]:
    """Its lines without what was under way then, what the user wanted first; all of them where it has no sections."""
    sections = {section.key: section for section in parse(told, STYLES["full"]).sections}
    if "request" not in sections:
        yield from told.splitlines()
        return
    for key in (key for key in LASTING if key in sections):
        yield f"{sections[key].title}:"
        yield from sections[key].text.splitlines()


def _ours(sections: dict[str, list[str]], length: int) -> list[Told]:
    """The sections of notes of our own; then the log, by its end; then the files."""
    files = [title for title in sections if _FILES.match(title)]
    order = dict.fromkeys((GOAL, RULES, DECISIONS, SAID, BESIDE, *sections))
    rest = [title for title in order if title in sections and title != LOG and title not in files]
    first = _first(_under(sections, rest), length)
    log = _last(sections.get(LOG, ()), length - _length(first) - len(LOG), worth=-len(first))
    heading = [Told(f"## {LOG}", log[-1].worth)] if log else []
    left = length - _length(first) - _length(log)
    return [*first, *heading, *log, *_first(_under(sections, files), left, worth=-len(first) - len(log))]


def _under(sections: dict[str, list[str]], titles: Iterable[str]) -> list[str]:
    """The lines of some sections, each behind its title."""
    return [line for title in titles for line in (*((f"## {title}",) if title else ()), *sections[title])]


def _left_before(text: str) -> Iterator[Told]:
    """How much notes say that they and earlier ones left out."""
    said = (line for line in text.splitlines() if _LEFT.match(line))
    left = sum(int(number.replace(",", "")) for line in said for number in _NUMBER.findall(line))
    yield from _missing(left, "more left out before")


def _sections(notes: str) -> dict[str, list[str]]:
    """The sections of our own notes, each with what they quote of earlier ones before its own lines. What was asked
    first is what the earliest say of it; what later ones took for that stands with what else was said."""
    ours = {line for name in _PROMPTS for line in prompt(name).text.splitlines()}
    lines = (line for line in notes.splitlines() if line not in ours and line != BEGINS and not _FRAME.match(line))
    found = _divided(lines)
    earlier = _divided(line.removeprefix("> ") for line in found.pop(TITLES["earlier"], []))
    if GOAL in earlier:
        said = "\n".join(line for title in (RULES, DECISIONS, SAID) for line in found.get(title, ()))
        found[SAID] = [*(line for line in found.pop(GOAL, []) if not _is_begun(line, said)), *found.get(SAID, [])]
    for title, told in earlier.items():
        if title != TASKS or title not in found:  # of tasks only the newest tell how they stand
            found[title] = [*told, *found.get(title, [])]
    return found


def _is_begun(goal: str, said: str) -> bool:
    """Of a long request the goal shows the beginning: it stands below as a whole."""
    _, _, words = goal.partition("“")
    return words.endswith("…”") and words.removesuffix("…”").rstrip() in said


def _divided(lines: Iterable[str]) -> dict[str, list[str]]:
    """Lines by their sections, those of the past and counts of what was left out aside."""
    found: dict[str, list[str]] = {}
    title = BESIDE
    for line in lines:
        opened = _OPENS.match(line)
        if opened:
            title = opened["title"] or opened["files"] or BESIDE
        elif title not in PAST and not _LEFT.match(line):
            found.setdefault(title, []).append(line)
    return found
