"""Tasks as agents keep them in their own todo and plan tools. Reads the latest state; keeps none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from foldline.core.deeds import Deed
from foldline.core.tools import bare_name

_LISTS = {
    "todowrite": "todos",
    "writetodos": "todos",
    "todo": "todos",
    "updateplan": "plan",
    "managetodolist": "todoList",
    "tasktracker": "task_list",
}
"""Tools that send the whole list each time, and the argument that holds it. The names are bare ones."""
_SINGLE = ("taskcreate", "taskupdate")
"""Tools that name one task each time."""
_TEXTS = ("content", "step", "title", "subject", "description", "text")
_STATUS = {
    "": "pending",
    "todo": "pending",
    "not started": "pending",
    "done": "completed",
    "complete": "completed",
    "canceled": "cancelled",
    "deleted": "cancelled",
}
_NUMBER = re.compile(r"#(\d{1,9})\b")
_LOOK = 100
"""Characters of an answer in which the number of a new task stands."""


class Task(NamedTuple):
    """One task. `status` is pending, in progress, completed, cancelled, or the agent's own word.

    `message` is the index of the message that words it. `key` is its number where the agent changes tasks one by one;
    a task that was named before these messages has its new status here, and no text.
    """

    text: str
    status: str
    message: int
    key: str = ""


def plans(name: str) -> bool:
    """A tool of this name keeps tasks."""
    return bare_name(name) in (*_LISTS, *_SINGLE)


def latest_tasks(done: Iterable[Deed]) -> tuple[Task, ...]:
    """The tasks as they stood last: the newest whole list, or single tasks as created and updated."""
    single: dict[str, Task] = {}
    latest: tuple[Task, ...] = ()
    for deed in done:
        name = bare_name(deed.call.name)
        if deed.verdict == "failed" or (name not in _LISTS and name not in _SINGLE):
            continue
        arguments = deed.call.parsed()
        if name in _LISTS:
            listed = arguments.get(_LISTS[name])
            latest = tuple(_listed(listed, deed.at)) if isinstance(listed, list) else latest
        elif name == "taskcreate":
            key = _number(deed) or str(len(single) + 1)
            single[key] = _task(arguments, deed.at)._replace(key=key)
        else:
            _update(single, arguments, deed.at)
    return (*latest, *single.values())


def _number(deed: Deed) -> str:
    """The number that the tool gave to a new task."""
    found = _NUMBER.search(deed.result.text[:_LOOK]) if deed.result else None
    return found.group(1) if found else ""


def _listed(items: Sequence[Any], at: int) -> Iterator[Task]:
    tasks = (_task(item, at) for item in items if isinstance(item, Mapping))
    yield from (task for task in tasks if task.text)


def _task(item: Mapping[str, Any], at: int) -> Task:
    text = next((item[name] for name in _TEXTS if isinstance(item.get(name), str) and item[name].strip()), "")
    return Task(text.strip(), _status(item.get("status")), at)


def _status(given: Any) -> str:
    status = str(given or "").lower().replace("_", " ").replace("-", " ")
    return _STATUS.get(status, status)


def _update(tasks: dict[str, Task], arguments: Mapping[str, Any], at: int) -> None:
    key = str(arguments.get("taskId") or arguments.get("id") or "")
    if key and arguments.get("status"):
        known = tasks.get(key, Task("", "", at, key))
        tasks[key] = known._replace(status=_status(arguments["status"]))
