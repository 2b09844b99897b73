"""Lists that a rule announces: "Never do any of these:" and the lines behind it, which say nothing without it.

    words ── announced ──> "Never do any of these:\n- push to main\n- …", …

A list stands with its announcement, each part of a long one too. Which sentences bear a rule is in sentences.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from foldline.core.markup import ITEM, fenced
from foldline.core.sentences import bears_rule, sentences

PART = 400
"""Characters of a list that are kept in one piece: with more, none of it might find room."""
MOST = 4_000
"""Characters of a list. What is longer is a document, and says in it what rules."""

_CLOSED = "*_ \t\r"
"""What may stand behind a colon."""
_WEAK = re.compile(
    r"\b(?:instead of|rather than|without|except|unless|prefer|important|required?|requirements?|keep|leave|should|"
    r"shall|if|when|once|before|after|no (?:more|need|new|longer)|bitte|muss|müssen|il faut|debes?|moet|måste)\b"
    r"|ください|必须|必須|يجب",
    re.I,
)
"""Words that bear a rule, and as often announce a task, or code: the lines behind them tell what they are."""


def announces(sentence: str) -> bool:
    """It ends with a colon, be it in bold: what it says are the lines behind it."""
    return sentence.rstrip(_CLOSED).endswith((":", "："))


def announced(words: str) -> Iterator[str]:
    """Every list behind an announcement that bears a rule, in parts that are not too long."""
    if ":" not in words and "：" not in words:
        return
    lines = words.split("\n")
    code = fenced(lines)
    stop = 0
    for at, line in enumerate(lines):
        if at < stop or code[at] or not announces(line):
            continue
        *_, last = sentences(line)
        if bears_rule(_WEAK.sub("", last.text)):
            stop = _end(lines, code, at + 1)
            if stop > at + 1 and sum(map(len, lines[at + 1 : stop])) <= MOST:
                yield from _parts(last.text, lines[at + 1 : stop])


def _end(lines: Sequence[str], code: Sequence[bool], start: int) -> int:
    """Where what is announced ends: a list, a block of code, or the lines up to an empty one. `start` if nothing is."""
    first = start + (start < len(lines) and not lines[start].strip())
    if first == len(lines) or not lines[first].strip():
        return start
    if code[first]:
        return next((at for at in range(first, len(lines)) if not code[at]), len(lines))
    if _is_item(lines[first]):
        return _list_end(lines, first)
    if first > start:
        return start
    return next((at for at in range(first, len(lines)) if not lines[at].strip()), len(lines))


def _list_end(lines: Sequence[str], first: int) -> int:
    """Behind the last item; an empty line may stand between two of them."""
    stop = at = first
    while at < len(lines):
        if _is_item(lines[at]) or (lines[at].strip() and lines[at][0].isspace()):
            stop = at + 1
        elif lines[at].strip() or at > stop:
            break
        at += 1
    return stop


def _is_item(line: str) -> bool:
    return ITEM.match(line.lstrip()) is not None


def _parts(line: str, listed: Sequence[str]) -> Iterator[str]:
    part: list[str] = []
    for item in listed:
        if part and sum(map(len, part)) + len(item) > PART:
            yield "\n".join((line, *part)).strip()
            part = []
        part.append(item)
    yield "\n".join((line, *part)).strip()
