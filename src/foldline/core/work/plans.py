"""Tasks as agents keep them in their own todo and plan tools. Reads the latest state; keeps none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from foldline.core.work.deeds import Deed
from foldline.core.work.tools import as_list, bare_name

_LISTS = {
    "todowrite": "todos",
    "writetodos": "todos",
    "todo": "todos",
    "updateplan": "plan",
    "managetodolist": "todoList",
    "tasktracker": "task_list",
}
"""Tools that send a whole list, by their bare names, and the argument that holds it."""
_MERGE = "merge"
"""The argument by which a list says that it only adds to the last one or changes it; Cursor's tool always sends it."""
LISTED = "*"
"""Stands before the id of a task of such a list: tasks that are named one by one have numbers of their own."""
_SINGLE = ("taskcreate", "taskupdate")
"""Tools that create or update one task each time."""
_SHOWN = "TaskList"
"""The tool, by its whole name, whose answer lists how those tasks stand: sub-agents may have changed them."""
_LINE = re.compile(r"^#(\d{1,9})[. ] ?\[([a-z_ -]{1,40})\] \S", re.M)
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
"""Characters of an answer in which the number of a new task is sought."""
_LOOK_LIST, _MOST_SHOWN = 20_000, 100
"""Characters of an answer in which a list of tasks is read, and how many tasks are read at most."""


class Task(NamedTuple):
    """One task. `status` is pending, in progress, completed, cancelled, or the agent's own word.

    `message` is the index of the message that words it. `key` is its number or id, where the agent changes tasks one by
    one; a task that was worded before these messages has its new status here, and no text.
    """

    text: str
    status: str
    message: int
    key: str = ""


def plans(name: str) -> bool:
    """A tool of this name keeps tasks."""
    return bare_name(name) in (*_LISTS, *_SINGLE) or name == _SHOWN


def latest_tasks(done: Iterable[Deed]) -> tuple[Task, ...]:
    """The tasks as they stood last: the newest whole list with what was merged into it since, or single tasks as
    created and updated."""
    single: dict[str, Task] = {}
    latest: tuple[Task, ...] = ()
    for deed in done:
        name = bare_name(deed.call.name)
        if deed.verdict == "failed" or not plans(deed.call.name):
            continue
        arguments = deed.call.parsed()
        if name in _LISTS:
            latest = _relisted(latest, as_list(arguments.get(_LISTS[name])), arguments, deed.at)
        elif name == "taskcreate":
            key = _number(deed) or str(len(single) + 1)
            single[key] = _task(arguments, deed.at)._replace(key=key)
        elif deed.call.name == _SHOWN:
            _restate(single, deed)
        else:
            _update(single, arguments, deed.at)
    return (*latest, *single.values())


def listed(done: Iterable[Deed]) -> int | None:
    """The message that sent the last whole list, even an empty one: earlier lists are then out of date."""
    found = (deed for deed in reversed(tuple(done)) if deed.verdict != "failed" and bare_name(deed.call.name) in _LISTS)
    return next((deed.at for deed in found if _is_whole(deed)), None)


def _is_whole(deed: Deed) -> bool:
    arguments = deed.call.parsed()
    sent = as_list(arguments.get(_LISTS[bare_name(deed.call.name)]))
    return sent is not None and not _merges(arguments)


def _merges(arguments: Mapping[str, Any]) -> bool:
    return str(arguments.get(_MERGE)).lower() == "true"


def _relisted(
    latest: tuple[Task, ...], items: Sequence[Any] | None, arguments: Mapping[str, Any], at: int
) -> tuple[Task, ...]:
    """The list after a call: a new one, or the same with some tasks changed and new ones added."""
    if items is None:
        return latest
    told = [item for item in items if isinstance(item, Mapping)]
    if _merges(arguments):
        return _merged(latest, told, at)
    keyed = ((_key(item) if _MERGE in arguments else "", _task(item, at)) for item in told)
    return tuple(task._replace(key=key) for key, task in keyed if task.text)


def _merged(latest: tuple[Task, ...], items: Sequence[Mapping[str, Any]], at: int) -> tuple[Task, ...]:
    """The tasks with what the items say of them, matched by id or by words, and the new tasks."""
    tasks = {task.key or task.text: task for task in latest}
    for item in items:
        key, new = _key(item), _task(item, at)
        place = key if key in tasks or new.text not in tasks else new.text
        known = tasks.get(place or new.text, new)
        status = new.status if item.get("status") else known.status
        worded = new if new.text and new.text != known.text else known
        if place or new.text:
            tasks[place or new.text] = worded._replace(status=status, key=key or known.key)
    return tuple(tasks.values())


def _key(item: Mapping[str, Any]) -> str:
    found = item.get("id")
    return "" if found is None else f"{LISTED}{found}"


def _number(deed: Deed) -> str:
    """The number that the tool gave to a new task."""
    found = _NUMBER.search(deed.result.text[:_LOOK]) if deed.result else None
    return found.group(1) if found else ""


def _restate(tasks: dict[str, Task], deed: Deed) -> None:
    """Updates each task's status from an answer. The words stay as the agent wrote them."""
    shown = _LINE.findall(deed.result.text[:_LOOK_LIST]) if deed.result else ()
    for key, status in shown[:_MOST_SHOWN]:
        tasks[key] = tasks.get(key, Task("", "", deed.at, key))._replace(status=_status(status))


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
