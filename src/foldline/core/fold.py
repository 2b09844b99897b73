"""The view: what the model is shown instead of the whole history.

    messages, cut, checkpoint ── fold ──> system · pinned · checkpoint · newest user message · tail

Builds the list and proves the promises on it. It neither summarises nor decides where to cut, and it changes no
message: what it adds is the checkpoint alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from foldline.core.cycles import Pairing, pair
from foldline.core.repair import Repaired, repair
from foldline.core.usertext import own_words
from foldline.errors import FoldlineError
from foldline.model import Grammar, Message


class BrokenPromise(FoldlineError):
    """A view would break a promise. Never raised to users: the engine takes the next smaller step instead."""


@dataclass(frozen=True, slots=True)
class Base:
    """How a history is shown so far: `front` stands in place of messages[:start], the rest follows.

    Without a checkpoint the front is empty and everything is shown as it came.
    """

    front: tuple[Message, ...] = ()
    start: int = 0

    def view(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        return (*self.front, *messages[self.start :])


def newest_user(messages: Sequence[Message]) -> int | None:
    """The index of the user's newest own message."""
    return next((index for index in range(len(messages) - 1, -1, -1) if own_words(messages[index])), None)


def front_of(
    messages: Sequence[Message], cut: int, checkpoint: Message, pairing: Pairing, pins: Iterable[int] = ()
) -> tuple[Message, ...]:
    """What stands before the tail when messages[:cut] are folded into the checkpoint."""
    kept = {index for index in range(cut) if messages[index].role == "system"}
    kept |= with_cycles((pin for pin in pins if pin < cut), pairing)
    newest = newest_user(messages)
    carried = (messages[newest],) if newest is not None and newest < cut and newest not in kept else ()
    return (*(messages[index] for index in sorted(kept) if index < cut), checkpoint, *carried)


def with_cycles(indices: Iterable[int], pairing: Pairing) -> set[int]:
    """These messages, and the whole of every cycle that one of them is in."""
    wanted = set(indices)
    if not wanted:
        return wanted
    for cycle in pairing.cycles:
        span = range(cycle.start, cycle.stop)
        if any(index in wanted for index in span):
            wanted.update(span)
    return wanted


def legal_view(view: Sequence[Message], grammar: Grammar) -> Repaired:
    """The view as its provider accepts it, and what had to be mended."""
    return repair(view, grammar)


def prove(view: Sequence[Message], history: Sequence[Message], grammar: Grammar) -> None:
    """Raises BrokenPromise where the view is not what was promised."""
    pairing = pair(view, grammar)
    if pairing.orphans or pairing.duplicates:
        raise BrokenPromise("a result stands in the view without its call")
    if any(cycle.pending for cycle in pairing.cycles):
        raise BrokenPromise("a call stands in the view without its result")
    shown = {id(message) for message in view}
    texts = {message.text for message in view}
    for message in history:
        if message.role == "system" and id(message) not in shown and message.text not in texts:
            raise BrokenPromise("a system message is not in the view")
    newest = newest_user(history)
    if newest is not None and id(history[newest]) not in shown and history[newest].text not in texts:
        raise BrokenPromise("the newest user message is not in the view")
