"""What the notes are made of: a piece for each task, deed, error, file and command. The user's are in user_pieces.py.

    facts, ledger ── states, files ──> Piece, Piece, …

Which of them find room, and how they are shown, is decided in notes.py.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from foldline.core.facts import Fact, Facts
from foldline.core.log.logtext import in_ticks, moved_in, quoted
from foldline.core.words.text import beginning, head
from foldline.core.work.errors_seen import LEFT, REFUSED, brief, is_remark
from foldline.core.work.ledger import Ledger

LONGEST_ERROR = 200
"""Characters of an error: what went wrong stands at its beginning."""
LONGEST_TOLD = 60
"""Characters of an error that the log quotes: it can be read there."""
LONGEST_COMMAND = 200
"""Characters of a command: what it runs stands at its beginning, and the log has its words."""
LONGEST_TASK = 300
"""Characters of a task: a longer one is a plan, and would take the room of the user's words."""
PRESSING = 1_000_000_000
"""Added to the worth of what comes before everything else of its kind: it is more than any message's number."""
LEAST_ROOT = 12
"""Characters of a common folder from which it is worth a line of its own."""
FIRST_TASKS = 5
"""Open tasks that come before everything else."""
FRESH_ERRORS, FRESH_CURED = 3, 3
"""Fresh errors. Of those without a cure the newest: the work went on in spite of older ones. Of cured ones the
newest: an agent that does not know what went wrong repeats it."""
FRESH_RUNNING = 6
"""Of what runs in the background the newest, which come before the user's words: each of Codex's commands that nobody
asks after looks as though it ran for ever."""
FRESH_REACHED = 6
"""Commits, pushes and the like that count as fresh, the newest: older ones are mostly contained in them."""
PASSING = ("/tmp/", "/var/tmp/", "/dev/")  # noqa: S108 - names to leave out, nothing is written there
"""Folders of files that nobody commits."""
MOST_SINCE = 8
"""How many of the files changed after the last commit are named: the others are listed among the changed files."""
LEFT_OUT = " left out here)"
"""How a message ends that is shown in part only."""
ROOT = -1
"""The `order` of a line that names the folder of the paths below it."""
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
    "running": "Started in the background",
}
LATEST = "The latest messages before these notes"
"""The heading of the snapshot, which is no note."""
RANKS: Mapping[str, float] = {
    "waiting": 0,
    "first tasks": 0,  # short, and what is being done
    "last words": 0,  # what the user said last, on refusing a call
    "rules": 0,
    "stated": 0.3,  # short, and perhaps a rule that no list of words knows
    "plan": 0.5,  # rules of a plan that is not shown as a whole: a single rule comes first
    "running": 0.9,  # short, and only by its name can the agent ask after it
    "tasks": 1,
    "decisions": 2,
    "said": 3,  # nothing else can bring the user's words back
    "again": 4,  # rules of plans: needed only where the plan is not shown as a whole
    "earlier": 4.5,  # all that is left of what it stands for
    "done": 4.9,  # readers miss what was done more than anything, and this tells it in few words
    "files": 5,  # short, and what the next step will touch
    "remarks": 5.05,  # the user's words on refusing a call, as the client reports them
    "fresh errors": 5.1,
    "fresh reached": 5.1,
    "reached": 5.6,  # older ones
    "errors": 6,
    "long running": 6.5,
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
    """What may be shown instead where it does not fit, the longest first."""
    whole: str = ""
    """The text with what was pasted into it: shown where there is room for that once all of its rank are in."""
    inner: str = ""
    """Words of the user's that this piece repeats."""

    @property
    def is_again(self) -> bool:
        """It repeats words of a message that holds a whole plan of them."""
        return self.rank == RANKS["again"]

    @property
    def is_in_part(self) -> bool:
        return self.text.endswith(LEFT_OUT) or f"{LEFT_OUT} (pictures or files: " in self.text

    def is_told(self, said: Mapping[int, str]) -> bool:
        """It need not be shown: its words can be read in their message, which is shown in full."""
        return self.is_again and _stands_in(self.inner, said.get(self.order, ""))

    def cut(self) -> Iterator[Piece]:
        """The next shorter form; nothing where there is none."""
        if self.shorter:
            yield self._replace(text=self.shorter[0], shorter=self.shorter[1:])

    def grown(self) -> Piece:
        """The piece with everything that was pasted."""
        return self._replace(text=self.whole, whole="", shorter=(self.text, *self.shorter)) if self.whole else self


@lru_cache(maxsize=1 << 14)  # a plan of thousands of rules is looked through once, not at every try
def _stands_in(words: str, shown: str) -> bool:
    return all(line.strip() in shown for line in words.split("\n"))


def on_one_line(text: str) -> str:
    """Words other than the user's, on one line: they cannot open a section of their own."""
    return " ".join(text.split())


def states(facts: Facts, summary_text: str = "") -> Iterator[Piece]:
    """Tasks, open questions, errors, and what was done beyond the files. `summary_text` is the summary above them."""
    first = facts.of("open")[:FIRST_TASKS]
    for number, fact in enumerate(facts.of("open", "done")):
        mark = "[x]" if fact.kind == "done" else "[ ]"
        status = f" ({head(on_one_line(fact.status), LONGEST_TASK)})" if fact.status else ""
        rank = RANKS["first tasks" if fact in first else "tasks" if fact.kind == "open" else "done"]
        named = f"#{fact.key} " if fact.key.isdecimal() else ""  # the name that user and agent use
        task = beginning(on_one_line(fact.text), LONGEST_TASK)
        worth = number if fact.kind == "done" else PRESSING - number
        yield Piece("tasks", f"- {mark} {named}{task}{status}", rank, worth, number)
    for fact in facts.of("approval"):
        text = f"- The assistant asked, and has no answer yet: {quoted(fact.text)} [{fact.at + 1}]"
        yield Piece("waiting", text, RANKS["waiting"], PRESSING, fact.at)
    begun = facts.of("running")
    for fact in begun:
        rank = RANKS["running" if fact in begun[-FRESH_RUNNING:] else "long running"]
        what = in_ticks(on_one_line(beginning(fact.text, LONGEST_COMMAND)))
        text = f"- {in_ticks(fact.key)}: {what}, not seen to end [{fact.at + 1}]"
        yield Piece("running", text, rank, fact.at, fact.at)
    errors = facts.of("error")
    fresh = [fact for fact in errors if fact.cure in ("", REFUSED)][-FRESH_ERRORS:]
    fresh += [fact for fact in errors if fact.cure not in ("", REFUSED, LEFT)][-FRESH_CURED:]
    asked, remarks = (
        facts.first("immediate"),
        [fact for fact in errors if fact.cure == REFUSED and is_remark(fact.text)],
    )
    newest = [fact for fact in remarks[-1:] if asked is None or fact.at > asked.at]
    for fact in errors:
        kind = "last words" if fact in newest else "remarks" if fact in remarks else ""
        rank = RANKS[kind or ("fresh errors" if fact in fresh else "errors")]
        section = "refused" if fact.cure == REFUSED else "errors"
        yield Piece(section, f"- {_trouble(fact, summary_text)} [{fact.at + 1}]", rank, fact.at, fact.at)
    deeds = facts.of("reached")
    for fact in deeds:
        rank = RANKS["fresh reached" if fact in deeds[-FRESH_REACHED:] else "reached"]
        yield Piece("commits", f"- {_came_of(fact)} [{fact.at + 1}]", rank, fact.at, fact.at)


def _came_of(fact: Fact) -> str:
    """What was run, and the line that says what came of it."""
    by = f"{_done(fact.key)}: " if fact.key else ""
    return f"{by}{in_ticks(on_one_line(fact.text))}"


def _done(key: str) -> str:
    """What was run or called, in ticks that nothing in it can close."""
    shown = on_one_line(brief(key))
    return in_ticks(shown[1:-1] if shown.startswith("`") else shown)


def _trouble(fact: Fact, summary_text: str) -> str:
    """What an error said, what was tried, and whether it is over. A cure names what was tried itself."""
    line = on_one_line(fact.text)
    short = beginning(line, LONGEST_TOLD) if in_ticks(line) in summary_text and fact.cure != REFUSED else ""
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


def files(ledger: Ledger, summary_text: str) -> Iterator[Piece]:
    """Files newest first, what was changed before what was only read; then commands."""
    yield from _paths("modified-files", _once(ledger.modified), RANKS["files"])
    for order, (old, new) in enumerate(ledger.moved):
        line = moved_in(f"{on_one_line(old)} → {on_one_line(new)}")
        yield Piece("moved-files", line, RANKS["files"], order, order)
    yield from _paths("deleted-files", _once(ledger.deleted), RANKS["files"])
    yield from _paths("read-files", _once(ledger.read_only), RANKS["read"])
    if ledger.commit == "sure":
        yield Piece(
            "commits",
            f"- {_since([path for path in _once(ledger.since) if not path.startswith(PASSING)])}",
            RANKS["fresh reached"],
            PRESSING,
            PRESSING,
        )
    untold = (command for command in ledger.commands if not _is_told(command.text, summary_text))
    for order, command in enumerate(untold):
        line = head(" ⏎ ".join(command.text.strip().splitlines()), LONGEST_COMMAND)
        yield Piece("commands", f"- {in_ticks(line)} — {command.verdict}", RANKS["commands"], order, order)


def _since(paths: Sequence[str]) -> str:
    """A line that says whether there is work that the agent has not committed."""
    if not paths:
        return "No file is known to have changed after the agent's last commit."
    names = list(dict.fromkeys(posixpath.basename(path) or path for path in reversed(paths)))
    more = f" and {len(names) - MOST_SINCE} more" if len(names) > MOST_SINCE else ""
    return f"Changed after the agent's last commit: {', '.join(map(_named, names[:MOST_SINCE]))}{more}"


def _named(name: str) -> str:
    return in_ticks(on_one_line(beginning(name, LONGEST_TASK)))


def _paths(section: str, paths: Sequence[str], rank: float) -> Iterator[Piece]:
    """The paths, with the folder they share said once before them. Paths outside that folder come first."""
    root = _root([path for path in paths if path.startswith("/")])
    if root:
        yield Piece(section, f"in {on_one_line(root)}", rank, len(paths), ROOT)
    for order, path in enumerate(paths):
        below_it = path.startswith(root)
        name = moved_in(on_one_line(path.removeprefix(root)))
        yield Piece(section, name, rank, order, order if below_it else order - PRESSING)


def _root(paths: Sequence[str]) -> str:
    """The folder that holds all of several absolute paths, if its name is long enough to be worth a line; else ""."""
    if len(paths) < 2:
        return ""
    root = f"{posixpath.commonpath([posixpath.dirname(path) for path in paths])}/"
    return root if len(root) >= LEAST_ROOT else ""


def _is_told(command: str, summary_text: str) -> bool:
    first = command.strip().split("\n", 1)[0]
    return bool(summary_text) and first in summary_text


def _once(paths: Sequence[str]) -> tuple[str, ...]:
    """The paths without short forms of paths that are there in full."""
    whole = tuple(path for path in paths if path.startswith("/"))
    return tuple(path for path in paths if path in whole or not any(long.endswith(f"/{path}") for long in whole))
