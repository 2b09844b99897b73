"""The program's own part of a checkpoint: rules, the user's words, tasks, errors, files. Quoted, never generated.

    facts, ledger, room ── notes ──> Notes (text, what was left out)

Every line is a piece with a rank; pieces are taken in the order of rank while there is room, and shown in the order of
their sections. What did not fit is counted and said.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from foldline.core.facts import Fact, Facts
from foldline.core.ledger import Ledger
from foldline.core.sentences import sentences
from foldline.core.text import head

LONG_MESSAGE = 1_500
"""Characters of a user message above which its pasted blocks are named instead of shown."""
LONGEST_WORDS = 6_000
"""Characters of the user's own words in one message that are shown: ten times what people type, a tenth of a dump."""
PRESSING = 1_000_000_000
"""Added to what must not be left out while anything else of its kind is in: more than any message's number."""
SNAPSHOT_LENGTH = 400
"""Characters of each message that the snapshot shows."""

_TITLES = {
    "rules": "Rules and preferences, in the user's words",
    "earlier": "From an earlier summary, as it stood",
    "decisions": "What the user decided",
    "said": "What the user said, in order",
    "tasks": "Tasks",
    "errors": "Errors met",
    "commands": "Commands run",
    "waiting": "Waiting for the user",
}
_WORD = re.compile(r"[^\W\d_]+")
_RANKS = {
    "rules": 0,
    "waiting": 0,
    "tasks": 1,
    "decisions": 1,
    "files": 2,  # short, and what the next step will touch
    "open errors": 2,
    "earlier": 3,  # all that is left of what it stands for
    "said": 3,
    "errors": 4,  # cured ones
    "commands": 5,
}


class Piece(NamedTuple):
    """A line of a section. Lower ranks are taken first; within one rank, higher `worth` first."""

    section: str
    text: str
    rank: int
    worth: float
    order: int


@dataclass(frozen=True, slots=True)
class Notes:
    """The sections as text, and how many pieces of each found no room."""

    text: str
    tokens: int
    left_out: tuple[tuple[str, int], ...] = ()


def notes(facts: Facts, ledger: Ledger, room: int, size: Callable[[str], int]) -> Notes:
    """As much as fits, the most important first. Where there is no room even to say what is missing, nothing."""
    pieces = sorted([*_said(facts), *_states(facts), *_files(ledger)], key=lambda piece: (piece.rank, -piece.worth))
    kept = _choose(pieces, room, size)
    while True:
        left = _counted(pieces, kept)
        text = "\n\n".join(_sections(kept, left))
        if size(text) <= room or not kept:
            break
        kept = kept[:-1]
    text = text if size(text) <= room else ""
    return Notes(text, size(text), tuple(left.items()))


def _choose(pieces: Sequence[Piece], room: int, size: Callable[[str], int]) -> list[Piece]:
    """Those that fit, by rank; the first of a section brings its heading and the line on what is missing."""
    kept: list[Piece] = []
    opened: set[str] = set()
    for piece in pieces:
        tokens = size(piece.text) + 1
        if piece.section not in opened:
            tokens += size(_framed(piece.section, [_missing(99)])) + 2
        if tokens <= room:
            kept.append(piece)
            opened.add(piece.section)
            room -= tokens
    return kept


def _counted(pieces: Sequence[Piece], kept: Sequence[Piece]) -> dict[str, int]:
    """How many pieces of each section are not kept."""
    left = Counter(piece.section for piece in pieces)
    left.subtract(piece.section for piece in kept)
    return {section: count for section, count in left.items() if count}


def _said(facts: Facts) -> Iterator[Piece]:
    """The user's messages; rules again by themselves, so that they cannot be overlooked."""
    for fact in facts.of("rule"):
        yield Piece("rules", f"- {_quoted(fact)}", _RANKS["rules"], fact.at, fact.at)
    for fact in facts.of("decision"):
        about = f" (asked: “{head(_line(fact.about), 200)}”)" if fact.about else ""
        yield Piece("decisions", f"- {_quoted(fact)}{about}", _RANKS["decisions"], fact.at, fact.at)
    for fact in facts.of("earlier"):
        for order, line in enumerate(filter(str.strip, head(fact.text, LONGEST_WORDS).split("\n"))):
            yield Piece("earlier", f"> {line}", _RANKS["earlier"], 2 * PRESSING - order, order)
    ruling = {fact.at for fact in facts.of("rule")}
    messages = facts.of("user")
    for fact, worth in zip(messages, _worths(messages), strict=True):
        pressing = PRESSING if fact.at in ruling or fact is messages[0] else 0
        media = f" (pictures or files: {fact.about}, not shown here)" if fact.about else ""
        text = f"[{fact.at + 1}] {shown_words(fact.text)}{media}"
        yield Piece("said", text, _RANKS["said"], pressing + worth, fact.at)


def _worths(messages: Sequence[Fact]) -> Iterator[float]:
    """What each user message is worth beside the others: how lately it was said, and how unlike them it is.

    What a user says in one form again and again is routine; what is said once, in words of its own, may be a rule that
    no list of words knows.
    """
    words = [set(_WORD.findall(fact.text.casefold())) for fact in messages]
    spread = Counter(word for found in words for word in found)
    most = math.log(len(messages) + 1)
    for number, found in enumerate(words):
        rare = sum(math.log((len(messages) + 1) / spread[word]) for word in found) / (len(found) or 1)
        yield rare / most + number / len(messages)


def _quoted(fact: Fact) -> str:
    return f"“{head(fact.text, LONG_MESSAGE)}” [{fact.at + 1}]"


def _line(text: str) -> str:
    """Words that are not the user's, on one line: they cannot open a section of their own."""
    return " ".join(text.split())


def shown_words(text: str) -> str:
    """A user message as the notes show it: all of it, or, when it is long, its words without the pasted blocks."""
    if len(text) <= LONG_MESSAGE:
        return text
    shown: list[str] = []
    pasted = 0
    for sentence in sentences(text):
        if sentence.pasted:
            pasted += len(sentence.text)
        else:
            shown.append(sentence.text)
    words = "\n".join(shown)
    first = head(words, LONGEST_WORDS)
    missing = [f"{len(words) - len(first):,} more characters"] if len(first) < len(words) else []
    missing += [f"pasted text of {pasted:,} characters"] if pasted else []
    return f"{first}\n({' and '.join(missing)} left out here)".lstrip() if missing else first


def _states(facts: Facts) -> Iterator[Piece]:
    for number, fact in enumerate(facts.of("open", "done")):
        mark = "[x]" if fact.kind == "done" else "[ ]"
        status = f" ({_line(fact.about)})" if fact.about else ""
        worth = 1.0 if fact.kind == "open" else 0.0
        yield Piece("tasks", f"- {mark} {_line(fact.text)}{status}", _RANKS["tasks"], worth, number)
    for fact in facts.of("approval"):
        text = f"- The assistant asked, and has no answer yet: “{_line(fact.text)}” [{fact.at + 1}]"
        yield Piece("waiting", text, _RANKS["waiting"], PRESSING, fact.at)
    for fact in facts.of("error"):
        cure = f" — {_line(fact.about)}" if fact.about else " — not seen to be cured"
        rank = _RANKS["errors" if fact.about else "open errors"]
        yield Piece("errors", f"- `{_line(fact.text)}`{cure} [{fact.at + 1}]", rank, fact.at, fact.at)


def _files(ledger: Ledger) -> Iterator[Piece]:
    """Files newest first, what was changed before what was only read; then commands."""
    changed = (
        ("modified-files", _once(ledger.modified)),
        ("moved-files", tuple(f"{_line(old)} → {_line(new)}" for old, new in ledger.moved)),
        ("deleted-files", _once(ledger.deleted)),
    )
    for section, paths in changed:
        for order, path in enumerate(paths):
            yield Piece(section, _line(path), _RANKS["files"], order, order)
    read = _once(ledger.read_only)
    for order, path in enumerate(read):
        yield Piece("read-files", _line(path), _RANKS["commands"], order - len(read), order)
    for order, command in enumerate(ledger.commands):
        line = head(command.text.strip().replace("\n", " ⏎ "), 200)
        yield Piece("commands", f"- `{line}` — {command.verdict}", _RANKS["commands"], order, order)


def _once(paths: Sequence[str]) -> tuple[str, ...]:
    """Without the short form of a path that is there in full."""
    whole = tuple(path for path in paths if path.startswith("/"))
    return tuple(path for path in paths if path in whole or not any(long.endswith(f"/{path}") for long in whole))


def _sections(kept: Sequence[Piece], left: dict[str, int]) -> Iterator[str]:
    """Each section with what it has and how much it lacks; those that have nothing share one line."""
    for section in (*_TITLES, "modified-files", "moved-files", "deleted-files", "read-files"):
        lines = [piece.text for piece in sorted(kept, key=lambda piece: piece.order) if piece.section == section]
        missing = left.get(section, 0)
        if lines:
            yield _framed(section, [*lines, _missing(missing)] if missing else lines)
    absent = left.keys() - {piece.section for piece in kept}
    if absent:
        counts = ", ".join(f"{section} {left[section]:,}" for section in left if section in absent)
        yield f"(Left out for want of room: {counts})"


def _missing(count: int) -> str:
    return f"({count:,} more left out for want of room)"


def _framed(section: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return f"## {_TITLES[section]}\n{body}" if section in _TITLES else f"<{section}>\n{body}\n</{section}>"
