"""An archive whose commits run beside the request: begun at once, and waited for before the reply ends.

    Beside(archive).keep(…)       returns at once; a thread of its own writes
    with beside.turn() as mine:   collects what this turn is keeping; `mine.settle()` waits for it

A view is saved only after what it stands for is kept, so a checkpoint never points at nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from foldline.archive.base import Backend
from foldline.core.checkpoint import Checkpoint
from foldline.core.effects import Recalled, Save
from foldline.errors import ArchiveError
from foldline.model import Conversation, Message


class Kept:
    """What one turn is keeping."""

    def __init__(self) -> None:
        self.pending: list[Future[None]] = []

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
        self._writer = ThreadPoolExecutor(1, "foldline-archive")
        self._mine = threading.local()

    @contextmanager
    def turn(self) -> Iterator[Kept]:
        self._mine.kept = kept = Kept()
        try:
            yield kept
        finally:
            self._mine.kept = None

    def keep(self, conversation: Conversation, scope: str = "") -> None:
        kept: Kept | None = getattr(self._mine, "kept", None)
        if kept is None:
            self._archive.keep(conversation, scope)
        else:
            kept.pending.append(self._writer.submit(self._archive.keep, conversation, scope))

    def save(self, effect: Save, scope: str = "") -> Recalled | None:
        kept: Kept | None = getattr(self._mine, "kept", None)
        if kept is not None and (failed := kept.settle()) is not None:
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


__all__ = ["Beside", "Glass", "Kept"]
