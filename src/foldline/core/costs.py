"""What the things of a fold cost: each message, what the user said, what a log of the agent's work would need.

Measured once for all attempts at a fold, in the provider's tokens as far as the meter knows them. How these tokens are
shared out is decided in rooms.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from foldline.core.counting.meter import Meter
from foldline.core.fold import as_carried, newest_user
from foldline.core.ground import Ground
from foldline.core.log.readings import shows
from foldline.core.log.worklog import entries
from foldline.core.said.usertext import own_words, retells
from foldline.model import Message, Origin

SAID_TWICE = 1.5
"""The factor for words that are shown twice: all in order, and the rules among them once more by themselves."""
ENTRY = 10
"""Tokens that a text or call needs in a log besides its lines, roughly: the empty line before it, its label, and its
file in the list of files."""


class Costs:
    """Tokens of what a fold is made of, each measured when it is first asked for."""

    def __init__(self, ground: Ground, meter: Meter) -> None:
        self.ground, self.meter = ground, meter

    @cached_property
    def each(self) -> list[int]:
        """Tokens of every message."""
        ratio = self.meter.ratio
        return [round(tokens * ratio) for tokens in self.meter.each(self.ground.conversation)]

    def size(self, text: str) -> int:
        return round(self.meter.text(text) * self.meter.ratio)

    def of(self, message: Message) -> int:
        """Tokens of a message that is not in the history."""
        return round(self.meter.message(message) * self.meter.ratio)

    def bytes(self, message: Message) -> int:
        """Bytes of a message as it is sent."""
        return self.meter.bytes(message)

    def together(self, messages: Iterable[Message]) -> int:
        """Tokens of several messages, rounded once."""
        return round(sum(map(self.meter.message, messages)) * self.meter.ratio)

    def standing(self, messages: Iterable[Message]) -> int:
        """Tokens of tools and system prompt, with the messages that stay whatever is folded."""
        tokens = self.meter.head(self.ground.conversation.head) + sum(map(self.meter.message, messages))
        return round(tokens * self.meter.ratio)

    @cached_property
    def newest(self) -> int | None:
        """Where the newest user message stands."""
        return newest_user(self.ground.messages)

    @cached_property
    def alone(self) -> int:
        """Tokens of the newest user message behind a checkpoint, where it stands without results and without a
        summary."""
        if self.newest is None:
            return 0
        message = self.ground.messages[self.newest]
        if not message.results and not retells(message):
            return self.each[self.newest]
        return self.of(as_carried(message))

    @cached_property
    def words(self) -> int:
        """About how many tokens everything the user said takes in a checkpoint, without the newest message, which
        the view shows."""
        past = self.ground.past.facts.of("user") if self.ground.past else ()
        spared = self.ground.messages[self.newest] if self.newest is not None else None
        old = (fact.text for fact in past if spared is None or fact.source != spared.identity)
        users = (message for message in self.ground.messages[self.ground.begin :] if message.origin is Origin.USER)
        new = (own_words(message) for message in users if message is not spared)
        said = (text for text in (*old, *new) if text)
        return int(sum(self.size(text) + 4 for text in said) * SAID_TWICE)

    @cached_property
    def reading(self) -> list[bool]:
        """Which messages, from the first that no checkpoint stands for, have the answer to a call that shows a file."""
        asked, found = set[str](), list[bool]()
        for message in self.ground.messages[self.ground.begin :]:
            asked |= {call.id for call in message.calls if shows(call)}
            found.append(any(result.call_id in asked for result in message.results))
        return found

    @cached_property
    def logged(self) -> int:
        """Tokens of the agent's earlier lines, which a log is chosen from too."""
        past = self.ground.past
        if past is None:
            return 0
        own = [line for line in past.log if not line.is_tools]
        tokens = sum(self.size(line.text) + 1 for line in own) + len({line.entry for line in own}) * ENTRY
        return tokens or self.size(past.summary.get("context"))

    @cached_property
    def own(self) -> list[int]:
        """Tokens that each message, from the first that no checkpoint stands for, takes in a log in which every line
        stands once."""
        found = [0] * (len(self.ground.messages) - self.ground.begin)
        lines = {line.text: line for line in entries(self.ground.messages[self.ground.begin :])}.values()
        for line in lines:
            found[line.message] += self.size(line.text) + 1
        for message, *_ in {line.entry for line in lines}:
            found[message] += ENTRY
        return found

    @cached_property
    def retold(self) -> int:
        """Tokens of the newest summary among these messages that somebody else wrote; else 0."""
        messages = self.ground.messages
        at = next((at for at in range(len(messages) - 1, self.ground.begin - 1, -1) if retells(messages[at])), None)
        return 0 if at is None else self.each[at]
