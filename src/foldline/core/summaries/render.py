"""The history as a record that a summariser reads: labelled, shortened by named limits, and fenced.

    messages ── glimpse ──> labelled texts ── chunks ──> pieces that fit ── fence ──> a record nothing inside can close

Labels stand at the start of a line and nothing else does, so no text can pass for another speaker's. The fence's
boundary is derived from a secret and the text: it is the same each time, and whoever wrote the text cannot guess it.
Where something is shortened or left out, the record says how much. Which request it goes into is in prompts.py.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from foldline.core.history.cycles import Pairing
from foldline.core.summaries.enclosed import enclosed
from foldline.core.words.masks import begun, masked
from foldline.core.words.text import head
from foldline.model import Media, Message, Opaque, Origin, Part, Text, Thinking, ToolCall, ToolResult

FENCE = "===== {edge} OF RECORD {boundary} ====="
GAP = "\n\n"
"""What stands between the units of a record."""
LONGEST_NAME = 80
"""Characters of an id or a tool's name that a label shows."""
_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_ODD_END = re.compile(r"[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_PLAIN_NAME = re.compile(rf"[\w.-]{{1,{LONGEST_NAME}}}", re.A)
LABEL = 16
"""Tokens that a label and the border after it take at most, unless the id in it is unusually long."""
LONGEST_NUMBER = 8
"""Characters of a message's number and the space after it, which is more than their tokens."""
WHOLE = 0.5
"""If a record shows at least this share of a message's bytes, the message's known size is used for what is shown."""
_SPEAKERS = {
    Origin.SYSTEM: "system",
    Origin.USER: "user",
    Origin.PROGRAM: "program",
    Origin.ASSISTANT: "assistant",
    Origin.SUMMARY: "earlier summary",
    Origin.TOOL: "tool",
}


@dataclass(frozen=True, slots=True)
class EntryLimits:
    """Characters of each kind of part that an entry of the record shows."""

    thinking: int = 500
    arguments: int = 500
    result: int = 2_000
    long_thinking: bool = True
    """Thinking over its limit is shortened; if false, only its length is given."""
    secrets: bool = True
    """Secrets are shown as they are; if false, masked, before anything is shortened."""


BRIEF = EntryLimits(thinking=200, arguments=500, result=500, long_thinking=False)
"""The limits of the brief style, where results are only labelled."""


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
        return f"[{self.at + 1} {self.label}] {_indent(self.text)}"


Glimpse: TypeAlias = tuple[str, int, int, int]
"""What the record shows of a message, without its number; the characters of its parts; the most tokens that their
labels and indents take; and the message's bytes. A plain tuple of plain values, since thousands are kept."""


def glimpse(message: Message, limits: EntryLimits) -> Glimpse:
    """A message as the record will show it, to be kept until then."""
    parts: list[str] = []
    length = around = 0
    for part in message.parts:
        label, text = _part(part, message, limits)
        if text and not text.isspace():
            parts.append(f"[{label}] {_indent(text)}")
            length += len(text)
            around += text.count("\n") + LABEL + LONGEST_NUMBER + len(label)  # an indent for each line, and the label
    return "\n".join(parts), length, around, len(message.raw or b"")


def _indent(text: str) -> str:
    """The text with every line but its first indented."""
    return _LINE_END.sub(_indented, text) if _has_odd_end(text) else text.replace("\n", "\n  ")


def _has_odd_end(text: str) -> bool:
    """A line of the text ends in something other than a line feed. Each sign is sought by itself, which is many
    times faster."""
    if not text.isascii():
        return _ODD_END.search(text) is not None
    return "\r" in text or "\v" in text or "\f" in text or "\x1c" in text or "\x1d" in text or "\x1e" in text


def _indented(end: re.Match[str]) -> str:
    return f"{end.group()}  "


def entry(message: Message, number: int, limits: EntryLimits) -> str:
    """One message as the record shows it."""
    return _numbered(glimpse(message, limits), number)


def _numbered(seen: Glimpse, number: int) -> str:
    """The text with the message's number in each label: only labels stand at the start of a line, so each bracket
    there is one."""
    text, border = seen[0], f"[{number} "
    return border + text[1:].replace("\n[", f"\n{border}") if text else ""


def entries(message: Message, number: int, limits: EntryLimits) -> list[Entry]:
    """The parts of message `number` (from 1) that say something."""
    shown = (_part(part, message, limits) for part in message.parts)
    return [Entry(number - 1, label, text) for label, text in shown if text and not text.isspace()]


def _part(part: Part, message: Message, limits: EntryLimits) -> tuple[str, str]:
    if isinstance(part, ToolResult):
        return f"{'error' if part.is_error else 'result'} {_name(part.call_id)}", _result(part, limits)
    if isinstance(part, ToolCall):
        return f"call {_name(part.id)}", f"{_name(part.name)}({_short(part.arguments, limits.arguments, limits)})"
    if isinstance(part, Thinking):
        return "thinking", _thought(part.text, limits)
    speaker = _SPEAKERS[message.origin]
    if not isinstance(part, Text):
        words = enclosed(part)
        return (f"in {_kind(part)}", _short(words, limits.result, limits)) if words else (speaker, _unseen(part))
    return speaker, part.text if limits.secrets else masked(part.text)


def _thought(text: str, limits: EntryLimits) -> str:
    if limits.long_thinking or len(text) <= limits.thinking:
        return _short(text, limits.thinking, limits)
    return f"({len(text):,} characters, left out)"


def _result(part: ToolResult, limits: EntryLimits) -> str:
    """A result's text, and a name for everything else in it. An error is shown even if it says nothing."""
    text, content = part.text, part.content
    shown = _short(text, limits.result, limits) if text and not text.isspace() else ""
    if len(content) > 1 or not shown:
        unseen = (_beside(item, limits) for item in content if not isinstance(item, Text))
        shown = " ".join(filter(None, (shown, *unseen)))
    return shown or ("(no text)" if part.is_error else "")


def _beside(part: Media | Opaque, limits: EntryLimits) -> str:
    """What else is in a result: the words in it, or its name."""
    words = enclosed(part)
    return f"({_kind(part)}:) {_short(words, limits.result, limits)}" if words else _unseen(part)


def _unseen(part: Media | Opaque) -> str:
    if isinstance(part, Media):
        return f"({_kind(part)}, not shown)"
    return f"({_kind(part)} of the provider's own, not shown)"


def _kind(part: Media | Opaque) -> str:
    return _name(f"{part.kind} {part.mime}" if isinstance(part, Media) else part.kind) or "part"


def _name(text: str) -> str:
    """An id or a name on one line, and without the sign that ends a label."""
    if (text.isidentifier() and text.isascii() and len(text) <= LONGEST_NAME) or _PLAIN_NAME.fullmatch(text):
        return text
    return head(" ".join(text.split()).replace("]", ")"), LONGEST_NAME)


def _short(text: str, limit: int, limits: EntryLimits) -> str:
    if len(text) <= limit:
        return text if limits.secrets else masked(text)
    if not limits.secrets:
        return f"{begun(text, limit)} … [{len(text) - limit:,} more characters]"
    first = head(text, limit)
    return text if len(first) == len(text) else f"{first} … [{len(text) - len(first):,} more characters]"


def chunks(
    messages: Sequence[Message],
    pairing: Pairing,
    limits: EntryLimits,
    room: int,
    size: Callable[[str], int],
    first: int = 0,
    known: Sequence[int] = (),
    seen: Sequence[Glimpse] = (),
) -> list[Chunk]:
    """The record in pieces of at most `room` tokens, cut between tool cycles where they fit. Covers everything.

    `known` are the messages' own tokens, if they were counted: what is shown nearly whole is not counted again.
    `seen` is what `glimpse` gave of each, under these limits.
    """
    glimpses = seen or [glimpse(message, limits) for message in messages]
    shown = [_numbered(found, number) for number, found in enumerate(glimpses, first + 1)]
    pile = _Pile(room, size(GAP) + 1)  # one more for what rounding loses
    for unit in units(len(messages), pairing):
        text = "\n".join(filter(None, shown[unit.start : unit.stop]))
        tokens = _bound(glimpses, known, unit) if known else 0
        tokens = tokens if 0 < tokens <= room else size(text)
        if tokens <= room:
            pile.add(unit.start, unit.stop, text, tokens)
            continue
        for piece in _parted(messages, unit, limits, room, size, first):
            pile.add(*piece, size(piece.text))
    return pile.chunks()


class _Pile:
    """Pieces of the record, put together as long as there is room."""

    def __init__(self, room: int, gap: int) -> None:
        self._room, self._gap, self._used = room, gap, 0
        self._groups: list[tuple[int, list[str]]] = []
        self._stops: list[int] = []

    def add(self, start: int, stop: int, text: str, tokens: int) -> None:
        if self._groups and self._used + self._gap + tokens <= self._room:
            self._used += self._gap + tokens
            self._stops[-1] = stop
        else:
            self._used = tokens
            self._groups.append((start, []))
            self._stops.append(stop)
        if text:
            self._groups[-1][1].append(text)

    def chunks(self) -> list[Chunk]:
        groups = zip(self._groups, self._stops, strict=True)
        return [Chunk(start, stop, GAP.join(texts)) for (start, texts), stop in groups]


def _bound(glimpses: Sequence[Glimpse], known: Sequence[int], unit: range) -> int:
    """The most tokens that a unit can have, from the known sizes of its messages; 0 where that would be far too
    much."""
    bound = sum(known[unit.start : unit.stop])
    shown = whole = 0
    for _, length, around, given in glimpses[unit.start : unit.stop]:
        bound += around
        shown += length
        whole += given
    return bound if shown >= WHOLE * whole else 0


def _parted(
    messages: Sequence[Message], unit: range, limits: EntryLimits, room: int, size: Callable[[str], int], first: int
) -> Iterator[Chunk]:
    """A unit that is too large for one piece, in its entries; an entry that is too large by itself, in slices."""
    for index in unit:
        for item in entries(messages[index], first + index + 1, limits):
            for text in _slices(item, room, size):
                yield Chunk(index, index + 1, text)


def _slices(item: Entry, room: int, size: Callable[[str], int]) -> Iterator[str]:
    """An entry, halved until each piece fits: nothing is left out, and every slice has its label."""
    if size(str(item)) <= room or len(item.text) < 2:
        yield str(item)
        return
    label = item.label.removesuffix(", continued")
    middle = len(head(item.text, len(item.text) // 2)) or 1
    yield from _slices(item._replace(text=item.text[:middle]), room, size)
    yield from _slices(item._replace(label=f"{label}, continued", text=item.text[middle:]), room, size)


def units(count: int, pairing: Pairing) -> Iterator[range]:
    """The list as ranges that belong together: whole cycles, joined where they overlap."""
    start = stop = 0
    for begin, _, end, _, _ in pairing.cycles:
        if begin >= stop:
            if start < stop:
                yield range(start, stop)
            yield from (range(index, index + 1) for index in range(stop, min(begin, count)))
            start = begin
        stop = min(max(stop, end), count)
    if start < stop:
        yield range(start, stop)
    yield from (range(index, index + 1) for index in range(stop, count))


def fence(text: str, secret: bytes) -> str:
    """The text between two boundary lines that it cannot contain."""
    boundary = hmac.new(secret, text.encode("utf-8", "surrogatepass"), hashlib.blake2b).hexdigest()[:24]
    begin, end = (FENCE.format(edge=edge, boundary=boundary) for edge in ("BEGIN", "END"))
    return f"{begin}\n{text}\n{end}"
