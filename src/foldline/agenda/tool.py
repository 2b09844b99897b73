"""Agenda: the agent's plan as a tool. Operations come in, text for the agent and data for programs go out.

    operation, arguments ── rules ──> entries ── store ──> log ── fold ──> board ── show ──> Outcome

What the agent does wrong comes back as an Outcome that says what to do; only trouble with the disk is raised.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from foldline.agenda import show
from foldline.agenda.adopt import adoption
from foldline.agenda.asked import Refused
from foldline.agenda.rules import Ruling, decide, task_of
from foldline.agenda.state import Board, Entry, Plan, fold
from foldline.agenda.store import Log, damaged
from foldline.errors import InputError


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an operation. `text` is for the agent, `data` for programs; not `ok`: nothing was done."""

    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    ok: bool = True
    changed: bool = False


class Agenda:
    """The plans of all projects, in one file. Safe for several threads, processes and forks.

    `scope` names a project: its plans are seen there and nowhere else. It is for the program to give, not the agent.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._log = Log(path)

    @property
    def path(self) -> str:
        return str(self._log.path)

    def call(self, operation: str, *, scope: str = "", **arguments: Any) -> Outcome:
        """One operation of the `plan` tool: start, create, add, update, complete, block, note, list or archive."""
        try:
            board, ruling, changed = self._turn(scope, lambda board: decide(board, operation, arguments))
        except Refused as refused:
            return Outcome(f"Not done: {refused}.", {"error": str(refused)}, ok=False)
        return Outcome(_text(board, ruling, operation, arguments), _data(board, ruling.plan), changed=changed)

    def adopt(self, scope: str, plan: Plan, source: str) -> Outcome:
        """Takes over a plan read from a transcript, or follows it. `source` names the session it was read from."""
        if not source:
            raise InputError("a plan is adopted from somewhere; give source, such as the name of its session")
        try:
            board, ruling, changed = self._turn(scope, lambda board: adoption(board, plan, source))
        except Refused as refused:
            return Outcome(f"Not done: {refused}.", {"error": str(refused)}, ok=False)
        return Outcome(ruling.said, _data(board, ruling.plan), changed=changed)

    def active_text(self, scope: str, plan: int | None = None) -> str:
        """The active plan (or the one with this number) and the task in progress, in a few lines; "" for none."""
        board = self.board(scope)
        found = board.active if plan is None else board.plans.get(plan)
        return show.active(found) if found else ""

    def board(self, scope: str) -> Board:
        """All plans of a project, as they are now."""
        return self._fold(self.log(scope))

    def log(self, scope: str) -> tuple[Entry, ...]:
        """Everything that ever happened to them, in order."""
        return self._log.read(scope)

    def _turn(self, scope: str, rule: Callable[[Board], Ruling]) -> tuple[Board, Ruling, bool]:
        """Looks first: what needs no entry, or is refused, never touches the disk. Decides again behind the lock."""
        known = self.log(scope)
        board = looked = self._fold(known)
        ruling = rule(board)
        if not ruling.entries:
            return board, ruling, False

        def choose(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
            nonlocal board, ruling
            since = entries[len(known) :]
            board = self._fold(since, looked) if entries[: len(known)] == known else self._fold(entries)
            ruling = rule(board)
            return ruling.entries

        added = self._log.add(scope, choose)
        return fold(added, board), ruling, bool(added)

    def _fold(self, entries: tuple[Entry, ...], board: Board | None = None) -> Board:
        try:
            return fold(entries, board)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise damaged(self._log.path) from error


def _text(board: Board, ruling: Ruling, operation: str, arguments: Mapping[str, Any]) -> str:
    plan = board.plans.get(ruling.plan)
    if operation == "list":
        return _listed(board, plan, arguments)
    if plan is None:
        return ruling.said
    if operation in ("start", "create"):
        return "\n\n".join(filter(None, (ruling.said, show.start(board, plan))))
    return f"{ruling.said} {show.count(plan)}{_next(plan) if operation == 'complete' else ''}"


def _listed(board: Board, plan: Plan | None, arguments: Mapping[str, Any]) -> str:
    if plan is None:
        return show.plans(board)
    if arguments.get("task") is not None:
        return show.whole(task_of(plan, arguments))
    return show.tasks(plan)


def _next(plan: Plan) -> str:
    """What to go on with, after something was completed."""
    coming = (*plan.of("in progress"), *plan.of("open"))
    return f" Next: {coming[0].number}. {coming[0].title}" if coming else ' Nothing is left to begin; "archive" it.'


def _data(board: Board, number: int) -> dict[str, Any]:
    plan, active = board.plans.get(number), board.active
    if plan:
        return {"plan": plan.to_dict(), "active": active.number if active else None}
    return {"plans": [plan.to_dict() for plan in board.plans.values()], "active": active.number if active else None}
