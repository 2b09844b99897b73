"""What every archive does. Nothing is ever changed or taken away: a plan or a checkpoint is one more row.

    keep(conversation)            the originals, before anything is done with them
    recall(digests, scope)        the newest plan for the longest prefix of this history
    known(texts)                  which of these texts are checkpoints of ours
    save(effect, scope)           a view, durable when this returns; or the one that someone else saved first
    original(ref)                 what a stub or a reference stands for
    expand(checkpoint)            the messages a checkpoint stands for

An archive that cannot do its part raises ArchiveError; the turn then goes on without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from foldline.core.checkpoint import Checkpoint
from foldline.core.effects import Recalled, Save
from foldline.model import Conversation, Message


class Archive(Protocol):
    def keep(self, conversation: Conversation, scope: str = "") -> None: ...

    def recall(self, digests: Sequence[str], scope: str = "") -> Recalled | None: ...

    def known(self, texts: Sequence[str]) -> Mapping[str, Checkpoint]: ...

    def save(self, effect: Save, scope: str = "") -> Recalled | None:
        """Makes the plan the one for its history, unless another than `effect.over` is that by now: then that one."""
        ...

    def original(self, ref: str) -> bytes | None:
        """The bytes of a message by its identity, or the text of a tool result by its reference."""
        ...

    def expand(self, checkpoint: str) -> tuple[Message, ...]:
        """All messages a checkpoint stands for, as they came, its ancestors' first. Raises UnknownCheckpoint."""
        ...
