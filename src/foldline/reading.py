"""Reads requests that come again and again, a little longer each time: only what is new is taken apart.

    Reader.read(request) ──> Conversation, in which messages seen before are the very same objects

So everything after it (meter, skeleton, pairing) can tell by identity what it knows already.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any

from foldline import sources
from foldline.dialects.base import Listed
from foldline.model import Conversation, Message

MOST = 100_000
"""Messages remembered; the longest unseen go first."""


class Reader:
    """Remembers messages by place and bytes. Not for several threads at once."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, int, bytes], Message] = OrderedDict()

    def read(self, request: Any, dialect: str | None = None) -> Conversation:
        conversation = sources.read(request, dialect)
        messages = tuple(self._same(conversation.dialect, message) for message in conversation.messages)
        while len(self._seen) > MOST:
            self._seen.popitem(last=False)
        layout = conversation.layout
        if isinstance(layout, Listed):
            layout = replace(layout, messages=messages)
        return replace(conversation, messages=messages, layout=layout)

    def write(self, conversation: Conversation) -> Any:
        return sources.write(conversation)

    def _same(self, dialect: str, message: Message) -> Message:
        if message.raw is None:
            return message
        key = (dialect, message.rows[0] if message.rows else -1, message.raw)
        known = self._seen.pop(key, message)
        self._seen[key] = known
        return known
