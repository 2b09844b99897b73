"""A summary that is longer than its room, shortened: what the next model must do stays, what it may look up goes.

    summary, room ── shorten ──> Shortened (summary, lines left out)

Whole lines only, from the end of the least important sections. Nothing is reworded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from foldline.core.summaries.summary import Section, Summary, render

FIRST = ("immediate", "constraints", "goal", "request", "intent", "next", "pending", "active", "commitments", "blocked")
"""The sections that are cut last, in this order of importance; the others follow as they stand."""
HEADING = 6
"""Tokens of a heading and the lines around it."""


class Shortened(NamedTuple):
    summary: Summary
    left_out: int = 0


def shorten(summary: Summary, room: int, size: Callable[[str], int]) -> Shortened:
    """The summary in at most about `room` tokens."""
    if size(render(summary)) <= room:
        return Shortened(summary)
    kept: dict[str, Section] = {}
    left_out = 0
    for section in sorted(summary.sections, key=_place):
        lines = section.text.split("\n")
        text, room = _fitting(lines, room - HEADING, size)
        left_out += len(lines) - len(text)
        if text:
            kept[section.key] = section._replace(text="\n".join(text))
    sections = tuple(kept[section.key] for section in summary.sections if section.key in kept)
    return Shortened(Summary(summary.style, sections, summary.version), left_out)


def _place(section: Section) -> int:
    return FIRST.index(section.key) if section.key in FIRST else len(FIRST)


def _fitting(lines: list[str], room: int, size: Callable[[str], int]) -> tuple[list[str], int]:
    """As many lines from the beginning as fit, and the room that is left."""
    kept: list[str] = []
    for line in lines:
        tokens = size(line) + 1
        if tokens > room:
            return kept, max(room, 0)
        kept.append(line)
        room -= tokens
    return kept, room
