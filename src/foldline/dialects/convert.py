"""Conversations of one dialect as requests of another.

    as_request(conversation)     the value its provider would be sent: for a transcript, what its agent would send next
    convert(conversation, to)    the same conversation in another provider's dialect, as far as that can carry it

What binds to one provider stays behind and is counted in the notices: sealed thinking, blocks nobody else understands,
tool definitions, the model's name. Calls and results that do not pair are carried as they are; mending them is not
done here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from foldline.dialects import ids, jsontext, named
from foldline.dialects.anthropic import Anthropic
from foldline.dialects.base import Listed, RequestDialect, Source, argument_object
from foldline.dialects.gemini import Gemini
from foldline.dialects.openai_chat import OpenAIChat
from foldline.dialects.openai_responses import OpenAIResponses
from foldline.errors import UnknownDialect
from foldline.model import (
    Conversation,
    Grammar,
    Media,
    Message,
    Notice,
    Opaque,
    Origin,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    digest,
)

REQUESTS: Mapping[str, RequestDialect] = {
    dialect.name: dialect for dialect in (Anthropic(), OpenAIChat(), OpenAIResponses(), Gemini())
}
SLOTS = tuple(dict.fromkeys(dialect.slot for dialect in REQUESTS.values()))
"""Where requests keep their messages."""
_SAME_BLOCKS = frozenset({"claude-code", "codex", "trajectories"})
"""Transcripts that hold their provider's own blocks, items or messages, further fields and all."""
_SYSTEM_APART = frozenset({"anthropic", "gemini"})
"""Dialects whose system prompt stands beside the messages."""
_MEDIA: Mapping[str, frozenset[str]] = {
    "anthropic": frozenset({"image", "document"}),
    "openai-chat": frozenset({"image", "audio", "document"}),
    "openai-responses": frozenset({"image", "document"}),
    "gemini": frozenset({"image", "audio", "video", "document"}),
}
_MEDIA_IN_RESULTS = frozenset({"anthropic", "openai-responses"})
_ERRORS_MARKED = frozenset({"anthropic", "gemini"})
"""Dialects in which a result can be marked as an error; elsewhere it says so itself."""

FAILED = "[the tool reported an error]"
SHOWN_BELOW = "[the picture or file follows below]"
FROM_TOOL = "[from the tool's answer to call {id}:]"
NOT_CARRIED = "[content that cannot be carried over]"
_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""What every provider takes as the id of a call; the shortest limit is OpenAI's."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider takes as the name of a tool."""
_ID_LENGTH = 24


def as_request(conversation: Conversation) -> Any:
    """The request, or its list of messages when that is all there is, as decoded JSON."""
    api = api_of(conversation.dialect)
    if conversation.dialect in _SAME_BLOCKS:
        messages = tuple(replace(message, raw=None) for message in conversation.messages)
        conversation = Conversation(api, messages, grammar=_dialect(api).grammar)
    return jsontext.decode(_dialect(api).write(convert(conversation, api)))


def api_of(dialect: str) -> str:
    """The request dialect that messages of this dialect are sent in."""
    return named(dialect).api


def convert(conversation: Conversation, to: str) -> Conversation:
    """The conversation in the request dialect `to`. Its notices say what could not be carried."""
    dialect = _dialect(to)
    if conversation.dialect == to:
        return conversation
    carrier = _Carrier(dialect)
    carried = [found for message in conversation.messages for found in carrier.messages(message)]
    system, messages = _system(conversation.head.system, carried, apart=to in _SYSTEM_APART)
    carrier.lost["tool definitions"] += len(conversation.head.tools)
    moved = sum(message.role == "system" for message in messages) if to in _SYSTEM_APART else 0
    listed = [_under_user(message) if to in _SYSTEM_APART else message for message in messages]
    document = _document(dialect, system)
    value = jsontext.decode(document)
    return Conversation(
        dialect=to,
        messages=tuple(_grouped(listed, dialect.grammar)),
        head=dialect.head(value if isinstance(value, dict) else {}),
        grammar=dialect.grammar,
        layout=Listed(Source(document), (dialect.slot,) if system else (), (), ()),
        notices=(*conversation.notices, *carrier.notices(), *_moved(moved)),
    )


def _dialect(name: str) -> RequestDialect:
    if name not in REQUESTS:
        raise UnknownDialect(f"{name!r} is no dialect of requests; there are: {', '.join(REQUESTS)}")
    return REQUESTS[name]


class _Carrier:
    """Takes parts over into a dialect, and counts what it leaves behind or changes."""

    def __init__(self, dialect: RequestDialect) -> None:
        self.name = dialect.name
        self.lost: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()

    def messages(self, message: Message) -> Iterator[Message]:
        """The message without anything of its old dialect; not at all when nothing is left of it."""
        parts = tuple(found for part in message.parts for found in self.part(part))
        pictures = tuple(self.shown_apart(message.results))
        if parts:
            yield Message(message.role, message.origin, parts)
        if pictures:
            yield Message("user", Origin.TOOL, pictures)

    def part(self, part: Part) -> Iterator[Part]:
        match part:
            case Text(text=text) if text.strip():
                yield Text(text)
            case Thinking():
                self.lost["thinking"] += 1
            case ToolCall():
                yield ToolCall(self.id(part.id), self.tool(part.name), self.arguments(part.arguments))
            case ToolResult():
                yield self.result(part)
            case Media() if self.takes(part):
                yield Media(part.kind, part.mime, part.data, part.url)
            case Media() | Opaque():
                self.lost["media" if isinstance(part, Media) else "blocks of the provider's own"] += 1

    def takes(self, part: Media) -> bool:
        return part.kind in _MEDIA[self.name] and bool(part.data or part.url)

    def result(self, result: ToolResult) -> ToolResult:
        content: list[Text | Media | Opaque] = []
        if result.is_error and self.name not in _ERRORS_MARKED:
            content.append(Text(FAILED))
        for part in result.content:
            if isinstance(part, Media) and self.takes(part) and self.name not in _MEDIA_IN_RESULTS:
                content.append(Text(SHOWN_BELOW))
            else:
                kept = [found for found in self.part(part) if isinstance(found, (Text, Media))]
                content.extend(kept or ([] if isinstance(part, Text) else [Text(NOT_CARRIED)]))
        name = self.tool(result.name) if result.name else ""
        return ToolResult(self.id(result.call_id), tuple(content), result.is_error, name)

    def shown_apart(self, results: Sequence[ToolResult]) -> Iterator[Part]:
        """Pictures of results, where results cannot hold them: beside them, labelled as the tool's."""
        for result in results if self.name not in _MEDIA_IN_RESULTS else ():
            pictures = [part for part in result.content if isinstance(part, Media) and self.takes(part)]
            if pictures:
                yield Text(FROM_TOOL.format(id=self.id(result.call_id)))
                yield from (Media(part.kind, part.mime, part.data, part.url) for part in pictures)

    def id(self, name: str) -> str:
        if _PLAIN_ID.fullmatch(name) and not ids.is_made(name):
            return name
        return f"call_{digest(jsontext.bytes_of(name))[:_ID_LENGTH]}"

    def tool(self, name: str) -> str:
        if _PLAIN_NAME.fullmatch(name):
            return name
        self.changed["names of tools"] += 1
        return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "tool"

    def arguments(self, text: str) -> str:
        """JSON text of an object, which is what every provider takes."""
        value = argument_object(text)
        return text if text.lstrip().startswith("{") and value.keys() != {"arguments"} else _json(value)

    def notices(self) -> Iterator[Notice]:
        for what, number in self.lost.items():
            if number:
                yield Notice("not-carried", f"{number} × {what} could not be carried over to {self.name}")
        for what, number in self.changed.items():
            yield Notice("changed", f"{number} × {what} were changed to what {self.name} takes")


def _json(value: Any) -> str:
    return jsontext.encode(value).decode("utf-8")


def _system(head: Sequence[Part], messages: Sequence[Message], *, apart: bool) -> tuple[str, list[Message]]:
    """The system prompt that stands beside the messages ("" when it stands among them), and the messages."""
    texts = [part.text for part in head if isinstance(part, Text)]
    leading = next((at for at, message in enumerate(messages) if message.role != "system"), len(messages))
    if apart:
        return "\n\n".join(filter(None, (*texts, *(message.text for message in messages[:leading])))), [
            *messages[leading:]
        ]
    first = [Message("system", Origin.SYSTEM, (Text("\n\n".join(texts)),))] if any(texts) else []
    return "", [*first, *messages]


def _under_user(message: Message) -> Message:
    """A system message in the middle goes under the user's name where a list has no other; its trust does not rise."""
    return replace(message, role="user", origin=Origin.PROGRAM) if message.role == "system" else message


def _moved(number: int) -> Iterator[Notice]:
    if number:
        yield Notice("system-moved", f"{number} system messages in the middle stand under the user's name now")


def _document(dialect: RequestDialect, system: str) -> bytes:
    """An empty request with its system prompt, or an empty list."""
    if not system:
        return b"[]"
    said = {"systemInstruction": {"parts": [{"text": system}]}} if dialect.name == "gemini" else {"system": system}
    return jsontext.encode({**said, dialect.slot: []})


def _grouped(messages: Iterable[Message], grammar: Grammar) -> list[Message]:
    """Steps whole, results together or apart, as the grammar has it."""
    found: list[Message] = []
    for message in messages:
        for piece in _pieces(message, grammar):
            at = _place(found, piece)
            if at and _joins(found[at - 1], piece, grammar):
                found[at - 1] = found[at - 1].with_parts((*found[at - 1].parts, *piece.parts))
            else:
                found.insert(at, piece)
    return found


def _place(found: Sequence[Message], piece: Message) -> int:
    """At the end; but results go before the pictures of other results, so that nothing parts them from their step."""
    at = len(found)
    while piece.results and at and found[at - 1].origin is Origin.TOOL and not found[at - 1].results:
        at -= 1
    return at


def _pieces(message: Message, grammar: Grammar) -> Iterator[Message]:
    """The message as results, each group for itself, and whatever was said beside them."""
    if not message.results:
        yield message if message.role != "tool" else replace(message, role="user")
        return
    groups = [(result,) for result in message.results] if grammar.results == "apart" else [message.results]
    for group in groups:
        yield Message(grammar.results_role, Origin.TOOL, tuple(group))
    others = tuple(part for part in message.parts if type(part) is not ToolResult)
    if others:
        yield Message("user", message.origin, others)


def _joins(last: Message, piece: Message, grammar: Grammar) -> bool:
    if piece.role == "assistant":
        return last.role == "assistant"
    only_results = all(type(part) is ToolResult for part in (*last.parts, *piece.parts))
    return grammar.results == "joined" and bool(piece.results) and only_results
