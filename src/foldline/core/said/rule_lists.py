"""Lists that a rule announces: "Never do any of these:" and the lines behind it, which say nothing without it.

    words ── announced ──> RuleList("Never do any of these:\n- push to main\n- …"), …

A list keeps its announcement, and so does each part of a long list. Which sentences bear a rule is in sentences.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from foldline.core.said.sentences import bears_rule, sentences
from foldline.core.words.markup import ITEM, fenced

PART = 400
"""Characters of a list that are kept in one piece: of a longer one nothing might find room."""
BLANK = 2
"""Empty lines that may stand between the announcement and its list."""

_CLOSED = "*_ \t\r"
"""Signs that may follow the colon."""
_WEAK = re.compile(
    r"\b(?:instead of|rather than|without|except|unless|prefer|important|required?|requirements?|keep|leave|should|"
    r"shall|if|when|once|before|after|no (?:more|need|new|longer)|bitte|muss|müssen|il faut|debes?|moet|måste)\b"
    r"|ください|必须|必須|يجب",
    re.I,
)
"""Words that bear a rule and as often announce a task or code: only the lines behind them show which."""


def announces(sentence: str) -> bool:
    """The sentence ends with a colon, perhaps in bold: what it says is in the lines that follow."""
    return sentence.rstrip(_CLOSED).endswith((":", "："))


class RuleList(NamedTuple):
    """A list with its announcement, and the same in parts that are not too long, each with the announcement."""

    text: str
    parts: tuple[str, ...]


def announced(words: str) -> Iterator[RuleList]:
    """Every list behind an announcement that bears a rule."""
    if ":" not in words and "：" not in words:
        return
    lines = words.split("\n")
    code = fenced(lines)
    stop = 0
    for at, line in enumerate(lines):
        if at < stop or code[at] or not announces(line):
            continue
        *_, last = sentences(line)
        if not last.pasted and bears_rule(_WEAK.sub("", last.text)):
            stop = _end(lines, code, at + 1)
            if stop > at + 1:
                yield RuleList("\n".join(lines[at:stop]), tuple(_parts(last.text, lines[at + 1 : stop])))


def _end(lines: Sequence[str], code: Sequence[bool], start: int) -> int:
    """Where the announced lines end: a list, a block of code, or the lines up to an empty one. `start` if there are
    none."""
    first = next((at for at in range(start, min(start + BLANK + 1, len(lines))) if lines[at].strip()), len(lines))
    if first == len(lines):
        return start
    if code[first]:
        return next((at for at in range(first, len(lines)) if not code[at]), len(lines))
    if ITEM.match(lines[first].lstrip()):
        return _list_end(lines, first)
    if first > start:
        return start
    return next((at for at in range(first, len(lines)) if not lines[at].strip()), len(lines))


def _list_end(lines: Sequence[str], first: int) -> int:
    """The position behind the last item. One empty line may stand between two items of the same kind."""
    kind, stop, at = _kind(lines[first]), first, first
    while at < len(lines):
        line = lines[at]
        if line.strip() and (line[0].isspace() or _kind(line) == kind or (_kind(line) and at == stop)):
            stop = at + 1
        elif line.strip() or at > stop:
            break
        at += 1
    return stop


def _kind(line: str) -> str:
    """The mark of a list item, "1" for any number; "" for other lines."""
    line = line.lstrip()
    return ("1" if line[0].isdigit() else line[0]) if ITEM.match(line) else ""


def _parts(line: str, listed: Sequence[str]) -> Iterator[str]:
    """The announcement with some of the items, each with the lines that belong to it, and again with the next ones."""
    least = min((_indent(item) for item in listed if item.strip()), default=0)
    part: list[str] = []
    length = 0
    for item in listed:
        if part and length > PART and item.strip() and _indent(item) == least:
            yield "\n".join((line, *part)).strip()
            part, length = [], 0
        part.append(item)
        length += len(item)
    yield "\n".join((line, *part)).strip()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
