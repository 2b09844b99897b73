"""Names for tool calls that have none: Gemini's usually, and Chat Completions' old function calls always.

A call without an id is given one here, from its tool's name and a running number, and the result that answers it
gets the same. The numbers depend only on what stands earlier in the list, so appending messages changes none of them.
Dialects leave these ids out again when they write. How a call or a result is spelled is the dialects' matter.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from foldline.model import Message, Part, ToolCall, ToolResult

SYNTHETIC = "foldline-"
"""Ids made here begin so. Letters, digits and dashes only, for providers that allow nothing else in an id."""
_SHAPE = re.compile(rf"{SYNTHETIC}(?:call|result)-\d+-(.*)", re.DOTALL)


def made_id(name: str, number: int = 0, kind: str = "call") -> str:
    """The id of the tool's call with that number; 0 until `assign` has seen the whole list."""
    return f"{SYNTHETIC}{kind}-{number}-{name}"


def is_made(id_: str) -> bool:
    return id_.startswith(SYNTHETIC) and _SHAPE.fullmatch(id_) is not None


def name_in(id_: str) -> str:
    """The tool's name inside a made id; "" in any other id."""
    found = _SHAPE.fullmatch(id_)
    return found[1] if found else ""


def assign(messages: Iterable[Message], *, by_name: bool = False) -> tuple[Message, ...]:
    """The messages with their made ids numbered, each result under the id of the call it answers.

    A result without an id answers the first open call of that name in the newest step that has one. With `by_name`
    this also holds for a result whose own id no call has: some clients number results that the model did not.
    """
    return Numbers(by_name).assign(messages)


class Numbers:
    """Assigns for a list that grows: asked again with more messages, it looks only at the new ones. Safe for several
    threads."""

    def __init__(self, by_name: bool = False) -> None:
        self.entered = 0
        """Messages entered so far: the work done."""
        self._by_name = by_name
        self._known: tuple[Message, ...] = ()
        self._found: tuple[Message, ...] = ()
        self._book: _Book | None = None
        """None while there was no made id."""
        self._lock = threading.Lock()

    def assign(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        known = tuple(messages)
        with self._lock:
            if known[: len(self._known)] != self._known:
                self._known, self._found, self._book = (), (), None
            new = known[len(self._known) :]
            if self._book is None and any(map(is_made, _given(new))):
                self._found, self._book, new = (), _Book(self._by_name), known
            if self._book is not None:
                self.entered += len(new)
                new = tuple(map(self._book.enter, new))
            self._known, self._found = known, self._found + new
            return self._found


def _given(messages: Sequence[Message]) -> list[str]:
    """The ids of all calls, and those that results name."""
    calls = [call.id for message in messages for call in message.calls]
    return calls + [result.call_id for message in messages for result in message.results]


class _Book:
    """The calls seen so far: how many of each name, and which are open, newest step last."""

    def __init__(self, by_name: bool) -> None:
        self.by_name = by_name
        self.counts: Counter[tuple[str, str]] = Counter()
        self.open: dict[str, list[list[str]]] = {}
        self.called: set[str] = set()

    def enter(self, message: Message) -> Message:
        if not message.calls and not message.results:
            return message
        parts = tuple(map(self._renamed, message.parts))
        step: dict[str, list[str]] = {}
        for part in parts:
            if type(part) is ToolCall:
                step.setdefault(part.name, []).append(part.id)
                self.called.add(part.id)
        for name, ids in step.items():
            self.open.setdefault(name, []).append(ids)
        same = all(new is old for new, old in zip(parts, message.parts, strict=True))
        return message if same else replace(message, parts=parts)

    def _renamed(self, part: Part) -> Part:
        if type(part) is ToolCall and is_made(part.id):
            return replace(part, id=self._next("call", part.name))
        if type(part) is ToolResult and (answered := self._answered(part)) != part.call_id:
            return replace(part, call_id=answered)
        return part

    def _answered(self, result: ToolResult) -> str:
        own = not is_made(result.call_id)
        if own and (result.call_id in self.called or not self.by_name):
            self._close(result)
            return result.call_id
        found = self._take(result.name, made_only=own)
        return found or (result.call_id if own else self._next("result", result.name))

    def _close(self, result: ToolResult) -> None:
        for ids in reversed(self.open.get(result.name, [])):
            if result.call_id in ids:
                ids.remove(result.call_id)
                return

    def _take(self, name: str, made_only: bool) -> str:
        steps = self.open.get(name, [])
        while steps and not steps[-1]:
            steps.pop()
        fitting = [id_ for id_ in steps[-1] if is_made(id_) or not made_only] if steps else []
        if fitting:
            steps[-1].remove(fitting[0])
        return fitting[0] if fitting else ""

    def _next(self, kind: str, name: str) -> str:
        self.counts[kind, name] += 1
        return made_id(name, self.counts[kind, name], kind)
