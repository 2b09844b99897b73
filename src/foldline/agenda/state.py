"""Plans and tasks as values, and the fold that makes them of the log: board + entry → board.

Pure: no clock, no disk. Whether an entry may be written is decided in rules.py; here every entry is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

Status: TypeAlias = Literal["open", "in progress", "done", "blocked", "dropped"]
STATUSES: tuple[Status, ...] = get_args(Status)
Kind: TypeAlias = Literal["create", "add", "change", "note", "choose", "archive"]


@dataclass(frozen=True, slots=True)
class Task:
    """One task. `reason` says why it is blocked, `evidence` what shows that it is done.

    For a task adopted from the agent's own list, `key` is its number there and `seen` its status there, last time.
    """

    number: int
    title: str
    status: Status = "open"
    details: str = ""
    reason: str = ""
    evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    key: str = ""
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A title and its tasks, numbered from 1. `source` names where it was adopted from ("": made by the agent here)."""

    number: int
    title: str
    tasks: tuple[Task, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""
    archived: bool = False
    made: tuple[tuple[str, str], ...] = ()
    """Titles and details it was created with: by these a repeated request is recognised."""
    chosen: int = 0
    """The entry that last made it the active one."""
    started: float = 0.0
    updated: float = 0.0

    def of(self, *statuses: Status) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks if task.status in statuses)

    @property
    def done(self) -> int:
        return len(self.of("done"))

    @property
    def total(self) -> int:
        """Tasks that count: a dropped one is neither done nor left to do."""
        return len(self.tasks) - len(self.of("dropped"))

    def to_dict(self) -> dict[str, Any]:
        """For programs: plain lists and dicts."""
        kept = {name: value for name, value in asdict(self).items() if name not in ("made", "chosen")}
        return {**kept, "done": self.done, "total": self.total}


class Entry(NamedTuple):
    """One row of the log. `id` and `time` are given when it is written; `data` is what JSON can hold."""

    kind: Kind
    plan: int
    data: Mapping[str, Any]
    id: int = 0
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class Board:
    """All plans of one project."""

    plans: Mapping[int, Plan] = field(default_factory=dict)

    @property
    def open(self) -> tuple[Plan, ...]:
        """The plans not put away, the active one first."""
        return tuple(sorted((p for p in self.plans.values() if not p.archived), key=lambda p: -p.chosen))

    @property
    def active(self) -> Plan | None:
        return next(iter(self.open), None)


def fold(entries: Iterable[Entry], board: Board | None = None) -> Board:
    """The board after these entries."""
    plans = dict(board.plans) if board else {}
    for entry in entries:
        plan = _created(entry) if entry.kind == "create" else plans[entry.plan]
        plans[entry.plan] = replace(_STEPS[entry.kind](plan, entry), updated=entry.time)
    return Board(plans)


def _created(entry: Entry) -> Plan:
    """A plan before its tasks are added."""
    data = entry.data
    made = tuple((task["title"], task.get("details", "")) for task in data["tasks"])
    return Plan(
        entry.plan, data["title"], source=data.get("source", ""), made=made, chosen=entry.id, started=entry.time
    )


def _add(plan: Plan, entry: Entry) -> Plan:
    first = len(plan.tasks) + 1
    new = (Task(first + nth, **_tupled(task)) for nth, task in enumerate(entry.data["tasks"]))
    return replace(plan, tasks=(*plan.tasks, *new))


def _change(plan: Plan, entry: Entry) -> Plan:
    """Fields take their new value; evidence and notes are added to what is there."""
    at = entry.data["task"] - 1
    old = plan.tasks[at]
    given = {name: value for name, value in entry.data.items() if name in _FIELDS}
    lists = {name: (*getattr(old, name), given.pop(name)) for name in _LISTS if name in given}
    if "status" in given and given["status"] != "blocked":
        given["reason"] = ""
    return replace(plan, tasks=(*plan.tasks[:at], replace(old, **given, **lists), *plan.tasks[at + 1 :]))


def _note(plan: Plan, entry: Entry) -> Plan:
    return replace(plan, notes=(*plan.notes, entry.data["text"]))


def _choose(plan: Plan, entry: Entry) -> Plan:
    return replace(plan, chosen=entry.id, archived=False)


def _archive(plan: Plan, _: Entry) -> Plan:
    return replace(plan, archived=True)


def _tupled(task: Mapping[str, Any]) -> dict[str, Any]:
    """A task as JSON gave it: lists become tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in task.items()}


_LISTS = ("evidence", "notes")
_FIELDS = {f.name for f in fields(Task)} - {"number"}
_STEPS: Mapping[str, Callable[[Plan, Entry], Plan]] = {
    "create": _add,
    "add": _add,
    "change": _change,
    "note": _note,
    "choose": _choose,
    "archive": _archive,
}
