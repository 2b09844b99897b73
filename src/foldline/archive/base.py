"""What every archive does, and the values it answers with. How it does so is in memory.py and sqlite.py.

    keep(conversation)            the originals, before anything is done with them
    recall(digests, scope)        the newest plan for the longest prefix of this history
    known(texts)                  which of these texts are checkpoints of ours
    save(effect, scope)           a view, durable when this returns; or the one that someone else saved first
    original(ref)                 what a stub or a reference stands for
    expand(checkpoint)            the messages a checkpoint stands for

Nothing is ever changed or taken away: a plan or a checkpoint is one more row. An archive that cannot do its part raises
ArchiveError; the turn then goes on without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, get_args, runtime_checkable

from foldline.core.arguments import check_kind, check_known
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.effects import Recalled, Save
from foldline.errors import UnknownCheckpoint
from foldline.model import Conversation, Message, Role


@runtime_checkable
class Backend(Protocol):
    """What a Compactor needs of an archive: anything with these six methods will do."""

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


def storable(text: str) -> str:
    """A name as a database can hold it: halves of characters, which none can, as escapes, so that names stay apart."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class Found:
    """One hit of a search. `ref` fetches the message; `snippet` has its secrets masked."""

    ref: str
    session: str
    project: str
    position: int
    role: str
    origin: str
    tool: str
    time: float
    snippet: str
    score: float


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One conversation as it grew: `messages` on the way from its beginning, `forked` the session it branched off."""

    name: str
    scope: str
    project: str
    title: str
    dialect: str
    source: str
    started: float
    updated: float
    messages: int
    checkpoints: int = 0
    forked: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """One stored message: its bytes as they came, the message they are read as, and its place."""

    ref: str
    session: str
    position: int
    role: str
    origin: str
    dialect: str
    time: float
    raw: bytes = field(repr=False)
    message: Message = field(repr=False)


@dataclass(frozen=True, slots=True)
class Line:
    """One message of a diff, at a glance."""

    ref: str
    position: int
    role: str
    origin: str
    """Whose words they are: a tool's stand in a message of the user's in some dialects."""
    glance: str


@dataclass(frozen=True, slots=True)
class Diff:
    """What a checkpoint changed in what the model is shown."""

    checkpoint: str
    generation: int
    folded: tuple[Line, ...] = ()
    """Messages it stands for, its ancestors' first."""
    stubbed: tuple[Line, ...] = ()
    """Messages behind it whose results are shown as stubs."""
    shown: tuple[Line, ...] = ()
    """Messages that are shown themselves."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something stored that is no longer what it was: in which table, under which name, and what is wrong."""

    where: str
    ref: str
    what: str


def no_checkpoint(ref: str) -> UnknownCheckpoint:
    """The refusal of a reference that names none."""
    return UnknownCheckpoint(f"there is no checkpoint {ref} in this archive; `foldline show SESSION` lists its own")


@dataclass(frozen=True, slots=True)
class Filters:
    """What a message must be besides matching what is searched for. Times are unix seconds."""

    session: str | None = None
    project: str | None = None
    scope: str | None = None
    role: str | None = None
    tool: str | None = None
    file: str | None = None
    after: float | None = None
    before: float | None = None

    def __post_init__(self) -> None:
        if self.role is not None:
            check_known("role", self.role, get_args(Role))
        for what, moment in (("after", self.after), ("before", self.before)):
            check_kind(what, moment, (int, float), "a time in unix seconds, as time.time() tells it")
