"""A summary that somebody wrote into the conversation, as lines to quote: all that is left of what it stands for.

    text, length ── retold ──> lines

Whose it is cannot be known, so it is quoted as it stood and lends nobody's word to anything. What was under way then is
past. Notes of our own come so too, where nobody remembers the fold that made them: then the user's words come first,
what they quote of still earlier notes stands with theirs, and of the log there is the end. Their titles stay behind
`## `, with which no line that they quote can begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from foldline.core.pieces import TITLES
from foldline.core.prompts import prompt
from foldline.core.styles import STYLES
from foldline.core.summary import parse
from foldline.core.text import beginning

SHARE, OURS = 0.5, 0.7
"""Part of the longest user message's characters that a summary may take, about a third of a checkpoint; and that notes
of our own may take, in which nearly every word is the user's or the agent's."""
LASTING = ("request", "messages", "pending", "errors", "solving", "files", "concepts")
"""What of a summary is told, in this order. What it was doing, and would do next, has been done since."""
GOAL, LOG = "Goal", "Work Log"
BESIDE, BEHIND = "", "behind the notes"
"""What stands in no section; and what stands behind the notes in their message, which is likely to be the user's."""
RULES, DECISIONS, SAID, TASKS = (TITLES[key] for key in ("rules", "decisions", "said", "tasks"))
PAST = frozenset({"Immediate Task", "In Progress", "Next Steps", "How to go on", "Your plan", TITLES["waiting"]})
"""Sections of notes that told how to go on then."""

_THINKS = re.compile(r"<analysis>|^Analysis:", re.M)
_TELLS = re.compile(r"</analysis>|^Summary:", re.M)
"""Where a summary that was left in the conversation reasons, and where it tells what it found."""
_CLOSING = re.compile(
    r"^(?:If you need specific details from before compaction|Please continue the conversation)", re.M
)
"""Where it turns from telling to telling the agent what to do: that was for then."""
_BEGINS, _ENDS = "# Notes on the conversation so far", "# End of the notes"
_FRAME = re.compile(r"(?:This conversation goes on from an earlier one\. )?These notes stand for [\d,]+ messages\. ")
_PROMPTS = ("resume-carried", "resume-kept")
"""What our notes say between their sections and how to go on, line by line."""
_OPENS = re.compile(r"## (?P<title>\S.*)|<(?P<files>[a-z]+-files)>|</[a-z]+-files>")
_LEFT = re.compile(r"(?:> )?\((?:Left out for want of room: |[\d,]{1,12} more (?:lines )?left out)")
_NUMBER = re.compile(r"\d[\d,]{0,11}")


def retold(text: str, whole: int) -> list[str]:
    """The lines of a summary, as many as there is room for, where the longest user message may have `whole`
    characters."""
    if text.lstrip().startswith(_BEGINS) and _ENDS in text:
        return [*_ours(_sections(text), int(whole * OURS)), *_left_before(text)]
    return _first(list(_lasting(_without_working(text))), int(whole * SHARE))


def _first(lines: Sequence[str], length: int) -> list[str]:
    """The first of some lines, and how many are missing."""
    told = [beginning(line, length // 2) for line in lines if line.strip()]
    shown = sum(so_far <= length for so_far in accumulate(map(len, told)))
    return [*told[:shown], *_missing(len(told) - shown)]


def _missing(count: int) -> Iterator[str]:
    if count:
        yield f"({count:,} more lines left out here)"


def _without_working(text: str) -> str:
    thinks, closing = _THINKS.search(text), _CLOSING.search(text)
    tells = _TELLS.search(text, thinks.end()) if thinks else None
    return text[tells.end() if tells else 0 : closing.start() if closing else None]


def _lasting(told: str) -> Iterator[str]:
    """Its lines without what was under way then, what the user wanted first; all of them where it has no sections."""
    sections = {section.key: section for section in parse(told, STYLES["full"]).sections}
    if "request" not in sections:
        yield from told.splitlines()
        return
    for key in (key for key in LASTING if key in sections):
        yield f"{sections[key].title}:"
        yield from sections[key].text.splitlines()


def _ours(sections: Mapping[str, Sequence[str]], length: int) -> list[str]:
    """The sections of notes of our own, the log last, by its end."""
    order = dict.fromkeys((BEHIND, GOAL, RULES, DECISIONS, SAID, BESIDE, *sections))
    named = ((title, sections[title]) for title in order if title in sections and title != LOG)
    first = _first([line for title, lines in named for line in (*_heading(title), *lines)], length)
    log = [line for line in sections.get(LOG, ()) if line.strip()]
    left = length - sum(map(len, first)) - len(LOG)
    shown = sum(so_far <= left for so_far in accumulate(len(line) for line in reversed(log)))
    last = log[-shown:] if shown else []
    return [*first, *(_heading(LOG) if last else ()), *_missing(len(log) - shown), *last]


def _heading(title: str) -> Iterator[str]:
    if title not in (BESIDE, BEHIND):
        yield f"## {title}"


def _left_before(text: str) -> Iterator[str]:
    """How much notes say that they and earlier ones left out."""
    said = (line for line in text.splitlines() if _LEFT.match(line))
    left = sum(int(number.replace(",", "")) for line in said for number in _NUMBER.findall(line))
    if left:
        yield f"({left:,} more left out before)"


def _sections(text: str) -> dict[str, list[str]]:
    """The sections of our own notes, each with what they quote of earlier ones before its own lines. What was asked
    first is what the earliest say of it; what later ones took for that stands with what else was said."""
    notes, _, behind = text.partition(_ENDS)
    ours = {line for name in _PROMPTS for line in prompt(name).text.splitlines()}
    lines = (line for line in notes.splitlines() if line not in ours and line != _BEGINS and not _FRAME.match(line))
    found = _divided(lines)
    earlier = _divided(line.removeprefix("> ") for line in found.pop(TITLES["earlier"], []))
    if GOAL in earlier:
        whole = [line for line in found.pop(GOAL, []) if not line.endswith("…”")]  # else it stands there as well
        found[SAID] = [*whole, *found.get(SAID, [])]
    for title, told in earlier.items():
        if title != TASKS or title not in found:  # of tasks only the newest tell how they stand
            found[title] = [*told, *found.get(title, [])]
    return found | {BEHIND: behind.splitlines()}


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
