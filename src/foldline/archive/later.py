"""Messages that are kept and not yet in the search index: which these are, and putting them there.

    keep_all(…, findable=False) ──> nodes above the mark ── catch_up ──> in the index, and the mark moved on
                                                          └─ beside ───> in tables of one reader's own

To index a message takes as long as to store it, so that is left for when nobody waits; whoever needs the index has it
done first. The mark is moved in the transaction that fills the index: cut short at any point, nothing is left out. What
is above the mark and in the index all the same was put there with its message. The tables themselves are in index.py.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from foldline.archive import ways
from foldline.archive.blobs import LOST
from foldline.archive.index import CODES, INDEXED, TABLES, Index
from foldline.errors import ArchiveError
from foldline.model import Message

ALL = -1
"""For `most`: as many messages as there are."""
PIECE = 256
"""Messages that are held in memory at a time."""
EACH = 8_192
"""Bytes that a message has, where it is said how many may be indexed: of larger ones it is fewer."""
OWN = "temp.late_"
"""How a reader's own tables are called, where the file cannot be written."""
SINCE = 4
"""The version of the file from which on there is a mark."""

_MARK = "SELECT value FROM meta WHERE key = ?"
_MOVE = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
_LAST = "SELECT coalesce(max(id), 0) FROM nodes"
_WAITING = """SELECT n.id, position, role, origin, n.dialect, n.time, '', blobs.id, hash, size
    FROM nodes n JOIN blobs ON blobs.id = n.blob WHERE n.id > ? AND gone IS NULL AND codec != ?
    AND NOT EXISTS (SELECT 1 FROM said WHERE node = n.id) ORDER BY n.id"""
_UNITED = ("said", "files", "uncoded")
"""Tables that a reader sees as one with its own."""


def mark(connection: sqlite3.Connection) -> int:
    """The last node up to which all is indexed. Of a file that has lost it, nothing is known to be."""
    row = connection.execute(_MARK, (INDEXED,)).fetchone()
    if row is None and connection.execute("PRAGMA user_version").fetchone()[0] < SINCE:
        return last(connection)
    return int(row[0]) if row is not None and row[0].isdigit() else 0


def last(connection: sqlite3.Connection) -> int:
    return int(connection.execute(_LAST).fetchone()[0])


def waiting(connection: sqlite3.Connection) -> bool:
    """Whether something may be missing from the index."""
    return last(connection) > mark(connection)


def catch_up(connection: sqlite3.Connection, index: Index, most: int = ALL) -> bool:
    """Puts what is missing into the index, so many messages at most, the oldest first. Whether that was all.

    The transaction is the caller's.
    """
    before, end = mark(connection), last(connection)
    if before >= end:
        return True
    reached = _add(connection, index, before, most)
    connection.execute(_MOVE, (INDEXED, str(end if reached is None else reached)))
    return reached is None


def _add(connection: sqlite3.Connection, index: Index, after: int, most: int = ALL) -> int | None:
    """Adds what is missing behind a node. The node that was reached; None when that was all."""
    while True:
        steps, more = _next(connection, after, PIECE if most == ALL else most)
        index.add(connection, _messages(connection, steps))
        if not more:
            return None
        after = steps[-1].node
        if most != ALL:
            return after


def _next(connection: sqlite3.Connection, after: int, most: int) -> tuple[list[ways.Step], bool]:
    """What comes next, so many or so much of it, and whether there may be more."""
    steps, room = [], most * EACH
    for *row, size in connection.execute(_WAITING, (after, LOST)):
        steps.append(ways.Step(*row))
        room -= size
        if room <= 0 or len(steps) >= most:
            return steps, True
    return steps, False


def _messages(connection: sqlite3.Connection, steps: Iterable[ways.Step]) -> Iterator[tuple[int, Message]]:
    """The messages; one that cannot be read is verify's to name."""
    for step in steps:
        with suppress(ArchiveError):
            yield step.node, ways.alone(connection, step)


@contextmanager
def beside(connection: sqlite3.Connection) -> Iterator[None]:
    """What is missing is in tables of this connection's own while the block lasts, and nothing is written."""
    if not waiting(connection):
        yield
        return
    guarded = connection.execute("PRAGMA query_only").fetchone()[0]
    connection.execute("PRAGMA query_only = OFF")
    connection.execute("PRAGMA temp_store = MEMORY")  # no file but the archive's own ever holds a word of it
    try:
        connection.execute("BEGIN")  # what is seen of the archive is of one moment, and all that is made goes with it
        _make(connection)
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute(f"PRAGMA query_only = {guarded}")


def _make(connection: sqlite3.Connection) -> None:
    for statement in (*TABLES, *CODES):
        connection.execute(statement.replace("TABLE ", f"TABLE {OWN}", 1))
    _add(connection, Index(OWN), mark(connection))
    for name in _UNITED:
        if connection.execute("SELECT 1 FROM main.sqlite_master WHERE name = ?", (name,)).fetchone():
            both = f"SELECT * FROM main.{name} UNION ALL SELECT * FROM {OWN}{name}"  # noqa: S608 - own names
            connection.execute(f"CREATE TEMP VIEW {name} AS {both}")
