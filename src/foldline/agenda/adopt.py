"""The agent's own todo lists → a plan: read from a transcript, then followed from run to run.

What the agent did to the plan here stands: only what changed in its own list since the last run is carried over. The
reading of the tools is in core/work/plans.py; nothing is written here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from foldline.agenda.asked import DETAILS, TASKS, TITLE, Refused, clean, line
from foldline.agenda.rules import PLANS, Ruling
from foldline.agenda.state import Board, Entry, Plan, Status, Task
from foldline.core.history.cycles import pair
from foldline.core.words.text import head
from foldline.core.work import plans
from foldline.core.work.deeds import deeds
from foldline.model import Conversation, Message

GONE = "gone"
"""Seen of a task that is no longer in the agent's list."""
_STATUS: Mapping[str, Status] = {
    "in progress": "in progress",
    "completed": "done",
    "cancelled": "dropped",
    "blocked": "blocked",
}


def from_transcript(conversation: Conversation) -> Plan | None:
    """The tasks of the agent's own todo or plan tool as they stood last; None where there are none.

    A task without a title was named before these messages: it is known by its number alone.
    """
    messages = conversation.messages
    found = plans.latest_tasks(deeds(messages, pair(messages, conversation.grammar)))
    tasks = tuple(_task(nth, task, messages[task.message]) for nth, task in enumerate(found, 1))
    return Plan(0, "", tasks) if tasks else None


def _task(number: int, task: plans.Task, message: Message) -> Task:
    """A title that is too long is cut, and stands whole in the details."""
    title, details = line(task.text), clean(_described(task.text, message))
    if len(title) > TITLE:
        title, details = _cut(title, TITLE), "\n\n".join(filter(None, (clean(task.text), details)))
    status = _STATUS.get(task.status, "open")
    return Task(number, title, status, _cut(details, DETAILS), key=task.key, seen=task.status)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{head(text, length - 1)}…"


def _described(text: str, message: Message) -> str:
    """What the call that made a single task says of it besides its subject."""
    made = (call.parsed() for call in message.calls)
    described = (each.get("description") for each in made if str(each.get("subject", "")).strip() == text)
    return next((found for found in described if isinstance(found, str)), "")


def adoption(board: Board, plan: Plan, source: str) -> Ruling:
    """What to write so that the plan of this source says what `plan` says. Raises Refused."""
    known = max((old for old in board.plans.values() if old.source == source), key=lambda old: old.number, default=None)
    tasks, said = _usable(plan.tasks, known)
    if known is None:
        return _begun(board, tasks, plan.title, source, said)
    change = _change(known, tasks)
    if not change.entries:
        return Ruling((), known.number, " ".join((f"Plan {known.number} says so already.", *said)))
    if not known.archived and len(known.tasks) + change.new <= TASKS:
        return Ruling(change.entries, known.number, " ".join((f"Plan {known.number} follows {source}.", *said)))
    begun = _begun(board, [task for task in tasks if task.title], plan.title, source, said)
    away = () if known.archived else (Entry("archive", known.number, {}),)
    return begun._replace(entries=(*away, *begun.entries))


def _usable(tasks: tuple[Task, ...], known: Plan | None) -> tuple[list[Task], list[str]]:
    """The tasks that can be placed, and what to say of the others."""
    keys = {task.key for task in known.tasks if task.key} if known else set()
    named = [replace(task, seen=task.seen or task.status) for task in tasks if task.title or task.key in keys]
    unnamed = len(tasks) - len(named)
    said = [f"{unnamed} without a title left out."] if unnamed else []
    said += [f"{len(named) - TASKS} over the limit of {TASKS} left out."] if len(named) > TASKS else []
    return named[:TASKS], said


def _begun(board: Board, tasks: list[Task], title: str, source: str, said: list[str]) -> Ruling:
    if not tasks:
        return Ruling(said=" ".join(("There is no task to take over.", *said)))
    number = len(board.plans) + 1
    data = {"title": title or _cut(f"Tasks of {line(source)}", TITLE), "source": source, "tasks": _rows(tasks)}
    away = list(_away(board))
    said = [f"Plan {number} takes over {len(tasks)} from {source}.", *said]
    said += [f"Plan {entry.plan} is put away to make room." for entry in away]
    return Ruling((*away, Entry("create", number, data)), number, " ".join(said))


def _away(board: Board) -> Iterator[Entry]:
    """Where the project has no room for another plan, the adopted one that was left alone longest goes."""
    if len(board.open) >= PLANS:
        adopted = [plan for plan in board.open if plan.source]
        if not adopted:
            raise Refused(f'{PLANS} plans are open; put one away with "archive" first')
        yield Entry("archive", min(adopted, key=lambda plan: plan.updated).number, {})


def _rows(tasks: Iterable[Task]) -> list[dict[str, str]]:
    names = ("title", "status", "details", "key", "seen")
    return [{name: getattr(task, name) for name in names if getattr(task, name)} for task in tasks]


class _Change(NamedTuple):
    entries: tuple[Entry, ...]
    new: int
    """Tasks it adds."""


def _change(known: Plan, tasks: list[Task]) -> _Change:
    """What is different from the last run: statuses that moved, tasks that are new, tasks that went."""
    there = dict(_names(task for task in known.tasks if task.seen))
    now = dict(_names(tasks))
    changes = [_moved(known, there[name], task) for name, task in now.items() if name in there]
    if any(not task.key for task in tasks):  # a whole list: what is not in it has been taken out
        changes += [_left(known, task) for name, task in there.items() if name not in now and not task.key]
    new = [task for name, task in now.items() if name not in there]
    added = [Entry("add", known.number, {"tasks": _rows(new)})] if new else []
    return _Change((*filter(None, changes), *added), len(new))


def _names(tasks: Iterable[Task]) -> Iterator[tuple[tuple[str, str, int], Task]]:
    """Each with its name: its number in the agent's tool, else its title, and which of those with that title."""
    count: Counter[str] = Counter()
    for task in tasks:
        if task.key:
            yield (task.key, "", 0), task
        else:
            count[task.title] += 1
            yield ("", task.title, count[task.title]), task


def _moved(plan: Plan, old: Task, new: Task) -> Entry | None:
    if old.seen == new.seen:
        return None
    data: dict[str, Any] = {"task": old.number, "seen": new.seen}
    return Entry("change", plan.number, data | ({"status": new.status} if old.status != new.status else {}))


def _left(plan: Plan, old: Task) -> Entry | None:
    if old.seen == GONE or old.status in ("done", "dropped"):
        return None
    return Entry("change", plan.number, {"task": old.number, "seen": GONE, "status": "dropped"})
