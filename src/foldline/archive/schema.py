"""The tables, and how an older file is brought up to date: each step in one transaction, or not at all.

    blobs ◄── nodes ──► sessions         every message once, in the tree of all histories; one row for each branch's end
      ▲         ▲
      │         └── versions, parts, results    other bytes of the same message; how to read it; where a result stands
      └── checkpoints ◄── plans ◄── active, undone     rows that are only ever added; of the last two the newest counts

The tables of the search index are in index.py. A file that a newer program wrote is opened for reading only. What goes
into the tables is the other modules' matter.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from foldline.archive.index import CODES, MARK, TABLES
from foldline.archive.place import Damaged
from foldline.errors import ArchiveError

APPLICATION = 0x464F4C44
"""Marks a database as ours, in the header that tools like file(1) read: "FOLD"."""

_FIRST = (
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    # codec: 0 plain, 1 zlib, and 2 more when secrets were masked, so that the hash is that of other bytes.
    # gone: when it was forgotten; data is empty then
    """CREATE TABLE blobs(id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, codec INTEGER NOT NULL,
        size INTEGER NOT NULL, data BLOB NOT NULL, gone REAL)""",
    # parent 0 is the root; key says what makes it the same message; tools are names, with spaces between
    """CREATE TABLE nodes(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, key BLOB NOT NULL, blob INTEGER NOT NULL,
        session INTEGER NOT NULL, position INTEGER NOT NULL, role TEXT NOT NULL, origin TEXT NOT NULL,
        dialect TEXT NOT NULL, tools TEXT NOT NULL, time REAL NOT NULL, UNIQUE(parent, key))""",
    "CREATE INDEX nodes_blob ON nodes(blob)",
    """CREATE TABLE versions(node INTEGER NOT NULL, blob INTEGER NOT NULL, time REAL NOT NULL,
        PRIMARY KEY(node, blob)) WITHOUT ROWID""",
    "CREATE INDEX versions_blob ON versions(blob)",
    # only for messages whose bytes alone cannot be read again; two messages may share their bytes, so by node too
    "CREATE TABLE parts(node INTEGER NOT NULL, blob INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(node, blob))",
    """CREATE TABLE results(ref TEXT PRIMARY KEY, node INTEGER NOT NULL, blob INTEGER NOT NULL,
        part INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE sessions(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, scope TEXT NOT NULL,
        project TEXT NOT NULL, title TEXT NOT NULL, dialect TEXT NOT NULL, source TEXT NOT NULL, root INTEGER NOT NULL,
        leaf INTEGER NOT NULL, forked INTEGER, fork_node INTEGER, started REAL NOT NULL, updated REAL NOT NULL,
        messages INTEGER NOT NULL)""",
    "CREATE INDEX sessions_leaf ON sessions(leaf)",
    # blob: the checkpoint as JSON; covered: a blob of 16-byte identities; node: the end of the history it was made for
    """CREATE TABLE checkpoints(id INTEGER PRIMARY KEY, ref TEXT NOT NULL UNIQUE, scope TEXT NOT NULL,
        skeleton TEXT NOT NULL, generation INTEGER NOT NULL, parent TEXT NOT NULL, blob INTEGER NOT NULL,
        text_hash BLOB NOT NULL, covered INTEGER NOT NULL, node INTEGER NOT NULL, time REAL NOT NULL)""",
    "CREATE INDEX checkpoints_text ON checkpoints(text_hash)",
    """CREATE TABLE plans(id INTEGER PRIMARY KEY, scope TEXT NOT NULL, skeleton TEXT NOT NULL,
        checkpoint TEXT NOT NULL, ready INTEGER NOT NULL, data TEXT NOT NULL, time REAL NOT NULL)""",
    "CREATE INDEX plans_checkpoint ON plans(checkpoint)",
    """CREATE TABLE active(id INTEGER PRIMARY KEY, scope TEXT NOT NULL, skeleton TEXT NOT NULL,
        ready INTEGER NOT NULL, plan INTEGER NOT NULL, time REAL NOT NULL)""",
    """CREATE TABLE undone(id INTEGER PRIMARY KEY, checkpoint TEXT NOT NULL, undone INTEGER NOT NULL,
        time REAL NOT NULL)""",
    f"PRAGMA application_id = {APPLICATION}",
)

_IMPORTS = (
    # transcripts that were read: stamp tells whether one has changed since, hash is that of what was read; due is when
    # the end of one that was still being written is to be read again, 0 when it was taken whole
    """CREATE TABLE imports(name TEXT PRIMARY KEY, stamp TEXT NOT NULL, hash BLOB NOT NULL, due REAL NOT NULL,
        time REAL NOT NULL) WITHOUT ROWID""",
)

_CODES = (*CODES, "INSERT INTO uncoded SELECT id FROM nodes")

MIGRATIONS: tuple[Sequence[str], ...] = ((*_FIRST, *TABLES), _IMPORTS, _CODES, MARK)
"""Step n takes a file of version n to version n + 1. A step that was released is never changed."""


NAMES = frozenset(re.findall(r"CREATE (?:VIRTUAL )?TABLE (\w+)", "\n".join(one for step in MIGRATIONS for one in step)))
"""All tables of this version."""
_OWN = frozenset({"blobs", "nodes", "checkpoints"})
"""Tables that together are an archive's, should its mark be damaged."""


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> bool:
    """Brings the file up to date. False when a newer program wrote it: it may be read, and must not be written."""
    if version_of(connection) == len(migrations):
        return True
    while (version := version_of(connection)) < len(migrations):
        _step(connection, version, migrations[version])
    return version == len(migrations)


def _step(connection: sqlite3.Connection, version: int, statements: Sequence[str]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if version_of(connection) == version:  # else another process did it while this one waited
            if version == 0:
                _must_be_empty(connection)
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def must_be_whole(connection: sqlite3.Connection) -> None:
    """A file of this version, or of a newer one, without all of our tables has lost some."""
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    if missing := NAMES - there:
        raise Damaged(f"the table {min(missing)} is missing from the archive: its file is damaged")


def must_be_ours(connection: sqlite3.Connection) -> None:
    """A database with tables, and neither our mark nor our tables, is somebody else's, whatever version it names."""
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    if there and not there >= _OWN and connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        what = f"this is another program's database (it has {min(there)})"
        raise ArchiveError(f"{what}; give the archive a file of its own")


def _must_be_empty(connection: sqlite3.Connection) -> None:
    """An archive with tables has a version."""
    if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise Damaged("the archive has lost its version: its file is damaged")
