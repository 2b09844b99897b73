"""A summary that somebody wrote into the conversation, as lines to quote: all that is left of what it stands for.

    text, length ── retold ──> RetoldLine (a line, what it is worth), …

Who wrote it cannot be known, so it is quoted as it is, and nothing in it counts as anybody's word. What it calls under
way is past by now. Our own notes come in this form too, where the archive does not know the fold that made them: then
the user's words come first, what they quote of still earlier notes is joined with theirs, and of the log the end is
shown. Section titles keep their `## `; no other quoted line begins with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from foldline.core.checkpoints.pieces import LATEST, TITLES
from foldline.core.log.extract import LOG
from foldline.core.log.logtext import moved_in
from foldline.core.said.usertext import BEGINS, ENDS
from foldline.core.summaries.prompts import prompt
from foldline.core.summaries.styles import STYLES
from foldline.core.summaries.summary import parse
from foldline.core.words.text import beginning

SHARE, OURS = 0.25, 0.7
"""The share of the longest user message's characters that a foreign summary may take (about a sixth of a
checkpoint), and the share that our own notes may take, in which nearly every word is the user's or the agent's."""
BEHIND_PART = 4
"""What stands behind the notes may take one part in so many of that: it may be a dump."""
LASTING = ("request", "messages", "pending", "errors", "solving", "files", "concepts")
"""The sections of a summary that are quoted, in this order. What it was doing and would do next has been done since."""
GOAL = "Goal"
BESIDE = ""
"""The key of lines that stand in no section."""
RULES, DECISIONS, SAID, TASKS = (TITLES[key] for key in ("rules", "decisions", "said", "tasks"))
PAST = frozenset({"Immediate Task", "In Progress", "Next Steps", "How to go on", "Your plan", TITLES["waiting"]})
"""Sections of our notes that said how to go on then."""

_THINKS = re.compile(r"^\s*(?:<analysis>|Analysis:)", re.M)
_TELLS = re.compile(r"</analysis>|^Summary:", re.M)
"""Where a summary begins to reason, and where the reasoning ends."""
_CLOSING = ("If you need specific details from before compaction", "Please continue the conversation")
"""How lines begin in which a summary tells the agent what to do next: that was meant for then."""
CLOSING_LINES = 6
"""Such lines are left out only among so many lines at the end: elsewhere somebody else says them."""
LATEST_THOUGHT = 600
"""A summary that reasons begins to do so within so many characters; later it only mentions the words."""
_FRAME = re.compile(r"(?:This conversation goes on from an earlier one\. )?These notes stand for [\d,]+ messages\. ")
_PROMPTS = ("resume-carried", "resume-kept")
"""The prompts whose lines stand in our notes between the sections and how to go on."""
_OPENS = re.compile(r"## (?P<title>\S.*)|<(?P<files>[a-z]+-files)>|</[a-z]+-files>")
_FILES = re.compile(r"[a-z]+-files$")
_LEFT = re.compile(
    r"(?:> )?\((?:Left out for want of room: [a-z-]+ [\d,]{1,12}(?:, [a-z-]+ [\d,]{1,12}){0,20}|"
    r"[\d,]{1,12} more (?:lines )?left out (?:for want of room|here|before))\)$"
)
_NUMBER = re.compile(r"\d[\d,]{0,11}")


class RetoldLine(NamedTuple):
    """A line to quote. Where there is no room for all lines, those of least worth go first."""

    text: str
    worth: float


def retold(text: str, whole: int) -> list[RetoldLine]:
    """The lines of a summary, in order, as many as there is room for, and how many are missing. `whole` is how many
    characters the longest user message may have."""
    notes, ends, behind = text.lstrip().partition(ENDS)
    if not ends or not notes.startswith(BEGINS):
        return _first([moved_in(line) for line in _lasting(_without_working(text))], int(whole * SHARE))
    length = int(whole * OURS)
    first = _first([moved_in(line) for line in behind.splitlines()], length // BEHIND_PART)
    return [*first, *_ours(_sections(notes), length - _length(first)), *_left_before(notes)]


def _first(lines: Sequence[str], length: int, worth: float = 0) -> list[RetoldLine]:
    """The first lines that fit, each worth less than the one before, and how many are missing."""
    told = [beginning(line, length // 2) for line in lines if line.strip()]
    shown = sum(so_far <= length for so_far in accumulate(map(len, told)))
    return [*(RetoldLine(line, worth - at) for at, line in enumerate(told[:shown])), *_missing(len(told) - shown)]


def _last(lines: Sequence[str], length: int, worth: float) -> list[RetoldLine]:
    """The last lines that fit, the newest worth most, and how many are missing before them."""
    told = [line for line in lines if line.strip()]
    shown = sum(so_far <= length for so_far in accumulate(len(line) for line in reversed(told)))
    last = [RetoldLine(line, worth - at) for at, line in enumerate(reversed(told[len(told) - shown :]))]
    return [*_missing(len(told) - shown), *reversed(last)]


def _missing(count: int, how: str = "more lines left out here") -> Iterator[RetoldLine]:
    if count:
        yield RetoldLine(f"({count:,} {how})", 1)


def _length(told: Iterable[RetoldLine]) -> int:
    return sum(len(line.text) for line in told)


def _without_working(text: str) -> str:
    """The summary without its reasoning, and without what it tells the agent to do."""
    thinks = _THINKS.search(text, 0, LATEST_THOUGHT)
    tells = _TELLS.search(text, thinks.end()) if thinks else None
    lines = text[tells.end() if tells else 0 :].splitlines()
    last = len(lines) - CLOSING_LINES
    return "\n".join(line for at, line in enumerate(lines) if at < last or not line.startswith(_CLOSING))


def _lasting(told: str) -> Iterator[str]:
    """The lines of the lasting sections, what the user wanted first; all lines if the summary has no sections."""
    sections = {section.key: section for section in parse(told, STYLES["full"]).sections}
    if "request" not in sections:
        yield from told.splitlines()
        return
    for key in (key for key in LASTING if key in sections):
        yield f"{sections[key].title}:"
        yield from sections[key].text.splitlines()


def _ours(sections: dict[str, list[str]], length: int) -> list[RetoldLine]:
    """The sections of notes of our own; then the log, by its end; then the files."""
    files = [title for title in sections if _FILES.match(title)]
    order = dict.fromkeys((GOAL, RULES, DECISIONS, SAID, BESIDE, *sections))
    rest = [title for title in order if title in sections and title != LOG and title not in files]
    first = _first(_under(sections, rest), length)
    log = _last(sections.get(LOG, ()), length - _length(first) - len(LOG), worth=-len(first))
    heading = [RetoldLine(f"## {LOG}", log[-1].worth)] if log else []
    left = length - _length(first) - _length(log)
    return [*first, *heading, *log, *_first(_under(sections, files), left, worth=-len(first) - len(log))]


def _under(sections: dict[str, list[str]], titles: Iterable[str]) -> list[str]:
    """The lines of some sections, each behind its title."""
    return [line for title in titles for line in (*((f"## {title}",) if title else ()), *sections[title])]


def _left_before(text: str) -> Iterator[RetoldLine]:
    """How much the notes say that they and earlier notes left out."""
    said = (line for line in text.splitlines() if _LEFT.match(line))
    left = sum(int(number.replace(",", "")) for line in said for number in _NUMBER.findall(line))
    yield from _missing(left, "more left out before")


def _sections(notes: str) -> dict[str, list[str]]:
    """The sections of our own notes, each beginning with what they quote from earlier notes. The goal is what the
    earliest notes say; what later ones took for the goal is moved to what else the user said."""
    ours = {line for name in _PROMPTS for line in prompt(name).text.splitlines()}
    lines = (line for line in notes.splitlines() if line not in ours and line != BEGINS and not _FRAME.match(line))
    found = _divided(lines)
    earlier = _divided(line.removeprefix("> ") for line in found.pop(TITLES["earlier"], []))
    if GOAL in earlier:
        said = "\n".join(line for title in (RULES, DECISIONS, SAID) for line in found.get(title, ()))
        found[SAID] = [*(line for line in found.pop(GOAL, []) if not _is_begun(line, said)), *found.get(SAID, [])]
    for title, told in earlier.items():
        if title in (TASKS, LATEST) and title in found:
            continue  # only the newest says how the tasks stand, and what came last
        both = [*told, *found.get(title, [])]
        found[title] = list(dict.fromkeys(both)) if _FILES.match(title) else both
    return found


def _is_begun(goal: str, said: str) -> bool:
    """The goal shows only the beginning of a long request, which stands below in full."""
    _, _, words = goal.partition("“")
    return words.endswith("…”") and words.removesuffix("…”").rstrip() in said


def _divided(lines: Iterable[str]) -> dict[str, list[str]]:
    """Lines by section, without past sections and without counts of what was left out."""
    found: dict[str, list[str]] = {}
    title = BESIDE
    for line in lines:
        opened = _OPENS.match(line)
        if opened:
            title = opened["title"] or opened["files"] or BESIDE
        elif title not in PAST and not _LEFT.match(line):
            found.setdefault(title, []).append(line)
    return found
