"""How a transcript of lines is written again after its messages changed: shared by every dialect of lines.

Rows that hold no message stay where they are. Rows of untouched messages keep their bytes; rows of changed ones are
built by the dialect; rows of messages that are gone are dropped; messages made here get rows of their own, at their
place. Where rows name their parent, the chain is closed again. What a row looks like is the dialect's matter.
"""

from __future__ import annotations

import codecs
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from foldline.dialects import jsontext, mending
from foldline.dialects.base import Dialect, Lined, Listed, Source
from foldline.model import Conversation, Message, Part, ToolCall, ToolResult

History: TypeAlias = Literal["live", "all"]
"""What the agent would send next, or everything the file holds in its order."""
START = -1
"""The place before the first row."""


@dataclass(frozen=True, slots=True)
class Made:
    """New messages that stand together: after row `after`, before the row of the next message that has one."""

    after: int
    before: int | None
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to happen to the rows."""

    gone: frozenset[int]
    changed: Mapping[int, tuple[Message, ...]]
    made: tuple[Made, ...]


class LineDialect(Dialect):
    """A transcript of JSON lines."""

    @abstractmethod
    def read_lines(self, source: Source, lines: Iterable[bytes], history: History = "live") -> Conversation:
        """The conversation in a stream of lines, each with its line end."""

    @abstractmethod
    def rewrite(self, layout: Lined, messages: Sequence[Message]) -> bytes:
        """The file with other messages in it."""

    def write(self, conversation: Conversation) -> bytes:
        layout = conversation.layout
        if isinstance(layout, Lined) and conversation.messages is layout.messages:
            return layout.whole()
        kept = layout if isinstance(layout, Lined) else Lined(Source(b""), (), ())
        return self.rewrite(kept, conversation.messages)


def plan(layout: Lined | Listed, messages: Sequence[Message], floor: int = START) -> Plan:
    """The rows to drop, to build and to add. New rows stand after row `floor`, whatever precedes their message."""
    before, now = owners(layout.messages), owners(messages)
    gone = frozenset(row for row in before if row not in now)
    changed = {row: held for row, held in now.items() if not _same(held, before.get(row, ()))}
    return Plan(gone, changed, tuple(_made(messages, floor, len(layout.rows) - 1)))


def owners(messages: Iterable[Message]) -> dict[int, tuple[Message, ...]]:
    """Which messages a row holds, in their order."""
    held: dict[int, tuple[Message, ...]] = {}
    for message in messages:
        for row in dict.fromkeys(message.rows):
            held[row] = (*held.get(row, ()), message)
    return held


def _same(now: tuple[Message, ...], before: tuple[Message, ...]) -> bool:
    return len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True))


def _made(messages: Sequence[Message], floor: int, end: int) -> Iterable[Made]:
    """The runs of messages without a row, each with its place: at the end of the file when none has a row. Rows of the
    message before that stand behind the next message's do not count: they only add to what began in its place."""
    first = next((min(message.rows) - 1 for message in messages if message.rows), end)
    at, run, last = max(floor, first), list[Message](), tuple[int, ...]()
    for message in messages:
        if not message.rows:
            run.append(message)
            continue
        before = min(message.rows)
        if run:
            yield Made(max(at, *(row for row in last if row < before), START), before, tuple(run))
            run = []
        at, last = max(at, before), message.rows
    if run:
        yield Made(max(at, *last, START), None, tuple(run))


def share(message: Message, original: Message) -> dict[int, tuple[Part, ...]]:
    """Which parts of a changed message go into which of its rows: each to the row of the part it was before."""
    shares: dict[int, tuple[Part, ...]] = {}
    even = len(message.parts) == len(original.parts)
    row = message.rows[0]
    for position, part in enumerate(message.parts):
        home = _home(part, original)
        if home is None:
            home = original.rows[position] if even and position < len(original.rows) else row
        row = home
        shares[row] = (*shares.get(row, ()), part)
    return shares


def _home(part: Part, original: Message) -> int | None:
    for old, row in zip(original.parts, original.rows, strict=False):
        if old is part or (_name(part) and _name(part) == _name(old)):
            return row
    return None


def _name(part: Part) -> tuple[str, str] | None:
    match part:
        case ToolCall(id=id_):
            return ("call", id_)
        case ToolResult(call_id=id_):
            return ("result", id_)
        case _:
            return None


def line_end(row: bytes) -> bytes:
    """What follows the record in its row."""
    return row[len(row.rstrip()) :]


def first_change(rows: Sequence[bytes], gone: Iterable[int], built: Mapping[int, bytes], made: Iterable[Made]) -> int:
    """The first row before which the file no longer says what it said; behind the last one when it says all of it."""
    other = (row for row, new in built.items() if new != rows[row])
    return min((*gone, *other, *(run.after + 1 for run in made)), default=len(rows))


def behind(live: Sequence[int], changed: Iterable[int], made: Iterable[Made]) -> Sequence[int]:
    """Of the live rows, in the order the agent loads them, those from the first on before which it is told something
    else than before."""
    first = {*changed, *(run.before for run in made)}
    return live[next((place for place, row in enumerate(live) if row in first), len(live)) :]


def unsized(row: bytes, path: tuple[str, ...], counts: Sequence[str]) -> bytes:
    """The row without the size the agent once had, where it stands as these counts in the object at `path`: they are
    nothing then, as agents write it themselves. Its own bytes where there is no such size."""
    if path[-1].encode() not in row:
        return row
    usage = mending.decode(row)
    for step in path:
        usage = usage.get(step) if isinstance(usage, dict) else None
    if not isinstance(usage, dict) or not any(usage.get(name) for name in counts):
        return row
    nothing = {name: 0 for name in counts if name in usage}
    return jsontext.splice(mending.clean(row.rstrip()), path, jsontext.encode({**usage, **nothing})) + line_end(row)


def assemble(
    rows: Sequence[bytes], gone: Iterable[int], built: Mapping[int, bytes], added: Mapping[int, Sequence[bytes]]
) -> bytes:
    """The rows joined: without those that are gone, with those built anew, and new ones after the row they follow.

    Each ends its line, also where two stood on one: agents read line by line, and would lose both.
    """
    out: list[bytes] = list(added.get(START, ()))
    dropped = frozenset(gone)
    for index, row in enumerate(rows):
        for put in (*(() if index in dropped else (built.get(index, row),)), *added.get(index, ())):
            _close(out)
            out.append(put)
    return b"".join(out)


def _close(out: list[bytes]) -> None:
    """End the line, so that what comes next does not run into it. A byte order mark belongs to what it precedes."""
    if out and not out[-1].endswith(b"\n") and out[-1] != codecs.BOM_UTF8:
        out.append(b"\n")


@dataclass(frozen=True, slots=True)
class Links:
    """Which row is whose child, by the ids in the rows."""

    ids: Sequence[str]
    parents: Sequence[str]

    def under(self, parents: Mapping[int, str]) -> Links:
        """The links with other parents for these rows."""
        return Links(self.ids, [parents.get(row, parent) for row, parent in enumerate(self.parents)])

    def mended(self, gone: frozenset[int]) -> dict[int, str]:
        """For rows whose parent is gone: the nearest ancestor that remains ("" when none does)."""
        lost = self._lost(gone)
        wrong = (row for row, parent in enumerate(self.parents) if parent in lost and row not in gone)
        return {row: _climb(self.parents[row], lost) for row in wrong}

    def above(self, run: Made, way: Sequence[int], gone: frozenset[int]) -> str:
        """What new rows hang on: what the next message hung on, or else the last row before them that is on the way.
        "" when nothing of that remains; a name that was not in the file is kept."""
        if run.before is not None and run.before > run.after:
            name = self.parents[run.before]
        else:
            name = next((self.ids[row] for row in reversed(way) if row <= run.after and self.ids[row]), "")
        return _climb(name, self._lost(gone))

    def _lost(self, gone: frozenset[int]) -> Mapping[str, str]:
        return {self.ids[row]: self.parents[row] for row in gone if self.ids[row]}


def _climb(name: str, lost: Mapping[str, str]) -> str:
    seen = set()
    while name in lost and name not in seen:
        seen.add(name)
        name = lost[name]
    return "" if name in seen else name
