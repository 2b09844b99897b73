"""Markdown as far as summaries need it: code fences, list items, and lines guarded from being misread.

A line that would be read as something it is not gets a backslash before it, and loses one when it is read: so any
text can stand inside a section. Knows no headings; whoever calls says which lines are special.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

ITEM = re.compile(r"(?:[-*+•]|\d{1,4}[.)])(?:[ \t]+|$)")
"""What a list item begins with."""
_OPENING = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,4}[.)])[ \t]+)?(?P<mark>`{3,}|~{3,})[^`]*$")
_CLOSING = re.compile(r"[ \t]*(?P<mark>`{3,}|~{3,})[ \t\r]*$")
_GUARD = re.compile(r"([ \t]*)(\\*)")


def fenced(lines: Sequence[str]) -> list[bool]:
    """Which lines belong to a code fence, its borders included. A fence that is never closed is none."""
    inside = [False] * len(lines)
    hopeless: dict[str, int] = {}  # for ` and ~ the shortest mark that found no end: not looked for again
    at = 0
    while at < len(lines):
        opening = _OPENING.match(lines[at])
        end = _end(lines, at, opening.group("mark"), hopeless) if opening else at
        if end > at:
            inside[at : end + 1] = [True] * (end + 1 - at)
        at = end + 1
    return inside


def _end(lines: Sequence[str], at: int, mark: str, hopeless: dict[str, int]) -> int:
    """The line that closes the fence opened at `at`; `at` itself when none does."""
    kind, length = mark[0], len(mark)
    if length >= hopeless.get(kind, length + 1):
        return at
    for number in range(at + 1, len(lines)):
        closing = _CLOSING.match(lines[number])
        if closing and closing.group("mark")[0] == kind and len(closing.group("mark")) >= length:
            return number
    hopeless[kind] = length
    return at


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
    """No more than one empty line in a row outside code, plain line ends, nothing at the ends."""
    lines = re.sub(r"\r+\n", "\n", text).strip().split("\n")
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
