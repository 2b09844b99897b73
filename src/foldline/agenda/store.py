"""The log of the agenda on disk: entries are added, never changed. What they mean is in state.py.

It is a file of its own, `agenda.db` beside the archive: an archive that is full, damaged, moved or forgotten leaves
the plan alone, and the few writes of a plan never wait for a fold. WAL with synchronous=FULL: what was acknowledged
has reached the disk.

A connection lives for one operation. Plans change a few times a minute, so that costs nothing that matters, and there
is no connection to be carried over a fork, none to close, and none to a file that has been replaced meanwhile.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from foldline import home
from foldline.agenda.state import Entry
from foldline.errors import ArchiveError, Busy, Corrupt, Full, InputError

T = TypeVar("T")
WAIT = 5.0
"""Seconds to wait for another process before giving up."""
PAUSE = 0.01
"""Seconds between two tries where SQLite itself does not wait."""
SCOPE = 4_096
"""Bytes of a project's name: the longest path Linux knows."""
VERSION = 1

_SCHEMA = """
CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, scope BLOB NOT NULL, time REAL NOT NULL,
    plan INTEGER NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL)
"""
_INDEX = "CREATE INDEX entries_of_scope ON entries (scope, id)"

_gate = threading.Lock()
"""One thread of a process at a time: queueing here is fair, SQLite's waiting is not. A fork waits too, so that no
child inherits a connection or a closed gate."""
os.register_at_fork(before=_gate.acquire, after_in_parent=_gate.release, after_in_child=_gate.release)


class Log:
    """The entries of every project in one file. The file appears with the first entry."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path).expanduser() if path is not None else home.agenda()

    def read(self, scope: str) -> tuple[Entry, ...]:
        """The entries of a project, in order."""
        name = _named(scope)
        return self._patiently(lambda: self._read(name))

    def add(self, scope: str, choose: Callable[[tuple[Entry, ...]], Sequence[Entry]]) -> tuple[Entry, ...]:
        """Lets `choose` see the entries and say which to add, while nobody else can write. Gives the added ones back.

        `choose` may be asked more than once.
        """
        name = _named(scope)
        return self._patiently(lambda: self._add(name, choose))

    def _read(self, scope: bytes) -> tuple[Entry, ...]:
        try:
            os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        with self._opened() as connection:
            connection.execute("BEGIN")  # one sight of the file: another process may be creating it
            return _entries(connection, scope, self.path) if _version(connection, self.path) else ()

    def _add(self, scope: bytes, choose: Callable[[tuple[Entry, ...]], Sequence[Entry]]) -> tuple[Entry, ...]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._opened() as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("BEGIN IMMEDIATE")  # closing without a commit takes everything back
            if not _version(connection, self.path):
                _create(connection)
            added = _insert(connection, scope, choose(_entries(connection, scope, self.path)))
            connection.execute("COMMIT")
            return added

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        _guard(self.path)
        connection = self._connected()
        try:
            yield connection
        finally:
            connection.close()

    def _connected(self) -> sqlite3.Connection:
        """Where the folder takes no files beside it, the file can be read all the same."""
        beside = self.path.with_name(f"{self.path.name}-wal")
        if os.access(self.path.parent, os.W_OK) or os.path.lexists(beside):
            return sqlite3.connect(self.path, timeout=WAIT / 5, isolation_level=None)
        return sqlite3.connect(f"file:{quote(str(self.path))}?immutable=1", uri=True, isolation_level=None)

    def _patiently(self, work: Callable[[], T]) -> T:
        """Tries again while others are writing. The one place where errors of the disk and of SQLite are told."""
        end = time.monotonic() + WAIT
        while True:
            try:
                with _gate:
                    return work()
            except sqlite3.Error as error:
                told = _told(error, self.path)
                if not isinstance(told, Busy) or time.monotonic() > end:
                    raise told from error
            except OSError as error:
                raise _refused(error, self.path) from error
            time.sleep(PAUSE)


def _named(scope: str) -> bytes:
    name = scope.encode("utf-8", "surrogatepass")
    if len(name) > SCOPE:
        raise InputError(f"the scope has {len(name):,} bytes, over the limit of {SCOPE:,}; give the project's path")
    return name


def _guard(path: Path) -> None:
    """The file is there, is a file, is no link, and is its owner's alone. Done in the gate: closing a file drops all
    locks that this process has on it."""
    new = not os.path.lexists(path)
    file = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    try:
        mode = os.fstat(file).st_mode
        if not stat.S_ISREG(mode):
            raise ArchiveError(f"{path} is not a file; name another place for the agenda")
        try:
            if mode & 0o077:
                os.fchmod(file, 0o600)
        except OSError:
            if os.access(path, os.W_OK):  # else it can be read all the same: it is another's, or on a read-only disk
                raise
    finally:
        os.close(file)
    if new:
        _settle(path.parent)


def _settle(folder: Path) -> None:
    """Puts the name of a new file on the disk, as its contents will be."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """0 for a file in which nothing is yet. Raises for what is no agenda, or one of a later format."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'entries'").fetchone()[0]
    others = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if version > VERSION and (tables or not others):
        raise ArchiveError(f"{path} has format {version}, this Foldline knows {VERSION}; upgrade it. Nothing changed")
    if bool(tables) != bool(version) or (others and not version):
        raise ArchiveError(f"{path} is a database of something else; name another place for the agenda")
    return version


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(_SCHEMA)
    connection.execute(_INDEX)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _entries(connection: sqlite3.Connection, scope: bytes, path: Path) -> tuple[Entry, ...]:
    rows = connection.execute("SELECT kind, plan, data, id, time FROM entries WHERE scope = ? ORDER BY id", (scope,))
    return tuple(Entry(kind, plan, _data(data, number, path), number, when) for kind, plan, data, number, when in rows)


def _data(text: str, number: int, path: Path) -> dict[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, TypeError) as error:
        raise damaged(path, number) from error
    if not isinstance(value, dict):
        raise damaged(path, number)
    return value


def damaged(path: Path, number: int | None = None) -> Corrupt:
    where = f"entry {number} of {path}" if number is not None else str(path)
    return Corrupt(f"{where} is damaged; move the file aside and a new agenda is begun. Nothing was overwritten")


def _insert(connection: sqlite3.Connection, scope: bytes, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    now, added = time.time(), []
    for entry in entries:
        row = (scope, now, entry.plan, entry.kind, json.dumps(dict(entry.data)))
        cursor = connection.execute("INSERT INTO entries (scope, time, plan, kind, data) VALUES (?, ?, ?, ?, ?)", row)
        added.append(entry._replace(id=cursor.lastrowid or 0, time=now))
    return tuple(added)


def _told(error: sqlite3.Error, path: Path) -> ArchiveError:
    """SQLite's error as one of ours, with what to do."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
        return Busy(f"{path} was held by another process for {WAIT:g} s; try again. Nothing was changed")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damaged(path)
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY):
        return Full(f"{path} cannot be written ({error}); make room or check its mode. Nothing was changed")
    return ArchiveError(f"{path}: {error}; check the file and its folder. Nothing was changed")


def _refused(error: OSError, path: Path) -> ArchiveError:
    if error.errno == errno.ELOOP:
        return ArchiveError(f"{path} is a symbolic link, and those are not followed; give the path of the file itself")
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM):
        return Full(f"{path} cannot be opened ({error.strerror}); make room or check modes. Nothing was changed")
    return ArchiveError(f"{path}: {error.strerror or error}; name another place for the agenda. Nothing was changed")
