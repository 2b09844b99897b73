"""The lines of a section as they are judged: a line with what continues it, a row of a table, a heading.

    lines ── units ──> Units, each with the numbers of its lines and its words in plain form

Knows nothing of what the words mean: judge.py does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from foldline.core.words.markup import ITEM, fenced
from foldline.core.words.plainly import plainly

_HEADING = re.compile(
    r" {0,3}(?:>\s*)?(?:(?P<marks>#{1,6}(?=\s)|#{2,6}(?!#))\s*(?P<title>\S.*)|\*\*(?P<bold>[^*]+)\*\*:?\s*$|"
    r"<h[1-6]>(?P<html>[^<]+)<)",
    re.I,
)
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})\s*$")
_RULE = re.compile(r"[\s|:-]*$")
"""The line between the head of a table and its rows."""
_OPENS = re.compile(r"\s*(?:[|#>]|\*\*)")
LABEL = 8
"""A label has fewer blanks than this: anything longer is prose."""
_INDENT = re.compile(r"[ \t]*")


class Unit(NamedTuple):
    """Lines `start` to `stop` (exclusive) as one. `headed` has the same words, each cell with the head of its
    column."""

    start: int
    stop: int
    text: str
    headed: str = ""
    code: bool = False
    title: str = ""
    label: bool = False
    """It is not marked as a heading: it may be one, so it ends no section above it."""
    opens: bool = False
    """It is a heading of the same level as the sections: it stands beside them, whatever it is about."""


def units(lines: Sequence[str]) -> Iterator[Unit]:
    """All lines, as units, in their order, without empty ones."""
    code = fenced(lines)
    heads: list[str] = []
    at = 0
    while at < len(lines):
        heads = heads if _is_row(lines[at]) and not code[at] else []
        unit = _unit(lines, at, code, heads)
        if _is_row(lines[at]) and at + 1 < len(lines) and _is_rule(lines[at + 1]):
            heads = _cells(lines[at])
        if unit.text or unit.title:
            yield unit
        at = unit.stop


def _unit(lines: Sequence[str], at: int, code: Sequence[bool], heads: Sequence[str]) -> Unit:
    line = lines[at]
    if code[at] or not line.strip():
        return Unit(at, at + 1, plainly(line), code=code[at])
    heading = _HEADING.match(line)
    if heading:
        title = plainly(heading["title"] or heading["bold"] or heading["html"])
        return Unit(at, at + 1, plainly(line), title=title, opens=heading["marks"] in ("#", "##"))
    if _is_underlined(lines, at, code):
        return Unit(at, at + 2, plainly(line), title=plainly(line), label=True)
    if _is_row(line):
        return _row(at, _cells(line), heads)
    stop = _stop(lines, at, code)
    text = plainly(" ".join(lines[at:stop]))
    is_label = text.endswith(":") and text.count(" ") < LABEL and not ITEM.match(line.lstrip())
    return Unit(at, stop, text, title=text[:-1] if is_label else "", label=is_label)


def _is_underlined(lines: Sequence[str], at: int, code: Sequence[bool]) -> bool:
    below = at + 1 < len(lines) and not code[at + 1] and _UNDERLINE.match(lines[at + 1])
    return bool(below) and not ITEM.match(lines[at].lstrip()) and not _UNDERLINE.match(lines[at])


def _stop(lines: Sequence[str], at: int, code: Sequence[bool]) -> int:
    """Where the lines end that continue this one: they are indented more, or begin with a small letter."""
    indent, stop = _depth(lines[at]), at + 1
    while stop < len(lines) and not code[stop] and _goes_on(lines[stop], indent):
        stop += 1
    return stop


def _goes_on(line: str, indent: int) -> bool:
    words = line.strip()
    if not words or _OPENS.match(line) or ITEM.match(words) or _UNDERLINE.match(line):
        return False
    return _depth(line) > indent or words[0].islower()


def _depth(line: str) -> int:
    found = _INDENT.match(line)
    return found.end() if found else 0


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|")


def _is_rule(line: str) -> bool:
    return "-" in line and _RULE.match(line) is not None


def _cells(line: str) -> list[str]:
    return [plainly(cell) for cell in line.strip().strip("|").split("|")]


def _row(at: int, cells: Sequence[str], heads: Sequence[str]) -> Unit:
    named = [f"{head}: {cell}" if head else cell for head, cell in zip(heads, cells, strict=False)]
    return Unit(at, at + 1, "; ".join(filter(None, cells)), "; ".join(named))
