"""The history as a record that a summariser reads: labelled, shortened by named limits, and fenced.

    messages ── entries ──> labelled texts ── chunks ──> pieces that fit ── fence ──> a record nothing inside can close

Labels stand at the start of a line and nothing else does, so no text can pass for another speaker's. The fence's
boundary is derived from a secret and the text: the same each time, and not to be guessed by whoever wrote the text.
What is shortened or left out says by how much. Which request a record goes into is in prompts.py.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from foldline.core.cycles import Pairing
from foldline.core.text import head
from foldline.model import Media, Message, Opaque, Origin, Part, Text, Thinking, ToolCall, ToolResult

FENCE = "===== {edge} OF RECORD {boundary} ====="
GAP = "\n\n"
"""Between the units of a record."""
LONGEST_NAME = 80
"""Characters of an id or a tool's name that a label shows."""
_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_ODD_END = re.compile(r"[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_PLAIN_NAME = re.compile(rf"[\w.-]{{1,{LONGEST_NAME}}}", re.A)
LABEL = 16
"""Tokens that a label and the border after it have at most, besides an id longer than usual."""
WHOLE = 0.5
"""Share of its bytes that a message shows, from which on its known size is taken for that of what is shown."""
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
    """Thinking over its limit is shortened; else only its length is given."""


BRIEF = Limits(thinking=200, arguments=500, result=500, long_thinking=False)
"""For the brief style, where results are only labelled."""


class Chunk(NamedTuple):
    """A piece of the record: text of messages `start` to `stop` (exclusive)."""

    start: int
    stop: int
    text: str


class Entry(NamedTuple):
    """A part of message number `at` (from 0): who speaks, and what."""

    at: int
    label: str
    text: str

    def __str__(self) -> str:
        _, label, text = self
        shown = _LINE_END.sub(_indented, text) if _has_odd_end(text) else text.replace("\n", "\n  ")
        return f"[{label}] {shown}"


def _has_odd_end(text: str) -> bool:
    """A line ends in it otherwise than by a line feed. Signs are sought one by one: that is many times faster."""
    if not text.isascii():
        return _ODD_END.search(text) is not None
    return "\r" in text or "\v" in text or "\f" in text or "\x1c" in text or "\x1d" in text or "\x1e" in text


def _indented(end: re.Match[str]) -> str:
    return f"{end.group()}  "


def entry(message: Message, number: int, limits: Limits) -> str:
    """One message as the record shows it."""
    return "\n".join(map(str, entries(message, number, limits)))


def entries(message: Message, number: int, limits: Limits) -> list[Entry]:
    """The parts of message `number` (from 1) that say something."""
    found: list[Entry] = []
    for part in message.parts:
        label, text = _part(part, message, limits)
        if text and not text.isspace():
            found.append(Entry(number - 1, f"{number} {label}", text))
    return found


def _part(part: Part, message: Message, limits: Limits) -> tuple[str, str]:
    if isinstance(part, ToolResult):
        return f"{'error' if part.is_error else 'result'} {_name(part.call_id)}", _result(part, limits)
    if isinstance(part, ToolCall):
        return f"call {_name(part.id)}", f"{_name(part.name)}({_short(part.arguments, limits.arguments)})"
    if isinstance(part, Thinking):
        return "thinking", _thought(part.text, limits)
    speaker = _SPEAKERS[message.origin]
    return speaker, part.text if isinstance(part, Text) else _unseen(part)


def _thought(text: str, limits: Limits) -> str:
    if limits.long_thinking or len(text) <= limits.thinking:
        return _short(text, limits.thinking)
    return f"({len(text):,} characters, left out)"


def _result(part: ToolResult, limits: Limits) -> str:
    """Its text and a name for everything else in it. An error says so even when it says nothing more."""
    text, content = part.text, part.content
    shown = _short(text, limits.result) if text and not text.isspace() else ""
    if len(content) > 1 or not shown:
        unseen = (_unseen(item) for item in content if not isinstance(item, Text))
        shown = " ".join(filter(None, (shown, *unseen)))
    return shown or ("(no text)" if part.is_error else "")


def _unseen(part: Media | Opaque) -> str:
    if isinstance(part, Media):
        return f"({_name(f'{part.kind} {part.mime}')}, not shown)"
    return f"({_name(part.kind) or 'part'} of the provider's own, not shown)"


def _name(text: str) -> str:
    """An id or a name on one line, and without the sign that ends a label."""
    if (text.isidentifier() and text.isascii() and len(text) <= LONGEST_NAME) or _PLAIN_NAME.fullmatch(text):
        return text
    return head(" ".join(text.split()).replace("]", ")"), LONGEST_NAME)


def _short(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    first = head(text, limit)
    return text if len(first) == len(text) else f"{first} … [{len(text) - len(first):,} more characters]"


def chunks(
    messages: Sequence[Message],
    pairing: Pairing,
    limits: Limits,
    room: int,
    size: Callable[[str], int],
    first: int = 0,
    known: Sequence[int] = (),
) -> list[Chunk]:
    """The record in pieces of at most `room` tokens, cut between tool cycles where they fit. Covers everything.

    `known` are the messages' own tokens, if they were counted: what is shown nearly whole is not counted again.
    """
    groups: list[list[Chunk]] = [[]]
    used, gap = 0, size(GAP) + 1  # one for what rounding loses
    for unit in units(len(messages), pairing):
        found: list[Entry] = []
        for index in unit:
            found += entries(messages[index], first + index + 1, limits)
        for piece, tokens in _fitting(found, unit, room, size, first, _bound(messages, unit, found, known)):
            if groups[-1] and used + gap + tokens > room:
                groups.append([])
                used = 0
            used += tokens + (gap if groups[-1] else 0)
            groups[-1].append(piece)
    return [_joined(group) for group in groups if group]


def _joined(group: Sequence[Chunk]) -> Chunk:
    return Chunk(group[0].start, group[-1].stop, GAP.join(piece.text for piece in group if piece.text))


def _bound(messages: Sequence[Message], unit: range, found: Sequence[Entry], known: Sequence[int]) -> int:
    """Tokens that a unit has at most, by what is known of its messages; 0 where that would say far too much."""
    if not known:
        return 0
    shown = around = 0
    for _, label, text in found:
        shown += len(text)
        around += text.count("\n") + LABEL + len(label)  # an indent for each line, and the label
    whole = inside = 0
    for index in unit:
        whole += len(messages[index].raw or b"")
        inside += known[index]
    return inside + around if shown >= WHOLE * whole else 0


def _fitting(
    found: Sequence[Entry], unit: range, room: int, size: Callable[[str], int], first: int, bound: int
) -> Iterator[tuple[Chunk, int]]:
    """A unit as one piece, with its tokens; where it is too large, its entries; where one is too large by itself,
    slices of it."""
    whole = "\n".join(map(str, found))
    tokens = bound if 0 < bound <= room else size(whole)
    if tokens <= room:
        yield Chunk(unit.start, unit.stop, whole), tokens
        return
    for item in found:
        at = item.at - first
        for text in _slices(item, room, size):
            yield Chunk(at, at + 1, text), size(text)


def _slices(item: Entry, room: int, size: Callable[[str], int]) -> Iterator[str]:
    """An entry in halves, and those in halves, until each fits: nothing is left out, every slice has its label."""
    if size(str(item)) <= room or len(item.text) < 2:
        yield str(item)
        return
    label = item.label.removesuffix(", continued")
    middle = len(head(item.text, len(item.text) // 2)) or 1
    yield from _slices(item._replace(text=item.text[:middle]), room, size)
    yield from _slices(item._replace(label=f"{label}, continued", text=item.text[middle:]), room, size)


def units(count: int, pairing: Pairing) -> Iterator[range]:
    """The list as ranges that belong together: whole cycles, joined where they overlap."""
    stops = {cycle.start: cycle.stop for cycle in pairing.cycles}
    index = 0
    while index < count:
        at, stop = index, index + 1
        while at < stop:
            stop = max(stop, stops.get(at, 0))
            at += 1
        yield range(index, min(stop, count))
        index = stop


def fence(text: str, secret: bytes) -> str:
    """The text between two boundary lines that it cannot contain."""
    boundary = hmac.new(secret, text.encode("utf-8", "surrogatepass"), hashlib.blake2b).hexdigest()[:24]
    begin, end = (FENCE.format(edge=edge, boundary=boundary) for edge in ("BEGIN", "END"))
    return f"{begin}\n{text}\n{end}"
