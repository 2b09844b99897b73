"""What a dialect is, and how documents are taken apart and put together again.

    Source ── read ──> Conversation (messages keep their bytes; `layout` keeps the rest) ── write ──> the same document

Two layouts: `Listed`, a JSON document whose messages are the elements of one list, and `Lined`, a file of JSON lines
some of which are messages. While the messages are those that were read, writing gives the very bytes back; a changed
message is built from its parts, and everything around it stays as it was.

No dialect is described here; each has a module of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from foldline.dialects import jsontext
from foldline.dialects.observed import observed
from foldline.errors import MalformedInput
from foldline.model import EMPTY, Conversation, Grammar, Head, Message, Opaque, Part, Text

Form: TypeAlias = Literal["bytes", "text", "value"]
NOT_AN_OBJECT = "not-an-object"
"""The kind of an Opaque that stands for a JSON value where an object belongs: kept, and left to the validator."""


@dataclass(frozen=True)
class Source:
    """A document as bytes, the form in which the caller wants it back, and its name for errors."""

    data: bytes = field(repr=False)
    form: Form = "bytes"
    name: str = ""

    def give(self, data: bytes) -> Any:
        """The bytes in the caller's form."""
        if self.form == "bytes":
            return data
        return jsontext.text_of(data) if self.form == "text" else jsontext.decode(data)


@dataclass(frozen=True)
class Listed:
    """A JSON document whose messages are the elements of the list at `path`. `rows` are the elements' bytes."""

    source: Source
    path: jsontext.Path
    rows: tuple[bytes, ...] = field(repr=False)
    messages: tuple[Message, ...] = field(repr=False)

    def whole(self) -> bytes:
        return self.source.data

    def changed(self, rows: Iterable[bytes]) -> bytes:
        """The document with other elements in its list."""
        return jsontext.splice(self.source.data, self.path, jsontext.join_list(list(rows)))


@dataclass(frozen=True)
class Lined:
    """A file of JSON lines. `rows` are its lines with their line ends, and the pieces of lines that held no record."""

    source: Source
    """Its name and form; its data are in the rows."""
    rows: tuple[bytes, ...] = field(repr=False)
    messages: tuple[Message, ...] = field(repr=False)

    def whole(self) -> bytes:
        return b"".join(self.rows)


class Dialect(ABC):
    """One way of writing a conversation down."""

    name: str
    grammar: Grammar
    api: str
    """The request dialect that its messages are sent in: its own name for a request, another's for a transcript."""

    @abstractmethod
    def fits(self, value: Any) -> int:
        """How surely a decoded document (or, for lines, one record) is of this dialect: 0 not at all, 100 certainly."""

    @abstractmethod
    def write(self, conversation: Conversation) -> bytes:
        """The document with the conversation's messages in it."""


Placing = Callable[[tuple[Message, ...], Sequence[bytes]], tuple[Message, ...]]
"""Messages typed one by one, and their bytes, to the same messages as they stand in their list."""


class RequestDialect(Dialect):
    """The body of a request to a provider: an object with the message list in `slot`, or that list alone."""

    slot: str

    @abstractmethod
    def parse(self, value: Mapping[str, Any]) -> Message:
        """One element of the list, typed. Whatever is not understood is kept."""

    @abstractmethod
    def build(self, message: Message) -> Mapping[str, Any]:
        """The element again, from the parts alone."""

    @abstractmethod
    def head(self, request: Mapping[str, Any]) -> Head:
        """What the request says besides its messages."""

    def messages(self, values: Sequence[Any], rows: Sequence[bytes], name: str) -> tuple[Message, ...]:
        """The list typed, each message with its bytes and its place."""
        if set(map(type, values)) == {Message}:
            return observed(values)
        pairs = zip(values, rows, strict=True)
        return observed([self.message(value, row, index, name) for index, (value, row) in enumerate(pairs)])

    def placing(self) -> Placing:
        """What puts messages that were typed one by one into their places. For the lists of one conversation, which
        grow: it may remember the last of them."""
        return lambda alone, rows: self.messages(alone, rows, "")

    def message(self, value: Any, row: bytes, index: int, name: str) -> Message:
        """One element typed, with its bytes and its place. One that was read before is a Message already."""
        if isinstance(value, Message):
            return value
        if not isinstance(value, dict):
            what = f"{self.slot}[{index}] is {type(value).__name__}; a {self.name} message is an object"
            raise MalformedInput(what, source=name)
        return replace(self.parse(value), raw=row, rows=(index,))

    def read(self, source: Source, value: Any) -> Conversation:
        path: jsontext.Path = (self.slot,) if isinstance(value, dict) else ()
        values = value.get(self.slot) if isinstance(value, dict) else value
        if not isinstance(values, list):
            advice = f"this is no {self.name} request; leave out the dialect to have it found out"
            found = f"'{self.slot}' is {type(values).__name__}, not a list of messages"
            what = found if isinstance(value, dict) and self.slot in value else f"there is no '{self.slot}'"
            raise MalformedInput(f"{what}: {advice}", source=source.name)
        rows = tuple(jsontext.elements(jsontext.dig(source.data, path)))
        messages = self.messages(values, rows, source.name)
        head = self.head(value) if isinstance(value, dict) else Head()
        layout = Listed(source, path, rows, messages)
        return Conversation(self.name, messages, head, self.grammar, layout)

    def write(self, conversation: Conversation) -> bytes:
        layout = conversation.layout
        if isinstance(layout, Listed) and conversation.messages is layout.messages:
            return layout.whole()
        rows = [self.row(message) for message in conversation.messages]
        return layout.changed(rows) if isinstance(layout, Listed) else jsontext.join_list(rows)

    def row(self, message: Message) -> bytes:
        """A message as it came, or built when it was made or changed here."""
        return message.raw if message.raw is not None else jsontext.encode(self.build(message))


def rest(block: Mapping[str, Any], *taken: str) -> Mapping[str, Any]:
    """The fields of a block that its typed part does not hold."""
    return {key: value for key, value in block.items() if key not in taken} or EMPTY


def opaque(block: Any) -> Opaque:
    """A block kept as it is."""
    if isinstance(block, dict):
        kind = block.get("type")
        return Opaque(kind if isinstance(kind, str) else "", block)
    return Opaque(NOT_AN_OBJECT, {"value": block})


def unopaque(part: Opaque) -> Any:
    """The block again. One that gives NOT_AN_OBJECT as its own type still has that type in it."""
    wrapped = part.kind == NOT_AN_OBJECT and "type" not in part.extra
    return part.extra["value"] if wrapped else dict(part.extra)


def is_str(block: Mapping[str, Any], *names: str) -> bool:
    """All of these fields are there, and are strings."""
    return all(isinstance(block.get(name), str) for name in names)


def plain_text(parts: Sequence[Part]) -> str | None:
    """The text of parts that can be written as one string; None when they cannot without loss."""
    if len(parts) == 1 and isinstance(parts[0], Text) and not parts[0].extra:
        return parts[0].text
    return None


def argument_text(value: Any) -> str:
    """Tool arguments as JSON text."""
    return jsontext.encode(value).decode("utf-8")


def argument_object(text: str) -> Any:
    """Tool arguments as the object a provider demands; what is no object is wrapped, never lost."""
    try:
        value = jsontext.decode(jsontext.bytes_of(text))
    except MalformedInput:
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": value}
