"""Verifying: every hash and every reference in an archive derived anew from the bytes, and what does not match named.

    the file itself → blobs → the tree, history by history → results → checkpoints → plans → the search index

A healthy archive yields nothing. Bytes that were forgotten on request are no trouble; bytes that were lost are. Of
what was masked before it was stored only its form can be checked. Nothing is written, and nobody is kept waiting.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from foldline.archive import blobs, later, plans, rebuild, ways
from foldline.archive.base import Trouble
from foldline.archive.blobs import LOST, MASKED
from foldline.archive.keys import key_of, root_key
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.errors import FoldlineError
from foldline.model import REF_LENGTH, Message, ToolResult, digest

_READING = (FoldlineError, *rebuild.DAMAGED)
"""What reading a message or a checkpoint can end in, when its bytes are right and what lies beside them is not."""


def verify(connection: sqlite3.Connection) -> Iterator[Trouble]:
    """All that is wrong with an archive, one by one."""
    seen = _Seen()
    for look in (_file, _blobs, _sessions, _nodes, _checkpoints, _plans, _index):
        try:
            yield from look(connection, seen)
        except (sqlite3.Error, *_READING) as error:
            yield Trouble("file", "", f"it cannot be read on: {error}")


@dataclass(slots=True)
class _Seen:
    """What was found out so far: blobs that are not to be read again, nodes that were looked at; and what is told."""

    bad: set[int] = field(default_factory=set)
    masked: set[int] = field(default_factory=set)
    absent: set[int] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    results: dict[tuple[int, int], list[tuple[str, int]]] = field(default_factory=dict)
    """Which tool results each message has by the index of them, with their parts; by node and blob."""

    def unread(self, blob: int) -> bool:
        return blob in self.bad or blob in self.absent


def _file(connection: sqlite3.Connection, _: _Seen) -> Iterator[Trouble]:
    for (line,) in connection.execute("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield Trouble("file", "", f"SQLite says: {line}")


def _blobs(connection: sqlite3.Connection, seen: _Seen) -> Iterator[Trouble]:
    for number, name, codec, size, data, gone in connection.execute(
        "SELECT id, hash, codec, size, data, gone FROM blobs"
    ):
        what = _wrong(name, codec, size, data, gone)
        if what:
            seen.bad.add(number)
            yield from _named(connection, number, name, what)
        elif gone is not None:
            seen.absent.add(number)
        elif codec & MASKED:
            seen.masked.add(number)


def _wrong(name: bytes, codec: int, size: int, data: bytes, gone: float | None) -> str:
    """What is wrong with stored bytes; "" when nothing is."""
    if gone is not None:
        return "forgotten, and its bytes are still there" if data else ""
    if codec == LOST:
        return blobs.absent(codec, gone)
    try:
        found = blobs.unpacked(name, codec, size, data, None)
    except _READING:
        return "its stored bytes no longer match their hash"
    return "" if len(found) == size else f"it has {len(found):,} bytes where {size:,} were stored"


_HOLDERS = """SELECT nodes.id, name, position FROM nodes LEFT JOIN sessions ON sessions.id = session
    WHERE nodes.blob = ?1 OR nodes.id IN (SELECT node FROM versions WHERE blob = ?1)"""


def _named(connection: sqlite3.Connection, blob: int, name: bytes, what: str) -> Iterator[Trouble]:
    """Trouble with some bytes, by the message or the checkpoint that they are."""
    ref = name.hex()[:REF_LENGTH] if isinstance(name, bytes) else str(name)
    held = connection.execute(_HOLDERS, (blob,)).fetchall()
    if held:
        places = ", ".join(f"message {place} of session {session}" for _, session, place in held[:3])
        more = f" and {len(held) - 3} more" if len(held) > 3 else ""
        yield Trouble("message", ref, f"{what} ({places}{more})")
    found = connection.execute("SELECT ref FROM checkpoints WHERE ?1 IN (blob, covered)", (blob,)).fetchall()
    yield from (Trouble("checkpoint", checkpoint, what) for (checkpoint,) in found)
    if not held and not found:
        yield Trouble("blob", ref, f"{what} (nothing refers to it)")


def _sessions(connection: sqlite3.Connection, seen: _Seen) -> Iterator[Trouble]:
    rows = connection.execute("SELECT id, name, leaf, messages, scope, project, root, forked FROM sessions").fetchall()
    known = {row[0] for row in rows}
    for node, blob, ref, part in connection.execute("SELECT node, blob, ref, part FROM results"):
        seen.results.setdefault((node, blob), []).append((ref, part))  # asked for one by one, each is a whole scan
    for _, name, leaf, count, scope, project, root, forked in rows:
        steps = ways.path(connection, leaf)
        if len(steps) != count or not steps or steps[0].node != root:
            yield Trouble("session", name, f"{count} messages lead to its end, and {len(steps)} are there")
        if forked is not None and forked not in known:
            yield Trouble("session", name, "the session it branched off is not there")
        yield from _history(connection, steps, (scope, project), seen)


def _history(
    connection: sqlite3.Connection, steps: list[ways.Step], whose: tuple[str, str], seen: _Seen
) -> Iterator[Trouble]:
    """The messages of a history that no other had: each at its place, under the key that its words give."""
    placed = _Placed(connection, steps)
    for at, step in enumerate(steps):
        if step.node in seen.nodes:
            continue
        seen.nodes.add(step.node)
        if step.position != at:
            yield _trouble(step, f"it is message {at} of its history and stored as {step.position}")
        for one in _versions(connection, step):
            if not one.hash:
                yield _trouble(step, f"the bytes of one of its versions are missing (blob {one.blob})")
            elif not seen.unread(one.blob):
                yield from _version(connection, one, whose, placed, seen)


@dataclass(slots=True)
class _Placed:
    """Messages whose ids depend on their place: the whole history is read once for all of them."""

    connection: sqlite3.Connection
    steps: list[ways.Step]
    found: dict[tuple[int, int], Message] | None = None

    def message(self, step: ways.Step) -> Message:
        alone = ways.alone(self.connection, step)
        if not rebuild.depends_on_place(alone):
            return alone
        if self.found is None:
            read = ways.messages(self.connection, self.steps)
            self.found = {(one.node, one.blob): message for one, message in zip(self.steps, read, strict=True)}
        return self.found.get((step.node, step.blob)) or ways.message(self.connection, step)


def _versions(connection: sqlite3.Connection, step: ways.Step) -> Iterator[ways.Step]:
    """A message in all the bytes it came in."""
    yield step
    for blob, name in connection.execute(
        "SELECT blob, hash FROM versions LEFT JOIN blobs ON blobs.id = blob WHERE node = ?", (step.node,)
    ).fetchall():
        yield replace(step, blob=blob, hash=name or b"")


def _version(
    connection: sqlite3.Connection, step: ways.Step, whose: tuple[str, str], placed: _Placed, seen: _Seen
) -> Iterator[Trouble]:
    key, own = connection.execute("SELECT key, blob FROM nodes WHERE id = ?", (step.node,)).fetchone()
    try:
        message = placed.message(step)
        derived = {key_of(message)} if step.position else _roots(message, step.dialect, *whose)
    except _READING as error:
        yield _trouble(step, f"it cannot be read: {error}")
        return
    if step.blob in seen.masked:
        return
    if own == step.blob and (message.role, message.origin.value) != (step.role, step.origin):
        yield _trouble(step, f"it is stored as the {step.origin}'s and says the {message.origin.value}'s")
    if key not in derived:
        yield _trouble(step, "its words no longer give the key that it is found by")
    for ref, number in seen.results.get((step.node, step.blob), ()):
        part = message.parts[number] if 0 <= number < len(message.parts) else None
        if not isinstance(part, ToolResult) or part.ref != ref:
            yield Trouble("result", ref, f"message {step.hash.hex()[:REF_LENGTH]} has no such result")


def _roots(message: Message, dialect: str, scope: str, project: str) -> set[bytes]:
    """The keys of a first message: of any project's, and of its own project's alone."""
    return {root_key(scope, dialect, message), root_key(scope, dialect, message, project)}


def _trouble(step: ways.Step, what: str) -> Trouble:
    where = f"message {step.position} of session {step.session}"
    return Trouble("message", step.hash.hex()[:REF_LENGTH], f"{what} ({where})")


def _nodes(connection: sqlite3.Connection, seen: _Seen) -> Iterator[Trouble]:
    """Nodes that no history leads to, results and versions of messages that are not there."""
    for number, position in connection.execute("SELECT id, position FROM nodes"):
        if number not in seen.nodes:
            yield Trouble("message", f"node {number}", f"no session leads to it (it was message {position})")
    for table in ("versions", "parts", "results"):
        rows = connection.execute(f"SELECT DISTINCT node FROM {table} WHERE node NOT IN (SELECT id FROM nodes)")  # noqa: S608
        yield from (Trouble(table, f"node {number}", "the message it belongs to is not there") for (number,) in rows)


def _checkpoints(connection: sqlite3.Connection, seen: _Seen) -> Iterator[Trouble]:
    rows = connection.execute("SELECT ref, parent, blob, covered, text_hash FROM checkpoints").fetchall()
    refs = {row[0] for row in rows}
    for ref, parent, blob, covered, text_hash in rows:
        if parent and parent not in refs:
            yield Trouble("checkpoint", ref, f"the checkpoint {parent} that it builds on is not there")
        if blob in seen.bad or covered in seen.bad or blob in seen.absent:
            continue  # named before, or forgotten
        try:
            found = plans.read_checkpoint(ref, blobs.Blobs().get(connection, blob))
            names = blobs.Blobs().get(connection, covered)
        except _READING as error:
            yield Trouble("checkpoint", ref, f"it cannot be read: {error}")
            continue
        if blob not in seen.masked:
            yield from _checkpoint(ref, found, text_hash)
        yield from _covered(connection, ref, names)


def _checkpoint(ref: str, found: Checkpoint, text_hash: bytes) -> Iterator[Trouble]:
    if found.ref != ref:
        yield Trouble("checkpoint", ref, f"what it says gives another reference, {found.ref}")
    if digest(found.text.encode("utf-8", "surrogatepass")) != text_hash.hex():
        yield Trouble("checkpoint", ref, "it is not found by what it says")


def _covered(connection: sqlite3.Connection, ref: str, names: bytes) -> Iterator[Trouble]:
    for at in range(0, len(names), 16):
        name = names[at : at + 16]
        if connection.execute("SELECT 1 FROM blobs WHERE hash = ?", (name,)).fetchone() is None:
            yield Trouble("checkpoint", ref, f"it stands for message {name.hex()[:REF_LENGTH]}, which is not there")


def _plans(connection: sqlite3.Connection, _: _Seen) -> Iterator[Trouble]:
    known = {row[0] for row in connection.execute("SELECT ref FROM checkpoints")} | {""}
    numbers = set()
    for number, checkpoint, data in connection.execute("SELECT id, checkpoint, data FROM plans"):
        numbers.add(number)
        try:
            plans.read_plan(number, data)
        except _READING as error:
            yield Trouble("plan", str(number), f"it cannot be read: {error}")
        if checkpoint not in known:
            yield Trouble("plan", str(number), f"the checkpoint {checkpoint} that it shows is not there")
    for number, plan in connection.execute("SELECT id, plan FROM active"):
        if plan not in numbers:
            yield Trouble("plan", str(plan), f"it is in use (row {number}) and not there")


def _index(connection: sqlite3.Connection, _: _Seen) -> Iterator[Trouble]:
    """Up to the mark all is to be in the index; what is above it is put there before anybody searches."""
    mark = later.mark(connection)
    if mark > later.last(connection):
        yield Trouble("search", "", "what is kept next would not be found: the index claims to have it already")
    rows = connection.execute(
        """SELECT nodes.id, hash FROM nodes JOIN blobs ON blobs.id = blob
            WHERE gone IS NULL AND codec != ? AND nodes.id <= ? AND nodes.id NOT IN (SELECT node FROM said)""",
        (LOST, mark),
    )
    yield from (Trouble("search", name.hex()[:REF_LENGTH], "it cannot be found by searching") for _, name in rows)
