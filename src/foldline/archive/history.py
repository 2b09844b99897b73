"""Looking back: undo and redo a checkpoint, see what one changed, fetch anything by its reference.

    Shelf      the few things an archive must be able to look up; whoever has them gets the rest from here

An undo is one more row, and a redo too: nothing is taken away, and a later fold has a row of its own. How any of this
is stored is the archives' matter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from foldline.archive.base import Diff, Found, Line, SessionInfo, Stored, storable
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.effects import Recalled, Save, ViewPlan
from foldline.errors import ArchiveError, UnknownCheckpoint
from foldline.model import REF_LENGTH, Conversation, Message

SHORTEST = 6
"""Characters of an identity that name a message: fewer are guessed rather than copied."""
IDENTITY = 2 * REF_LENGTH
"""Characters of a whole identity."""
GLANCE = 100
"""Characters of a message in a diff."""
_OPENING = 40 * GLANCE
"""Characters of a text that are masked for a glance: what is shown of them ends long before a secret could be cut."""
_DIGITS = frozenset("0123456789abcdef")


class Shelf(ABC):
    """What an archive looks up, and what follows from it."""

    @abstractmethod
    def checkpoint(self, ref: str) -> Checkpoint:
        """The checkpoint of that reference. Raises UnknownCheckpoint."""

    @abstractmethod
    def lineage(self, ref: str) -> tuple[str, ...]:
        """A checkpoint and its ancestors, the oldest last. Raises UnknownCheckpoint."""

    @abstractmethod
    def undone(self) -> frozenset[str]:
        """The checkpoints that are undone."""

    def keep(self, conversation: Conversation, scope: str = "") -> None:
        """Stores what is new. All of it is kept when this returns, or an error is raised."""
        self.append(conversation, scope)

    @abstractmethod
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
        """Keeps a conversation with what is known about it. The name of its session."""

    @abstractmethod
    def recall(self, digests: Sequence[str], scope: str = "") -> Recalled | None: ...

    @abstractmethod
    def known(self, texts: Sequence[str]) -> Mapping[str, Checkpoint]: ...

    @abstractmethod
    def save(self, effect: Save, scope: str = "") -> Recalled | None: ...

    @abstractmethod
    def original(self, ref: str) -> bytes | None: ...

    @abstractmethod
    def expand(self, checkpoint: str) -> tuple[Message, ...]: ...

    @abstractmethod
    def messages(self, session: str) -> Iterator[Stored]: ...

    @abstractmethod
    def search(self, query: str, *, limit: int = 20, **filters: Any) -> list[Found]:
        """Messages that say this, the best first; by session, project, scope, role, tool, file, after, before."""

    @abstractmethod
    def sessions(self, scope: str | None = None, project: str | None = None, limit: int = 100) -> list[SessionInfo]: ...

    @abstractmethod
    def _mark(self, ref: str, undone: bool) -> None: ...

    @abstractmethod
    def _view(self, ref: str) -> tuple[ViewPlan | None, tuple[Message, ...]]:
        """The newest plan that shows a checkpoint, and the whole history it was made for."""

    @abstractmethod
    def _stored(self, prefix: str) -> list[Stored]:
        """Up to two messages whose identity begins so."""

    @abstractmethod
    def _session(self, name: str) -> SessionInfo | None: ...

    @abstractmethod
    def _result(self, ref: str) -> str | None:
        """The text of a tool result."""

    def undo(self, ref: str) -> Checkpoint | None:
        """Histories are shown as if this checkpoint, and all that build on it, had not been made.

        The answer is the checkpoint that holds now, None when there is none and the history travels raw.
        """
        self._must_be(ref)
        self._mark(ref, True)
        return self.in_force(ref)

    def redo(self, ref: str) -> Checkpoint | None:
        """Takes an undo back. The answer is the checkpoint that holds now: another where an ancestor is undone."""
        self._must_be(ref)
        self._mark(ref, False)
        return self.in_force(ref)

    def _must_be(self, ref: str) -> None:
        if not self.lineage(ref):
            raise UnknownCheckpoint("no checkpoint was named; give the reference of one")

    def in_force(self, ref: str) -> Checkpoint | None:
        """The newest of a checkpoint and its ancestors that is not undone, nor builds on one that is."""
        undone, found = self.undone(), ""
        for name in reversed(self.lineage(ref)):
            if name in undone:
                break
            found = name
        return self.checkpoint(found) if found else None

    def diff(self, ref: str) -> Diff:
        """What a checkpoint stands for, and what is shown behind it. Secrets are masked."""
        made = self.checkpoint(ref)
        plan, history = self._view(ref)
        folded = self.expand(ref)
        start = plan.start if plan else len(history)
        tail = list(enumerate(history))[start:]
        stubs = plan.stubs if plan else frozenset()
        short = [(at, message) for at, message in tail if _is_stubbed(message, stubs)]
        shown = [(at, message) for at, message in tail if not _is_stubbed(message, stubs)]
        return Diff(ref, made.generation, lines(enumerate(folded)), lines(short), lines(shown))

    def get(self, ref: str) -> Stored | Checkpoint | SessionInfo | str:
        """Whatever a reference names: a checkpoint, a session, a tool result (its text), or a message.

        A message is named by its identity or by the beginning of it. Raises ArchiveError for what is not there.
        """
        ref = storable(ref.strip().lower())
        try:
            return self.checkpoint(ref)
        except UnknownCheckpoint:
            found = self._session(ref) or self._result(ref)
        return found if found is not None else self._one_message(ref)

    def _one_message(self, ref: str) -> Stored:
        must_be_reference(ref)
        found = self._stored(ref)
        if not found:
            raise ArchiveError(f"nothing in this archive is called {ref}; a search or a session shows what there is")
        if len(found) > 1:
            raise ArchiveError(f"several messages begin with {ref}; give more of its {IDENTITY} digits")
        return found[0]


def must_be_reference(ref: str) -> None:
    if not SHORTEST <= len(ref) <= IDENTITY or not set(ref) <= _DIGITS:
        raise ArchiveError(f"{ref[:40]!r} is no reference; give {SHORTEST} to {IDENTITY} hexadecimal digits")


def is_identity(ref: str) -> bool:
    """A whole identity, or something as long that is one in form."""
    return len(ref) == IDENTITY and set(ref) <= _DIGITS


def _is_stubbed(message: Message, stubs: Iterable[str]) -> bool:
    """One of its results is shown shortened: the plan names it by its call and its content."""
    names = tuple(f"{result.call_id}:{result.ref}" for result in message.results)
    return bool(names) and any(stub.startswith(names) for stub in stubs)


def lines(messages: Iterable[tuple[int, Message]]) -> tuple[Line, ...]:
    return tuple(Line(m.identity[:REF_LENGTH], at, m.role, m.origin.value, glance(m)) for at, m in messages)


def glance(message: Message) -> str:
    """The beginning of what a message says: its text, else its calls, else its results. Secrets are masked."""
    said = " ".join(_words(message))
    return f"{said[:GLANCE]}…" if len(said) > GLANCE else said


def _words(message: Message) -> Iterator[str]:
    if message.text.strip():
        yield opening(message.text)
        return
    yield from (f"{call.name} {opening(call.arguments)}" for call in message.calls)
    yield from (opening(result.text) for result in message.results)


def opening(text: str) -> str:
    """The beginning of a text on one line, masked before it is cut: half a secret does not look like one."""
    return masked(" ".join(text[: 10 * _OPENING].split())[:_OPENING])


def masked(text: str) -> str:
    """The text with its secrets masked: everything that is shown goes through here."""
    from foldline.redact import redact

    return redact(text).text
