"""What an agent keeps beside its conversation, read when a checkpoint is written: its plan, its project memory.

    conversation ── Surrounds ──> Surroundings (the active plan, what memory files there are, what changed in them)

Plans that the agent keeps in its own todo tool are taken over first. What cannot be read is told in a notice, and the
fold goes on without it.
"""

from __future__ import annotations

import os

from foldline import memory_files
from foldline.agenda import Agenda, from_transcript
from foldline.core.effects import Surroundings
from foldline.errors import ArchiveError, InputError
from foldline.model import Conversation, Notice


class Surrounds:
    """Reads the plan of one scope and the memory files below one folder. Either may be None."""

    def __init__(self, agenda: Agenda | None, root: str | os.PathLike[str] | None, scope: str = "") -> None:
        self._agenda, self._root, self._scope = agenda, root, scope
        self._pins: dict[str, str] = {}
        """Memory files as they were at the last fold."""

    def __call__(self, conversation: Conversation) -> Surroundings:
        return self._looked(conversation, keep=True)

    def glance(self, conversation: Conversation) -> Surroundings:
        """The same, with nothing taken over and nothing remembered."""
        return self._looked(conversation, keep=False)

    def _looked(self, conversation: Conversation, keep: bool) -> Surroundings:
        plan, notices = self._plan(conversation, keep)
        found = self._memory(keep)
        return Surroundings(plan, found.memory_files, found.memory, (*notices, *found.notices))

    def _plan(self, conversation: Conversation, keep: bool) -> tuple[str, tuple[Notice, ...]]:
        if self._agenda is None:
            return "", ()
        try:
            number = self._adopted(self._agenda, conversation) if keep else None
            return self._agenda.active_text(self._scope, number), ()
        except ArchiveError as error:
            return "", (Notice("plan-unread", f"the plan could not be read: {error}"),)

    def _adopted(self, agenda: Agenda, conversation: Conversation) -> int | None:
        """The number of the plan that the conversation's own todo tool has become, if it keeps one."""
        plan = from_transcript(conversation)
        if plan is None:
            return None
        outcome = agenda.adopt(self._scope, plan, conversation.messages[0].identity)
        return outcome.data["plan"]["number"] if outcome.data.get("plan") else None

    def _memory(self, keep: bool) -> Surroundings:
        if self._root is None:
            return Surroundings()
        try:
            memory = memory_files.find(self._root)
            loaded = memory_files.load_all(memory)
            since = memory_files.changed(self._pins, self._root)
        except InputError as error:
            return Surroundings(notices=(Notice("memory-unread", f"project memory could not be read: {error}"),))
        if keep:
            self._pins = memory_files.pins(memory)
        entries = tuple(memory_files.entries(memory))
        told = [f"{name} (changed since: read it again)" for name in since.changed]
        told += [f"{name} (no longer there)" for name in since.vanished]
        notices = tuple(Notice("memory-changed", f"project memory: {what}") for what in told)
        texts = tuple(piece.text for piece in loaded)
        return Surroundings("", (*entries, *told), texts, (*memory.notices, *notices))
