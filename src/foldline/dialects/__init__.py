"""All dialects, and how to tell which one a document is in.

    read(source, lines)    a document or a stream of lines → Conversation; the dialect is detected unless it is named
    write(conversation)    the same document again, in the form it came in

Whether something is one JSON document or a file of JSON lines is told by what is in it, never by its name. Opening
files and unpacking them is the business of `foldline.sources`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeAlias

import msgspec

from foldline.dialects import damage, jsontext, lines, mending
from foldline.dialects.anthropic import Anthropic
from foldline.dialects.base import Dialect, Lined, Listed, RequestDialect, Source
from foldline.dialects.claude_code import ClaudeCode
from foldline.dialects.codex import Codex
from foldline.dialects.gemini import Gemini
from foldline.dialects.lined import History, LineDialect
from foldline.dialects.mini_swe_agent import MiniSweAgent
from foldline.dialects.openai_chat import OpenAIChat
from foldline.dialects.openai_responses import OpenAIResponses
from foldline.dialects.opencode import OpenCode
from foldline.dialects.pi import Pi
from foldline.dialects.swe_agent import SweAgent
from foldline.dialects.trajectories import Trajectories
from foldline.errors import InputError, MalformedInput, UnknownDialect
from foldline.model import Conversation, Notice

DocumentDialect: TypeAlias = RequestDialect | OpenCode

DOCUMENTS: tuple[DocumentDialect, ...] = (
    Anthropic(),
    OpenAIChat(),
    OpenAIResponses(),
    Gemini(),
    OpenCode(),
    SweAgent(),
    MiniSweAgent(),
    Trajectories(),
)
LINES: tuple[LineDialect, ...] = (ClaudeCode(), Codex(), Pi())
ALL: tuple[Dialect, ...] = (*DOCUMENTS, *LINES)

_SNIFFED_LINES = 32
_SNIFFED_BYTES = 1 << 20
"""How much of a stream is looked at before it is told apart: enough to get past a torn beginning."""
_SURE = 60
"""A record that fits no line dialect this well is no sign of one."""
_SMALL = 4096
"""Values up to this many bytes are decoded whole to look at them; of larger ones only what kind they are."""
_KINDS: Mapping[type, str] = {type(None): "null", bool: "true or false", str: "a string"}
"""What a single JSON value is called; all others are numbers."""


def named(name: str) -> Dialect:
    """The dialect of that name."""
    for dialect in ALL:
        if dialect.name == name:
            return dialect
    names = ", ".join(sorted(dialect.name for dialect in ALL))
    raise UnknownDialect(f"there is no dialect '{name}'; name one of {names}, or none to have it detected")


def detect(value: Any, name: str = "") -> DocumentDialect:
    """The dialect a decoded document fits best."""
    scores = [(dialect.fits(value), dialect) for dialect in DOCUMENTS]
    score, best = max(scores, key=lambda pair: pair[0])
    if not score or value == {}:
        raise UnknownDialect(f"{_seen(value)}, which fits no dialect; {damage.ADVICE}", source=name)
    return best


def detect_lines(head: Sequence[bytes]) -> LineDialect | None:
    """The dialect most of the records in some first lines fit; None when they are no records of lines."""
    records = [_shallow(record) for record in lines.split(head, _SNIFF).values if record is not None]
    totals = [(sum(fit for fit in map(dialect.fits, records) if fit >= _SURE), dialect) for dialect in LINES]
    total, best = max(totals, key=lambda pair: pair[0])
    return best if total else None


def read(
    source: Source,
    stream: Iterable[bytes] | None = None,
    dialect: str | None = None,
    history: History = "live",
    pick: int = 0,
) -> Conversation:
    """The conversation in a document. `stream` gives its lines, each with its end, where `source` holds no data."""
    chosen = named(dialect) if dialect else None
    rest = iter(io.BytesIO(source.data) if stream is None else stream)
    head = [] if isinstance(chosen, LineDialect) else list(_head(rest))
    lined = chosen if isinstance(chosen, LineDialect) else None if chosen else detect_lines(head)
    if lined is not None:
        _one_only(pick, source.name)
        return lined.read_lines(replace(source, data=b""), chain(head, rest), history)
    data = source.data if stream is None else b"".join(chain(head, rest))
    return _read_document(replace(source, data=data), chosen, history, pick)


def several(first: Conversation) -> Iterator[Conversation]:
    """All conversations of the file of which this is the first that was read."""
    spoken, layout = named(first.dialect), first.layout
    if not isinstance(spoken, Trajectories) or not isinstance(layout, Listed):
        yield first
        return
    yield from spoken.each(layout.source, jsontext.decode(layout.source.data))


def is_unread(conversation: Conversation) -> bool:
    """Of a file that was named as one of lines, not one is a record of its dialect: all of it was skipped."""
    layout = conversation.layout
    if conversation.messages or not isinstance(layout, Lined):
        return False
    records = (_shallow(record) for record in lines.split(layout.rows, _SNIFF).values if record is not None)
    return not any(map(named(conversation.dialect).fits, records))


def write(conversation: Conversation) -> Any:
    """The document with the conversation's messages in it: bytes, text or a value, as it was given.

    One that was changed is UTF-8, whatever it came as.
    """
    if not isinstance(conversation, Conversation):
        raise InputError(f"cannot write {type(conversation).__name__}; give a Conversation, as read() returns it")
    data, layout = named(conversation.dialect).write(conversation), conversation.layout
    if isinstance(layout, Listed) and conversation.messages is not layout.messages:
        data = jsontext.as_utf8(data)
    source = getattr(layout, "source", None)
    return source.give(data) if isinstance(source, Source) else data


@dataclass(frozen=True)
class Mended(Listed):
    """A document that could be read only with its escapes mended; unchanged, it is written as it came."""

    original: bytes = field(default=b"", repr=False)

    def whole(self) -> bytes:
        return self.original


def _read_document(source: Source, chosen: Dialect | None, history: History, pick: int) -> Conversation:
    value, data = _value(source, chosen is not None)
    clean = replace(source, data=data)
    dialect = chosen if isinstance(chosen, (RequestDialect, OpenCode)) else detect(value, source.name)
    if not isinstance(dialect, Trajectories):
        _one_only(pick, source.name)
    if isinstance(dialect, OpenCode):
        found = dialect.read(clean, value, history)
    elif isinstance(dialect, Trajectories):
        found = dialect.read(clean, value, pick)
    else:
        found = dialect.read(clean, value)
    found = found if data is source.data else _mended(found, source.data)
    return replace(found, notices=(*found.notices, *damage.undecoded(source.data)))


def _one_only(pick: int, name: str) -> None:
    if pick:
        raise InputError(f"this holds one conversation, number 0; there is no number {pick}", source=name)


def _mended(found: Conversation, original: bytes) -> Conversation:
    layout = found.layout
    assert isinstance(layout, Listed)
    kept = Mended(layout.source, layout.path, layout.rows, layout.messages, original)
    notice = Notice("mended", "the document has escapes that JSON does not know: they are taken literally")
    return replace(found, layout=kept, notices=(*found.notices, notice))


def _value(source: Source, is_named: bool) -> tuple[Any, bytes]:
    """The document's value, and the bytes that decode to it."""
    try:
        return jsontext.decode(source.data), source.data
    except MalformedInput:
        mended = mending.mend(source.data)
        try:
            return jsontext.decode(mended), mended
        except MalformedInput as error:
            raise damage.refusal(source.data, mended, error, source.name, is_named=is_named) from None


def _head(stream: Iterator[bytes]) -> Iterator[bytes]:
    taken = 0
    for number, line in enumerate(stream, 1):
        yield line
        taken += len(line)
        if number >= _SNIFFED_LINES or taken >= _SNIFFED_BYTES:
            return


def _shallow(record: dict[str, msgspec.Raw], depth: int = 2) -> dict[str, Any]:
    """A record as far as it takes to know it: small values whole, of large ones their kind and first fields."""
    return {key: _glance(raw, depth - 1) for key, raw in record.items()}


def _glance(raw: msgspec.Raw, depth: int) -> Any:
    view = memoryview(raw)
    if len(view) <= _SMALL:
        return mending.decode_raw(raw)
    first = bytes(view[:1])
    if first == b"{" and depth:
        return _shallow(_fields.decode(raw), depth)
    return {b"{": {}, b"[": [], b'"': ""}.get(first, 0)


def _is_known(record: dict[str, msgspec.Raw]) -> bool:
    return any(dialect.fits(_shallow(record)) >= _SURE for dialect in LINES)


_SNIFF: lines.Peek[dict[str, msgspec.Raw]] = lines.Peek(dict[str, msgspec.Raw], _is_known)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _seen(value: Any) -> str:
    """What a decoded document is, in words."""
    if isinstance(value, dict):
        return f"an object with {', '.join(map(repr, list(value)[:8]))}" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}, beginning with {_seen(value[0])}" if value else "an empty list"
    return _KINDS.get(type(value), "a number")
