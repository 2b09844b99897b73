"""Transcripts that agents leave on disk, taken into the archive: only what is new, and whatever the rest may be.

    paths ── found ──> Item, Item, … ── Importer ──> Brought (what was new, what is still being written, what failed)

A transcript is read again when its stamp (size, time of change, inode) is another than last time; the archive then
stores only the messages it does not have. An agent writes a step piece by piece, so the last step of a file that was
changed a moment ago is left for the next time. How files are read is for the caller to say; `sources.read` does it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foldline import dialects
from foldline.archive import ways
from foldline.archive.opencode import Item
from foldline.archive.sqlite import Archive
from foldline.archive.transcripts import Failed, found
from foldline.dialects.about import about
from foldline.dialects.base import Lined, Listed
from foldline.errors import ArchiveError, FoldlineError
from foldline.model import Conversation, Message, Origin

QUIET = 60.0
"""Seconds without a change after which a step is taken to be whole: its pieces come seconds apart."""
OPEN = 3600.0
"""The same while a call of it has no result: tools may run long."""

_GONE = "SELECT id FROM blobs WHERE id IN (SELECT value FROM json_each(?)) AND size = 0 AND gone IS NOT NULL"

Read = Callable[[Any], Conversation]
"""Gives the whole conversation in a file or a value. Raises InputError."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What came of an import. `messages` are those that were new; `waiting` are files whose last step is left out.

    `forgotten` messages stand in what was read, and are not taken back.
    """

    files: int = 0
    unchanged: int = 0
    messages: int = 0
    sessions: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    failed: tuple[Failed, ...] = ()
    forgotten: int = 0

    def plus(self, other: Brought) -> Brought:
        return Brought(
            self.files + other.files,
            self.unchanged + other.unchanged,
            self.messages + other.messages,
            tuple(dict.fromkeys((*self.sessions, *other.sessions))),
            tuple(dict.fromkeys((*self.waiting, *other.waiting))),
            (*self.failed, *other.failed),
            self.forgotten + other.forgotten,
        )


@dataclass(frozen=True, slots=True)
class _Known:
    """What is remembered of a transcript."""

    stamp: str
    hash: bytes
    due: float


class Importer:
    """Takes transcripts into one archive. One that failed is tried again only when it has changed, while this lives."""

    def __init__(self, archive: Archive, read: Read, clock: Callable[[], float] = time.time) -> None:
        self._archive, self._read, self._clock = archive, read, clock
        self._broken: dict[str, str] = {}

    def bring(
        self, paths: Iterable[Path], *, again: bool = False, tell: Callable[[str], None] = lambda _: None
    ) -> Brought:
        """All there is at these paths. `again` reads also what has not changed; `tell` hears what is being read.

        A file that cannot be read is counted and named. Raises ArchiveError when the archive itself fails.
        """
        whole, known = Brought(), {} if again else self._remembered()
        for item in found(paths):
            if isinstance(item, Failed):
                whole = whole.plus(self._failed(item.name, "", item.what))
                continue
            tell(item.name)
            whole = whole.plus(self._one(item, known.get(item.name)))
        return whole

    def _one(self, item: Item, known: _Known | None) -> Brought:
        same, now = known is not None and known.stamp == item.stamp, self._clock()
        waits = known is not None and now < known.due <= now + OPEN  # what is due later than that is of another clock
        if (known and same and (waits or not known.due)) or self._broken.get(item.name) == item.stamp:
            return Brought(1, unchanged=1)
        try:
            first = self._read(item.given())
            conversations = list(dialects.several(first))
        except ArchiveError:
            raise
        except FoldlineError as error:
            return self._failed(item.name, item.stamp, getattr(error, "what", str(error)))
        except Exception as error:  # whatever is wrong with one file, the others are read
            what = f"reading it failed with {type(error).__name__}: {error}; please report this"
            return self._failed(item.name, item.stamp, what)
        seal = _hash(first)
        if known and known.hash == seal and not known.due:
            self._remember(item, seal, 0.0)
            return Brought(1, unchanged=1)
        return self._stored(item, conversations, seal, waited=same)

    def _failed(self, name: str, stamp: str, what: str) -> Brought:
        if self._broken.get(name) == (stamp or what):
            return Brought(1, unchanged=1)
        self._broken[name] = stamp or what
        return Brought(1, failed=(Failed(name, what),))

    def _stored(self, item: Item, conversations: Sequence[Conversation], seal: bytes, *, waited: bool) -> Brought:
        """Keeps what is settled. A file that was waited for, and has not changed, is, whatever its own time says."""
        now, due, whole = self._clock(), 0.0, Brought(1)
        changed = min(item.changed, now)  # clocks are set back, and files come from elsewhere
        for conversation in conversations:
            wait = _unsettled(conversation.messages)
            if wait and not waited and now < changed + wait.seconds:
                due = max(due, changed + wait.seconds)
                conversation = conversation.with_messages(conversation.messages[: wait.start])
            if conversation.messages:
                whole = whole.plus(self._kept(item, conversation))
        self._remember(item, seal, due)
        return replace(whole, waiting=(item.name,)) if due else whole

    def _kept(self, item: Item, conversation: Conversation) -> Brought:
        known = about(conversation)
        times = known.times or (item.changed,) * len(conversation.messages)
        with self._archive._store.reading() as connection:
            before = connection.execute("SELECT coalesce(max(id), 0) FROM nodes").fetchone()[0]
        session = self._archive.append(
            conversation, project=known.project, title=known.title, source=item.name, time=max(times)
        )
        new, forgotten = self._dated(session, times, before)
        return Brought(messages=new, sessions=(session,), forgotten=forgotten)

    def _dated(self, session: str, times: Sequence[float], before: int) -> tuple[int, int]:
        """Gives each message the time it was written at. The number of those that are new, and of those forgotten."""
        with self._archive._store.writing() as connection:
            steps = ways.path(connection, ways.leaf_of(connection, session))[: len(times)]
            late = [(at, step) for at, step in zip(times, steps, strict=False) if step.time > at]
            connection.executemany("UPDATE nodes SET time = ? WHERE id = ?", [(at, step.node) for at, step in late])
            own = [at for at, step in late if step.session == session]
            if own:
                connection.execute("UPDATE sessions SET started = min(started, ?) WHERE name = ?", (min(own), session))
            gone = {row[0] for row in connection.execute(_GONE, (json.dumps([step.blob for step in steps]),))}
        return sum(step.node > before for step in steps), sum(step.blob in gone for step in steps)

    def _remembered(self) -> dict[str, _Known]:
        with self._archive._store.reading() as connection:
            rows = connection.execute("SELECT name, stamp, hash, due FROM imports").fetchall()
        return {name: _Known(*rest) for name, *rest in rows}

    def _remember(self, item: Item, seal: bytes, due: float) -> None:
        with self._archive._store.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO imports VALUES (?, ?, ?, ?, ?)",
                (item.name, item.stamp, seal, due, self._clock()),
            )


def _hash(conversation: Conversation) -> bytes:
    """Of all that was read, messages or not."""
    layout = conversation.layout
    rows = layout.rows if isinstance(layout, Lined) else (layout.source.data,) if isinstance(layout, Listed) else ()
    seal = hashlib.blake2b(digest_size=16)
    for row in rows:
        seal.update(row)
    return seal.digest()


@dataclass(frozen=True, slots=True)
class _Wait:
    """From `start` on, messages may still change, for so many seconds after the file was written to."""

    start: int
    seconds: float


def _unsettled(messages: Sequence[Message]) -> _Wait | None:
    """The last step of the model, unless the user has spoken since."""
    last = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "assistant"), None)
    if last is None or any(message.origin is Origin.USER for message in messages[last + 1 :]):
        return None
    answered = {result.call_id for message in messages[last + 1 :] for result in message.results}
    waits = any(call.id not in answered for call in messages[last].calls)
    return _Wait(last, OPEN if waits else QUIET)
