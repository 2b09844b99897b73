"""The program's own part of a checkpoint: rules, the user's words, tasks, errors, files. Quoted, never generated.

    facts, ledger, room ── notes ──> Notes (text, what was left out)

Every line is a piece with a rank; pieces are taken in the order of rank while there is room, and shown in the order of
their sections. What did not fit is counted and said, with the way to get it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from foldline.core.facts import Fact, Facts
from foldline.core.ledger import Ledger
from foldline.core.sentences import sentences
from foldline.core.text import head

LONG_MESSAGE = 1_500
"""Characters of a user message above which its pasted blocks are named instead of shown."""
SNAPSHOT_LENGTH = 400
"""Characters of each message that the snapshot shows."""

_TITLES = {
    "rules": "Rules and preferences, in the user's words",
    "decisions": "What the user decided",
    "said": "What the user said, in order",
    "tasks": "Tasks",
    "errors": "Errors met",
    "commands": "Commands run",
    "waiting": "Waiting for the user",
}
_RANKS = {
    "rules": 0,
    "waiting": 0,
    "tasks": 1,
    "decisions": 1,
    "files": 2,  # short, and what the next step will touch
    "open errors": 2,
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
    """As much as fits, the most important first."""
    pieces = [*_said(facts), *_states(facts), *_files(ledger)]
    kept, left = _choose(pieces, room, size)
    text = "\n\n".join(_sections(kept, left))
    return Notes(text, size(text), tuple(left.items()))


def _choose(pieces: Sequence[Piece], room: int, size: Callable[[str], int]) -> tuple[list[Piece], dict[str, int]]:
    kept: list[Piece] = []
    left: dict[str, int] = {}
    used = 0
    for piece in sorted(pieces, key=lambda piece: (piece.rank, -piece.worth)):
        tokens = size(piece.text) + 2
        if used + tokens <= room:
            kept.append(piece)
            used += tokens
        else:
            left[piece.section] = left.get(piece.section, 0) + 1
    return kept, left


def _said(facts: Facts) -> Iterator[Piece]:
    """The user's messages; rules again by themselves, so that they cannot be overlooked."""
    for fact in facts.of("rule"):
        yield Piece("rules", f"- {_quoted(fact)}", _RANKS["rules"], fact.at, fact.at)
    for fact in facts.of("decision"):
        about = f" (asked: “{head(fact.about, 200)}”)" if fact.about else ""
        yield Piece("decisions", f"- {_quoted(fact)}{about}", _RANKS["decisions"], fact.at, fact.at)
    ruling = {fact.at for fact in facts.of("rule")}
    messages = facts.of("user")
    for fact in messages:
        worth = fact.at + (len(messages) * 1_000 if fact.at in ruling or fact is messages[0] else 0)
        yield Piece("said", f"[{fact.at + 1}] {shown_words(fact.text)}", _RANKS["said"], worth, fact.at)


def _quoted(fact: Fact) -> str:
    return f"“{head(fact.text, LONG_MESSAGE)}” [{fact.at + 1}]"


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
    words = "\n".join(shown) or head(text, LONG_MESSAGE)
    return f"{words}\n(pasted text of {pasted:,} characters left out here)" if pasted else words


def _states(facts: Facts) -> Iterator[Piece]:
    for number, fact in enumerate(facts.of("open", "done")):
        mark = "[x]" if fact.kind == "done" else "[ ]"
        status = f" ({fact.about})" if fact.about else ""
        worth = 1.0 if fact.kind == "open" else 0.0
        yield Piece("tasks", f"- {mark} {fact.text}{status}", _RANKS["tasks"], worth, number)
    for fact in facts.of("approval"):
        text = f"- The assistant asked, and has no answer yet: “{fact.text}” [{fact.at + 1}]"
        yield Piece("waiting", text, _RANKS["waiting"], 0, fact.at)
    for fact in facts.of("error"):
        cure = f" — {fact.about}" if fact.about else " — not seen to be cured"
        rank = _RANKS["errors" if fact.about else "open errors"]
        yield Piece("errors", f"- `{fact.text}`{cure} [{fact.at + 1}]", rank, fact.at, fact.at)


def _files(ledger: Ledger) -> Iterator[Piece]:
    count = len(ledger.files)
    for order, path in enumerate(ledger.modified):
        yield Piece("modified-files", path, _RANKS["files"], count + order, order)
    for order, (old, new) in enumerate(ledger.moved):
        yield Piece("moved-files", f"{old} → {new}", _RANKS["files"], count + order, order)
    for order, path in enumerate(ledger.deleted):
        yield Piece("deleted-files", path, _RANKS["files"], count + order, order)
    for order, path in enumerate(ledger.read_only):
        yield Piece("read-files", path, _RANKS["commands"], order - count, order)
    for order, command in enumerate(ledger.commands):
        line = head(command.text.strip().replace("\n", " ⏎ "), 200)
        yield Piece("commands", f"- `{line}` — {command.verdict}", _RANKS["commands"], order, order)


def _sections(kept: Sequence[Piece], left: dict[str, int]) -> Iterator[str]:
    for section in dict.fromkeys((*_TITLES, "modified-files", "moved-files", "deleted-files", "read-files")):
        lines = [piece.text for piece in sorted(kept, key=lambda piece: piece.order) if piece.section == section]
        missing = left.get(section, 0)
        if not lines and not missing:
            continue
        if missing:
            lines.append(f"({missing} more left out for want of room)")
        body = "\n".join(lines)
        yield f"## {_TITLES[section]}\n{body}" if section in _TITLES else f"<{section}>\n{body}\n</{section}>"
