"""One line of an export put into an archive, each kind in its own way. The file, and its lines, are intake.py's.

What is there already is left as it is. Lines whose bytes do not match their hash raise ValueError, and those that lack
something LookupError or TypeError; the transaction is the caller's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import sqlite3
from collections.abc import Callable

from foldline.archive import rebuild
from foldline.archive.blobs import LOST, MASKED, Blobs
from foldline.archive.joining import Row, State, enter, lead, owner
from foldline.archive.nodes import VERSION
from foldline.dialects import jsontext
from foldline.model import ToolResult, digest

GAP = 100_000
"""Messages that may be missing in one place: more than any session has, and no more than a second's work."""
KEY = 16
"""Bytes of a key."""
_TEXTS = ("key", "id", "role", "origin", "dialect", "tools")


def admit(connection: sqlite3.Connection, state: State, row: Row) -> None:
    """Puts what a line says into the archive. The header, the end and unknown kinds say nothing."""
    if row["kind"] in _KINDS:
        _KINDS[row["kind"]](connection, state, row)


def _message(connection: sqlite3.Connection, state: State, row: Row) -> None:
    """A message at its place: the node that is there, or a new one."""
    state.counts["message"] += 1
    _must_be_placed(row)
    stored = _checked(row, state)
    parent = _parent(connection, state, row)
    found = connection.execute(
        "SELECT id FROM nodes WHERE parent = ? AND key = ?", (parent, bytes.fromhex(row["key"]))
    ).fetchone()
    blob = _blob(connection, state, row, stored)
    node = found[0] if found else _insert(connection, parent, blob, owner(connection, state, row, parent), row)
    connection.execute(VERSION, (node, blob, row["time"]))
    _describe(connection, state, node, blob, row, stored)
    state.counts["new"] += not found
    lead(connection, state, row, parent, node)


def _must_be_placed(row: Row) -> None:
    """Says where it stands and whose it is, in values of the right kinds: SQLite would take any."""
    texts = all(isinstance(row[name], str) for name in _TEXTS)
    if not texts or type(row["position"]) is not int or type(row["time"]) not in (int, float):
        raise TypeError("a field is of another kind")
    if row["position"] < 0 or len(bytes.fromhex(row["key"])) != KEY:
        raise ValueError("its place is none")


def _checked(row: Row, state: State) -> tuple[bytes, bytes | None] | None:
    """The bytes and the parts of a line; None where there are none any more. Raises ValueError for wrong ones."""
    if "gone" in row or "lost" in row:
        return None
    raw = _content(row, "raw")
    assert raw is not None
    if not (state.masked or row.get("masked")) and digest(raw) != row["id"]:
        raise ValueError("its bytes do not match their hash")
    return raw, _content(row, "parts")


def _content(row: Row, name: str) -> bytes | None:
    if name in row:
        return jsontext.bytes_of(row[name])
    try:
        return base64.b64decode(row[f"{name}64"], validate=True) if f"{name}64" in row else None
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def _parent(connection: sqlite3.Connection, state: State, row: Row) -> int:
    """The node before it. Where lines before it were damaged, the last of the nodes that say so."""
    session, position = row["session"], row["position"]
    first = position
    while first > 0 and (session, first - 1) not in state.places:
        first -= 1
        if position - first > GAP:
            raise ValueError(f"over {GAP:,} messages before it are missing")
    for missing in range(first, position):
        _gap(connection, state, row, missing)
    return state.places[session, position - 1] if position else 0


def _gap(connection: sqlite3.Connection, state: State, row: Row, position: int) -> None:
    """The place of a message whose line was damaged."""
    key = hashlib.blake2b(f"missing\0{row['session']}\0{position}".encode(), digest_size=16).hexdigest()
    gap = {"position": position, "key": key, "id": key, "role": "user", "origin": "tool", "tools": "", "lost": True}
    made = {**row, **gap}
    for name in ("raw", "raw64", "parts", "parts64"):
        made.pop(name, None)
    _message(connection, state, made)
    state.counts["message"] -= 1
    state.counts["new"] -= 1


def _blob(connection: sqlite3.Connection, state: State, row: Row, stored: tuple[bytes, bytes | None] | None) -> int:
    """The bytes of a line in the archive. Those that others have whole are not replaced by masked ones."""
    name = bytes.fromhex(row["id"])
    if len(name) != 16:
        raise ValueError("its hash has another length")
    if stored is not None:
        for healed in state.blobs.heal(connection, {name: stored[0]}):  # what was said of it may have been masked too
            connection.execute("DELETE FROM results WHERE blob = ?", (healed,))
            connection.execute("DELETE FROM parts WHERE blob = ?", (healed,))
        blob = state.blobs.put(connection, {name: stored[0]})[name]
        if digest(stored[0]) != row["id"]:
            connection.execute(
                "UPDATE blobs SET codec = codec | ? WHERE id = ? AND size = ? AND gone IS NULL",
                (MASKED, blob, len(stored[0])),
            )
        return blob
    connection.execute(
        "INSERT OR IGNORE INTO blobs(hash, codec, size, data, gone) VALUES (?, ?, 0, x'', ?)",
        (name, 0 if "gone" in row else LOST, row.get("gone")),
    )
    return int(connection.execute("SELECT id FROM blobs WHERE hash = ?", (name,)).fetchone()[0])


def _insert(connection: sqlite3.Connection, parent: int, blob: int, whose: int, row: Row) -> int:
    cursor = connection.execute(
        """INSERT INTO nodes(parent, key, blob, session, position, role, origin, dialect, tools, time)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            *(parent, bytes.fromhex(row["key"]), blob, whose),
            *(row[name] for name in ("position", "role", "origin", "dialect", "tools", "time")),
        ),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _describe(
    connection: sqlite3.Connection,
    state: State,
    node: int,
    blob: int,
    row: Row,
    stored: tuple[bytes, bytes | None] | None,
) -> None:
    """Parts, results and the search index, as when a message is kept."""
    if stored is None:
        return
    raw, parts = stored
    dialect = connection.execute("SELECT dialect FROM nodes WHERE id = ?", (node,)).fetchone()[0]
    message = rebuild.alone(dialect, rebuild.Kept(raw, parts, row["position"]))
    if parts is not None:
        connection.execute("INSERT OR IGNORE INTO parts VALUES (?, ?, ?)", (node, blob, state.blobs.pack(parts)))
    results = [(p.ref, node, blob, number) for number, p in enumerate(message.parts) if isinstance(p, ToolResult)]
    connection.executemany("INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?)", results)
    known = connection.execute("SELECT 1 FROM said WHERE node = ?", (node,)).fetchone()
    if not known:
        state.index.add(connection, [(node, message)])


def _version(connection: sqlite3.Connection, state: State, row: Row) -> None:
    node = state.places[row["session"], row["position"]]
    stored = _checked(row, state)
    blob = _blob(connection, state, row, stored)
    connection.execute(VERSION, (node, blob, row["time"]))
    _describe(connection, state, node, blob, row, stored)


def _shared(connection: sqlite3.Connection, state: State, row: Row) -> None:
    """A message that an earlier session brought."""
    parent = _parent(connection, state, row)
    found = connection.execute(
        "SELECT id FROM nodes WHERE parent = ? AND key = ?", (parent, bytes.fromhex(row["key"]))
    ).fetchone()
    lead(connection, state, row, parent, found[0])


def _checkpoint(connection: sqlite3.Connection, state: State, row: Row) -> None:
    stored = _checked(row, state)
    covered = bytes.fromhex(row["covered"])
    names = Blobs().put(connection, {bytes.fromhex(digest(covered)): covered})
    node = state.places.get(tuple(row["place"]), 0) if row["place"] else 0
    ids = (_blob(connection, state, row, stored), bytes.fromhex(row["text_hash"]), *names.values(), node)
    told = tuple(row[name] for name in ("ref", "scope", "skeleton", "generation", "parent", "time"))
    connection.execute(
        """INSERT OR IGNORE INTO checkpoints(ref, scope, skeleton, generation, parent, time, blob, text_hash, covered,
            node) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        told + ids,
    )
    state.counts["checkpoint"] += 1


def _plan(connection: sqlite3.Connection, _: State, row: Row) -> None:
    told = tuple(row[name] for name in ("scope", "skeleton", "checkpoint", "ready", "data", "time"))
    there = connection.execute(
        """SELECT 1 FROM plans WHERE scope = ? AND skeleton = ? AND checkpoint = ? AND ready = ? AND data = ?
            AND time = ?""",
        told,
    ).fetchone()
    if there is None:
        cursor = connection.execute(
            "INSERT INTO plans(scope, skeleton, checkpoint, ready, data, time) VALUES (?, ?, ?, ?, ?, ?)", told
        )
        if row["active"] is not None:
            connection.execute(
                "INSERT INTO active(scope, skeleton, ready, plan, time) VALUES (?, ?, ?, ?, ?)",
                (row["scope"], row["skeleton"], row["ready"], cursor.lastrowid, row["active"]),
            )


def _undone(connection: sqlite3.Connection, _: State, row: Row) -> None:
    told = row["checkpoint"], row["undone"], row["time"]
    connection.execute(
        """INSERT INTO undone(checkpoint, undone, time) SELECT ?1, ?2, ?3 WHERE NOT EXISTS
            (SELECT 1 FROM undone WHERE checkpoint = ?1 AND undone = ?2 AND time = ?3)""",
        told,
    )


_KINDS: dict[str, Callable[[sqlite3.Connection, State, Row], None]] = {
    "session": enter,
    "message": _message,
    "version": _version,
    "shared": _shared,
    "checkpoint": _checkpoint,
    "plan": _plan,
    "undone": _undone,
}
