"""The ledger: which files were read, written, edited, deleted or moved, and which commands ran with what outcome.

    deeds ── ledger_of ──> Ledger ── then ──> the ledger of everything so far

It is read from tool calls and their results, by the names and arguments that real agents use, and from shell commands
where these leave no doubt. A call that failed, or has no result, changed nothing. Files stand in the order of their
first touch, so the same history gives the same text. Where the agent commits, the ledger knows what it changed since.
The program writes it into checkpoints; a model never does.

A path has one form, however a tool wrote it: `./a.py` is `a.py`. Whether `a.py` is `/work/a.py` is not known here.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from foldline.core.words.masks import begun
from foldline.core.work.commits import Commit, commit_of
from foldline.core.work.deeds import Deed, Verdict
from foldline.core.work.shell import Touch

MOST_COMMANDS = 40
"""The newest commands are kept, so many of them: older ones are in the archive."""
LONGEST_COMMAND = 1_000
"""Characters of a command that are kept: a longer one is a script, and its beginning says what it is."""
_AS_IT_IS = re.compile(r"~|[A-Za-z]:|.*?(?:\\|://)", re.S)
"""Paths that keep their form: Windows paths, addresses and paths in a home folder, where `..` and `//` mean
something else."""


class Command(NamedTuple):
    """A command that ran, and how it ended."""

    text: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was done to files, and what ran. `files` maps each path to what was done to it, in the order of the first
    touch; `moves` are all (from, to).

    A path marked "deleted" is gone; what was done to it before is still recorded.
    """

    files: tuple[tuple[str, frozenset[str]], ...] = ()
    moves: tuple[tuple[str, str], ...] = ()
    commands: tuple[Command, ...] = ()
    commit: Commit | None = None
    """Sure: the agent's last commit is known. Open: it may have committed since, or taken something back. None: it did
    neither."""
    since: tuple[str, ...] = ()
    """What the agent changed, moved or deleted after its last commit, the latest last; everything where it made
    none."""

    @property
    def modified(self) -> tuple[str, ...]:
        """Files that were written or edited, and are still there."""
        return self._with({"written", "edited"}, without={"deleted"})

    @property
    def read_only(self) -> tuple[str, ...]:
        """Files that were read and never changed."""
        return self._with({"read"}, without={"written", "edited", "deleted"})

    @property
    def deleted(self) -> tuple[str, ...]:
        """Files that were deleted, not moved."""
        left = {old for old, _ in self.moves}
        return tuple(path for path in self._with({"deleted"}, without=set()) if path not in left)

    @property
    def moved(self) -> tuple[tuple[str, str], ...]:
        """Each file that was moved, from its first place to its last; one that came back did not move."""
        last: dict[str, str] = {}  # where it is now → where it was first
        for old, new in self.moves:
            last[new] = last.pop(old, old)
        return tuple((first, now) for now, first in last.items() if first != now)

    def _with(self, wanted: set[str], without: set[str]) -> tuple[str, ...]:
        return tuple(path for path, done in self.files if done & wanted and not done & without)

    def then(self, later: Ledger) -> Ledger:
        """This ledger, and what came after it."""
        files = dict(self.files)
        for path, done in later.files:
            files[path] = files.get(path, frozenset()) - {"deleted"} | done
        return Ledger(
            tuple(files.items()),
            self.moves + later.moves,
            _newest((*reversed(later.commands), *reversed(self.commands))),
            later.commit or self.commit,
            _last((*self.since, *later.since)) if later.commit is None else later.since,
        )

    def as_of(self, later: Ledger) -> Ledger:
        """The same ledger, with what is known of commits after the later one."""
        both = self.then(later)
        return replace(self, commit=both.commit, since=both.since)

    def to_dict(self) -> dict[str, Any]:
        return {
            "files": [[path, sorted(done)] for path, done in self.files],
            "moves": [list(move) for move in self.moves],
            "commands": [list(command) for command in self.commands],
            "commit": self.commit,
            "since": list(self.since),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Ledger:
        return cls(
            tuple((path, frozenset(done)) for path, done in saved.get("files", ())),
            tuple((old, new) for old, new in saved.get("moves", ())),
            tuple(Command(text, verdict) for text, verdict in saved.get("commands", ())),
            saved.get("commit"),
            tuple(saved.get("since", ())),
        )


def ledger_of(done: Iterable[Deed]) -> Ledger:
    """What was done, as the results show."""
    files: dict[str, frozenset[str]] = {}
    moves: list[tuple[str, str]] = []
    known, commit, since = tuple(done), None, list[str]()
    for deed in known:
        for touch in _tidied(deed.touched):
            _enter(files, moves, touch)
            since += [] if touch.action == "read" else [touch.to or touch.path]
        if (now := commit_of(deed)) is not None:
            commit = now
            since.clear()
    commands = (
        Command(begun(deed.command.strip(), LONGEST_COMMAND), deed.verdict) for deed in reversed(known) if deed.command
    )
    return Ledger(tuple(files.items()), tuple(moves), _newest(commands), commit, _last(since))


def _tidied(touched: Iterable[Touch]) -> Iterator[Touch]:
    """The touches with each path in its one form. A move to the same place is dropped."""
    for action, *paths in touched:
        path, to = map(_one_form, paths)
        if path != to:
            yield Touch(action, path, to)


def _one_form(path: str) -> str:
    """The path in the form in which paths from shell commands are recorded, too."""
    return path if not path or _AS_IT_IS.match(path) else posixpath.normpath(path)


def _enter(files: dict[str, frozenset[str]], moves: list[tuple[str, str]], touch: Touch) -> None:
    """Records a touch. A touched path exists again, unless it was just deleted or moved away."""
    if touch.action == "moved":
        moves.append((touch.path, touch.to))
        _do(files, touch.path, "deleted")
        _do(files, touch.to, "written")
    else:
        _do(files, touch.path, touch.action)


def _do(files: dict[str, frozenset[str]], path: str, action: str) -> None:
    files[path] = files.get(path, frozenset()) - {"deleted"} | {action}


def _last(paths: Sequence[str]) -> tuple[str, ...]:
    """Each path once, at its last place."""
    return tuple(dict.fromkeys(reversed(paths)))[::-1]


def _newest(backwards: Iterable[Command]) -> tuple[Command, ...]:
    """The newest commands, each at its last run only; given all commands from the last to the first."""
    last: dict[str, Command] = {}
    for command in backwards:
        if len(last) == MOST_COMMANDS:
            break
        last.setdefault(command.text, command)
    return tuple(last.values())[::-1]
