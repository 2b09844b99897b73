"""What happens in a list of messages that grows: each message is looked at once, when it comes.

    messages ── follow ──> pairing, deeds, whose words stand where

A fold needs all of it for thousands of messages at once; a turn brings a few. What is derived from it (facts, ledger,
audit) is made elsewhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from copy import copy
from itertools import chain
from typing import NamedTuple

from foldline.core.auditing.echoes import Heard, Passages
from foldline.core.history.cycles import Pairer, Pairing, pair
from foldline.core.summaries.enclosed import enclosed
from foldline.core.summaries.render import EntryLimits, Glimpse, glimpse
from foldline.core.work.deeds import Deed, cycle_deeds, deeds
from foldline.model import Grammar, Media, Message, Opaque, Origin

RECORD = EntryLimits()
"""How much of each message the record shows: the glimpses kept here are made with these limits."""


class Voices(NamedTuple):
    """What people and the model said in some messages, what tools printed there, all of it as texts, and each
    message as a record shows it."""

    said: Heard
    shown: Heard
    texts: Sequence[str] = ()
    glimpses: Sequence[Glimpse] = ()


def said_in(message: Message) -> str:
    """What people or the model say in a message: its text and its calls."""
    calls = (f"{call.name} {call.arguments}" for call in message.calls)
    return "\n".join(filter(None, ("" if message.origin is Origin.TOOL else message.text, *calls)))


def shown_in(message: Message) -> str:
    """What tools print in a message, a provider's own and what stands in documents included. Some agents have no
    result to put it in."""
    said = message.text if message.origin is Origin.TOOL else ""
    inner = (part for result in message.results for part in result.content)
    words = (enclosed(part) for part in (*message.parts, *inner) if isinstance(part, Media | Opaque))
    return "\n".join(filter(None, (said, *(result.text for result in message.results), *words)))


def voices_in(messages: Sequence[Message]) -> Voices:
    """Whose words stand in some messages, where there is no story of them."""
    said, shown = [said_in(message) for message in messages], [shown_in(message) for message in messages]
    return Voices(Heard.in_text(*said), Heard.in_text(*shown), (*said, *shown))


class Story:
    """The story of one conversation. Not for several threads at once."""

    def __init__(self, grammar: Grammar) -> None:
        self.looked = 0
        """Messages looked at so far: the work done."""
        self._grammar = grammar
        self._forget()

    def _forget(self) -> None:
        self._messages: tuple[Message, ...] = ()
        self._pairer = Pairer(self._grammar)
        self.pairing = Pairing(())
        self._deeds: list[tuple[Deed, ...]] = []
        self._said, self._shown = Passages(), Passages()
        self._before: list[tuple[int, int]] = [(0, 0)]
        """How many passages, said and shown, come before each message that was listened to."""
        self._texts: tuple[list[str], list[str]] = [], []
        """What is said, and what is shown, in each message that was listened to."""
        self._glimpses: list[Glimpse] = []
        """What a record shows of each message that was listened to."""

    def follow(self, messages: tuple[Message, ...], *, listen: bool = False) -> None:
        """Takes in what is new. With `listen`, also whose words stand where: a model's summary is checked against
        that."""
        if messages[: len(self._messages)] != self._messages:
            self._forget()
        self.looked += len(messages) - len(self._messages)
        self._messages = messages
        before, self.pairing = self.pairing.cycles, self._pairer.pair(messages)
        cycles, settled = self.pairing.cycles, max(len(before) - 1, 0)  # new messages may answer the last one
        first = settled if cycles[:settled] == before[:settled] else 0
        for number, cycle in enumerate(cycles[first:], first):
            if number >= settled or cycle is not before[number]:
                self._deeds[number : number + 1] = [tuple(cycle_deeds(messages, cycle))]
        if listen:
            self._listen()

    def as_it_is(self) -> Story:
        """A copy of the story so far, to be read on while this one may follow something else."""
        found = copy(self)
        found._deeds = list(self._deeds)  # everything else only grows, or is replaced as a whole
        return found

    def _listen(self) -> None:
        for message in self._messages[len(self._before) - 1 :]:
            said, shown = said_in(message), shown_in(message)
            self._said.add(said)
            self._shown.add(shown)
            self._texts[0].append(said)
            self._texts[1].append(shown)
            self._glimpses.append(glimpse(message, RECORD))
            self._before.append((self._said.count, self._shown.count))

    def deeds(self, start: int, stop: int) -> tuple[Deed, ...]:
        """What was done from message `start` to `stop` (exclusive). A step that crosses a border counts as far as it
        lies inside."""
        cycles = self.pairing.cycles
        first = bisect_left(cycles, start, key=lambda cycle: cycle.start)
        last = bisect_left(cycles, stop, key=lambda cycle: cycle.start)
        across = any(cycle.stop > stop for cycle in cycles[first:last]) or any(
            cycle.stop > start for cycle in cycles[:first]
        )
        if across:
            inside = self._messages[start:stop]
            return tuple(deed.moved(start) for deed in deeds(inside, pair(inside, self._grammar)))
        return tuple(deed for deed in chain.from_iterable(self._deeds[first:last]) if deed.answer < stop)

    def voices(self, start: int, stop: int) -> Voices:
        """Whose words stand in messages `start` to `stop` (exclusive)."""
        self._listen()
        (said, shown), (said_stop, shown_stop) = self._before[start], self._before[stop]
        texts = [text for kind in self._texts for text in kind[start:stop] if text]
        glimpses = self._glimpses[start:stop]
        return Voices(Heard((self._said, said, said_stop)), Heard((self._shown, shown, shown_stop)), texts, glimpses)
