"""The archive as `foldline compact` uses it: what is folded is kept, and what was folded before is not built on.

A file is folded as it is, every time: an earlier fold of it is replaced by this one, never summed up again. If the
archive cannot be used, the fold goes on without it and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from foldline.errors import ArchiveError
from foldline.model import Notice

if TYPE_CHECKING:
    from foldline.archive import Archive
    from foldline.cli.options import Given
    from foldline.core.checkpoints.checkpoint import Checkpoint
    from foldline.core.effects import Recalled, Save
    from foldline.model import Conversation, Message


class Shelf:
    """A Backend over an archive, or over none. It goes on without one that fails."""

    def __init__(self, archive: Archive | None, given: Given, notices: tuple[Notice, ...] = ()) -> None:
        self._archive, self._given = archive, given
        self._opened = archive
        self._there: Recalled | None = None
        self._failures = notices
        self.session = ""
        """What was kept is called so."""

    @property
    def path(self) -> str | None:
        """Where it was kept; None when it was not."""
        return str(self._archive.path) if self._archive is not None and self.session and not self._failures else None

    @property
    def told(self) -> tuple[Notice, ...]:
        """What happened to the archive itself, and why something was not kept."""
        return (*(self._opened.notices if self._opened is not None else ()), *self._failures)

    def keep(self, conversation: Conversation, scope: str = "") -> None:
        from foldline.dialects.about import about

        if self._archive is None:
            return
        known = about(conversation)
        source = "" if self._given.name != self._given.file else str(Path(self._given.file).absolute())
        time = max(known.times, default=None)
        try:
            self.session = self._archive.append(
                conversation, scope, project=known.project, title=known.title, source=source, time=time
            )
        except ArchiveError as error:
            self._note(error)

    def recall(self, digests: Sequence[str], scope: str = "") -> Recalled | None:
        """Nothing: but what there is, is what this fold replaces."""
        try:
            self._there = self._archive.recall(digests, scope) if self._archive is not None else None
        except ArchiveError as error:
            self._note(error)
        return None

    def known(self, texts: Sequence[str]) -> Mapping[str, Checkpoint]:
        try:
            return self._archive.known(texts) if self._archive is not None else {}
        except ArchiveError as error:
            self._note(error)
            return {}

    def save(self, effect: Save, scope: str = "") -> Recalled | None:
        """Saves it over whatever there was. One that had been undone and was now asked for is in use again."""
        if self._archive is None:
            return None
        there = self._there.plan if self._there and self._there.plan.skeleton == effect.plan.skeleton else None
        try:
            lost = self._archive.save(replace(effect, over=there), scope)
            if effect.checkpoint is not None and effect.checkpoint.ref in self._archive.undone():
                self._archive.redo(effect.checkpoint.ref)
        except ArchiveError as error:
            self._note(error)
            return None
        return lost

    def original(self, ref: str) -> bytes | None:
        return self._archive.original(ref) if self._archive is not None else None

    def expand(self, checkpoint: str) -> tuple[Message, ...]:
        return self._archive.expand(checkpoint) if self._archive is not None else ()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def _note(self, error: ArchiveError) -> None:
        self._failures += (Notice("not-archived", f"this fold is not in the archive: {error}"),)
        self._archive = None


def shelf(given: Given, path: str | None, *, wanted: bool) -> Shelf:
    """The archive at a path, or at its usual place; none where it is not wanted or cannot be opened."""
    from foldline.archive import Archive

    if not wanted:
        return Shelf(None, given)
    try:
        return Shelf(Archive(path), given)
    except ArchiveError as error:
        return Shelf(None, given, (Notice("not-archived", f"this fold is not in the archive: {error}"),))
