"""The history as a record that a summariser reads: labelled, shortened by named limits, and fenced.

    messages ── entries ──> text of each ── chunks ──> pieces that fit ── fence ──> a record nothing inside can close

The fence's boundary is derived from a secret and the text, so it is the same each time and cannot be guessed by whoever
wrote the text. What is shortened says by how much. Which request a record goes into is in prompts.py.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from foldline.core.cycles import Pairing
from foldline.core.text import head
from foldline.model import Media, Message, Opaque, Origin, Part, Text, Thinking, ToolCall, ToolResult

FENCE = "===== {edge} OF RECORD {boundary} ====="
_SPEAKERS = {
    Origin.SYSTEM: "system",
    Origin.USER: "user",
    Origin.PROGRAM: "program",
    Origin.ASSISTANT: "assistant",
    Origin.SUMMARY: "earlier summary",
    Origin.TOOL: "tool",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Characters of each kind of part that the record shows."""

    thinking: int = 500
    arguments: int = 500
    result: int = 2_000
    long_thinking: bool = True
    """Thinking over its limit is shortened; else it is left out, and counted."""


BRIEF = Limits(thinking=200, arguments=500, result=500, long_thinking=False)
"""For the brief style, where results are only labelled."""


class Chunk(NamedTuple):
    """A piece of the record: the text of messages `start` to `stop` (exclusive)."""

    start: int
    stop: int
    text: str


def entry(message: Message, number: int, limits: Limits) -> str:
    """One message as the record shows it."""
    return "\n".join(filter(None, (_part(part, message, number, limits) for part in message.parts)))


def _part(part: Part, message: Message, number: int, limits: Limits) -> str:
    speaker = _SPEAKERS[message.origin_of(part)]
    match part:
        case Text(text):
            return f"[{number} {speaker}] {text}" if text.strip() else ""
        case Thinking(text):
            if not limits.long_thinking and len(text) > limits.thinking:
                return ""
            return f"[{number} thinking] {_short(text, limits.thinking)}" if text.strip() else ""
        case ToolCall(id_, name, arguments):
            return f"[{number} call {id_}] {name}({_short(arguments, limits.arguments)})"
        case ToolResult():
            return _result(part, number, limits)
        case Media(kind, mime):
            return f"[{number} {speaker}] ({kind} {mime}, not shown)"
        case Opaque(kind):
            return f"[{number} {speaker}] ({kind or 'part'} of the provider's own, not shown)"


def _result(part: ToolResult, number: int, limits: Limits) -> str:
    label = "error" if part.is_error else "result"
    media = "".join(f" ({item.kind} {item.mime}, not shown)" for item in part.content if isinstance(item, Media))
    text = _short(part.text, limits.result)
    return f"[{number} {label} {part.call_id}] {text}{media}" if text.strip() or media else ""


def _short(text: str, limit: int) -> str:
    first = head(text, limit)
    return text if len(first) == len(text) else f"{first} … [{len(text) - len(first):,} more characters]"


def chunks(
    messages: Sequence[Message],
    pairing: Pairing,
    limits: Limits,
    room: int,
    size: Callable[[str], int],
    first: int = 0,
) -> list[Chunk]:
    """The record in pieces of at most `room` tokens, cut between tool cycles where they fit, and covering everything."""
    pieces: list[Chunk] = []
    texts: list[str] = []
    start, used = 0, 0
    for unit in units(len(messages), pairing):
        text = "\n".join(filter(None, (entry(messages[i], first + i + 1, limits) for i in unit)))
        tokens = size(text) + 1
        if texts and used + tokens > room:
            pieces.append(Chunk(start, unit.start, "\n\n".join(texts)))
            texts, start, used = [], unit.start, 0
        if tokens > room:
            slices = list(_slices(text, room, tokens))
            pieces += [Chunk(unit.start, unit.stop, piece) for piece in slices[:-1]]
            text, tokens = slices[-1], size(slices[-1])
        texts.append(text)
        used += tokens
    if texts:
        pieces.append(Chunk(start, len(messages), "\n\n".join(texts)))
    return pieces


def units(count: int, pairing: Pairing) -> Iterator[range]:
    """The list as ranges that belong together: whole cycles, joined where they overlap."""
    stops = {cycle.start: cycle.stop for cycle in pairing.cycles}
    index = 0
    while index < count:
        stop = at = index + 1
        stop = max(stop, stops.get(index, 0))
        while at < stop:
            stop = max(stop, stops.get(at, 0))
            at += 1
        yield range(index, min(stop, count))
        index = stop


def _slices(text: str, room: int, tokens: int) -> Iterator[str]:
    """A unit larger than a chunk, in slices: nothing of it is left out."""
    length = max(1, len(text) * room // (tokens + 1))
    for at in range(0, len(text), length):
        yield text[at : at + length]


def fence(text: str, secret: bytes) -> str:
    """The text between two boundary lines that it cannot contain."""
    boundary = hmac.new(secret, text.encode("utf-8", "surrogatepass"), hashlib.blake2b).hexdigest()[:24]
    begin, end = (FENCE.format(edge=edge, boundary=boundary) for edge in ("BEGIN", "END"))
    return f"{begin}\n{text}\n{end}"
