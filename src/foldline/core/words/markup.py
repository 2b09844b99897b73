"""Markdown as far as summaries need it: code fences, list items, and lines guarded from being misread.

A line that would be misread gets a backslash before it, and loses one when it is read: so any text can stand inside a
section. This module knows no headings; the caller says which lines are special.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

ITEM = re.compile(r"(?:[-*+•]|\d{1,4}[.)])(?:[ \t]+|$)")
"""How a list item begins."""
_OPENING = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,4}[.)])[ \t]+)?(?P<mark>`{3,}|~{3,})[^`]*$")
_CLOSING = re.compile(r"[ \t]*(?P<mark>`{3,}|~{3,})[ \t\r]*$")
_RETURNS = re.compile(r"(?<!\r)\r+\n")
"""A line end with carriage returns before it; without the first sign, a run of these would be gone through for each."""
_GUARD = re.compile(r"([ \t]*)(\\*)")


def fenced(lines: Sequence[str]) -> list[bool]:
    """Which lines belong to a code fence, its borders included. An unclosed fence does not count."""
    inside = [False] * len(lines)
    closing = [_mark(_CLOSING, line) for line in lines]
    reach = _reach(closing)
    at = 0
    while at < len(lines):
        kind, length = _mark(_OPENING, lines[at])
        end = at
        if length and length <= reach[at].get(kind, 0):  # the fence is closed: no line is searched twice for its end
            ends = (number for number in range(at + 1, len(lines)) if closing[number][0] == kind)
            end = next(number for number in ends if closing[number][1] >= length)
            inside[at : end + 1] = [True] * (end + 1 - at)
        at = end + 1
    return inside


def _mark(pattern: re.Pattern[str], line: str) -> tuple[str, int]:
    """The kind of fence that a line opens or closes, and the length of its mark; ("", 0) if it does neither."""
    found = pattern.match(line) if "```" in line or "~~~" in line else None
    return (found.group("mark")[0], len(found.group("mark"))) if found else ("", 0)


def _reach(closing: Sequence[tuple[str, int]]) -> list[Mapping[str, int]]:
    """For each line, the longest closing mark of either kind in the lines after it."""
    found: list[Mapping[str, int]] = []
    longest: Mapping[str, int] = {}
    for kind, length in reversed(closing):
        found.append(longest)
        if length > longest.get(kind, 0):
            longest = {**longest, kind: length}
    return found[::-1]


def opens_fence(line: str) -> bool:
    return _OPENING.match(line) is not None


def guard(text: str, special: Callable[[str], bool]) -> str:
    """The text with a backslash before every special line outside code."""
    lines = text.split("\n")
    return "\n".join(
        line if inside else guarded(line, special) for line, inside in zip(lines, fenced(lines), strict=True)
    )


def guarded(line: str, special: Callable[[str], bool]) -> str:
    indent, slashes, rest = _pieces(line)
    return f"{indent}\\{slashes}{rest}" if special(indent + rest) else line


def unguarded(line: str, special: Callable[[str], bool]) -> str:
    """A line as it was before it was guarded."""
    indent, slashes, rest = _pieces(line)
    return f"{indent}{slashes[1:]}{rest}" if slashes and special(indent + rest) else line


def _pieces(line: str) -> tuple[str, str, str]:
    match = _GUARD.match(line)
    assert match  # every group may be empty
    return match.group(1), match.group(2), line[match.end() :]


def tidy(text: str) -> str:
    """The text with at most one empty line in a row outside code, plain line ends, and nothing blank at its ends."""
    lines = _RETURNS.sub("\n", text).strip().split("\n")
    kept: list[str] = []
    for line, inside in zip(lines, fenced(lines), strict=True):
        if inside or line.strip() or (kept and kept[-1].strip()):
            kept.append(line)
    return "\n".join(kept)


def bare(line: str) -> str:
    """A line without its list mark and box."""
    line = line.strip()
    item = ITEM.match(line)
    return re.sub(r"^\[[ xX]?\][ \t]*", "", line[item.end() :] if item else line).strip()
