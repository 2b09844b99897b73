"""Tool cycles: a model step with its thinking, calls and all their results is one unit, or several bound together.

    messages ── pair ──> Pairing (cycles, orphans, duplicates)

A cycle is a range of messages that no cut may enter. Results are matched to calls by id; where an id is used again, to
the nearest earlier step that still waits, and there to its first such call. A provider's own part that names another
one before it (the result of a tool on its servers, an approval) binds the steps between them: the first of these then
extends over all. Repairing what does not pair is in repair.py; no token is counted here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from foldline.model import Grammar, Message, Opaque, Part, Thinking, ToolCall

_REFERENCE = "item_reference"
"""The kind of a part that stands for an item the provider keeps. It may be a call, whose result then has no call in
sight."""
_NEEDED = ("tool_use_id", "approval_request_id")
"""Fields in which a provider's own part names the earlier part without which it is refused."""
_CALLER, _CALLERS = "caller", ("tool_id", "caller_id")
"""Field of a call that a program on the provider's servers made, and the keys in it that name that program."""


class Place(NamedTuple):
    """A part: the index of its message, and its index among that message's calls or results."""

    message: int
    nth: int


class ToolCycle(NamedTuple):
    """Messages `start` to `stop` (exclusive): a model step and everything that answers it.

    `answers[i]` is the place of the result of `calls[i]`, or None while that call has none. Of steps that are bound to
    one another, the first has the `stop` of them all.
    """

    start: int
    step_stop: int
    stop: int
    calls: tuple[Place, ...]
    answers: tuple[Place | None, ...]

    @property
    def pending(self) -> tuple[Place, ...]:
        return tuple(call for call, answer in zip(self.calls, self.answers, strict=True) if answer is None)


@dataclass(frozen=True, slots=True)
class Pairing:
    """All cycles in order; `orphans` are results that no call asked for, `duplicates` those already answered."""

    cycles: tuple[ToolCycle, ...]
    orphans: tuple[Place, ...] = ()
    duplicates: tuple[Place, ...] = ()


def pair(messages: Sequence[Message], grammar: Grammar) -> Pairing:
    """Matches every result with its call, in one pass."""
    return Pairer(grammar).pair(tuple(messages))


def open_loop(pairing: Pairing) -> tuple[ToolCycle, ...]:
    """The steps at the end that all call tools: the turn the model has not finished. Empty when the last step calls
    none."""
    cycles = pairing.cycles
    first = len(cycles)
    while first and cycles[first - 1].calls:
        first -= 1
    return cycles[first:]


def begins_with_thinking(messages: Sequence[Message], cycle: ToolCycle) -> bool:
    parts = messages[cycle.start].parts
    return bool(parts) and type(parts[0]) is Thinking


def moved(pairing: Pairing, by: int) -> Pairing:
    """The pairing as it is in a list with `by` more messages before it."""
    lone = (
        tuple(Place(message + by, nth) for message, nth in found) for found in (pairing.orphans, pairing.duplicates)
    )
    return Pairing(tuple([_moved(cycle, by) for cycle in pairing.cycles]), *lone)


def _moved(cycle: ToolCycle, by: int) -> ToolCycle:
    start, step_stop, stop, calls, answers = cycle
    there = tuple([_make(Place, (message + by, nth)) for message, nth in calls])
    back = tuple([place and _make(Place, (place[0] + by, place[1])) for place in answers])
    return _make(ToolCycle, (start + by, step_stop + by, stop + by, there, back))


_make = tuple.__new__
"""Makes a named tuple without looking at its fields: thousands are moved at once."""


def inside(spans: Iterable[tuple[int, int]]) -> set[int]:
    """The positions within any of these ranges, which begin one after the other and may overlap."""
    found: set[int] = set()
    done = 0  # positions up to here are covered already
    for start, stop in spans:
        first = start + 1 if start >= done else done
        if first + 1 == stop:  # a step and one message of results, as nearly always
            found.add(first)
        else:
            found.update(range(first, stop))
        if stop > done:
            done = stop
    return found


class Pairer:
    """Pairs a list that grows: asked again with more messages, it looks only at the new ones."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._known: tuple[Message, ...] = ()
        self._builder = _Builder(grammar.step == "run")

    def pair(self, messages: tuple[Message, ...]) -> Pairing:
        if messages[: len(self._known)] != self._known:
            self._known, self._builder = (), _Builder(self._grammar.step == "run")
        for index in range(len(self._known), len(messages)):
            self._builder.take(index, messages[index])
        self._known = messages
        return self._builder.pairing()


class _Builder:
    """The state of a pass. `cycles` are those last returned; `changed` are those to be made anew."""

    def __init__(self, runs: bool) -> None:
        self.runs = runs
        self.last_assistant = -2  # index of the last message if it is the assistant's; else -2
        self.cycles: list[ToolCycle] = []
        self.changed: set[int] = set()
        self.calls: list[list[Place]] = []
        self.answers: list[list[Place | None]] = []
        self.bounds: list[list[int]] = []
        self.waiting: dict[str, list[tuple[int, deque[int]]]] = {}  # id → cycles that wait, each with its calls
        self.orphans: list[Place] = []
        self.duplicates: list[Place] = []
        self.leads: list[int] = []  # for each cycle the first one it is bound to, nearly always itself
        self.named: dict[str, int] = {}  # name of a provider's own part → the cycle it is in
        self.refers = -1  # the last cycle that stands for something the provider keeps

    def take(self, index: int, message: Message) -> None:
        if message.role == "assistant":
            self.step(index, message)
        else:
            self.last_assistant = -2
        if message.results:
            self.answer(index, message)
        if self.cycles:
            for part in message.parts:
                if type(part) is Opaque or type(part) is ToolCall:
                    self.bind(index, part)

    def step(self, index: int, message: Message) -> None:
        if not (self.runs and self.last_assistant == index - 1):
            self.leads.append(len(self.cycles))
            self.cycles.append(ToolCycle(index, index + 1, index + 1, (), ()))
            self.bounds.append([index, index + 1, index + 1])
            self.calls.append([])
            self.answers.append([])
        cycle = len(self.cycles) - 1
        self.bounds[cycle][1] = index + 1
        self.reach(cycle, index + 1)
        self.last_assistant = index
        for nth, call in enumerate(message.calls):
            self.wait(call.id, cycle)
            self.calls[cycle].append(Place(index, nth))
            self.answers[cycle].append(None)

    def wait(self, call_id: str, cycle: int) -> None:
        waiting = self.waiting.setdefault(call_id, [])
        if not waiting or waiting[-1][0] != cycle:
            waiting.append((cycle, deque()))
        waiting[-1][1].append(len(self.calls[cycle]))

    def answer(self, index: int, message: Message) -> None:
        for nth, result in enumerate(message.results):
            place, waiting = Place(index, nth), self.waiting.get(result.call_id)
            if waiting:
                cycle, calls = waiting[-1]
                self.answers[cycle][calls.popleft()] = place
                if not calls:
                    waiting.pop()
                self.reach(cycle, index + 1)
            elif waiting is None and 0 <= self.refers == len(self.cycles) - 1:
                self.reach(self.refers, index + 1)
            else:
                (self.orphans if waiting is None else self.duplicates).append(place)

    def reach(self, cycle: int, stop: int) -> None:
        """Extends the cycle up to `stop`, and with it the one it is bound to."""
        for one in {cycle, self.leads[cycle]}:
            self.bounds[one][2] = max(self.bounds[one][2], stop)
            self.changed.add(one)

    def bind(self, index: int, part: Opaque | ToolCall) -> None:
        """Binds the steps from the part that this one names up to this one."""
        last = len(self.cycles) - 1
        for name in _needed(part):
            if name in self.named:
                first = self.leads[self.named[name]]
                self.leads[first:] = [first] * (last + 1 - first)
                self.reach(first, max(index + 1, self.bounds[last][2]))
        if type(part) is Opaque:
            self.named.update(dict.fromkeys(_names(part), last))
            self.refers = last if part.kind == _REFERENCE else self.refers

    def pairing(self) -> Pairing:
        for cycle in self.changed:
            start, step_stop, stop = self.bounds[cycle]
            self.cycles[cycle] = ToolCycle(start, step_stop, stop, tuple(self.calls[cycle]), tuple(self.answers[cycle]))
        self.changed.clear()
        return Pairing(tuple(self.cycles), tuple(self.orphans), tuple(self.duplicates))


def _needed(part: Part) -> Iterator[str]:
    """The names of the provider's own parts that must stand before this one."""
    if type(part) is ToolCall:
        caller = part.extra.get(_CALLER)
        names = [caller.get(key) for key in _CALLERS] if isinstance(caller, dict) else []
    else:
        fields = (*_NEEDED, "call_id") if _is_answer(part) else _NEEDED
        names = [part.extra.get(key) for key in fields] if isinstance(part, Opaque) else []
    return (name for name in names if isinstance(name, str))


def _names(part: Opaque) -> Iterator[str]:
    """The names by which later parts may refer to a provider's own part."""
    found = () if _is_answer(part) else (part.extra.get("id"), part.extra.get("call_id"))
    return (name for name in found if isinstance(name, str))


def _is_answer(part: Part) -> bool:
    return isinstance(part, Opaque) and part.kind.endswith(("_result", "_output", "_response"))
