"""Conversations that surely go on as they come: known from the last turn and the few messages that are new.

    ease.note(conversation, fitted)     in a turn: it goes on as it came, or it does not
    ease.make_ready(meter)              behind its answer
    ease.lasts(conversation, meter)     whether nothing would be done to this one either

What is new is counted as the engine counts it, unless it is so little that there is no need. What needs a repair and
what may be a checkpoint is not judged here, but by the engine. Nothing is read, kept or sent.
"""

from __future__ import annotations

from dataclasses import dataclass

from foldline.compactor import Fitted
from foldline.core.checkpoints.returned import Returned
from foldline.core.counting.budget import Budget
from foldline.core.counting.meter import Meter
from foldline.core.history.repairer import Repairer
from foldline.model import Conversation, Message, Text, ToolCall, ToolResult
from foldline.proxy.skim import GLANCE


@dataclass(frozen=True, slots=True)
class _Calm:
    """A conversation as it was sent, and how many tokens it may have before anything is done."""

    conversation: Conversation
    mark: int


class Ease:
    """What is known of one conversation. To be used under its seat's lock."""

    def __init__(self) -> None:
        self._calm: _Calm | None = None
        self._repairer: Repairer | None = None
        self._followed: Conversation | None = None
        """What was last seen to need no repair."""
        self._ready = False
        """The repairer has followed to where the last turn ended: what is new is all that is left to look at."""
        self._left = 0
        """Tokens that may be added before anything is done."""

    def note(self, conversation: Conversation, fitted: Fitted, budget: Budget) -> None:
        """Takes in what became of a turn."""
        receipt = fitted.receipt
        at_rest = fitted.view is conversation and receipt.action == "rest" and not conversation.head.remote
        plain = not (receipt.notices or receipt.checkpoint or budget.max_bytes)
        calm = _Calm(conversation, round(receipt.room * budget.prune_at))
        self._calm, self._ready = calm if at_rest and plain else None, False

    def end(self) -> None:
        """The next turn is one for the engine."""
        self._calm = None

    def recount(self) -> None:
        """The meter has learned something: what is new is counted until the next turn is ready."""
        self._left = 0

    def make_ready(self, meter: Meter) -> None:
        """Looks at all messages of the last turn, behind its answer: in a long conversation that takes its time."""
        self._ready = self._calm is not None and self._sound(self._calm.conversation)
        if self._calm is not None:
            self._left = self._calm.mark - meter.count(self._calm.conversation).tokens

    def lasts(self, conversation: Conversation, meter: Meter) -> bool:
        """Whether this one too is surely sent as it came.

        It is told once: the next answer is had when this turn has ended.
        """
        calm, ready, self._ready = self._calm, self._ready, False
        if calm is None or not ready or conversation.head != calm.conversation.head:
            return False
        known = calm.conversation.messages
        new = conversation.messages[len(known) :]
        size = sum(map(_bytes, new))
        if conversation.messages[: len(known)] != known or size > GLANCE:
            return False
        if _ours(new) or not self._sound(conversation):
            return False
        if size * meter.ratio < self._left and all(map(_plain, new)):
            return True
        return meter.count(conversation).tokens <= calm.mark

    def _sound(self, conversation: Conversation) -> bool:
        """Needs no repair. Of the turn that was last seen to last, this is known when it is made ready for the next."""
        if conversation is not self._followed:
            self._repairer = self._repairer or Repairer(conversation.grammar)
            found = self._repairer.repair(conversation.messages, thinking=conversation.head.thinks_first)
            self._followed = None if found.repairs else conversation
        return conversation is self._followed


def _bytes(message: Message) -> int:
    return len(message.raw or b"")


def _plain(message: Message) -> bool:
    """Whether it has fewer tokens than bytes: nothing but texts, and no pictures, which may be a short address."""
    parts = (inner for part in message.parts for inner in (part.content if type(part) is ToolResult else (part,)))
    return message.raw is not None and all(type(part) in (Text, ToolCall) for part in parts)


def _ours(messages: tuple[Message, ...]) -> bool:
    """Whether something we made ourselves may have come back."""
    returned = Returned()
    return returned.follow(messages) != messages or bool(returned.texts)


__all__ = ["Ease"]
