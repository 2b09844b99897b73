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
from foldline.core.words.markup import fenced

FIRST = (
    *("immediate", "constraints", "goal", "request", "intent", "next", "pending", "active", "commitments", "blocked"),
    *("current", "state"),
)
"""The sections that are cut last, in this order of importance."""
HEADING = 6
"""Tokens of a heading and the lines around it."""
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
    """As many of the last items as fit, and the room that is left; of an item that is too large by itself, its
    beginning."""
    kept: list[str] = []
    items = _items(lines)
    for item in reversed(items):
        tokens = _cost(item, size)
        if tokens > room:
            break
        kept = [*item, *kept]
        room -= tokens
    return (kept, max(room, 0)) if kept else _beginning(items[-1], room, size)


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
