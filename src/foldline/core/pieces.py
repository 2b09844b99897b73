"""What the notes are made of: a piece for each task, deed, error, file and command. The user's are in user_pieces.py.

    facts, ledger ── states, files ──> Piece, Piece, …

Which of them find room, and how they stand there, is decided in notes.py.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from foldline.core.errors_seen import LEFT, REFUSED, brief, is_remark
from foldline.core.facts import Fact, Facts
from foldline.core.ledger import Ledger
from foldline.core.logtext import in_ticks, moved_in, quoted
from foldline.core.text import beginning, head

LONGEST_ERROR = 200
"""Characters of an error: what went wrong stands at its beginning."""
LONGEST_TOLD = 60
"""The same of one that the log quotes: there it can be read."""
LONGEST_TASK = 300
"""Characters of a task: what goes on longer is a plan, and would take the room of the user's words."""
PRESSING = 1_000_000_000
"""Added to what must not be left out while anything else of its kind is in: more than any message's number."""
LEAST_ROOT = 12
"""Characters of a common folder that are worth a line of their own."""
FIRST_TASKS = 5
"""Open tasks that come before everything else."""
FRESH_ERRORS, FRESH_CURED = 3, 3
"""Errors that are not cured, the newest: what is older has been lived with. And cured ones: who does not know what went
wrong does it again."""
FRESH_REACHED = 6
"""Commits, pushes and the like, the newest: what the others came to is in them."""
PASSING = ("/tmp/", "/var/tmp/", "/dev/")  # noqa: S108 - names to leave out, nothing is written there
"""Folders of what nobody commits."""
MOST_SINCE = 8
"""Files that are named of those that changed after the last commit: the others are among the changed ones."""
LEFT_OUT = " left out here)"
"""How a message ends that is shown in part."""
ROOT = -1
"""The place of the folder that the paths below it are in."""
TITLES: Mapping[str, str] = {
    "rules": "Rules and preferences, in the user's words",
    "earlier": "From an earlier summary, as it stood",
    "decisions": "What the user decided",
    "refused": "Calls that were refused",
    "said": "What else the user said, in order",
    "tasks": "Tasks",
    "commits": "Commits, pushes and the like",
    "errors": "Errors met",
    "commands": "Commands run",
    "waiting": "Waiting for the user",
}
RANKS: Mapping[str, float] = {
    "waiting": 0,
    "first tasks": 0,  # short, and what is being done
    "rules": 0,
    "stated": 0.3,  # short, and perhaps a rule that no list of words knows
    "plan": 0.5,  # those of a message that has many, where it does not stand as a whole: one by itself comes first
    "tasks": 1,
    "decisions": 2,
    "said": 3,  # nothing else can bring the user's words back
    "again": 4,  # from messages that are plans: only where they do not stand there as a whole
    "earlier": 4.5,  # all that is left of what it stands for
    "files": 5,  # short, and what the next step will touch
    "remarks": 5.05,  # words with which a call was refused: the user's, as the client says
    "fresh errors": 5.1,
    "fresh reached": 5.1,
    "done": 4.9,  # readers miss what was done more than anything, and this tells it in few words
    "reached": 5.6,  # older ones
    "errors": 6,
    "commands": 7,
    "read": 8,
}


class Piece(NamedTuple):
    """A line of a section. Lower ranks are taken first; within one rank, higher `worth` first."""

    section: str
    text: str
    rank: float
    worth: float
    order: int
    shorter: tuple[str, ...] = ()
    """What may stand in its place where it does not fit."""
    whole: str = ""
    """The same with what was pasted into it: shown where there is room for that when all of its rank are in."""
    inner: str = ""
    """Words of the user's that it shows once more, …"""

    @property
    def is_again(self) -> bool:
        """… though they are one of many in their message, …"""
        return self.rank == RANKS["again"]

    @property
    def is_in_part(self) -> bool:
        return self.text.endswith(LEFT_OUT) or f"{LEFT_OUT} (pictures or files: " in self.text

    def is_told(self, said: Mapping[int, str]) -> bool:
        """… and can be read there, where that message stands as a whole."""
        return self.is_again and _stands_in(self.inner, said.get(self.order, ""))

    def cut(self) -> Iterator[Piece]:
        """The same, shorter; nothing where it cannot be."""
        if self.shorter:
            yield self._replace(text=self.shorter[0], shorter=self.shorter[1:])

    def grown(self) -> Piece:
        """The same as a whole."""
        return self._replace(text=self.whole, whole="", shorter=(self.text, *self.shorter)) if self.whole else self


@lru_cache(maxsize=1 << 14)  # a plan of thousands of rules is looked through once, not at every try
def _stands_in(words: str, told: str) -> bool:
    return all(line.strip() in told for line in words.split("\n"))


def on_one_line(text: str) -> str:
    """Words that are not the user's, on one line: they cannot open a section of their own."""
    return " ".join(text.split())


def states(facts: Facts, told: str = "") -> Iterator[Piece]:
    """Tasks, open questions, errors, and what was done beyond the files. `told` is the summary above them."""
    first = facts.of("open")[:FIRST_TASKS]
    for number, fact in enumerate(facts.of("open", "done")):
        mark = "[x]" if fact.kind == "done" else "[ ]"
        status = f" ({head(on_one_line(fact.status), LONGEST_TASK)})" if fact.status else ""
        rank = RANKS["first tasks" if fact in first else "tasks" if fact.kind == "open" else "done"]
        named = f"#{fact.key} " if fact.key.isdecimal() else ""  # by which user and agent call it
        task = beginning(on_one_line(fact.text), LONGEST_TASK)
        worth = number if fact.kind == "done" else PRESSING - number
        yield Piece("tasks", f"- {mark} {named}{task}{status}", rank, worth, number)
    for fact in facts.of("approval"):
        text = f"- The assistant asked, and has no answer yet: {quoted(fact.text)} [{fact.at + 1}]"
        yield Piece("waiting", text, RANKS["waiting"], PRESSING, fact.at)
    errors = facts.of("error")
    fresh = [fact for fact in errors if fact.cure in ("", REFUSED)][-FRESH_ERRORS:]
    fresh += [fact for fact in errors if fact.cure not in ("", REFUSED, LEFT)][-FRESH_CURED:]
    for fact in errors:
        said = fact.cure == REFUSED and is_remark(fact.text)
        rank = RANKS["remarks" if said else "fresh errors" if fact in fresh else "errors"]
        section = "refused" if fact.cure == REFUSED else "errors"
        yield Piece(section, f"- {_trouble(fact, told)} [{fact.at + 1}]", rank, fact.at, fact.at)
    deeds = facts.of("reached")
    for fact in deeds:
        rank = RANKS["fresh reached" if fact in deeds[-FRESH_REACHED:] else "reached"]
        yield Piece("commits", f"- {_came_of(fact)} [{fact.at + 1}]", rank, fact.at, fact.at)


def _came_of(fact: Fact) -> str:
    """What was run, and the line that tells what was made."""
    by = f"{_done(fact.key)}: " if fact.key else ""
    return f"{by}{in_ticks(on_one_line(fact.text))}"


def _done(key: str) -> str:
    """What was run or called, quoted: a tick in it ends no quotation of another's words."""
    shown = on_one_line(brief(key))
    return in_ticks(shown[1:-1] if shown.startswith("`") else shown)


def _trouble(fact: Fact, told: str) -> str:
    """What was tried, what it gave, and whether that is over. The cure names what was tried."""
    line = on_one_line(fact.text)
    short = beginning(line, LONGEST_TOLD) if in_ticks(line) in told and fact.cure != REFUSED else ""
    text = in_ticks(short if len(short) >= LONGEST_TOLD / 2 else beginning(line, LONGEST_ERROR))
    if fact.cure == REFUSED:
        words = f", with the words: {text}" if is_remark(fact.text) else ""
        return f"{_done(fact.key)}{words}"
    if fact.cure == LEFT:
        return f"{text} — of {_done(fact.key)}, {LEFT}"
    if fact.cure:
        return f"{text} — {on_one_line(fact.cure)}"
    tried = f" (of {_done(fact.key)})" if fact.key else ""
    return f"{text} — not seen to be cured{tried}"


def files(ledger: Ledger, told: str) -> Iterator[Piece]:
    """Files newest first, what was changed before what was only read; then commands."""
    yield from _paths("modified-files", _once(ledger.modified), RANKS["files"])
    for order, (old, new) in enumerate(ledger.moved):
        line = moved_in(f"{on_one_line(old)} → {on_one_line(new)}")
        yield Piece("moved-files", line, RANKS["files"], order, order)
    yield from _paths("deleted-files", _once(ledger.deleted), RANKS["files"])
    yield from _paths("read-files", _once(ledger.read_only), RANKS["read"])
    if ledger.committed:
        yield Piece(
            "commits",
            f"- {_since([path for path in _once(ledger.since) if not path.startswith(PASSING)])}",
            RANKS["fresh reached"],
            PRESSING,
            PRESSING,
        )
    untold = (command for command in ledger.commands if not _is_told(command.text, told))
    for order, command in enumerate(untold):
        line = head(" ⏎ ".join(command.text.strip().splitlines()), 200)
        yield Piece("commands", f"- {in_ticks(line)} — {command.verdict}", RANKS["commands"], order, order)


def _since(paths: Sequence[str]) -> str:
    """Whether there is work that the agent has not committed."""
    if not paths:
        return "No file is known to have changed after the agent's last commit."
    names = list(dict.fromkeys(posixpath.basename(path) or path for path in reversed(paths)))
    more = f" and {len(names) - MOST_SINCE} more" if len(names) > MOST_SINCE else ""
    return f"Changed after the agent's last commit: {', '.join(map(_named, names[:MOST_SINCE]))}{more}"


def _named(name: str) -> str:
    return in_ticks(on_one_line(beginning(name, LONGEST_TASK)))


def _paths(section: str, paths: Sequence[str], rank: float) -> Iterator[Piece]:
    """Paths that share a folder, with that folder said once, before them; those that do not lie in it come first."""
    root = _root([path for path in paths if path.startswith("/")])
    if root:
        yield Piece(section, f"in {on_one_line(root)}", rank, len(paths), ROOT)
    for order, path in enumerate(paths):
        below_it = path.startswith(root)
        name = moved_in(on_one_line(path.removeprefix(root)))
        yield Piece(section, name, rank, order, order if below_it else order - PRESSING)


def _root(paths: Sequence[str]) -> str:
    """The folder that all of several paths lie in, if its name is long enough to be worth a line."""
    if len(paths) < 2:
        return ""
    root = f"{posixpath.commonpath([posixpath.dirname(path) for path in paths])}/"
    return root if len(root) >= LEAST_ROOT else ""


def _is_told(command: str, told: str) -> bool:
    first = command.strip().split("\n", 1)[0]
    return bool(told) and first in told


def _once(paths: Sequence[str]) -> tuple[str, ...]:
    """Without the short form of a path that is there in full."""
    whole = tuple(path for path in paths if path.startswith("/"))
    return tuple(path for path in paths if path in whole or not any(long.endswith(f"/{path}") for long in whole))
