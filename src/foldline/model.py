"""The values everything else speaks in: Part, Message, Head, Conversation, Origin, Notice.

Pure and frozen: nothing here reads a file, knows a provider, counts a token or decides anything.

    Conversation ── head       what a request says besides its messages (system, tools, limits)
                 ├─ messages   Message ── parts   Text · Thinking · ToolCall · ToolResult · Media · Opaque
                 ├─ grammar    what the provider demands of a message list
                 └─ layout     how to put the messages back where they came from

A message that was read keeps its bytes in `raw`. To change a message, use `Message.with_parts`, which takes the bytes
away, so that the dialect builds it anew from its parts.
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, Protocol, TypeAlias

REF_LENGTH = 16
"""Characters of a content hash that a reference shows: 64 bits tell a million results apart, at about ten tokens."""

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class _Nothing(Mapping[str, Any]):
    """An empty mapping that cannot change, so that it can be everyone's default."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"


EMPTY: Mapping[str, Any] = _Nothing()
"""No further fields. It is shared, so that a part without any costs nothing."""
VOID = "void"
"""The form of a result that has no content at all, not even an empty text, where its provider refuses that."""


class Origin(enum.Enum):
    """Who speaks. The value is for people; `trust` orders them, and no step may raise it."""

    SYSTEM = "system"
    USER = "user"
    PROGRAM = "program"
    ASSISTANT = "assistant"
    SUMMARY = "summary"
    TOOL = "tool"

    @property
    def trust(self) -> int:
        return _TRUST[self]


_TRUST = {
    Origin.TOOL: 0,  # anyone may have written it: a web page, a file, an issue
    Origin.SUMMARY: 1,  # a model retelling all of them
    Origin.ASSISTANT: 1,
    Origin.PROGRAM: 2,  # this program's own frame, and reminders a client injects
    Origin.USER: 3,
    Origin.SYSTEM: 4,
}


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text. `extra` holds the dialect's further fields of this part, verbatim (cache marks, annotations)."""

    text: str
    extra: Mapping[str, Any] = EMPTY


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning. `seal` is what the provider checks or decrypts (a signature, encrypted content); "" when unsealed."""

    text: str
    seal: str = ""
    extra: Mapping[str, Any] = EMPTY


@lru_cache(maxsize=16_384)  # a fold looks at every call of a long session several times
def _parsed(arguments: str) -> Mapping[str, Any]:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return EMPTY
    return value if isinstance(value, dict) else EMPTY


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asks for a tool. `arguments` is JSON text, or free text where the tool takes that."""

    id: str
    name: str
    arguments: str
    extra: Mapping[str, Any] = EMPTY

    def parsed(self) -> Mapping[str, Any]:
        """The arguments as a mapping; empty when they are not a JSON object."""
        return _parsed(self.arguments)


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a document, a sound. `data` is base64 ("" where the content is elsewhere), `url` says where."""

    kind: str
    mime: str = ""
    data: str = ""
    url: str = ""
    extra: Mapping[str, Any] = EMPTY


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part that no module here understands: kept verbatim in `extra`, never changed, never separated from its
    message."""

    kind: str
    extra: Mapping[str, Any] = EMPTY


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered. `form` is the dialect's note on how the content was written (a string, blocks, nothing)."""

    call_id: str
    content: tuple[Text | Media | Opaque, ...]
    is_error: bool = False
    name: str = ""
    form: str = ""
    extra: Mapping[str, Any] = EMPTY

    @property
    def text(self) -> str:
        """Its text blocks, one below the other."""
        return "\n".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def ref(self) -> str:
        """The name by which the content can be had back: the same content has the same name in every place."""
        return digest("\0".join(map(_plain, self.content)).encode("utf-8", "surrogatepass"))[:REF_LENGTH]


def _plain(part: Text | Media | Opaque) -> str:
    """What a part of a result says, however the dialect wrote it down."""
    if isinstance(part, Text):
        return part.text
    return (
        part.data or part.url if isinstance(part, Media) else json.dumps(dict(part.extra), sort_keys=True, default=str)
    )


Part: TypeAlias = Text | Thinking | ToolCall | ToolResult | Media | Opaque


@dataclass(frozen=True)
class Message:
    """One message, or one item where a dialect has items.

    `id` is the dialect's own name for it, `form` its note on how the content was written, `extra` its further
    fields, `raw` its bytes as they came (None: made or changed here), `rows` its places in the layout.
    """

    role: Role
    origin: Origin
    parts: tuple[Part, ...]
    id: str = ""
    form: str = ""
    extra: Mapping[str, Any] = field(default=EMPTY, repr=False)
    raw: bytes | None = field(default=None, repr=False)
    rows: tuple[int, ...] = field(default=(), repr=False)

    @cached_property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if type(part) is ToolCall)

    @cached_property
    def results(self) -> tuple[ToolResult, ...]:
        return tuple(part for part in self.parts if type(part) is ToolResult)

    @cached_property
    def text(self) -> str:
        """Its own text blocks, one below the other; thinking and tool results are not in it."""
        return "\n".join(part.text for part in self.parts if type(part) is Text)

    @cached_property
    def identity(self) -> str:
        """The hash of its bytes as they came, or of its parts when it was made here."""
        return digest(self.raw if self.raw is not None else repr((self.role, self.parts)).encode("utf-8", "replace"))

    @cached_property
    def as_tools(self) -> Message:
        """The message as a tool's words: the same object each time it is asked for."""
        return replace(self, origin=Origin.TOOL)

    def with_parts(self, parts: Iterable[Part]) -> Message:
        """The message with other parts: it loses its bytes and keeps its place in the layout."""
        return replace(self, parts=tuple(parts), raw=None)


def digest(data: bytes) -> str:
    """The name of some bytes: 128 bits of BLAKE2b, in hex. Long enough that no two contents share one."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool definition as sent: `text` is its JSON, counted by the meter."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Head:
    """What a request says besides its messages, as far as counting, folding and checking need it."""

    model: str = ""
    system: tuple[Part, ...] = ()
    tools: tuple[Tool, ...] = ()
    max_output: int | None = None
    thinking: bool = False
    thinks_first: bool = False
    """The provider wants a turn whose tools are being answered to begin with thinking."""
    remote: bool = False
    """The history lies on the provider's server: nothing can be folded, and nothing learned from its usage."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """What a provider demands of a message list. The core obeys it without knowing which provider it is."""

    step: Literal["message", "run"] = "run"
    """A model step is one assistant message, or a run of them."""
    results: Literal["joined", "apart"] = "joined"
    """All results of a step stand in one message, or each in a message of its own."""
    results_role: Role = "user"
    """Who carries the results."""
    texts_beside_results: bool = True
    """A message that carries results may also carry the user's text, after them."""
    adjacent: bool = True
    """Results must follow their step at once."""
    merges: bool = False
    """Consecutive messages of one role count as one."""
    unique_ids: bool = False
    """No two calls of a request may share an id."""
    user_first: bool = False
    """The first message, system messages aside, must be the user's."""
    empty_text: bool = True
    """A text part may be empty."""
    thinking_opens: bool = False
    """A turn whose tools are being answered begins with thinking, where the model thinks."""
    bare_end: bool = False
    """What the assistant said last of all, for the model to go on from, does not end in white space."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to know that is not an error: skipped, repaired, guessed. `line` counts from 1, `offset` from 0."""

    code: str
    text: str
    line: int | None = None
    offset: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}, offset {self.offset}: " if self.line is not None else ""
        return f"{where}{self.text}"


@dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction some agent did inside a transcript, as it stands there.

    `at` is the index in the whole history of the message that re-opened the conversation (its summary);
    `kept` the indices of earlier messages that stayed verbatim beside it.
    """

    at: int
    summary: str
    trigger: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    kept: tuple[int, ...] = ()


class Layout(Protocol):
    """Where the messages came from and how they go back. Dialects bring their own; the rest only carries it along."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages as they were read: while a conversation still has these, writing gives back the same bytes."""
        ...


@dataclass(frozen=True)
class Conversation:
    """A message list with everything needed to write it back. Values are shared, so a changed copy is cheap."""

    dialect: str
    messages: tuple[Message, ...]
    head: Head = field(default_factory=Head)
    grammar: Grammar = field(default_factory=Grammar)
    layout: Layout | None = field(default=None, repr=False, compare=False)
    notices: tuple[Notice, ...] = ()
    compactions: tuple[Compaction, ...] = ()

    def __len__(self) -> int:
        return len(self.messages)

    def with_messages(self, messages: Sequence[Message]) -> Conversation:
        return replace(self, messages=tuple(messages))

    def append(self, *messages: Message) -> Conversation:
        return self.with_messages(self.messages + messages)
