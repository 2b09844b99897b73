"""A summary that is longer than its room, shortened: what the next model must do stays, what it may look up goes.

    summary, room ── shorten ──> Shortened (summary, lines left out)

The sections that tell what to do come first. The others share what these leave, so that none crowds out another; each
is a record in order, and grows with every update, so its oldest items go. Whole lines only. Nothing is reworded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from foldline.core.summaries.summary import Section, Summary, render
from foldline.core.words.markup import ITEM, fenced

FIRST = (
    *("immediate", "constraints", "goal", "request", "intent", "next", "pending", "active", "commitments", "blocked"),
    *("current", "state"),
)
"""The sections that are cut last, in this order of importance."""
HEADING = 6
"""Tokens of a heading and the lines around it."""
LONGEST_INTRODUCTION = 200
"""Characters of a line that says what is listed below it; a longer one tells something by itself."""
_TITLE = re.compile(r" {0,3}#{1,6}[ \t]")
"""A heading inside a section: in a report, a file or an error with all that is said of it below."""


class Shortened(NamedTuple):
    summary: Summary
    left_out: int = 0


def shorten(summary: Summary, room: int, size: Callable[[str], int]) -> Shortened:
    """The summary in at most about `room` tokens."""
    if size(render(summary)) <= room:
        return Shortened(summary)
    kept: dict[str, list[str]] = {}
    for section in sorted((one for one in summary.sections if one.key in FIRST), key=_place):
        kept[section.key], room = _beginning(section.text.split("\n"), room - HEADING, size)
    costs = {one.key: _cost(one.text.split("\n"), size) for one in summary.sections if one.key not in FIRST}
    others = sorted((one for one in summary.sections if one.key in costs), key=lambda one: costs[one.key])
    for waiting, section in zip(range(len(others), 0, -1), others, strict=True):  # a small one leaves room to the rest
        kept[section.key], left = _newest(section.text.split("\n"), room // waiting - HEADING, size)
        room -= room // waiting - left
    sections = [section._replace(text="\n".join(kept[section.key]).strip()) for section in summary.sections]
    left_out = sum(section.text.count("\n") + 1 - len(kept[section.key]) for section in summary.sections)
    return Shortened(Summary(summary.style, tuple(one for one in sections if one.text), summary.version), left_out)


def _place(section: Section) -> int:
    return FIRST.index(section.key)


def _cost(lines: Sequence[str], size: Callable[[str], int]) -> int:
    return sum(size(line) + 1 for line in lines)


def _beginning(lines: Sequence[str], room: int, size: Callable[[str], int]) -> tuple[list[str], int]:
    """As many lines from the beginning as fit, and the room that is left."""
    kept: list[str] = []
    for line in lines:
        tokens = size(line) + 1
        if tokens > room:
            break
        kept.append(line)
        room -= tokens
    return kept, max(room, 0)


def _newest(lines: Sequence[str], room: int, size: Callable[[str], int]) -> tuple[list[str], int]:
    """As many of the last items as fit, below the line that introduces the first of them, and the room that is left;
    of an item that is too large by itself, its beginning."""
    kept: list[str] = []
    opening: list[str] = []
    items = _items(lines)
    introduced = _introduced(items)
    for item, above in zip(reversed(items), reversed(introduced), strict=True):
        if _cost([*above, *item], size) > room:
            break
        kept, opening = [*item, *kept], above
        room -= _cost(item, size)
    if kept:
        return [*opening, *kept], max(room - _cost(opening, size), 0)
    begun, left = _beginning([*introduced[-1], *items[-1]], room, size)
    return (begun, left) if len(begun) > len(introduced[-1]) else ([], max(room, 0))


def _introduced(items: Sequence[Sequence[str]]) -> list[list[str]]:
    """For each item the line right above the list that it stands in, which says what is listed: without the warning
    above them, lines that nobody confirmed would read as known. Of other lines, none."""
    above: list[list[str]] = []
    intro: list[str] = []
    for item in items:
        listed = ITEM.match(item[0]) is not None
        above.append(intro if listed else [])
        if not listed:
            intro = [line for line in item if line.strip()][-1:]
            intro = intro if len("".join(intro)) <= LONGEST_INTRODUCTION else []
    return above


def _items(lines: Sequence[str]) -> list[list[str]]:
    """The lines with what belongs to each: what is indented below it, or code; below a heading, all up to the next."""
    items: list[list[str]] = []
    code = fenced(lines)
    titles = [not inside and _TITLE.match(line) is not None for line, inside in zip(lines, code, strict=True)]
    headed = any(titles)
    for line, inside, title in zip(lines, code, titles, strict=True):
        begins = title if headed else not inside and line[:1].strip() != ""
        if begins or not items:
            items.append([])
        items[-1].append(line)
    return items
