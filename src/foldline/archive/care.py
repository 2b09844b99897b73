"""Taking out, and only on request: a message or a session forgotten for good, the oldest sessions trimmed.

    forget(ref)   its bytes, its other versions, its words in the index, and every checkpoint that may quote it
    trim(to)      the oldest sessions, until the rest fits

What is taken out leaves a tombstone that says when, and stays out: the same message sent again is not stored again.
Nothing is ever removed by itself. An archive that has reached its cap takes nothing new (Full) until it is trimmed.
A message that other sessions hold too is gone from them as well, and they are named; a session takes only what is its
own, and says what it shares.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import time as clock
from collections.abc import Iterable
from dataclasses import dataclass

from foldline.archive import ways
from foldline.archive.blobs import Blobs, forgotten
from foldline.archive.index import Index
from foldline.errors import ArchiveError, Busy, Full
from foldline.model import REF_LENGTH, digest


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was taken out. `sessions` held it; `kept` messages of a session stay, because `shared` ones hold them."""

    refs: tuple[str, ...]
    sessions: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    kept: int = 0
    checkpoints: tuple[str, ...] = ()

    @property
    def messages(self) -> int:
        return len(self.refs)


@dataclass(frozen=True, slots=True)
class Trimmed:
    """Which sessions were taken out, and how large the archive was before and is now, in bytes."""

    sessions: tuple[str, ...]
    before: int
    after: int


_THESE = "(SELECT value FROM json_each(?))"
_DUE = "scrub"
"""Set from when something is taken out until its bytes are in no file: a name for that, and then `_WRITTEN`."""
_WRITTEN = "written"
"""The file was written anew without it; the file of commits beside it may still hold it."""


def forget_message(connection: sqlite3.Connection, prefix: str) -> Forgotten:
    """Takes a message out, in all the bytes it came in, wherever it stands; and titles, which may quote it."""
    found = ways.holding(connection, prefix)
    if not found and (holder := ways.holder_of(connection, prefix)):
        raise ArchiveError(f"{prefix} is a tool result in message {holder}; forget that, and it goes with it")
    if not found and connection.execute("SELECT 1 FROM checkpoints WHERE ref = ?", (prefix,)).fetchone():
        what = f"{prefix} is a checkpoint, and those are not forgotten by themselves"
        raise ArchiveError(f"{what}; forget its session, or a message that it stands for, and it goes with them")
    if not found:
        raise ArchiveError(f"nothing in this archive is called {prefix}; a search or a session shows what there is")
    if len(found) > 1:
        raise ArchiveError(f"several messages begin with {prefix}; give more of its digits")
    nodes, blobs = _closure(connection, found[0].blob)
    sessions = _through(connection, nodes)
    connection.execute(
        f"UPDATE sessions SET title = ? WHERE title != '' AND name IN {_THESE}",  # noqa: S608
        (f"title {forgotten(clock.time())}", json.dumps(sessions)),
    )
    return _take(connection, nodes, blobs, Forgotten((), sessions, sessions[1:]))


def forget_session(connection: sqlite3.Connection, name: str) -> Forgotten:
    """Takes out what only this session holds."""
    steps = ways.path(connection, ways.leaf_of(connection, name))
    others = connection.execute(
        "SELECT name, leaf FROM sessions WHERE name != ? AND root = ?", (name, steps[0].node)
    ).fetchall()
    paths = {other: {step.node for step in ways.path(connection, leaf)} for other, leaf in others}
    own = [step.node for step in steps if not any(step.node in path for path in paths.values())]
    mine = {step.node for step in steps}
    shared = tuple(other for other, path in paths.items() if mine & path)
    blobs = _of(connection, _BLOBS, own)
    elsewhere = _held_elsewhere(connection, own, blobs)
    shared += tuple(other for other in _owners(connection, elsewhere.values()) if other not in shared)
    kept = len(steps) - len(own) + len(elsewhere)
    done = _take(connection, own, blobs - elsewhere.keys(), Forgotten((), (name,), shared, kept))
    for blob, other in elsewhere.items():
        _let_go(connection, own, blob, other)
    connection.execute("UPDATE sessions SET title = ?, source = '' WHERE name = ?", (forgotten(clock.time()), name))
    return done


def _closure(connection: sqlite3.Connection, blob: int) -> tuple[list[int], set[int]]:
    """All nodes that hold these bytes or another version of the same message, and all of their bytes."""
    nodes: set[int] = set()
    blobs = {blob}
    while True:
        held = _of(connection, _NODES, blobs)
        if held == nodes:
            return sorted(nodes), blobs
        nodes, blobs = held, _of(connection, _BLOBS, held) | blobs


_NODES = f"SELECT id FROM nodes WHERE blob IN {_THESE} UNION SELECT node FROM versions WHERE blob IN {_THESE}"  # noqa: S608
_BLOBS = f"SELECT blob FROM nodes WHERE id IN {_THESE} UNION SELECT blob FROM versions WHERE node IN {_THESE}"  # noqa: S608


def _of(connection: sqlite3.Connection, which: str, numbers: Iterable[int]) -> set[int]:
    """The nodes that hold some blobs, or the blobs that some nodes hold."""
    these = json.dumps(list(numbers))
    return {row[0] for row in connection.execute(which, (these, these))}


def _held_elsewhere(connection: sqlite3.Connection, nodes: Iterable[int], blobs: Iterable[int]) -> dict[int, int]:
    """Those of the blobs that some other node has too, each with one that has it."""
    own = set(nodes)
    these = json.dumps(list(blobs))
    there = connection.execute(f"SELECT id FROM blobs WHERE gone IS NULL AND id IN {_THESE}", (these,)).fetchall()  # noqa: S608
    others = {blob: _of(connection, _NODES, (blob,)) - own for (blob,) in there}
    return {blob: min(found) for blob, found in others.items() if found}


def _owners(connection: sqlite3.Connection, nodes: Iterable[int]) -> tuple[str, ...]:
    """The sessions that some nodes first came in."""
    rows = connection.execute(
        f"""SELECT DISTINCT name FROM sessions JOIN nodes ON nodes.session = sessions.id WHERE nodes.id IN {_THESE}
            ORDER BY name""",  # noqa: S608
        (json.dumps(list(nodes)),),
    )
    return tuple(name for (name,) in rows)


def _let_go(connection: sqlite3.Connection, nodes: list[int], blob: int, other: int) -> None:
    """Bytes that another history holds too stay there, and are no longer these nodes': a tombstone of its own is."""
    held = json.dumps(nodes)
    name = connection.execute("SELECT hash FROM blobs WHERE id = ?", (blob,)).fetchone()[0]
    stone = bytes.fromhex(digest(b"forgotten\0" + name))
    connection.execute(
        "INSERT OR IGNORE INTO blobs(hash, codec, size, data, gone) VALUES (?, 0, 0, x'', ?)", (stone, clock.time())
    )
    number = connection.execute("SELECT id FROM blobs WHERE hash = ?", (stone,)).fetchone()[0]
    connection.execute(f"UPDATE results SET node = ? WHERE blob = ? AND node IN {_THESE}", (other, blob, held))  # noqa: S608
    for table in ("parts", "versions"):
        connection.execute(f"DELETE FROM {table} WHERE blob = ? AND node IN {_THESE}", (blob, held))  # noqa: S608
    connection.execute(f"UPDATE nodes SET blob = ? WHERE blob = ? AND id IN {_THESE}", (number, blob, held))  # noqa: S608


def _through(connection: sqlite3.Connection, nodes: Iterable[int]) -> tuple[str, ...]:
    """The sessions on whose way one of these nodes lies, the one it first came in first."""
    wanted = set(nodes)
    roots = json.dumps([ways.path(connection, node)[0].node for node in wanted])
    rows = connection.execute(
        f"SELECT name, leaf FROM sessions WHERE root IN {_THESE} ORDER BY id",  # noqa: S608
        (roots,),
    ).fetchall()
    return tuple(name for name, leaf in rows if any(step.node in wanted for step in ways.path(connection, leaf)))


def _take(connection: sqlite3.Connection, nodes: list[int], blobs: set[int], about: Forgotten) -> Forgotten:
    """Empties the blobs, and all that was made of them. The bytes lie in the file until it is scrubbed."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_DUE, secrets.token_hex(8)))
    now, these, held = clock.time(), json.dumps(sorted(blobs)), json.dumps(nodes)
    rows = connection.execute(f"SELECT hash FROM blobs WHERE id IN {_THESE} AND gone IS NULL", (these,)).fetchall()  # noqa: S608
    names = {row[0] for row in rows}
    checkpoints = _quoting(connection, names, nodes)
    emptied = {row[0] for row in connection.execute(f"SELECT blob FROM checkpoints WHERE ref IN {_THESE}", checkpoints)}  # noqa: S608
    connection.execute(
        f"UPDATE blobs SET data = x'', size = 0, codec = 0, gone = ? WHERE gone IS NULL AND id IN {_THESE}",  # noqa: S608
        (now, json.dumps(sorted(blobs | emptied))),
    )
    connection.execute(f"UPDATE checkpoints SET text_hash = x'' WHERE ref IN {_THESE}", checkpoints)  # noqa: S608
    connection.execute(
        f"INSERT INTO undone(checkpoint, undone, time) SELECT value, 1, {now!r} FROM json_each(?)",  # noqa: S608
        checkpoints,
    )
    for statement in ("DELETE FROM parts WHERE blob IN", "DELETE FROM results WHERE blob IN"):
        connection.execute(f"{statement} {_THESE} AND node IN {_THESE}", (these, held))
    Index().remove(connection, nodes)
    refs = tuple(name.hex()[:REF_LENGTH] for name in sorted(names))
    return Forgotten(refs, about.sessions, about.shared, about.kept, tuple(json.loads(checkpoints[0])))


def _quoting(connection: sqlite3.Connection, names: set[bytes], nodes: Iterable[int]) -> tuple[str]:
    """Checkpoints of these histories, or for one of these messages, and all that build on them: a summary quotes.

    As JSON.
    """
    rows = connection.execute("SELECT ref, parent, covered, node FROM checkpoints ORDER BY id").fetchall()
    found, ends = set[str](), set(nodes)
    for ref, parent, covered, node in rows:
        told = Blobs().get(connection, covered)
        if node in ends or parent in found or any(told[at : at + 16] in names for at in range(0, len(told), 16)):
            found.add(ref)
    return (json.dumps(sorted(found)),)


def scrub(connection: sqlite3.Connection) -> None:
    """Writes the file anew without what was taken out, and empties the file of commits beside it."""
    due = _due(connection)
    if due != _WRITTEN:
        _write_anew(connection)
        connection.execute("UPDATE meta SET value = ? WHERE key = ? AND value = ?", (_WRITTEN, _DUE, due))
    busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if busy:
        what = "it is forgotten, but another process still reads the old bytes"
        raise Busy(f"{what}: they go when the archive is next opened, or forget it again when that is over")
    connection.execute("DELETE FROM meta WHERE key = ? AND value = ?", (_DUE, _WRITTEN))


def _write_anew(connection: sqlite3.Connection) -> None:
    try:
        Index().purge(connection)
        connection.execute("VACUUM")
    except sqlite3.OperationalError as error:
        kind = _HINDERED.get(error.sqlite_errorcode & 0xFF)
        if kind is None:
            raise
        when = "its bytes go when the archive is next opened and that is over"
        raise kind(f"it is forgotten, but the file cannot be written anew without it ({error}); {when}") from error


_HINDERED = {sqlite3.SQLITE_FULL: Full, sqlite3.SQLITE_BUSY: Busy}
"""Errors that are over some time, by the number that SQLite gives them. What was taken out stays out."""


def is_due(connection: sqlite3.Connection) -> bool:
    """Something was taken out, and the file not written anew: that was cut short."""
    return _due(connection) is not None


def _due(connection: sqlite3.Connection) -> str | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_DUE,)).fetchone()
    return row[0] if row is not None else None


def size(connection: sqlite3.Connection) -> int:
    """Bytes in use in the file."""
    pages, free, page = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * page)


def oldest(connection: sqlite3.Connection) -> list[str]:
    """Sessions that may be trimmed, the longest untouched first; never the newest one."""
    rows = connection.execute(
        """SELECT sessions.name FROM sessions JOIN nodes ON nodes.id = leaf JOIN blobs ON blobs.id = blob
            WHERE gone IS NULL ORDER BY updated, sessions.id"""
    ).fetchall()
    return [row[0] for row in rows[:-1]]
