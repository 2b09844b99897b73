"""The room of a log as it is filled: the lines that were taken, what they cost, and the tokens that are left.

    lines, by their places ── Shelf ──> those that found room

A line brings its label, once, and the lines that hold it together with others. Which lines are offered, and in which
order, is decided in choosing.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from foldline.core.log.loglines import LogLine

SizeOf: TypeAlias = Callable[[str], int]

LABEL_MARKS = 3
"""Tokens of a label besides the tool's name: brackets, an empty line, sometimes a number or a file."""


class Shelf:
    """The chosen lines, by their places, and the tokens that are left. Each label costs once."""

    def __init__(self, room: int, size: SizeOf) -> None:
        self.room, self.size = room, size
        self.chosen: dict[int, LogLine] = {}
        self.labels: set[tuple[int, str, int]] = set()

    def takes(self, place: int, line: LogLine, least: int = 0) -> bool:
        """Takes a line if at least so many tokens are left afterwards."""
        return self.takes_all({place: line}, least)

    def takes_all(self, lines: Mapping[int, LogLine], least: int = 0) -> bool:
        """Takes lines of one entry, or none of them."""
        tokens = sum(self.size(line.text) + _marks(line) for line in lines.values())
        first = next(iter(lines.values()))
        tokens += self.label(first)
        if self.room - tokens < least:
            return False
        self.room -= tokens
        self.chosen |= lines
        self.labels.add(_labelled(first))
        return True

    def label(self, line: LogLine) -> int:
        """Tokens of the label before a line; 0 if the label is there already."""
        if _labelled(line) in self.labels:
            return 0
        if line.is_plain:
            return 1
        name = line.label if line.is_tools or line.reread else line.label.partition(" ")[0]
        return self.size(name) + LABEL_MARKS

    def take_between(self, places: Sequence[int], closing: Mapping[int, LogLine], least: int) -> None:
        """Takes the lines that hold these together: those between them, and right behind them."""
        entry = self.chosen[places[0]].entry
        for at in range(places[0] + 1, places[-1]):
            if at in closing and closing[at].entry == entry and at not in self.chosen:
                self.takes(at, closing[at], least)
        at = places[-1] + 1
        while at in closing and closing[at].entry == entry and self.takes(at, closing[at], least):
            at += 1

    def take_newest(
        self,
        lines: dict[int, LogLine],
        least: int,
        most: int,
        closing: Mapping[int, LogLine] = MappingProxyType({}),
        heads: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        """Takes the last lines while `least` tokens stay free, each with the head of its call and the lines that
        close it. It stops after `most` lines that do not fit."""
        misses = 0
        for place in reversed(lines):
            if place in self.chosen:
                continue
            head = heads.get(place, place)
            new = {at: lines[at] for at in (head, place) if at in lines and at not in self.chosen}
            if self.takes_all(new, least):
                self.take_between((place,), closing, least)
            elif (misses := misses + 1) >= most:
                return


def _labelled(line: LogLine) -> tuple[int, str, int]:
    """The key of a label. Each file that was read has its own."""
    return line.message, line.label, line.call + 1 if line.kind == "seen" else 0


def _marks(line: LogLine) -> int:
    """Tokens around a line: its end, and the ticks or the bar that mark it as a tool's."""
    return 3 if line.is_quoted else 2 if line.kind == "seen" else 1
