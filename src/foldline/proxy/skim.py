"""Bodies that come again and again, a little longer each time: only what is new in them is taken apart.

    Skimmer.read(route, body)     ──> Skimmed(conversation, fields)
    Skimmer.glance(route, body)   ──> the same where little is to be done for it, and None where more is

A body is compared with those before it, message by message, as bytes. What is the same up to the end of some message
has been read: the rest, put behind the beginning of the document, is a small document of the same form. Messages seen
before are the very same objects, so that whatever comes after knows by identity what it has seen. A body that is like
no other is read whole.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from foldline import dialects
from foldline.dialects import jsontext
from foldline.dialects.base import Listed, Placing, RequestDialect, Source
from foldline.errors import InputError, MalformedInput
from foldline.model import Conversation, Head, Message
from foldline.proxy.bodies import refuse_twins
from foldline.proxy.routes import SLOTS, Route

BODIES = 64
"""Conversations that are remembered. Those that were not seen for longest go first."""
BYTES = 256 << 20
"""The most bytes of these conversations together."""

GLANCE = 16 << 10
"""Bytes of new messages that are read within a fraction of a millisecond."""


@dataclass(frozen=True)
class Skimmed:
    """A request as far as it had to be read. `fields` is it without its messages."""

    conversation: Conversation
    fields: Mapping[str, Any] = field(repr=False)

    @property
    def streams(self) -> bool:
        return self.fields.get("stream") is True


@dataclass(frozen=True)
class Frame(Listed):
    """The document without its messages: these are the rows. The whole of it is what the client sent."""

    def whole(self) -> bytes:
        return self.changed(self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Past:
    """A body that was read: what stands before its messages, each message, what stands between them and behind."""

    lead: bytes
    rows: tuple[bytes, ...]
    between: bytes
    tail: bytes
    fields: Mapping[str, Any]
    head: Head
    alone: tuple[Message, ...]
    placed: tuple[Message, ...]
    placing: Placing
    body: bytes
    reach: int
    """Where in the body the last message ends: up to there it is compared at one go. 0 where white space follows."""

    @property
    def size(self) -> int:
        return 2 * len(self.body)

    def begins(self, body: bytes) -> bool:
        """Whether another body begins with all of these messages. Nothing is copied for it."""
        return self.reach > 0 and body.startswith(memoryview(self.body)[: self.reach])


class Skimmer:
    """Remembers bodies. Safe for several threads."""

    def __init__(self, bodies: int = BODIES, most: int = BYTES) -> None:
        self._bodies, self._most, self._held = bodies, most, 0
        self._past: OrderedDict[tuple[str, bytes], list[_Past]] = OrderedDict()
        self._lock = threading.Lock()
        self.parsed = 0
        """Messages taken apart so far: the work done."""

    def read(self, route: Route, body: bytes) -> Skimmed:
        """The request in a body. Raises InputError for what is none, Twins where a key stands twice."""
        slot, dialect = _spoken(route)
        known = self._like(route, body)
        found = (self._longer(dialect, slot, body, known) if known else None) or self._whole(dialect, slot, body)
        if found is None:
            return _odd(route, dialect, body)
        return self._skimmed(route, found, known.past if known else None)

    def glance(self, route: Route, body: bytes) -> Skimmed | None:
        """The request in a body that is the last one and a little more; None for any other."""
        alike = (past for past in self._alike(route, body) if past.begins(body))
        past = max(alike, key=lambda past: past.reach, default=None)
        if past is None or len(body) - past.reach - len(past.tail) > GLANCE or not body.endswith(past.tail):
            return None
        slot, dialect = _spoken(route)
        found = self._longer(dialect, slot, body, _whole_of(past, body))
        return self._skimmed(route, found, past) if found else None

    def _skimmed(self, route: Route, found: _Past, grown: _Past | None) -> Skimmed:
        with self._lock:
            self._remember(route, found, grown)
        slot, dialect = _spoken(route)
        head = replace(found.head, model=route.model) if route.model else found.head
        layout = Frame(Source(found.lead + found.tail), (slot,), found.rows, found.placed)
        return Skimmed(Conversation(dialect.name, found.placed, head, dialect.grammar, layout), found.fields)

    def _alike(self, route: Route, body: bytes) -> list[_Past]:
        """The bodies before that begin as this one does, up to their first message."""
        with self._lock:
            leads = [key for key in self._past if key[0] == route.dialect and body.startswith(key[1])]
            return [past for key in leads for past in self._past[key]]

    def _like(self, route: Route, body: bytes) -> _Shared | None:
        """The body before that this one shares most messages with."""
        shared = (_shared(past, body) for past in self._alike(route, body))
        return max((found for found in shared if found.count), key=lambda found: found.count, default=None)

    def _longer(self, dialect: RequestDialect, slot: str, body: bytes, known: _Shared) -> _Past | None:
        """What is new, read as a document of its own: the beginning of the body, and everything behind `known.end`."""
        past, end = known.past, known.end
        new = _rows(b"[" + body[end : len(body) - len(past.tail)] + b"]") if body.endswith(past.tail) else None
        if new is not None and end <= len(body) - len(past.tail) and bool(new) == known.open:
            refuse_twins(b"[" + b",".join(new) + b"]")
            return self._joined(dialect, past, known.count, new, past.tail, past.fields, past.head, body)
        taken = _taken(past.lead + body[end:], slot)
        if taken is None or taken.lead != past.lead or not known.open:
            return None
        refuse_twins(past.lead + body[end:])
        return self._joined(dialect, past, known.count, taken.rows, taken.tail, *_head_of(dialect, slot, taken), body)

    def _whole(self, dialect: RequestDialect, slot: str, body: bytes) -> _Past | None:
        taken = _taken(body, slot)
        if taken is None:
            return None
        refuse_twins(body)
        fields, head = _head_of(dialect, slot, taken)
        nothing = _Past(taken.lead, (), taken.between, taken.tail, fields, head, (), (), dialect.placing(), b"", 0)
        return self._joined(dialect, nothing, 0, taken.rows, taken.tail, fields, head, body)

    def _joined(
        self,
        dialect: RequestDialect,
        past: _Past,
        count: int,
        new: Sequence[bytes],
        tail: bytes,
        fields: Mapping[str, Any],
        head: Head,
        body: bytes,
    ) -> _Past:
        rows = (*past.rows[:count], *new)
        fresh = tuple(dialect.message(jsontext.decode(row), row, count + index, "") for index, row in enumerate(new))
        self.parsed += len(new)
        alone = past.alone[:count] + fresh
        placing = past.placing if count == len(past.rows) else dialect.placing()
        placed = _same(placing(alone, rows), past.placed[:count])
        reach = len(body) - len(tail)
        reach = reach if rows and body.endswith(rows[-1], 0, reach) else 0
        return _Past(past.lead, rows, past.between, tail, fields, head, alone, placed, placing, body, reach)

    def _remember(self, route: Route, found: _Past, grown: _Past | None) -> None:
        """In the place of the body it grew from, unless that one went another way."""
        pasts = self._past.setdefault((route.dialect, found.lead), [])
        self._past.move_to_end((route.dialect, found.lead))
        if grown is not None and grown in pasts and len(found.rows) >= len(grown.rows):
            pasts.remove(grown)
            self._held -= grown.size
        pasts.append(found)
        self._held += found.size
        while self._count() > self._bodies or (self._held > self._most and self._count() > 1):
            self._forget()

    def _count(self) -> int:
        return sum(map(len, self._past.values()))

    def _forget(self) -> None:
        key, pasts = next(iter(self._past.items()))
        self._held -= pasts.pop(0).size
        if not pasts:
            del self._past[key]


@dataclass(frozen=True, slots=True)
class _Taken:
    """A document taken apart at its list of messages."""

    lead: bytes
    rows: tuple[bytes, ...]
    between: bytes
    tail: bytes

    @property
    def frame(self) -> bytes:
        return self.lead + self.tail


def _taken(body: bytes, slot: str) -> _Taken | None:
    """None for what is no JSON object with a list of objects in that slot."""
    try:
        listed = jsontext.fields(body).get(slot, b"")
    except InputError:
        return None
    rows = _rows(listed) if listed.startswith(b"[") else None
    start = body.find(listed)
    if not rows or start < 0:
        return None
    first = listed.find(rows[0])
    behind = first + len(rows[0])
    between = listed[behind : listed.find(rows[1], behind)] if len(rows) > 1 else b","
    taken = _Taken(body[: start + first], rows, between, body[start + len(listed) - 1 :])
    return taken if _is_empty(taken, slot) else None


def _is_empty(taken: _Taken, slot: str) -> bool:
    """What was taken out is what stands in the slot, and not the same bytes elsewhere."""
    try:
        return jsontext.fields(taken.frame).get(slot, b"").strip(b"[] \t\r\n") == b""
    except InputError:
        return False


@dataclass(frozen=True, slots=True)
class _Shared:
    """How many messages two bodies begin with in common, and where in the new one the next begins."""

    past: _Past
    count: int
    end: int
    open: bool
    """Another message follows, by the comma before it."""


def _whole_of(past: _Past, body: bytes) -> _Shared:
    """What a body shares that begins with all of another."""
    follows = body.startswith(past.between, past.reach)
    return _Shared(past, len(past.rows), past.reach + len(past.between) * follows, open=follows)


def _shared(past: _Past, body: bytes) -> _Shared:
    if past.begins(body):
        return _whole_of(past, body)
    at, count = len(past.lead), 0
    for row in past.rows:
        if not body.startswith(row, at):
            break
        end = at + len(row)
        count += 1
        if not body.startswith(past.between, end):
            return _Shared(past, count, end, open=False)
        at = end + len(past.between)
    return _Shared(past, count, at, open=True)


def _rows(listed: bytes) -> tuple[bytes, ...] | None:
    """The elements of a list of objects; None when it is not one."""
    try:
        rows = tuple(jsontext.elements(listed))
    except InputError:
        return None
    return rows if all(row.startswith(b"{") for row in rows) else None


def _spoken(route: Route) -> tuple[str, RequestDialect]:
    """Where a request keeps its messages, and the dialect it is in."""
    dialect = dialects.named(route.dialect)
    assert isinstance(dialect, RequestDialect)
    return SLOTS[route.dialect], dialect


def _head_of(dialect: RequestDialect, slot: str, taken: _Taken) -> tuple[Mapping[str, Any], Head]:
    value = jsontext.decode(taken.frame)
    return {key: item for key, item in value.items() if key != slot}, dialect.head(value)


def _same(placed: tuple[Message, ...], known: tuple[Message, ...]) -> tuple[Message, ...]:
    """The objects given out before, where they are the same messages in the same places."""
    if placed[: len(known)] == known:  # in C, and by identity first
        return (*known, *placed[len(known) :])
    again = (old if old is new or old == new else new for old, new in zip(known, placed, strict=False))
    return (*again, *placed[len(known) :])


def _odd(route: Route, dialect: RequestDialect, body: bytes) -> Skimmed:
    """A request of another shape: one string for all messages, an empty list."""
    refuse_twins(body)
    value = jsontext.decode(body)
    if not isinstance(value, dict):
        raise MalformedInput("the body is no JSON object")
    found = dialect.read(Source(body), value)
    head = replace(found.head, model=route.model) if route.model else found.head
    fields = {key: item for key, item in value.items() if key != dialect.slot}
    return Skimmed(replace(found, head=head), fields)


__all__ = ["Skimmed", "Skimmer"]
