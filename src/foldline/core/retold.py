"""A summary that somebody wrote into the conversation, as lines to quote: all that is left of what it stands for.

    text, length ── retold ──> lines

Whose it is cannot be known, so it is quoted as it stood and lends nobody's word to anything. What was under way then is
past. Notes of our own come so too, where nobody remembers the fold that made them: then the user's words come first,
what they quote of still earlier notes stands with theirs, and of the log there is the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from foldline.core.pieces import TITLES
from foldline.core.prompts import prompt
from foldline.core.styles import CHECKPOINT, STYLES
from foldline.core.summary import parse
from foldline.core.text import beginning

SHARE, OURS = 0.5, 0.7
"""Part of the longest user message's characters that a summary may take, about a third of a checkpoint; and that notes
of our own may take, in which nearly every word is the user's or the agent's."""
LASTING = ("request", "messages", "pending", "errors", "solving", "files", "concepts")
"""What of a summary is told, in this order. What it was doing, and would do next, has been done since."""
LOG = "Work Log"
STATES = frozenset({TITLES["tasks"]})
"""Sections of which only the newest tells how things are."""
PAST = frozenset({"Immediate Task", "In Progress", "Next Steps", "How to go on", "Your plan", TITLES["waiting"]})
"""Sections of notes that told how to go on then."""

_THINKS = re.compile(r"<analysis>|^Analysis:", re.M)
_TELLS = re.compile(r"</analysis>|^Summary:", re.M)
"""Where a summary that was left in the conversation reasons, and where it tells what it found."""
_CLOSING = re.compile(
    r"^(?:If you need specific details from before compaction|Please continue the conversation)", re.M
)
"""Where it turns from telling to telling the agent what to do: that was for then."""
_CLOSINGS = ("resume-carried", "resume-kept")
"""The prompts with which our own notes may turn to that."""
_NOTES = "# Notes on the conversation so far"
_OPENS = re.compile(r"## (?P<title>\S.*)|<(?P<files>[a-z]+-files)>|(?P<end></[a-z]+-files>|# End of the notes)")
_LEFT = re.compile(r"(?:> )?\((?:Left out for want of room: |[\d,]+ more (?:lines )?left out)")
_NUMBER = re.compile(r"\d[\d,]*")


def retold(text: str, whole: int) -> list[str]:
    """The lines of a summary, as many as there is room for, where the longest user message may have `whole`
    characters."""
    sections = _sections(text) if text.lstrip().startswith(_NOTES) else {}
    if sections:
        return [*_ours(sections, int(whole * OURS)), *_left_before(text)]
    return _first(list(_lasting(_without_working(text))), int(whole * SHARE))


def _first(lines: Sequence[str], length: int) -> list[str]:
    """The first of some lines, and how many are missing."""
    told = [beginning(line, length // 2) for line in lines if line.strip()]
    shown = sum(so_far <= length for so_far in accumulate(map(len, told)))
    missing = [f"({len(told) - shown:,} more lines left out here)"] if shown < len(told) else []
    return [*told[:shown], *missing]


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
    words = (TITLES["rules"], TITLES["decisions"], TITLES["said"])
    order = dict.fromkeys(("Goal", *words, "", *sections))
    order.pop(LOG, None)
    lines = [line for title in order if title in sections for line in _under(title, sections[title])]
    first = _first(lines, length)
    log = [line for line in sections.get(LOG, ()) if line.strip()]
    left = length - sum(map(len, first)) - len(LOG)
    shown = sum(so_far <= left for so_far in accumulate(len(line) for line in reversed(log)))
    missing = [f"({len(log) - shown:,} more lines left out here)"] if shown < len(log) else []
    return [*first, *((f"{LOG}:", *missing, *log[-shown:]) if shown else missing)]


def _left_before(text: str) -> Iterator[str]:
    """How much notes say that they and earlier ones left out."""
    said = (line for line in text.splitlines() if _LEFT.match(line))
    left = sum(int(number.replace(",", "")) for line in said for number in _NUMBER.findall(line))
    if left:
        yield f"({left:,} more left out before)"


def _under(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield from (f"{title}:",) if title else ()
    yield from lines


def _sections(text: str) -> dict[str, list[str]]:
    """The sections of our own notes, each with what they quote of earlier ones before its own lines."""
    found: dict[str, list[str]] = {}
    title = None
    closing = (text.find(prompt(name).text) for name in _CLOSINGS)
    for line in text[: min((at for at in closing if at >= 0), default=None)].splitlines():
        opened = _OPENS.match(line)
        if opened:
            title = opened["title"] or opened["files"]
            continue
        if title is not None and title not in PAST and not _LEFT.match(line):
            found.setdefault(title, []).append(line)
    earlier = found.pop(TITLES["earlier"], [])
    before = _quoted(line.removeprefix("> ") for line in earlier)
    for title, lines in before.items():
        if title not in STATES or title not in found:
            found[title] = [*lines, *found.get(title, [])]
    return found


def _quoted(lines: Iterator[str]) -> dict[str, list[str]]:
    """The sections that notes quote of earlier ones; what stands before the first of them under no title."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in lines:
        if line.endswith(":") and line[:-1] in _TITLES:
            title = line[:-1]
        elif not _LEFT.match(line):
            found.setdefault(title, []).append(line)
    return found


_TITLES = frozenset({LOG, *TITLES.values(), *(heading.title for heading in CHECKPOINT.headings)}) | {
    f"{kind}-files" for kind in ("modified", "moved", "deleted", "read")
}
