"""The file and the connection to it: who may read it, who holds it, and what went wrong in words.

    Store.reading() · Store.writing()     a connection for as long as the block lasts; the latter in one transaction
    Store.looking() · Store.apart()       the same through a second one, which keeps nobody waiting

SQLite's errors become Full, Corrupt and Busy here and nowhere else. A file that was replaced by another of its name is
let go of, so that nothing is written where nobody looks. What is in the tables is not known here.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from foldline.archive import place, schema
from foldline.archive.place import Damaged, Moved
from foldline.errors import ArchiveError, Busy, Full

WAIT = 5.0
"""Seconds to wait for another process to let go of the file."""
_LEAST = 0.1
"""Seconds that a thread waits for one when it has waited that long for another thread: some commits' time."""
_ANY = (1 << 32) - 2
"""The most pages that a database can have."""
_PRIMARY = 0xFF
"""The part of SQLite's error codes that names the kind of error; the rest refines it."""
_opening = threading.RLock()
"""One at a time in this process: between making a file and locking it, no one else may close it. A fork waits too."""
_stores: list[weakref.ref[Store]] = []
"""All there are."""
_paused: list[Store] = []
"""Those that wait for a fork to be over."""
_inherited: list[sqlite3.Connection] = []
"""Connections of a parent process. Closing one here would release the locks the parent holds, so none ever is."""


class Store:
    """One connection to one file, for many threads. After a fork, the child has one of its own.

    `changed` is called when the name has come to mean another file, and what was remembered of the old one is void.
    """

    def __init__(
        self,
        path: Path,
        *,
        wait: float = WAIT,
        cap: int | None = None,
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        self.path, self.wait, self._cap, self._changed = path, wait, cap, changed
        self.file: place.File | None = None
        """The file that is open, or was last."""
        self.suspect: ArchiveError | None = None
        """An error that a damaged file could be the cause of."""
        self._depth = 0
        self._queued = 0.0
        """Seconds that whoever holds the lock has waited for it."""
        self.readonly = ""
        """Why nothing can be written, if so."""
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._seconds = set[object]()
        """One for each second connection that writes."""
        self._closed = False
        _stores.append(weakref.ref(self, _stores.remove))
        if "\0" in str(path):
            raise ArchiveError("the path of the archive holds a NUL, which no file's name can; give another")
        with self.reading():  # opened at once, so that a file that cannot be used is known at the start
            pass

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is durable when the block ends, or none of it ever was."""
        with self.reading() as connection:
            self._must_be_writable()
            left = max(min(_LEAST, self.wait), self.wait - self._queued)
            with self._waiting(connection, left), self._transaction(connection):
                yield connection

    @contextmanager
    def _waiting(self, connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
        """The connection waits so long for other processes while the block lasts."""
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}")
        try:
            yield
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(1000 * self.wait)}")

    @contextmanager
    def apart(self) -> Iterator[sqlite3.Connection]:
        """Like `writing`, through a second connection: who reads meanwhile does not wait for it, and it for nobody.

        Where another writes already, it is Busy at once.
        """
        with self._second() as connection, self._transaction(connection):
            yield connection

    def settle(self) -> None:
        """Moves what is in the file of commits into the archive's own, as far as nobody reads it there."""
        with self._second() as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    @contextmanager
    def _second(self) -> Iterator[sqlite3.Connection]:
        mine = object()
        try:
            with self.reading():
                self._must_be_writable()
                self._seconds.add(mine)
            with self._worded(), closing(self._connect("rw", wait=0)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                self.limit(connection)
                yield connection
        finally:
            self._seconds.discard(mine)

    def _must_be_writable(self) -> None:
        if self.readonly:
            raise Full(f"nothing can be kept in {self.path}: {self.readonly}")

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection) -> Iterator[None]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._must_be_in_place()
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self._must_be_in_place()

    @contextmanager
    def looking(self) -> Iterator[sqlite3.Connection]:
        """A second connection, for reading alone, that sees the file as it is now and keeps nobody waiting."""
        with self.reading():  # brought up to date first, if need be
            pass
        try:
            connection = self._for_reading(self._connect("ro"))
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise wording(error, self.path) from error

    def _must_be_in_place(self) -> None:
        if place.file_at(self.path) != self.file:
            raise Moved(f"{self.path} was replaced by another file meanwhile; try again")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for this thread alone: other threads wait until the block ends."""
        if self._pid != os.getpid():
            self._after_fork()
        since = time.monotonic()
        with self._lock:
            if not self._depth:
                self._queued = time.monotonic() - since
            self._depth += 1
            try:
                with self._worded():
                    yield self._opened()
            finally:
                self._depth -= 1

    @contextmanager
    def _worded(self) -> Iterator[None]:
        try:
            yield
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            with self._lock:
                self._blame(error)
            raise
        except sqlite3.Error as error:
            told = wording(error, self.path, self._cap)
            if isinstance(told, Damaged) or type(told) is ArchiveError:
                self.suspect = told
            raise told from error

    def _blame(self, error: Exception) -> None:
        """An error of Python's is the file's, when it holds what never was put there; else it is ours."""
        if self._connection is None or self._connection.in_transaction:
            found = str(error) if isinstance(error, UnicodeDecodeError) else "ok"
        else:
            found = self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok":
            self.suspect = Damaged(f"{self.path} is damaged: {found}")
            raise self.suspect from error

    def pause(self) -> bool:
        """Closes the connection, and keeps others from opening it until `go_on`: for a fork, since SQLite in the child
        takes its parent's locks for its own. It then has none, and is refused what the parent was at.

        Whether it has to go on then. What is not open stays so, and a parent's is never closed.
        """
        if self._connection is None or self._pid != os.getpid() or not self._lock.acquire(timeout=WAIT):
            return False
        if not self._depth:
            end = time.monotonic() + WAIT
            while self._seconds and time.monotonic() < end:
                time.sleep(place.PAUSE)
            self.let_go()
        return True

    def go_on(self) -> None:
        self._lock.release()

    def _after_fork(self) -> None:
        """A connection must not be used by two processes; a lock that was held at the fork is never let go."""
        if self._connection is not None:
            _inherited.append(self._connection)
        self._connection, self._lock, self._pid, self._depth = None, threading.RLock(), os.getpid(), 0

    def _opened(self) -> sqlite3.Connection:
        if self._closed:
            raise ArchiveError(f"{self.path} was closed; open it again with Archive(path)")
        if self._depth == 1 and self._connection is not None and place.file_at(self.path) != self.file:
            self.let_go()
            self.file = None  # the system may give the new one the number of the old
            self._changed()
        if self._connection is None:
            before = self.file
            try:
                with _opening, place.holding(self.path, self.wait):
                    self._connection = self._open_patiently()
            except OSError as error:
                raise wording(error, self.path) from error
            if before not in (None, self.file):
                self._changed()
        return self._connection

    def let_go(self) -> None:
        """Closes the connection; the next one who needs it opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _open_patiently(self) -> sqlite3.Connection:
        """Where two begin a file at once, SQLite refuses one of them without waiting."""
        end = time.monotonic() + self.wait
        while True:
            try:
                return self._open()
            except sqlite3.OperationalError as error:
                if not isinstance(wording(error, self.path), Busy) or time.monotonic() > end:
                    raise
            time.sleep(place.PAUSE)

    def _open(self) -> sqlite3.Connection:
        if place.rescue_waits(self.path):
            raise Damaged(f"{self.path} was damaged, and its rescue was cut short; open it again to go on with that")
        mode = place.mode_of(self.path)
        self.readonly = place.made_safe(self.path)
        self.file = place.file_at(self.path)
        connection = self._connect("ro" if self.readonly else "rw")
        try:
            if self.readonly:
                return self._for_reading(connection)
            schema.must_be_ours(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            if not schema.migrate(connection):
                self.readonly = "a newer Foldline wrote this file; upgrade to write to it"
                connection.execute("PRAGMA query_only = ON")
            schema.must_be_whole(connection)
            for end in place.SIDES:
                place.shut(place.beside(self.path, end))
            self.limit(connection)
        except BaseException:
            connection.close()
            place.set_mode(self.path, mode)  # what cannot be used is left as it was found
            raise
        return connection

    def _connect(self, mode: str, more: str = "", wait: float | None = None) -> sqlite3.Connection:
        address = f"file:{quote(str(self.path))}?mode={mode}{more}"
        wait = self.wait if wait is None else wait
        return sqlite3.connect(address, uri=True, timeout=wait, isolation_level=None, check_same_thread=False)

    def _for_reading(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """A file that cannot be written can be read all the same, also where its folder takes no lock files."""
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            if isinstance(wording(error, self.path), Busy):  # without a lock it would be read while it is written
                raise
            connection = self._connect("ro", "&immutable=1")
        schema.must_be_ours(connection)
        if schema.version_of(connection) == 0:
            raise Full(f"there is no archive in {self.path}, and none can be made: {self.readonly}")
        return connection

    def limit(self, connection: sqlite3.Connection) -> None:
        """The file may grow to its cap."""
        if self._cap is not None:
            page = connection.execute("PRAGMA page_size").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {max(1, self._cap // page)}")

    @contextmanager
    def tidying(self) -> Iterator[sqlite3.Connection]:
        """A connection to write with where the cap does not hold: taking out needs room too, for a moment."""
        with self.reading() as connection:
            if self.readonly:
                raise Full(f"nothing can be taken out of {self.path}: {self.readonly}")
            connection.execute(f"PRAGMA max_page_count = {_ANY}")
            try:
                yield connection
            finally:
                self.limit(connection)

    def at_once(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Like `tidying`, and Busy where another process would have to be waited for."""
        with self.tidying() as connection, self._waiting(connection, 0):
            work(connection)

    def close(self) -> None:
        """Lets go of the file. Nothing can be done with the archive afterwards; closing it again is no error."""
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection, self._closed = None, True


def _pause_all() -> None:
    _opening.acquire()
    known = (known() for known in list(_stores))
    _paused.extend(store for store in known if store is not None and store.pause())


def _go_on_all() -> None:
    while _paused:
        _paused.pop().go_on()
    _opening.release()


os.register_at_fork(before=_pause_all, after_in_parent=_go_on_all, after_in_child=_go_on_all)


_ROOM = "; make room or give another path, and what comes next is kept again"
_HELD = Busy, "another process holds {path}; try again: what was not kept is kept then"
_SORTS: dict[int, tuple[type[ArchiveError], str]] = {
    sqlite3.SQLITE_FULL: (Full, f"there is no room for more in {{path}}{_ROOM}"),
    sqlite3.SQLITE_READONLY: (Full, "{path} is read-only; allow writing to it, or give another path"),
    sqlite3.SQLITE_CANTOPEN: (Full, "{path} or a file beside it cannot be opened; look at their permissions"),
    sqlite3.SQLITE_IOERR: (Full, f"{{path}} cannot be read or written{_ROOM}"),
    sqlite3.SQLITE_CORRUPT: (Damaged, "{path} is damaged; put it aside, and restore a copy or begin a new one"),
    sqlite3.SQLITE_NOTADB: (
        Damaged,
        "{path} is no archive, or its beginning is damaged; put it aside, or give another path",
    ),
    sqlite3.SQLITE_BUSY: _HELD,
    sqlite3.SQLITE_LOCKED: _HELD,
    sqlite3.SQLITE_PROTOCOL: _HELD,  # others were in the way each time that it tried to begin
}


def wording(error: sqlite3.Error | OSError, path: Path, cap: int | None = None) -> ArchiveError:
    """The error in our words, with SQLite's or the system's own in brackets."""
    if isinstance(error, OSError):
        return Full(f"{path} cannot be used; give a path that can be read and written ({error.strerror})")
    code = getattr(error, "sqlite_errorcode", None) or 0
    if code == sqlite3.SQLITE_IOERR_SHORT_READ:
        code = sqlite3.SQLITE_CORRUPT
    if code == sqlite3.SQLITE_ERROR and "no such" in str(error):  # all that is asked for was there when it was made
        code = sqlite3.SQLITE_CORRUPT
    kind, what = _SORTS.get(code & _PRIMARY, (ArchiveError, "{path} could not be used"))
    capped = f"; it may hold {cap:,} bytes, and trim() takes the oldest sessions out" if kind is Full and cap else ""
    return kind(f"{what.format(path=path)}{capped} ({error})")
