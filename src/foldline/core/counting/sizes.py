"""What each kind of part costs, by our own count: text, thinking, calls, results, media, opaque parts, framing.

Pure. Texts are counted once and remembered; long ones are counted in slices, so that no call to a counter holds the
interpreter for long. How the provider's numbers correct all this is in `meter`.
"""

from __future__ import annotations

import json
import math
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol
from weakref import ReferenceType, ref

from foldline.core.counting import images
from foldline.core.counting.estimate import ERROR, SHORT_ERROR, estimate
from foldline.model import Head, Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

SLICE = 16_384
"""Characters given to a counter at once: the slowest kind, Han without a space, takes splintr 4 ms for so many."""

LOOK_BACK = 1_024
"""Characters at the end of a slice in which a place to cut is sought that no token can reach across."""

LARGEST = 2_000_000
"""Longer texts are estimated: no window takes them anyway."""

CACHED_MESSAGES = 32_768
"""Messages whose size is remembered, the newest: a long session counts the same ones in view after view. This keeps
no message alive, for the entries hold weak references."""
SWEPT_FROM = 1_024
"""Entries from which those of messages that are gone are removed; after that, whenever there are twice as many as
were left."""
CACHED_TEXTS = 65_536
"""Texts remembered, of about 200 bytes each: a conversation of tens of thousands of parts stays known."""

SHORT = 128
"""Texts up to so many characters are remembered as they are, longer ones by hash and length."""

MESSAGE, CALL, RESULT, TOOL, HEAD = 4, 12, 8, 12, 4
"""Tokens around a message (role, borders), a call, a result, a tool definition, a whole prompt. Rounded up."""

ENVELOPE_BYTES, FRAMING_BYTES, SEPARATOR_BYTES = 100, 40, 2
"""Bytes of a request around its messages (the model, a few settings), of a message or a part around its text where that
has still to be written, and between two messages."""

TOOLS_PREAMBLE = 500
"""Tokens some providers put before tool definitions, unseen: they widen the bounds, not the count."""

SEAL_PER_TOKEN = 16 / 3
"""Characters of sealed reasoning per token: base64 of about four bytes of text for a token."""

AUDIO_BYTES, TEXT_BYTES, DOCUMENT_BYTES = 300, 3, 10
"""Bytes per token of sound and film, of plain text sent as a file, and of documents such as PDF (which vary widely)."""

DOCUMENT_LEAST = 1_500
"""Tokens of a page of a document. A document that is not in the request counts as `ELSEWHERE_PAGES` of them."""

ELSEWHERE_PAGES = 4

_ESCAPED = b'\n"\\\t\r\b\f'
_ESCAPED_LONG = bytes(sign for sign in range(ord(" ")) if sign not in _ESCAPED)
"""The signs before which JSON puts one more, and those that it writes as six."""

_SAFE_CUT = re.compile(r"(?<=\S)(?= \S)|(?<=\n)(?=[^\s/])")
"""A place before a lone space, or after a line feed: the o200k pattern always ends a piece there, so counts add up
exactly."""


class Counter(Protocol):
    """Counts tokens. `error` is how far the truth may lie from a count, as a share of it: 0.0 when it is exact."""

    @property
    def name(self) -> str: ...
    @property
    def error(self) -> float: ...
    def count(self, text: str) -> int: ...


class Work(NamedTuple):
    """The work done so far, so that a test can see how little it was."""

    messages: int = 0
    characters: int = 0


_make = tuple.__new__
"""Makes a named tuple without looking at its fields: a conversation adds up thousands."""


class Size(NamedTuple):
    """Tokens by our count: `text`, which includes framing and thinking, and `media`.

    `thinking` is the part of `text` that a provider may leave out of later prompts, `error` how far the count may be
    off.
    """

    text: int = 0
    media: int = 0
    thinking: int = 0
    error: int = 0
    bytes: int = 0

    @property
    def raw(self) -> int:
        return self.text + self.media

    def plus(self, other: Size) -> Size:
        text, media, thinking, error, bytes_ = self
        text_, media_, thinking_, error_, more = other
        return _make(Size, (text + text_, media + media_, thinking + thinking_, error + error_, bytes_ + more))

    def minus(self, other: Size) -> Size:
        return Size(*map(int.__sub__, self, other))


NOTHING = Size()


def total(sizes: Iterable[Size], start: Size = NOTHING) -> Size:
    for size in sizes:
        start = start.plus(size)
    return start


class Sizer:
    """Sizes of parts, messages and heads under one counter, each text counted once."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._texts: OrderedDict[str | tuple[int, int], int] = OrderedDict()  # in a dict, finding the first gets slow
        self._messages: dict[int, tuple[ReferenceType[Message], Size]] = {}  # by the object's own number
        self._sweep_at = SWEPT_FROM
        self.work = Work()

    def text(self, text: str) -> int:
        """Tokens of a text."""
        key = text if len(text) <= SHORT else (hash(text), len(text))
        found = self._texts.pop(key, None)
        if found is None:
            found = self._count(text)
            if len(self._texts) >= CACHED_TEXTS:
                self._texts.popitem(last=False)
        self._texts[key] = found  # put back last: the first is always the one unused for longest
        return found

    def message(self, message: Message) -> Size:
        """Tokens of a message with its framing, and its bytes as they came or about as they would be written."""
        known = self._messages.get(id(message))
        if known is not None and known[0]() is message:  # another object may have the number by now
            return known[1]
        self.work = self.work._replace(messages=self.work.messages + 1)
        size = total(map(self.part, message.parts), Size(text=MESSAGE))
        written = size.bytes + FRAMING_BYTES * (1 + len(message.parts)) if message.raw is None else len(message.raw)
        size = size._replace(bytes=written + SEPARATOR_BYTES)
        self._make_room()
        self._messages[id(message)] = ref(message), size
        return size

    def _make_room(self) -> None:
        if len(self._messages) >= self._sweep_at:
            self._messages = {number: known for number, known in self._messages.items() if known[0]() is not None}
            self._sweep_at = max(SWEPT_FROM, 2 * len(self._messages))
        if len(self._messages) >= CACHED_MESSAGES:
            del self._messages[next(iter(self._messages))]

    def head(self, head: Head) -> Size:
        """Tokens of the system prompt and the tools with their framing."""
        preamble = TOOLS_PREAMBLE if head.tools else 0
        size = total(map(self.part, head.system), Size(text=HEAD, error=preamble, bytes=ENVELOPE_BYTES))
        return total((self._written(tool.text, TOOL) for tool in head.tools), size)

    def part(self, part: Part) -> Size:
        """Tokens of a part."""
        match part:
            case Text(text=text):
                return self._written(text)
            case Thinking():
                return self._thinking(part)
            case ToolCall():
                return self._written(part.arguments, CALL).plus(self._written(part.name))
            case ToolResult():
                return total(map(self.part, part.content), Size(text=RESULT))
            case Media():
                return _media(part)
            case Opaque():
                return _estimated(json.dumps(dict(part.extra), ensure_ascii=False, default=str))

    def _written(self, text: str, framing: int = 0) -> Size:
        tokens = self.text(text)
        rate = ERROR if len(text) > LARGEST else self._counter.error
        error = math.ceil(tokens * rate) + SHORT_ERROR if rate else 0
        return Size(text=tokens + framing, error=error, bytes=_json_bytes(text))

    def _thinking(self, part: Thinking) -> Size:
        """The larger of what is shown and what is sealed: providers show a summary and send the whole along with it."""
        shown = self._written(part.text)
        sealed = math.ceil(len(part.seal) / SEAL_PER_TOKEN)
        tokens = max(shown.text, sealed)
        return Size(tokens, 0, tokens, max(shown.error, sealed), shown.bytes + len(part.seal))

    def _count(self, text: str) -> int:
        if len(text) > LARGEST:
            return estimate(text)
        self.work = self.work._replace(characters=self.work.characters + len(text))
        return sum(map(self._counter.count, slices(text)))


def slices(text: str) -> Iterator[str]:
    """The text in pieces of at most SLICE characters, cut where no token reaches across if there is such a place."""
    start = 0
    while len(text) - start > SLICE:
        end = start + SLICE
        safe = [found.start() for found in _SAFE_CUT.finditer(text, end - LOOK_BACK, end)]
        end = safe[-1] if safe else end
        yield text[start:end]
        start = end
    yield text[start:]


def _media(part: Media) -> Size:
    size = len(part.data) * 3 // 4
    written = len(part.data) + len(part.url)
    if part.kind == "image" or part.mime.startswith("image/"):
        return Size(media=images.tokens(images.dimensions(part.data)), bytes=written)
    if not size and not part.url:
        return _beside(part)
    if not size:
        tokens = DOCUMENT_LEAST * ELSEWHERE_PAGES
    elif part.mime.startswith(("audio/", "video/")) or part.kind in ("audio", "video"):
        tokens = math.ceil(size / AUDIO_BYTES)
    elif part.mime.startswith("text/"):
        tokens = math.ceil(size / TEXT_BYTES)
    else:
        tokens = max(DOCUMENT_LEAST, math.ceil(size / DOCUMENT_BYTES))
    return Size(media=tokens, error=tokens, bytes=written)


def _beside(part: Media) -> Size:
    """A document whose fields have the text itself, or the name of a file that is elsewhere."""
    told = _estimated(json.dumps(dict(part.extra), ensure_ascii=False, default=str))
    if part.mime.startswith("text/"):
        return told
    tokens = max(told.text, DOCUMENT_LEAST * ELSEWHERE_PAGES)
    return Size(media=tokens, error=tokens, bytes=told.bytes)


def _estimated(text: str) -> Size:
    tokens = estimate(text)
    return Size(text=tokens, error=math.ceil(tokens * ERROR) + SHORT_ERROR, bytes=_json_bytes(text))


def _json_bytes(text: str) -> int:
    """The bytes of the text in a JSON string: signs that JSON escapes take one or five more. Half a sign of two, which
    has no UTF-8, is written as an escape of six, and counted as seven."""
    plain = text.encode("utf-8", "backslashreplace")
    return 7 * len(plain) - len(plain.translate(None, _ESCAPED)) - 5 * len(plain.translate(None, _ESCAPED_LONG))
