"""Requests whose shape is looser than a list of messages: what OpenAI's and Gemini's dialects have in common.

The slot may hold one string, or one message, instead of a list. And a message made here may hold more than one element
of the list can: it is split; or less than an answer must say: it is completed from the call it answers.
No dialect is described here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from foldline.dialects import jsontext
from foldline.dialects.base import Listed, RequestDialect, Source, plain_text
from foldline.errors import MalformedInput
from foldline.model import Conversation, Message, Opaque, Origin, Part, Text, ToolCall, ToolResult

LONE = "lone"
"""The form of a message that was the slot's only content, as a string."""
OPAQUE = "opaque"
"""The form of a message that was not understood: its one part is the whole element."""


class ShapedDialect(RequestDialect):
    """A request dialect that also reads a lone string or message, and writes messages made from nothing."""

    def read(self, source: Source, value: Any) -> Conversation:
        content = value.get(self.slot) if isinstance(value, dict) else None
        if not isinstance(content, (str, dict)):
            return super().read(source, value)
        row = jsontext.dig(source.data, (self.slot,))
        message = _lone(content) if isinstance(content, str) else self.parse(content)
        messages = (replace(message, raw=row, rows=(0,)),)
        layout = Listed(source, (self.slot,), (row,), messages)
        return Conversation(self.name, messages, self.head(value), self.grammar, layout)

    def write(self, conversation: Conversation) -> bytes:
        layout, messages = conversation.layout, conversation.messages
        if isinstance(layout, Listed) and messages is layout.messages:
            return layout.whole()
        text = plain_text(messages[0].parts) if len(messages) == 1 and messages[0].form == LONE else None
        if isinstance(layout, Listed) and text is not None:
            return jsontext.splice(layout.source.data, layout.path, jsontext.encode(text))
        rows = [self.row(piece) for message in self._settled(messages) for piece in self._pieces(message)]
        return layout.changed(rows) if isinstance(layout, Listed) else jsontext.join_list(rows)

    def row(self, message: Message) -> bytes:
        """A lone string is no element of a list, so once it stands in one it is built."""
        return super().row(replace(message, raw=None) if message.form == LONE else message)

    def split(self, message: Message) -> tuple[Message, ...]:
        """The message as messages that are one element each."""
        return (message,)

    def settle(self, result: ToolResult, call: ToolCall) -> ToolResult:
        """A result made here, completed with what its dialect wants to hear of the call."""
        return result if result.name else replace(result, name=call.name)

    def _pieces(self, message: Message) -> tuple[Message, ...]:
        return self.split(message) if message.raw is None else (message,)

    def _settled(self, messages: Sequence[Message]) -> Sequence[Message]:
        if not any(message.raw is None and message.results for message in messages):
            return messages
        calls = {call.id: call for message in messages for call in message.calls}
        return [replace(m, parts=self._complete(m, calls)) if m.raw is None and m.results else m for m in messages]

    def _complete(self, message: Message, calls: Mapping[str, ToolCall]) -> tuple[Part, ...]:
        return tuple(
            self.settle(part, calls[part.call_id])
            if type(part) is ToolResult and not part.form and part.call_id in calls
            else part
            for part in message.parts
        )


def one(pieces: Sequence[Message], dialect: str) -> Message:
    """The only piece of a message that is to be built as one element."""
    if len(pieces) != 1:
        what = f"this message makes {len(pieces)} {dialect} messages, not one; write it as part of a conversation"
        raise MalformedInput(what)
    return pieces[0]


def whole(message: Message) -> Opaque | None:
    """The part that is the whole element, if the message is one that was not understood."""
    part = message.parts[0] if len(message.parts) == 1 else None
    return part if message.form == OPAQUE and isinstance(part, Opaque) else None


def _lone(text: str) -> Message:
    return Message("user", Origin.USER, (Text(text),), form=LONE)
