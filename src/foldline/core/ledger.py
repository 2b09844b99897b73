"""The ledger: which files were read, written, edited, deleted or moved, and which commands ran with what outcome.

    messages, pairing ── ledger_of ──> Ledger ── then ──> the ledger of everything so far

It is read off tool calls and their results, by the names and arguments real agents use, and from shell commands where
they leave no doubt. A call that failed, or has no result, changed nothing. The order is that of the first touch, so the
same history gives the same text. It is written into checkpoints by the program, never left to a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from foldline.core.cycles import Pairing
from foldline.core.shell import Touch, touches
from foldline.core.tools import command_of, file_touches, outcome
from foldline.model import Message, ToolCall, ToolResult

Verdict: TypeAlias = Literal["ok", "failed", "unknown"]
MOST_COMMANDS = 40
"""Commands kept, the newest: older ones are in the archive."""


class Command(NamedTuple):
    """A command that ran, and how it ended."""

    text: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Ledger:
    """`files` maps each path to what was done to it, in the order of the first touch; `moved` holds (from, to)."""

    files: tuple[tuple[str, frozenset[str]], ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    commands: tuple[Command, ...] = ()

    @property
    def modified(self) -> tuple[str, ...]:
        """Written or edited, and still there."""
        return self._with({"written", "edited"}, without={"deleted"})

    @property
    def read_only(self) -> tuple[str, ...]:
        """Read, and never changed."""
        return self._with({"read"}, without={"written", "edited", "deleted"})

    @property
    def deleted(self) -> tuple[str, ...]:
        return self._with({"deleted"}, without=set())

    def _with(self, wanted: set[str], without: set[str]) -> tuple[str, ...]:
        return tuple(path for path, done in self.files if done & wanted and not done & without)

    def then(self, later: Ledger) -> Ledger:
        """This ledger, and what came after it."""
        return Ledger(
            _merged(dict(self.files), later.files),
            tuple(dict.fromkeys(self.moved + later.moved)),
            _newest(self.commands + later.commands),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "files": [[path, sorted(done)] for path, done in self.files],
            "moved": [list(move) for move in self.moved],
            "commands": [list(command) for command in self.commands],
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Ledger:
        return cls(
            tuple((path, frozenset(done)) for path, done in saved.get("files", ())),
            tuple((old, new) for old, new in saved.get("moved", ())),
            tuple(Command(text, verdict) for text, verdict in saved.get("commands", ())),
        )


def ledger_of(messages: Sequence[Message], pairing: Pairing) -> Ledger:
    """What the calls of these messages did, as their results show."""
    files: dict[str, frozenset[str]] = {}
    moved: list[tuple[str, str]] = []
    commands: list[Command] = []
    for call, result in answered(messages, pairing):
        verdict = outcome(result)
        command = command_of(call)
        if command:
            commands.append(Command(command, verdict))
        for touch in _touched(call, command, verdict):
            _enter(files, moved, touch)
    return Ledger(tuple(files.items()), tuple(dict.fromkeys(moved)), _newest(commands))


def answered(messages: Sequence[Message], pairing: Pairing) -> Iterable[tuple[ToolCall, ToolResult | None]]:
    """Every call with its result, or None, in order."""
    for cycle in pairing.cycles:
        for place, answer in zip(cycle.calls, cycle.answers, strict=True):
            call = messages[place.message].calls[place.nth]
            yield call, messages[answer.message].results[answer.nth] if answer else None


def _touched(call: ToolCall, command: str, verdict: Verdict) -> Iterable[Touch]:
    if verdict == "failed":
        return ()
    return touches(command) if command else file_touches(call)


def _enter(files: dict[str, frozenset[str]], moved: list[tuple[str, str]], touch: Touch) -> None:
    done = files.get(touch.path, frozenset())
    if touch.action == "moved":
        moved.append((touch.path, touch.to))
        files[touch.path] = done | {"deleted"}
        files[touch.to] = files.get(touch.to, frozenset()) - {"deleted"} | {"written"}
    elif touch.action == "deleted":
        files[touch.path] = done | {"deleted"}
    else:
        files[touch.path] = (done - {"deleted"} if touch.action == "written" else done) | {touch.action}


def _merged(
    files: dict[str, frozenset[str]], later: Iterable[tuple[str, frozenset[str]]]
) -> tuple[tuple[str, frozenset[str]], ...]:
    for path, done in later:
        before = files.get(path, frozenset())
        files[path] = (before - {"deleted"} if "written" in done else before) | done
    return tuple(files.items())


def _newest(commands: Sequence[Command]) -> tuple[Command, ...]:
    """The newest commands, each only where it ran last."""
    last = {command.text: command for command in commands}
    order = dict.fromkeys(command.text for command in reversed(commands))
    return tuple(last[text] for text in list(order)[:MOST_COMMANDS][::-1])
