"""An archive whose commits run beside the request: begun when it is sent on, and waited for before the reply ends.

    with beside.turn() as mine:   collects what this turn is keeping; at its end a thread of its own begins to write
    mine.settle()                 waits for it
    beside.flush()                waits for all that was to be kept so far

A turn is not held up by its own commit, as it would be if that began while the turn still reads. What waits for the
disk at the same time is written in one transaction, where the archive can do that; what nobody waits for is written
with what comes next, or when nothing has come for a moment. A view is saved only after what it stands for is kept, so
a checkpoint never points at nothing. The search index is filled when nothing has come for a moment, where the archive
can leave that for later: who searches sooner fills it first.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, runtime_checkable

from foldline.archive.base import Backend
from foldline.archive.history import Shelf
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.effects import Recalled, Save
from foldline.errors import ArchiveError, Busy
from foldline.model import Conversation, Message
from foldline.proxy.health import log_failure
from foldline.recent import Recent

AT_ONCE = 64
"""Conversations in one transaction: more save little, and whoever reads the archive waits for all of them."""
QUIET = 0.05
"""Seconds without anything to keep after which there is time for the search index, for which nobody waits."""
SLICE = 8
"""Messages that are indexed at a time then: it takes a few milliseconds."""
AT_LAST = 256
"""The same when the archive is closed: only who closes it waits."""
BEHIND = 128
"""Conversations by which the index may be behind before it is filled without waiting for a quiet time. For each so
many more, a slice is twice as large."""
STEEPEST = 16
"""Doublings after which all that is missing is done at once."""
SETTLE = 32
"""Conversations after which what was committed is moved to its place: after a thousand pages a commit has to do it,
and takes ten times as long."""
TOLD = 4_096
"""Conversations of which the archive knows whose they are, by how they begin."""


def scope_of(upstream: str, project: str) -> str:
    """Where a provider's conversations are kept. Those of two projects never meet, however alike they begin."""
    return f"{upstream} {project}" if project else upstream


def project_of(scope: str) -> str:
    """The project of a scope that was made so; nothing for any other. The names of upstreams have no blanks."""
    project = scope.partition(" ")[2]
    return project if os.path.isabs(project) else ""


@runtime_checkable
class Grouping(Protocol):
    """An archive that keeps several at the price of one: all of them, or none."""

    def keep_all(self, many: Iterable[tuple[Conversation, str]]) -> None: ...


@runtime_checkable
class Deferring(Grouping, Protocol):
    """One that need not fill its search index at once."""

    def keep_all(self, many: Iterable[tuple[Conversation, str]], *, findable: bool = True) -> None: ...

    def catch_up(self, most: int, *, patient: bool = True) -> bool: ...

    def settle(self) -> None: ...


@dataclass(frozen=True, eq=False)
class _Wish:
    """A conversation to be kept, with its scope. `done` when it is on the disk, and not before."""

    conversation: Conversation
    scope: str
    done: Future[None] = field(default_factory=Future)

    @property
    def beginning(self) -> tuple[str, ...]:
        first = self.conversation.messages[0].identity if self.conversation.messages else ""
        return self.scope, self.conversation.dialect, first

    @property
    def failed(self) -> bool:
        return self.done.done() and self.done.exception() is not None


class Kept:
    """What one turn is keeping."""

    def __init__(self) -> None:
        self.wishes: list[_Wish] = []
        self.fresh: list[_Wish] = []
        """Those of them that are not on their way yet."""

    @property
    def pending(self) -> list[Future[None]]:
        return [wish.done for wish in self.wishes]

    def has(self, conversation: Conversation, scope: str) -> bool:
        """Whether a conversation is among it. What has failed is not, and may be tried again."""
        self.wishes = [wish for wish in self.wishes if not wish.failed]
        return any(wish.conversation is conversation and wish.scope == scope for wish in self.wishes)

    def settle(self) -> ArchiveError | None:
        """Waits until all is kept; the first error, if there was one."""
        failed = [error for future in self.pending if (error := future.exception()) is not None]
        if not failed:
            return None
        return failed[0] if isinstance(failed[0], ArchiveError) else ArchiveError(type(failed[0]).__name__)


class Beside:
    """An archive that does not hold up whoever keeps something in it."""

    def __init__(self, archive: Backend) -> None:
        self._archive = archive
        self._defers = archive if isinstance(archive, Deferring) else None
        self._keep_all = _keeper(archive)
        self._shelf = archive if isinstance(archive, Shelf) else None
        self._told = Recent[tuple[str, ...], None](TOLD)
        self._waiting: deque[_Wish] = deque()
        self._lock, self._called = threading.Lock(), threading.Event()
        self._over = threading.Condition(self._lock)
        self._asked = self._ended = 0
        """Wishes that ever came, and those that are kept or have failed, when whoever listens has heard of it."""
        self._at_work = self._closing = False
        self._behind = 0
        """Conversations that were kept since the search index was filled."""
        self._unsettled = 0
        """Conversations that were kept since what was committed was moved to its place."""
        self._writer = ThreadPoolExecutor(1, "foldline-archive")
        self._mine = threading.local()

    @contextmanager
    def turn(self, kept: Kept | None = None, *, patient: bool = False) -> Iterator[Kept]:
        """Who gives a Kept has it also where the turn fails.

        Who is `patient` waits for a commit of others, where the archive keeps several at the price of one.
        """
        self._mine.kept = kept = kept or Kept()
        try:
            yield kept
        finally:
            self._mine.kept = None
            self._begin(kept, patient=patient)

    def _begin(self, kept: Kept, *, patient: bool = False) -> None:
        if not kept.fresh:
            return
        with self._lock:
            fresh, kept.fresh = kept.fresh, []
            if not self._at_work:
                self._wake(fresh)
            self._waiting.extend(fresh)
            self._asked += len(fresh)
            if not patient or self._keep_all is None:
                self._called.set()

    def _wake(self, fresh: Sequence[_Wish]) -> None:
        try:
            self._writer.submit(self._work)
        except RuntimeError as error:  # it was closed before: nobody is to wait for ever
            for wish in fresh:
                wish.done.set_exception(error)
            raise
        self._at_work = True

    def flush(self) -> None:
        """Waits until all that was to be kept so far is kept, or has failed."""
        with self._over:
            asked = self._asked
            self._called.set()
            self._over.wait_for(lambda: self._ended >= asked)

    def keep(self, conversation: Conversation, scope: str = "") -> None:
        """Once for each turn, also where that was sent on before it was fitted."""
        kept: Kept | None = getattr(self._mine, "kept", None)
        if kept is not None and kept.has(conversation, scope):
            return
        wish = _Wish(conversation, scope)
        wish.done.set_running_or_notify_cancel()  # whoever waits for it may leave; it is kept all the same
        mine = kept or Kept()
        mine.wishes.append(wish)
        mine.fresh.append(wish)
        if kept is None:
            self._begin(mine)
            wish.done.result()

    def _work(self) -> None:
        """Writes until nothing more comes, and then fills the index."""
        while True:
            called = self._closing or self._called.wait(QUIET)
            self._called.clear()
            self._write()
            if self._behind and (self._closing or not called):
                self._index(AT_LAST if self._closing else SLICE)
            with self._lock:
                if not self._waiting and not self._behind:
                    self._at_work = False
                    return

    def _write(self) -> None:
        while wishes := [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]:
            self._commit(wishes)
            with self._over:
                self._ended += len(wishes)
                self._over.notify_all()
            self._behind += len(wishes) if self._defers else 0
            self._unsettled += len(wishes)
            if self._behind > BEHIND:
                self._index(SLICE * (1 + len(wishes)) << min(self._behind // BEHIND - 1, STEEPEST))

    def _index(self, most: int) -> None:
        """Whatever comes of it, what was kept is kept; who searches goes on with it, or hears what is wrong."""
        try:
            done = self._defers is None or self._defers.catch_up(most, patient=False)
            if done and self._defers and self._unsettled >= SETTLE:
                self._unsettled = 0
                self._defers.settle()
        except Busy:  # it is tried again as soon as there is time, but nobody waits for that who is to leave
            done = self._closing
        except BaseException as error:
            log_failure("index-failed", error)
            done = True
        self._behind = 0 if done else self._behind

    def _commit(self, wishes: Sequence[_Wish]) -> None:
        """All of them at once, where the archive can do that. What begins here is kept with its project before that."""
        for wish in wishes:
            if self._shelf is not None and project_of(wish.scope) and wish.beginning not in self._told:
                self._tell(wish, self._shelf)
        wishes = [wish for wish in wishes if not wish.done.done()]
        if not wishes or self._keep_all is None or (len(wishes) < 2 and self._defers is None):
            return self._one_by_one(wishes)
        try:
            self._keep_all((wish.conversation, wish.scope) for wish in wishes)
        except Busy as error:  # it was waited for long enough, once for all
            for wish in wishes:
                _fail(wish, error)
        except BaseException:  # whosever fault it is: each is tried by itself, so that no other pays for it
            self._one_by_one(wishes)
        else:
            for wish in wishes:
                wish.done.set_result(None)

    def _tell(self, wish: _Wish, shelf: Shelf) -> None:
        """Keeps a conversation, and says whose it is; what grows from it is known for the same project's."""
        try:
            shelf.append(wish.conversation, wish.scope, project=project_of(wish.scope))
        except BaseException as error:
            _fail(wish, error)
            return
        wish.done.set_result(None)
        self._told[wish.beginning] = None

    def _one_by_one(self, wishes: Iterable[_Wish]) -> None:
        for wish in wishes:
            try:
                self._archive.keep(wish.conversation, wish.scope)
            except BaseException as error:
                _fail(wish, error)
            else:
                wish.done.set_result(None)

    def save(self, effect: Save, scope: str = "") -> Recalled | None:
        kept: Kept | None = getattr(self._mine, "kept", None)
        if kept is not None:
            self._begin(kept)
            if (failed := kept.settle()) is not None:
                raise failed
        return self._archive.save(effect, scope)

    def recall(self, digests: Sequence[str], scope: str = "") -> Recalled | None:
        return self._archive.recall(digests, scope)

    def known(self, texts: Sequence[str]) -> Mapping[str, Checkpoint]:
        return self._archive.known(texts)

    def original(self, ref: str) -> bytes | None:
        return self._archive.original(ref)

    def expand(self, checkpoint: str) -> tuple[Message, ...]:
        return self._archive.expand(checkpoint)

    def close(self) -> None:
        """Waits for what is still on its way, and for the search index."""
        self._closing = True
        self._called.set()
        self._writer.shutdown(wait=True)


def _fail(wish: _Wish, error: BaseException) -> None:
    """Logged here, where it happened: whoever waits for the wish knows only that it failed."""
    wish.done.set_exception(error)
    log_failure("archive-failed", error)


def _keeper(archive: Backend) -> Callable[[Iterable[tuple[Conversation, str]]], None] | None:
    """How an archive keeps several, if it can."""
    if isinstance(archive, Deferring):
        return partial(archive.keep_all, findable=False)
    return archive.keep_all if isinstance(archive, Grouping) else None


__all__ = ["Beside", "Grouping", "Kept", "project_of", "scope_of"]
