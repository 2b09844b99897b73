"""Repairs a list that grows: what was repaired stays as it is, and only its end is looked at again.

What is mended, and how, is in repair.py; this module only knows how much of a list need not be looked at.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice

from foldline.core.history.cycles import Pairer, Pairing, ToolCycle, moved
from foldline.core.history.repair import Repaired, at_end, inside
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
        self._after = Pairer(grammar)
        """Follows the list as it is when it was mended."""
        self._known: tuple[Message, ...] = ()
        """The last list whose end was as it should be."""
        self._body = Repaired(())
        """What became of it, but for its very end."""
        self._lone = 0
        """Results in `_known` that answer nothing."""
        self._over: tuple[ToolCycle, ...] = ()
        """The cycles whose largest `stop` is in `_reach`."""
        self._reach = 0
        self._ids: set[str] = set()
        """The ids of calls that no later one may have, those that were given in mending among them."""
        self._named = 0
        """Messages whose calls are in `_ids`."""

    def repair(self, messages: tuple[Message, ...], *, thinking: bool = False) -> Repaired:
        pairing = self._pairer.pair(messages)
        known = self._known
        if known and messages[: len(known)] != known:
            self._known = known = ()
        if known and self._goes_on(messages, pairing):
            mended = self._body.repairs
            body = Repaired((*self._body.messages, *messages[len(known) :]) if mended else messages, mended)
            self._keep(messages, pairing, body)
        else:
            self.looked += len(messages)
            body = inside(messages, self._grammar, pairing)
            if _ends_well(messages, pairing, body):
                self._keep(messages, pairing, body)
                self._ids, self._named = _ids(body.messages) - _ids(messages) if body.repairs else set(), 0
        paired = self._after.pair(body.messages) if thinking and body.repairs else pairing
        return at_end(body, self._grammar, paired, thinking=thinking)

    def _keep(self, messages: tuple[Message, ...], pairing: Pairing, body: Repaired) -> None:
        self._known, self._body, self._lone = messages, body, _lone(pairing)

    def _goes_on(self, messages: tuple[Message, ...], pairing: Pairing) -> bool:
        """The end needs no repair, and nothing in it refers to what stands before it."""
        cycles = pairing.cycles
        last = max(bisect_left(cycles, len(self._known), key=lambda cycle: cycle.start) - 1, 0)
        start = cycles[last].start if cycles else 0
        if not 0 < start <= len(self._known):  # the new messages begin before the first cycle
            return False
        if all(message.role == "system" for message in islice(messages, start)):  # nobody spoke before it
            return False
        if _lone(pairing) > self._lone or self._reach_of(cycles[:last]) > start:
            return False
        if (self._body.repairs or self._grammar.unique_ids) and not self._new_names(messages, start):
            return False
        self.looked += len(messages) - start
        end = moved(Pairing(cycles[last:]), 1 - start)
        return not inside((_BEFORE, *messages[start:]), self._grammar, end).repairs

    def _reach_of(self, cycles: tuple[ToolCycle, ...]) -> int:
        """Where the last of these cycles ends. Those that are the same as last time are not looked at again."""
        known = len(self._over)
        if cycles[:known] != self._over:
            known, self._reach = 0, 0
        self._reach = max(self._reach, max((cycle.stop for cycle in cycles[known:]), default=0))
        self._over = cycles
        return self._reach

    def _new_names(self, messages: tuple[Message, ...], start: int) -> bool:
        """No call from `start` on, and no result, has the id of a call before it."""
        self._ids.update(call.id for message in messages[self._named : start] for call in message.calls)
        self._named = start
        end = messages[start:]
        if any(call.id in self._ids for message in end for call in message.calls):
            return False
        return not any(result.call_id in self._ids for message in end for result in message.results)


def _lone(pairing: Pairing) -> int:
    """Results that answer nothing, or what was answered before."""
    return len(pairing.orphans) + len(pairing.duplicates)


def _ends_well(messages: tuple[Message, ...], pairing: Pairing, body: Repaired) -> bool:
    """From the last cycle on, nothing was mended."""
    if not body.repairs:
        return True
    start = pairing.cycles[-1].start if pairing.cycles else 0
    return body.messages[start - len(messages) :] == messages[start:]


def _ids(messages: tuple[Message, ...]) -> set[str]:
    return {call.id for message in messages for call in message.calls}


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
