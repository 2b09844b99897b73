"""Tasks as agents keep them in their own todo and plan tools. Reads the latest state; keeps none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from foldline.core.cycles import Pairing
from foldline.core.tools import bare_name
from foldline.model import Message, ToolCall

_LISTS = {"todowrite": "todos", "todo_write": "todos", "update_plan": "plan", "write_todos": "todos", "todo": "todos"}
"""Tools that send the whole list each time, and the argument that holds it."""
_TEXTS = ("content", "step", "description", "title", "subject", "text")
_STATUS = {"in_progress": "in progress", "done": "completed", "complete": "completed", "cancelled": "completed"}


class Task(NamedTuple):
    """One task. `status` is pending, in progress, completed or blocked; `message` the index of the call's message."""

    text: str
    status: str
    message: int


def latest_tasks(messages: Sequence[Message], pairing: Pairing) -> tuple[Task, ...]:
    """The tasks as they stood last: the newest whole list, or single tasks as created and updated."""
    single: dict[str, Task] = {}
    latest: tuple[Task, ...] = ()
    for index, call in _calls(messages, pairing):
        name = bare_name(call.name)
        if name in _LISTS:
            latest = tuple(_listed(call.parsed().get(_LISTS[name]), index)) or latest
        elif name == "taskcreate":
            task = _task(call.parsed(), index)
            if task:
                single[str(len(single) + 1)] = task
        elif name == "taskupdate":
            _update(single, call.parsed(), index)
    return (*latest, *single.values())


def _calls(messages: Sequence[Message], pairing: Pairing) -> Iterator[tuple[int, ToolCall]]:
    for cycle in pairing.cycles:
        for place in cycle.calls:
            yield place.message, messages[place.message].calls[place.nth]


def _listed(value: Any, index: int) -> Iterator[Task]:
    for item in value if isinstance(value, list) else ():
        task = _task(item, index) if isinstance(item, Mapping) else None
        if task:
            yield task


def _task(item: Mapping[str, Any], index: int) -> Task | None:
    text = next((item[name] for name in _TEXTS if isinstance(item.get(name), str) and item[name].strip()), "")
    status = str(item.get("status") or "pending")
    return Task(text.strip(), _STATUS.get(status, status), index) if text else None


def _update(tasks: dict[str, Task], arguments: Mapping[str, Any], index: int) -> None:
    name = str(arguments.get("taskId") or arguments.get("id") or "")
    status = arguments.get("status")
    if name in tasks and isinstance(status, str):
        tasks[name] = Task(tasks[name].text, _STATUS.get(status, status), index)
