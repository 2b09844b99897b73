"""Reads requests that come again and again, a little longer each time: only what is new is taken apart.

    Reader.read(request) ──> Conversation, in which messages seen before are the very same objects

So everything after it (meter, skeleton, pairing) can tell by identity what it knows already. Each message is encoded
and looked up by its bytes and its place: dicts can change between two requests, bytes cannot. What a message means is
the dialects' matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from foldline import dialects, sources
from foldline.core.history.prefix import shared
from foldline.dialects import jsontext
from foldline.dialects.base import Placing, RequestDialect, Source
from foldline.dialects.convert import SLOTS
from foldline.errors import UnknownDialect
from foldline.giving import Skimmed, give, reads_as
from foldline.model import Conversation, Head, Message
from foldline.recent import Recent

MOST = 100_000
"""Messages remembered; the longest unseen go first."""
SESSIONS = 64
"""Conversations, and heads, whose dialect is remembered."""


class _Known(NamedTuple):
    """A message as parsed alone, and as it stands in its list (with ids that depend on what stands before it)."""

    alone: Message
    placed: Message


class _Past(NamedTuple):
    """A conversation as it was read last: its rows, and what they were read as, alone and in their places."""

    rows: tuple[bytes, ...] = ()
    alone: tuple[Message, ...] = ()
    placed: tuple[Message, ...] = ()
    placing: Placing | None = None


class _Spoken(NamedTuple):
    """A conversation's dialect, and how sure that is."""

    dialect: RequestDialect
    score: int


class _Rows(NamedTuple):
    """A list of messages as bytes, and the places of those that hold a null."""

    rows: tuple[bytes, ...]
    nulls: tuple[int, ...] = ()


class Reader:
    """Remembers messages by place and bytes. Not for several threads at once."""

    def __init__(self) -> None:
        self._seen = Recent[tuple[str, int, bytes], _Known](MOST)
        self._past = Recent[tuple[str, bytes], _Past](SESSIONS)
        self._rows = Recent[tuple[str, bytes], _Rows](SESSIONS)
        self._spoken = Recent[tuple[str, bytes], _Spoken](SESSIONS)
        self._heads = Recent[tuple[str, bytes], Head](SESSIONS)
        self.parsed = 0
        """Messages taken apart so far: the work done."""

    def read(self, request: Any, dialect: str | None = None) -> Conversation:
        slot = _slot(request)
        items = (request[slot] if slot else request) if slot is not None else ()
        if not items:
            return sources.read(request, dialect)
        rows = self._encoded(slot or "", items)
        rest = {key: value for key, value in request.items() if key != slot} if slot else {}
        head = jsontext.encode(rest)
        spoken = self._dialect(request, dialect, slot or "", rows, head)
        if spoken is None:
            return sources.read(request, dialect)
        messages = self._messages(spoken, rows)
        source = Source(jsontext.encode({**rest, slot: []}) if slot else b"[]", "value")
        path, around = ((slot,), dict(request)) if slot else ((), {})
        layout = Skimmed(source, path, rows, messages, tuple(items), around)
        known = self._head(spoken, head) if slot else Head()
        return Conversation(spoken.name, messages, known, spoken.grammar, layout)

    def write(self, conversation: Conversation) -> Any:
        return give(conversation)

    def _encoded(self, slot: str, items: Sequence[Any]) -> tuple[bytes, ...]:
        """The messages as bytes: those that are as they were last time are the bytes of last time."""
        key = slot, jsontext.encode(items[0])
        known = self._rows.pop(key, _Rows(()))
        if not _begin_as(items, known):
            known = _Rows(())
        new = tuple(map(jsontext.encode, items[len(known.rows) :]))
        nulls = tuple(at for at, row in enumerate(new, len(known.rows)) if b"null" in row)
        found = _Rows(known.rows + new, known.nulls + nulls)
        self._rows[key] = found
        return found.rows

    def _dialect(
        self, request: Any, name: str | None, slot: str, rows: tuple[bytes, ...], head: bytes
    ) -> RequestDialect | None:
        """The dialect as named, or as that of the conversation that began so while nothing new speaks against it."""
        if name is not None:
            found = dialects.named(name)
            return found if isinstance(found, RequestDialect) and found.slot == (slot or found.slot) else None
        key = (slot, rows[0])
        known = self._spoken.pop(key, None)
        if known is None or self._speaks_otherwise(known, slot, rows, head):
            known = _detected(sources.open_source(request).source.data)
        if known is not None:
            self._spoken[key] = known
        return known.dialect if known else None

    def _speaks_otherwise(self, known: _Spoken, slot: str, rows: tuple[bytes, ...], head: bytes) -> bool:
        """What is new has surer signs of another dialect than the conversation has of its own."""
        name = known.dialect.name
        first = shared(self._past.get((name, rows[0]), _Past()).rows, rows)
        late = enumerate(rows[first:], first)
        new = [jsontext.decode(row) for index, row in late if (name, index, row) not in self._seen]
        if not new:
            return False
        sample = {**jsontext.decode(head), slot: new} if slot else new
        try:
            other = dialects.detect(sample)
        except UnknownDialect:
            return True
        return other is not known.dialect and other.fits(sample) > known.score

    def _messages(self, dialect: RequestDialect, rows: tuple[bytes, ...]) -> tuple[Message, ...]:
        key = (dialect.name, rows[0])
        past = self._past.pop(key, _Past())
        first = shared(past.rows, rows)
        late = enumerate(rows[first:], first)
        alone = past.alone[:first] + tuple(self._alone(dialect, index, row) for index, row in late)
        placing = past.placing or dialect.placing()
        placed = placing(alone, rows)
        if placed[:first] != past.placed[:first]:
            first = 0  # ids that depend on what stands before
        late_ones = zip(rows[first:], alone[first:], placed[first:], strict=True)
        found = past.placed[:first] + tuple(
            self._same(dialect.name, index, row, lone, message)
            for index, (row, lone, message) in enumerate(late_ones, first)
        )
        same = past.rows[:first] + rows[first:]  # the rows that are remembered anyway, not another copy of them
        self._past[key] = _Past(same, alone, found, placing)
        return found

    def _alone(self, dialect: RequestDialect, index: int, row: bytes) -> Message:
        known = self._seen.get((dialect.name, index, row))
        if known is not None:
            return known.alone
        self.parsed += 1
        return dialect.message(jsontext.decode(row), row, index, "")

    def _same(self, name: str, index: int, row: bytes, alone: Message, placed: Message) -> Message:
        """The object given out before for the same message in the same place, else this one from now on."""
        key = (name, index, row)
        known = self._seen.pop(key, None)
        if known is None or not (known.placed is placed or known.placed == placed):
            known = _Known(alone, placed)
        self._seen[key] = known
        return known.placed

    def _head(self, dialect: RequestDialect, head: bytes) -> Head:
        key = (dialect.name, head)
        known = self._heads.pop(key, None) or dialect.head(jsontext.decode(head))
        self._heads[key] = known
        return known


def _begin_as(items: Sequence[Any], known: _Rows) -> bool:
    """The list begins with these messages. Where one has a null, it is looked at by itself."""
    count = len(known.rows)
    if not 0 < count <= len(items) or not reads_as(items[:count], known.rows):
        return False
    nulls = ((at, known.rows[at]) for at in known.nulls)
    return all(items[at] == jsontext.decode(row) or jsontext.encode(items[at]) == row for at, row in nulls)


def _slot(request: Any) -> str | None:
    """Where the messages are: "" when the request is their list, None when it is something else."""
    if isinstance(request, (list, tuple)):
        return ""
    if not isinstance(request, Mapping):
        return None
    return next((slot for slot in SLOTS if isinstance(request.get(slot), (list, tuple))), None)


def _detected(data: bytes) -> _Spoken | None:
    """The dialect of a request; None where it is something else, whose dialect takes it as a whole."""
    if dialects.detect_lines([data]) is not None:
        return None
    value = jsontext.decode(data)
    found = dialects.detect(value)
    return _Spoken(found, found.fits(value)) if isinstance(found, RequestDialect) else None


__all__ = ["Reader", "Skimmed"]
