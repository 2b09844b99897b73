"""Which session here the messages of an export's session belong to: the same one, or a branch of it.

    session line ── enter ──> its session here        message ── owner, lead ──> whose it is, and where the session ends

A session has the same name everywhere, since it is named after how it begins; so the one that is here may go on
otherwise. What comes then branches off, as it does when a conversation is kept. Messages are put in by admit.py.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import Any

from foldline.archive.blobs import Blobs
from foldline.archive.index import Index
from foldline.archive.nodes import free_name
from foldline.model import REF_LENGTH, Notice, digest

Row = dict[str, Any]
_TOLD = ("scope", "project", "title", "dialect", "source", "started", "updated")


@dataclass(slots=True)
class State:
    blobs: Blobs
    index: Index
    masked: bool = False
    counts: dict[str, int] = field(default_factory=lambda: {"session": 0, "message": 0, "new": 0, "checkpoint": 0})
    damaged: list[Notice] = field(default_factory=list)
    places: dict[tuple[str, int], int] = field(default_factory=dict)
    """The node at each place of each session."""
    sessions: dict[str, int] = field(default_factory=dict)
    """The session here that each session of the file is."""
    told: dict[str, list[Any]] = field(default_factory=dict)
    """What the file says of each session."""

    def skip(self, line: int, offset: int, why: str) -> None:
        self.damaged.append(Notice("damaged-line", f"skipped: {why}", line, offset))


def enter(connection: sqlite3.Connection, state: State, row: Row) -> None:
    """A session of the file: the one of its name, which is made if there is none."""
    row = {**row, **{name: state.blobs.shown(row[name]) for name in ("title", "source")}}
    told = [row[name] for name in _TOLD]
    if not all(isinstance(value, (str, int, float)) for value in (row["name"], *told)):
        raise TypeError("a field has no text")
    connection.execute(
        """INSERT OR IGNORE INTO sessions(name, scope, project, title, dialect, source, started, updated, root, leaf,
            messages, forked) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, (SELECT id FROM sessions WHERE name = ?))""",
        (row["name"], *told, row["forked"]),
    )
    state.told[row["name"]] = told
    state.sessions[row["name"]] = _named(connection, row["name"])
    state.counts["session"] += 1


def _named(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute("SELECT id FROM sessions WHERE name = ?", (name,)).fetchone()[0])


def owner(connection: sqlite3.Connection, state: State, row: Row, parent: int) -> int:
    """The session that a new message belongs to. Where the one here has gone another way, a branch of it."""
    own = state.sessions[row["session"]]
    leaf, count = connection.execute("SELECT leaf, messages FROM sessions WHERE id = ?", (own,)).fetchone()
    if count and leaf != parent:
        own = state.sessions[row["session"]] = _branch(connection, state, row, parent)
    first = connection.execute("SELECT id FROM sessions WHERE name = ?", (row["owner"],)).fetchone()
    return int(first[0]) if first and row["owner"] != row["session"] else own


def _branch(connection: sqlite3.Connection, state: State, row: Row, parent: int) -> int:
    """A session that shares what stands before with another, named as it would be if it had been kept here."""
    own, told = state.sessions[row["session"]], state.told[row["session"]]
    keys = _keys(connection, parent) + bytes.fromhex(row["key"])
    name = free_name(connection, digest(keys)[:REF_LENGTH])
    cursor = connection.execute(
        """INSERT INTO sessions(name, scope, project, title, dialect, source, started, updated, root, leaf, messages,
            forked, fork_node) SELECT ?, ?, ?, ?, ?, ?, ?, ?, root, ?, ?, id, ? FROM sessions WHERE id = ?""",
        (name, *told, parent, row["position"], parent, own),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _keys(connection: sqlite3.Connection, node: int) -> bytes:
    rows = connection.execute(
        """WITH RECURSIVE up(id, parent, key, position) AS (SELECT id, parent, key, position FROM nodes WHERE id = ?
            UNION ALL SELECT n.id, n.parent, n.key, n.position FROM nodes n JOIN up ON n.id = up.parent)
            SELECT key FROM up ORDER BY position""",
        (node,),
    )
    return b"".join(key for (key,) in rows)


def lead(connection: sqlite3.Connection, state: State, row: Row, parent: int, node: int) -> None:
    """The session goes on to this node, unless it has gone further already."""
    place = row["session"], row["position"]
    state.places[place] = node
    connection.execute(
        "UPDATE sessions SET leaf = ?, messages = ?, root = ? WHERE id = ? AND leaf = ?",
        (node, row["position"] + 1, state.places[row["session"], 0], state.sessions[row["session"]], parent),
    )
