"""An archive whose commits run beside the request: begun when it is sent on, and waited for before the reply ends.

    with beside.turn() as mine:   collects what this turn is keeping; at its end a thread of its own begins to write
    mine.settle()                 waits for it

A turn is not held up by its own commit, as it would be if that began while the turn still reads. What waits for the
disk at the same time is written in one transaction, where the archive can do that. A view is saved only after what it
stands for is kept, so a checkpoint never points at nothing.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from foldline.archive.base import Backend
from foldline.core.checkpoint import Checkpoint
from foldline.core.effects import Recalled, Save
from foldline.errors import ArchiveError, Busy
from foldline.model import Conversation, Message

AT_ONCE = 64
"""Conversations in one transaction: more save little, and whoever reads the archive waits for all of them."""


@runtime_checkable
class Grouping(Protocol):
    """An archive that keeps several at the price of one: all of them, or none."""

    def keep_all(self, many: Iterable[tuple[Conversation, str]]) -> None: ...


@dataclass(frozen=True, eq=False)
class _Wish:
    """A conversation to be kept, with its scope. `done` when it is on the disk, and not before."""

    conversation: Conversation
    scope: str
    done: Future[None] = field(default_factory=Future)


class Kept:
    """What one turn is keeping."""

    def __init__(self) -> None:
        self.pending: list[Future[None]] = []
        self.wishes: list[_Wish] = []
        """Those of them that are not on their way yet."""

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
        self._waiting: deque[_Wish] = deque()
        self._writer = ThreadPoolExecutor(1, "foldline-archive")
        self._mine = threading.local()

    @contextmanager
    def turn(self, kept: Kept | None = None) -> Iterator[Kept]:
        """Who gives a Kept has it also where the turn fails."""
        self._mine.kept = kept = kept or Kept()
        try:
            yield kept
        finally:
            self._mine.kept = None
            self._begin(kept)

    def _begin(self, kept: Kept) -> None:
        for wish in kept.wishes:
            self._waiting.append(wish)
            self._writer.submit(self._commit)
        kept.wishes = []

    def keep(self, conversation: Conversation, scope: str = "") -> None:
        wish = _Wish(conversation, scope)
        wish.done.set_running_or_notify_cancel()  # whoever waits for it may leave; it is kept all the same
        kept: Kept | None = getattr(self._mine, "kept", None)
        mine = kept or Kept()
        mine.wishes.append(wish)
        mine.pending.append(wish.done)
        if kept is None:
            self._begin(mine)
            wish.done.result()

    def _commit(self) -> None:
        """All that waits by now. Those whose wish went with another's find nothing left to do."""
        wishes = [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]
        if len(wishes) < 2 or not isinstance(self._archive, Grouping):
            return self._one_by_one(wishes)
        try:
            self._archive.keep_all((wish.conversation, wish.scope) for wish in wishes)
        except Busy as error:  # it was waited for long enough, once for all
            for wish in wishes:
                wish.done.set_exception(error)
        except BaseException:  # whosever fault it is: each is tried by itself, so that no other pays for it
            self._one_by_one(wishes)
        else:
            for wish in wishes:
                wish.done.set_result(None)

    def _one_by_one(self, wishes: Iterable[_Wish]) -> None:
        for wish in wishes:
            try:
                self._archive.keep(wish.conversation, wish.scope)
            except BaseException as error:
                wish.done.set_exception(error)
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
        """Waits for what is still on its way."""
        self._writer.shutdown(wait=True)


class Glass:
    """An archive that is looked at and not written to: for requests that only ask how large something is."""

    def __init__(self, archive: Backend) -> None:
        self.recall, self.known = archive.recall, archive.known
        self.original, self.expand = archive.original, archive.expand

    def keep(self, conversation: Conversation, scope: str = "") -> None:
        """Nothing is kept."""

    def save(self, effect: Save, scope: str = "") -> Recalled | None:  # noqa: ARG002 - the archive's signature
        """Nothing is saved."""
        return None


__all__ = ["Beside", "Glass", "Grouping", "Kept"]
