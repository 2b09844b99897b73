"""Repairs a list that grows: what was sound stays so, and only its end is looked at again.

What is mended, and how, is in repair.py; this module only knows how much of a list need not be looked at.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice

from foldline.core.history.cycles import Pairer, Pairing, ToolCycle, moved
from foldline.core.history.repair import Repair, Repaired, begun_with_thinking, repair
from foldline.model import Grammar, Message, Origin, Text

_BEFORE = Message("user", Origin.PROGRAM, (Text("…"),))
"""Stands in for everything before the end that is looked at: someone spoke there."""


class Repairer:
    """Returns what `repair` returns, list after list. Not for several threads at once."""

    def __init__(self, grammar: Grammar) -> None:
        self.looked = 0
        """Messages looked at so far: the work done."""
        self._grammar = grammar
        self._pairer = Pairer(grammar)
        self._sound: tuple[Message, ...] = ()
        self._over: tuple[ToolCycle, ...] = ()
        """The cycles whose largest `stop` is in `_reach`."""
        self._reach = 0
        self._ids: set[str] = set()
        self._named = 0
        """Messages whose calls are in `_ids`."""

    def repair(self, messages: tuple[Message, ...], *, thinking: bool = False) -> Repaired:
        pairing = self._pairer.pair(messages)
        if not self._sound or messages[: len(self._sound)] != self._sound:
            self._ids, self._named, self._sound = set(), 0, ()
        if self._sound and self._goes_on(messages, pairing, thinking):
            found = Repaired(messages)
        else:
            self.looked += len(messages)
            found = repair(messages, self._grammar, pairing, thinking=thinking)
        if not found.repairs:
            self._sound = messages
        return found

    def _goes_on(self, messages: tuple[Message, ...], pairing: Pairing, thinking: bool) -> bool:
        """The end needs no repair, and nothing in it refers to what stands before it."""
        cycles = pairing.cycles
        last = max(bisect_left(cycles, len(self._sound), key=lambda cycle: cycle.start) - 1, 0)
        start = cycles[last].start if cycles else 0
        if not 0 < start <= len(self._sound):  # the new messages begin before the first cycle
            return False
        if all(message.role == "system" for message in islice(messages, start)):  # nobody spoke before it
            return False
        if pairing.orphans or pairing.duplicates or self._reach_of(cycles[:last]) > start:
            return False
        if self._grammar.unique_ids and not self._new_names(messages, start):
            return False
        self.looked += len(messages) - start
        end = moved(Pairing(cycles[last:]), 1 - start)
        if repair((_BEFORE, *messages[start:]), self._grammar, end).repairs:
            return False
        amiss: list[Repair] = []
        if thinking:
            begun_with_thinking(messages, pairing, amiss)
        return not amiss

    def _reach_of(self, cycles: tuple[ToolCycle, ...]) -> int:
        """Where the last of these cycles ends. Those that are the same as last time are not looked at again."""
        known = len(self._over)
        if cycles[:known] != self._over:
            known, self._reach = 0, 0
        self._reach = max(self._reach, max((cycle.stop for cycle in cycles[known:]), default=0))
        self._over = cycles
        return self._reach

    def _new_names(self, messages: tuple[Message, ...], start: int) -> bool:
        """No call from `start` on has the id of one before it."""
        if self._named > start:
            self._ids, self._named = set(), 0
        self._ids.update(call.id for message in messages[self._named : start] for call in message.calls)
        self._named = start
        return all(call.id not in self._ids for message in messages[start:] for call in message.calls)


class Untouched(Repairer):
    """For a history that the provider keeps: only its end is in sight, not the calls that results there answer. It
    mends nothing."""

    def repair(
        self,
        messages: tuple[Message, ...],
        *,
        thinking: bool = False,  # noqa: ARG002 - as of any other
    ) -> Repaired:
        return Repaired(messages)
