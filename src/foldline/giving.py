"""What is given back: a view as a value of the form that was given, made of the caller's own messages where they stand.

    view ── give ──> the request, with a list and dicts of its own; inside them the caller's own contents

So nothing is parsed that the caller has already. At rest the very request is given back; a view has its own messages,
and what is inside those that were not changed is the caller's. Nothing of it is changed here. How messages are built
that were made here is the dialects' matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import msgspec

from foldline import sources
from foldline.dialects import jsontext
from foldline.dialects.base import Listed
from foldline.model import Conversation, Message


@dataclass(frozen=True)
class Skimmed(Listed):
    """A request given as a value: `source` holds it without its messages, which are in the rows."""

    items: tuple[Any, ...] = field(default=(), repr=False, compare=False)
    """The messages as they were given, one for each row."""
    around: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The request as it was given, where it was more than its messages."""

    def whole(self) -> bytes:
        return self.changed(self.rows)


def give(conversation: Conversation) -> Any:
    """The conversation as it was given: bytes, text, or a value."""
    layout = conversation.layout
    if not isinstance(layout, Skimmed):
        return sources.write(conversation)
    giver = _Giver(conversation, layout)
    if not giver.is_as_it_was():
        return sources.write(conversation)
    return {**layout.around, layout.path[0]: giver.values()} if layout.path else giver.values()


BLOCK = 64
"""Messages compared at one go: so few that their bytes find room in memory that is at hand."""
_plain = msgspec.json.Encoder(decimal_format="number")
"""Writes what is plain already, as `jsontext` does; anything else it refuses."""


def reads_as(items: Sequence[Any], rows: Sequence[bytes]) -> bool:
    """These values are plain, and are these bytes. They are compared many at a time; NaN is taken for null."""
    blocks = (slice(at, at + BLOCK) for at in range(0, len(items), BLOCK))
    try:
        return all(_plain.encode(items[block]) == jsontext.join_list(rows[block]) for block in blocks)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return False  # what is wrong with which is told where each is encoded by itself


class _Giver:
    def __init__(self, conversation: Conversation, layout: Skimmed) -> None:
        self._conversation, self._layout = conversation, layout
        self._places = [_place(message, layout.rows) for message in conversation.messages]
        """Where each message stands in what was given; None for one that was made or changed here."""

    def is_as_it_was(self) -> bool:
        """What is to be given back is plain, and nobody has changed it since it was read."""
        own = [place for place in self._places if place is not None]
        return reads_as([self._layout.items[at] for at in own], [self._layout.rows[at] for at in own])

    def values(self) -> list[Any]:
        found: list[Any] = []
        for place, message in zip(self._places, self._conversation.messages, strict=True):
            if place is None:
                found += self._built(message)
            else:
                item = self._layout.items[place]
                found.append(item.copy() if type(item) is dict else item)
        return found

    def _built(self, message: Message) -> list[Any]:
        """The elements of a message that was made or changed here. Its dialect may want to know whom it answers."""
        asked = sorted({self._callers[result.call_id] for result in message.results if result.call_id in self._callers})
        callers = [self._conversation.messages[at] for at in asked]
        return self._written(*callers, message)[len(self._written(*callers)) :]

    def _written(self, *messages: Message) -> list[Any]:
        if not messages:
            return []
        alone = replace(self._conversation, messages=messages, layout=None)
        return jsontext.decode(sources.write(alone))  # type: ignore[no-any-return]

    @cached_property
    def _callers(self) -> dict[str, int]:
        """Where each call stands, by its id."""
        messages = enumerate(self._conversation.messages)
        return {call.id: at for at, message in messages for call in message.calls}


def _place(message: Message, rows: Sequence[bytes]) -> int | None:
    raw, places = message.raw, message.rows
    if raw is None or len(places) != 1 or places[0] >= len(rows):
        return None
    at = places[0]
    return at if rows[at] is raw or rows[at] == raw else None


__all__ = ["Skimmed", "give", "reads_as"]
