"""The arguments of an operation, as agents write them: read, cleaned, held to limits, or refused with advice.

A limit is a refusal, never a silent cut. Knows texts and numbers; what they do to a plan is in rules.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from foldline.agenda.state import STATUSES, Task

TITLE = 200
"""Characters of a title: it stands on one line, in every listing."""
DETAILS = 4_000
"""Characters of a task's details: they come back at every start, so they are a page, not a document."""
REMARK = 500
"""Characters of a note, a piece of evidence or a reason: a pointer to the thing, not the thing."""
REMARKS = 20
"""Notes, and pieces of evidence, of one task; notes of a plan."""
TASKS = 200
"""Tasks of a plan: more is a backlog, and nobody reads it at a start."""

Given: TypeAlias = Mapping[str, Any]

_NUMBER = re.compile(r"\s*#?\s*(\d{1,9})\s*")
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


class Refused(ValueError):
    """The operation cannot be done; the words are for the agent."""


def clean(text: str) -> str:
    """Text that can be shown and stored anywhere: no control characters, no halves of characters."""
    return _ODD.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def line(text: str) -> str:
    """The same on one line."""
    return " ".join(clean(text).split())


def number(given: Given, name: str) -> int:
    value = given.get(name)
    match = _NUMBER.fullmatch(str(value)) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    if not match:
        raise Refused(f'say which {name}: {name}=<its number>, as "list" shows it')
    return int(match[1])


def words(given: Given, name: str, limit: int, advice: str) -> str:
    """A text that must be there. `advice` says what to write."""
    text = optional(given, name, limit)
    if not text:
        raise Refused(f'give {name}="…": {advice}')
    return text


def optional(given: Given, name: str, limit: int) -> str:
    text = given.get(name, "")
    if not isinstance(text, str):
        raise Refused(f'{name} is text: {name}="…"')
    text = clean(text)
    if len(text) > limit:
        raise Refused(f"{name} has {len(text):,} characters; at most {limit:,} are kept, so shorten it")
    return text


def title(given: Given) -> str:
    return line(words(given, "title", TITLE, "one line that says what is to be done"))


def tasks(given: Given) -> list[dict[str, str]]:
    items = given.get("tasks")
    items = [items] if isinstance(items, (str, Mapping)) else items
    if not isinstance(items, (list, tuple)) or not items:
        raise Refused('give tasks=["…", {"title": "…", "details": "…"}]: a title each, details where they help')
    room(0, len(items))
    return [_task(item) for item in items]


def room(there: int, more: int) -> None:
    """Refuses more tasks than a plan holds."""
    if there + more > TASKS:
        raise Refused(f"{more:,} tasks more are too many: a plan holds {TASKS:,} and has {there:,}")


def _task(item: Any) -> dict[str, str]:
    given = {"title": item} if isinstance(item, str) else item
    if not isinstance(given, Mapping) or set(given) - {"title", "details"}:
        raise Refused("a task is a title, or a title with details; its status is set afterwards")
    details = optional({"details": given.get("details") or ""}, "details", DETAILS)
    return {"title": title(given), **({"details": details} if details else {})}


def status(given: Any, task: Task) -> str:
    """The status an update may give. Done and blocked have operations of their own, which ask for grounds."""
    wanted = line(str(given)).lower().replace("_", " ").replace("-", " ")
    if wanted == "done" != task.status:
        raise Refused('use "complete" for that: it takes evidence')
    if wanted == "blocked" != task.status:
        raise Refused('use "block" for that: it takes the reason')
    if wanted not in STATUSES:
        raise Refused(f"there is no status {wanted[:TITLE]!r}; there are {', '.join(STATUSES)}")
    return wanted


def is_new(there: tuple[str, ...], text: str, what: str) -> bool:
    """A note or a piece of evidence that is not there yet. Refuses it where there is no room."""
    if text in there:
        return False
    if len(there) >= REMARKS:
        raise Refused(f'there are {REMARKS} {what} already; put what matters into details with "update"')
    return True
