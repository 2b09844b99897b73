"""The archive in a file: everything ever passed in, every checkpoint and every plan, in one SQLite database.

    keep ──> keys → nodes → blobs        recall · known · save ──> plans        expand · messages ──> ways

Here is what can be asked of it; the file itself is in connection.py. Several processes may use one file at once.
"""

from __future__ import annotations

import os
import sqlite3
import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from foldline import home
from foldline.archive import care, history, intake, later, nodes, rescue, search, transfer, ways
from foldline.archive.base import Filters, Found, SessionInfo, Stored, Trouble, no_checkpoint, storable
from foldline.archive.blobs import Blobs
from foldline.archive.connection import WAIT, Store
from foldline.archive.index import Index
from foldline.archive.keys import Memory
from foldline.archive.nodes import About
from foldline.archive.place import Damaged, Moved
from foldline.archive.plans import Plans
from foldline.archive.verify import verify
from foldline.core.arguments import check_kind, check_seconds, is_whole
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.effects import Recalled, Save, ViewPlan
from foldline.dialects import jsontext
from foldline.errors import Busy, Full, InvalidSetting
from foldline.model import Conversation, Message, Notice

T = TypeVar("T")


_TRIES = 3
"""Times that a file is replaced before the error is let through: more than one process may be at it."""


class Archive(history.Shelf):
    """Keeps everything in a file that only its owner can read. Safe for several threads and several processes.

    `path` defaults to $FOLDLINE_HOME/archive.db, else ~/.local/share/foldline/archive.db. `cap` is the most bytes the
    file may grow to; `wait` the seconds to wait for another process. With `redact_at_rest`, secrets are masked before
    anything is written: what comes back is then not byte for byte what went in, and a checkpoint that held a secret is
    shown masked after a restart.

    A file that is found to be damaged is set aside as it is, what can be read of it goes into a new one, and `notices`
    says what came of it. Nothing is removed unless forget() or trim() is called; over its cap, nothing new is kept.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        redact_at_rest: bool = False,
        cap: int | None = None,
        wait: float = WAIT,
    ) -> None:
        check_kind("path", path, (str, os.PathLike), "the file's path")
        if cap is not None and (not is_whole(cap) or cap < 1):
            raise InvalidSetting(
                f"cap is {cap!r:.80}; give the most bytes as a whole number, 1 or more, or leave it out"
            )
        check_seconds("wait", wait, "to wait for another process")
        self.path = Path(path).expanduser().absolute() if path is not None else home.archive()
        self.notices: tuple[Notice, ...] = ()
        """What happened to the file itself: rescued after damage."""
        self._blobs = Blobs(_masked if redact_at_rest else None)
        self._index = Index()
        self._memory = Memory()
        self._plans = Plans(self._blobs)
        self._doubted = False
        """The file was looked at, on doubt, as a whole: once is enough."""
        self._store = self._mended(lambda: Store(self.path, wait=wait, cap=cap, changed=self._renew), wait)
        self._mended(self._finish_forgetting)

    def _mended(self, work: Callable[[], T], wait: float | None = None) -> T:
        """Does something with the file. One that turns out to be damaged is replaced first; then it is done anew."""
        for _ in range(_TRIES):
            try:
                self._look_again()
                return work()
            except Moved:
                self._renew()
            except Damaged as error:
                store = getattr(self, "_store", None)
                told = rescue.rescue(self.path, store, error, self._store.wait if wait is None else wait)
                self.notices += told
                self._renew()
        return work()

    def _look_again(self) -> None:
        """A file that gave an odd answer when it was read is looked at before more is written to it."""
        store = getattr(self, "_store", None)
        if store is None or store.suspect is None:
            return
        error, store.suspect = store.suspect, None
        if isinstance(error, Damaged):
            raise error
        if not self._doubted:
            self._doubted = True
            with store.reading() as connection:
                found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if found != "ok":
                raise Damaged(f"{self.path} is damaged: {found}")

    def _renew(self) -> None:
        """What was remembered is of another file."""
        self._memory.clear()
        self._plans = Plans(self._blobs)

    def _finish_forgetting(self) -> None:
        """A process that was taking something out may have ended before the bytes were overwritten."""
        with self._store.reading() as connection:
            due = not self._store.readonly and care.is_due(connection)
        with suppress(Busy, Full):  # whoever takes something out now does it, or the next to open the file
            if due:
                self._store.at_once(care.scrub)

    def append(
        self,
        conversation: Conversation,
        scope: str = "",
        *,
        project: str = "",
        title: str = "",
        source: str = "",
        time: float | None = None,
    ) -> str:
        """Stores what is new, with what is known about it. The name of the session; "" for an empty conversation."""
        if not conversation.messages:
            return ""
        when, shown = clock.time() if time is None else time, self._blobs.shown
        about = About(when, scope, project, shown(title), shown(source))
        return self._mended(lambda: self._append([(conversation, about)]))[0]

    def keep_all(self, many: Iterable[tuple[Conversation, str]], *, findable: bool = True) -> None:
        """Like `keep` for several, each with its scope, in one transaction: all of them are on the disk, or none is.

        Where that need not be `findable` at once, it is left to `catch_up` and whoever searches to make it so.
        """
        now = clock.time()
        wanted = [(conversation, About(now, scope)) for conversation, scope in many if conversation.messages]
        self._mended(lambda: self._append(wanted, findable=findable))

    def catch_up(self, most: int = later.ALL, *, patient: bool = True) -> bool:
        """Puts what was kept without it into the search index, so many messages at most. Whether that was all.

        Who is not `patient` hears Busy at once where somebody else writes, and nobody who reads waits for them.
        """
        with self._store.reading() as connection:
            if not later.waiting(connection):
                return True
        return self._mended(lambda: self._catch_up(most, patient))

    def _catch_up(self, most: int, patient: bool) -> bool:
        with self._store.writing() if patient else self._store.apart() as connection:
            return later.catch_up(connection, self._index, most)

    def settle(self) -> None:
        """Moves what is in the file of commits into the archive's own, which some commit would else have to do."""
        if not self._store.readonly:
            self._store.settle()

    def _fill(self) -> None:
        """Puts what is missing into the index, as far as that is possible without waiting for others."""
        with suppress(Full, Busy):
            while not self.catch_up(later.PIECE, patient=False):  # in pieces: others can keep something in between
                pass

    @contextmanager
    def _findable(self) -> Iterator[sqlite3.Connection]:
        """For whoever needs the search index: all is in it, or else in tables of this reader's own."""
        self._fill()
        with self._store.reading() as connection, later.beside(connection):
            yield connection

    def _append(self, many: Sequence[tuple[Conversation, About]], *, findable: bool = True) -> list[str]:
        findable = findable or self._blobs.masks
        with self._store.reading():
            ways = [(self._memory.look(conversation, about.scope), about) for conversation, about in many]
            again = [way.again if not about.says else None for way, about in ways]
            if all(again):
                return [path.session for path in again if path]
            with self._store.writing() as connection:
                paths = [
                    path or nodes.grow(connection, way, about, self._blobs, self._index, findable=findable)
                    for path, (way, about) in zip(again, ways, strict=True)
                ]
                if findable:
                    later.catch_up(connection, self._index)
            for path, (way, _) in zip(paths, ways, strict=True):
                if not way.known:
                    self._memory.remember(path)
        return [path.session for path in paths]

    def recall(self, digests: Sequence[str], scope: str = "") -> Recalled | None:
        with self._store.reading() as connection:
            return self._plans.recall(connection, digests, scope)

    def known(self, texts: Sequence[str]) -> Mapping[str, Checkpoint]:
        with self._store.reading() as connection:
            found = {text: self._plans.known(connection, text) for text in texts}
        return {text: checkpoint for text, checkpoint in found.items() if checkpoint is not None}

    def save(self, effect: Save, scope: str = "") -> Recalled | None:
        return self._mended(lambda: self._save(effect, scope))

    def _save(self, effect: Save, scope: str) -> Recalled | None:
        with self._store.writing() as connection:
            return self._plans.save(connection, effect, scope, self._leaf(connection, effect), clock.time())

    def _leaf(self, connection: sqlite3.Connection, effect: Save) -> int:
        """The end of the history a checkpoint was made for: mostly one that was kept a moment ago."""
        if not effect.covered:
            return 0
        asked = effect.plan.count, effect.covered[-1]
        return self._memory.leaf(*asked) or ways.end_of(connection, *asked)

    def original(self, ref: str) -> bytes | None:
        with self._store.reading() as connection:
            text = ways.result_text(connection, ref)
            if text is not None:
                return text.encode("utf-8", "surrogatepass")
            return ways.original(connection, ref) if history.is_identity(ref) else None

    def expand(self, checkpoint: str) -> tuple[Message, ...]:
        with self._store.reading() as connection:
            lineage = self._plans.lineage(connection, checkpoint)
            spans = (self._plans.covered(connection, ref) for ref in reversed(lineage))
            return tuple(message for span in spans for message in ways.covered(connection, *span))

    def sessions(self, scope: str | None = None, project: str | None = None, limit: int = 100) -> list[SessionInfo]:
        """Sessions, the newest first."""
        with self._store.reading() as connection:
            return ways.sessions(connection, name=None, scope=scope, project=project, limit=limit)

    def messages(self, session: str) -> Iterator[Stored]:
        """The messages of a session from its beginning, each in the bytes it first came in."""
        with self._store.reading() as connection:
            steps = ways.path(connection, ways.leaf_of(connection, session))
            found = ways.messages(connection, steps)
        return (ways.stored(step, message, session) for step, message in zip(steps, found, strict=True))

    def search(self, query: str, *, limit: int = 20, semantic: bool = False, **filters: Any) -> list[Found]:
        """Messages that say something like this, the best first. See search.py for what they can be filtered by.

        With `semantic`, also those that say it in other words; this needs foldline[semantic]. The first such search
        reads all messages for their meaning, some thousands a second; later ones only what is new.
        """
        only = Filters(**filters)  # one that is misspelt is refused before anything is read
        if semantic:
            return self._mended(lambda: self._by_meaning(query, only, limit))
        with self._findable() as connection:
            return search.search(connection, query, only, limit)

    def _by_meaning(self, query: str, only: Filters, limit: int) -> list[Found]:
        from foldline.archive import semantic  # numpy is there only for those who want it

        self._fill()
        semantic.fill(self._store)
        with self._findable() as connection:
            return semantic.search(connection, query, only, limit)

    def uncoded(self) -> int:
        """How many messages the next semantic search has to read first."""
        from foldline.archive import semantic

        with self._findable() as connection:
            return semantic.uncoded(connection)

    def checkpoint(self, ref: str) -> Checkpoint:
        with self._store.reading() as connection:
            found = self._plans.checkpoint(connection, ref)
        if found is None:
            raise no_checkpoint(ref)
        return found

    def lineage(self, ref: str) -> tuple[str, ...]:
        with self._store.reading() as connection:
            return self._plans.lineage(connection, ref)

    def undone(self) -> frozenset[str]:
        with self._store.reading() as connection:
            return self._plans.undone(connection)

    def verify(self) -> Iterator[Trouble]:
        """All that is not as it was stored, derived anew from the bytes. Nothing, for an archive that is whole."""
        with self._store.looking() as connection:
            yield from verify(connection)

    def forget(self, ref: str) -> care.Forgotten:
        """Takes a session or a message out for good: when this returns, its bytes are in no file of the archive.

        See care.py for what goes with it, and what stays. The whole file is written anew, which takes its time.
        """
        ref = storable(ref.strip().lower())
        if self._session(ref) is None:
            history.must_be_reference(ref)
        with self._store.tidying() as connection:
            with self._store.writing():
                take = care.forget_session if self._session(ref) else care.forget_message
                done = take(connection, ref)
            self._renew()
            care.scrub(connection)
        return done

    def trim(self, to: int) -> care.Trimmed:
        """Takes out the oldest sessions until the file is down to so many bytes. The newest one always stays."""
        gone: list[str] = []
        with self._store.tidying() as connection:
            before = care.size(connection)
            for name in care.oldest(connection):
                if care.size(connection) <= to:
                    break
                with self._store.writing():
                    care.forget_session(connection, name)
                gone.append(name)
            self._renew()
            care.scrub(connection)
            return care.Trimmed(tuple(gone), before, care.size(connection))

    def export(self, file: BinaryIO, sessions: Iterable[str] | None = None, *, mask: bool = True) -> transfer.Exported:
        """Writes sessions as JSONL: all of them, unless some are named. Secrets are masked, unless that is off."""
        with self._store.looking() as connection:
            return transfer.export(connection, file, sessions, mask=mask)

    def import_(self, file: BinaryIO) -> intake.Imported:
        """Takes in what export() wrote. What is there already is left as it is; damaged lines are named."""

        def commit(work: Callable[[sqlite3.Connection], None]) -> None:
            def once() -> None:
                with self._store.writing() as connection:
                    work(connection)
                    later.catch_up(connection, self._index)

            self._mended(once)

        return intake.import_(commit, self._blobs, self._index, file)

    def close(self) -> None:
        """Lets go of the file."""
        self._store.close()

    def _mark(self, ref: str, undone: bool) -> None:
        with self._store.writing() as connection:
            if not undone:
                self._plans.checkpoint(connection, ref)  # one that was forgotten stays so
            self._plans.mark(connection, ref, undone, clock.time())

    def _view(self, ref: str) -> tuple[ViewPlan | None, tuple[Message, ...]]:
        with self._store.reading() as connection:
            leaf = self._plans.covered(connection, ref).leaf
            return self._plans.showing(connection, ref), ways.messages(connection, ways.path(connection, leaf))

    def _stored(self, prefix: str) -> list[Stored]:
        with self._store.reading() as connection:
            steps = ways.holding(connection, prefix)
            return [ways.stored(step, ways.message(connection, step)) for step in steps]

    def _session(self, name: str) -> SessionInfo | None:
        with self._store.reading() as connection:
            return next(iter(ways.sessions(connection, name=name, scope=None, project=None, limit=1)), None)

    def _result(self, ref: str) -> str | None:
        with self._store.reading() as connection:
            return ways.result_text(connection, ref)


def _masked(data: bytes) -> bytes:
    """Bytes with their secrets masked; the very same bytes when there are none."""
    text = jsontext.text_of(data)
    masked = history.masked(text)
    return data if masked == text else jsontext.bytes_of(masked)
