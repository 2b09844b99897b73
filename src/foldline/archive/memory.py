"""An archive in memory: complete, and gone with the process. For tests, for trying out, for short-lived agents."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from foldline.core.checkpoint import Checkpoint
from foldline.core.effects import Recalled, ViewPlan
from foldline.errors import UnknownCheckpoint
from foldline.model import Conversation, Message


class MemoryArchive:
    """Keeps everything it is given. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._messages: dict[str, Message] = {}
        self._results: dict[str, str] = {}
        self._plans: dict[tuple[str, str], ViewPlan] = {}
        self._by_text: dict[str, Checkpoint] = {}
        self._by_ref: dict[str, tuple[Checkpoint, tuple[str, ...]]] = {}
        self._last: dict[str, tuple[Message, ...]] = {}

    def keep(self, conversation: Conversation, scope: str = "") -> None:
        """Stores what is new against the last conversation of this scope; messages are shared, not copied."""
        with self._lock:
            last = self._last.get(scope, ())
            same = len(last) if conversation.messages[: len(last)] == last else 0
            for message in conversation.messages[same:]:
                self._messages.setdefault(message.identity, message)
                for result in message.results:
                    self._results.setdefault(result.ref, result.text)
            self._last[scope] = conversation.messages

    def recall(self, digests: Sequence[str], scope: str = "") -> Recalled | None:
        with self._lock:
            if not self._plans:
                return None
            found = (self._plans.get((scope, digest)) for digest in reversed(digests))
            plan = next((plan for plan in found if plan), None)
            return Recalled(plan, self._shown(plan)) if plan else None

    def _shown(self, plan: ViewPlan) -> Checkpoint | None:
        return self._by_ref[plan.checkpoint][0] if plan.checkpoint in self._by_ref else None

    def known(self, texts: Sequence[str]) -> Mapping[str, Checkpoint]:
        with self._lock:
            return {text: self._by_text[text] for text in texts if text in self._by_text}

    def save(self, plan: ViewPlan, checkpoint: Checkpoint | None = None, scope: str = "") -> None:
        with self._lock:
            if checkpoint:
                covered = self._last.get(scope, ())[checkpoint.start : checkpoint.stop]
                self._by_text[checkpoint.text] = checkpoint
                self._by_ref[checkpoint.ref] = checkpoint, tuple(message.identity for message in covered)
            self._plans[scope, plan.skeleton] = plan

    def original(self, ref: str) -> bytes | None:
        with self._lock:
            if ref in self._results:
                return self._results[ref].encode("utf-8", "surrogatepass")
            message = self._messages.get(ref)
            return message.raw if message else None

    def expand(self, checkpoint: str) -> tuple[Message, ...]:
        with self._lock:
            if checkpoint not in self._by_ref:
                raise UnknownCheckpoint(f"there is no checkpoint {checkpoint} in this archive")
            return tuple(self._messages[identity] for identity in self._by_ref[checkpoint][1])
