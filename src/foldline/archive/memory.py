"""An archive in memory: complete, and gone with the process. For tests, for trying out, for short-lived agents."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from foldline.core.checkpoint import Checkpoint
from foldline.core.effects import Recalled, Save, ViewPlan
from foldline.errors import UnknownCheckpoint
from foldline.model import Conversation, Message


class MemoryArchive:
    """Keeps everything it is given. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._messages: dict[str, Message] = {}
        self._results: dict[str, str] = {}
        self._plans: dict[tuple[str, str], ViewPlan] = {}
        self._ready: dict[tuple[str, str], ViewPlan] = {}
        self._by_text: dict[str, Checkpoint] = {}
        self._by_ref: dict[str, tuple[Checkpoint, tuple[str, ...]]] = {}
        self._last: dict[tuple[str, str], tuple[Message, ...]] = {}

    def keep(self, conversation: Conversation, scope: str = "") -> None:
        """Stores what is new against the last conversation that began so; messages are shared, not copied."""
        messages = conversation.messages
        if not messages:
            return
        session = scope, messages[0].identity
        with self._lock:
            last = self._last.get(session, ())
            same = len(last) if messages[: len(last)] == last else 0
            for message in messages[same:]:
                self._messages.setdefault(message.identity, message)
                for result in message.results:
                    self._results.setdefault(result.ref, result.text)
            self._last[session] = messages

    def recall(self, digests: Sequence[str], scope: str = "") -> Recalled | None:
        with self._lock:
            plan, ready = self._found(self._plans, digests, scope), self._found(self._ready, digests, scope)
            prepared = self._recalled(ready) if ready else None
            if plan is None:
                return Recalled(ViewPlan("", 0), ready=prepared) if prepared else None
            return Recalled(plan, self._shown(plan), prepared)

    def _found(self, plans: Mapping[tuple[str, str], ViewPlan], digests: Sequence[str], scope: str) -> ViewPlan | None:
        if not plans:
            return None
        return next((plans[key] for digest in reversed(digests) if (key := (scope, digest)) in plans), None)

    def _recalled(self, plan: ViewPlan) -> Recalled:
        return Recalled(plan, self._shown(plan))

    def _shown(self, plan: ViewPlan) -> Checkpoint | None:
        return self._by_ref[plan.checkpoint][0] if plan.checkpoint in self._by_ref else None

    def known(self, texts: Sequence[str]) -> Mapping[str, Checkpoint]:
        with self._lock:
            return {text: self._by_text[text] for text in texts if text in self._by_text}

    def save(self, effect: Save, scope: str = "") -> Recalled | None:
        plan, checkpoint = effect.plan, effect.checkpoint
        plans = self._ready if plan.ready else self._plans
        with self._lock:
            there = plans.get((scope, plan.skeleton))
            if there is not None and there != effect.over and not plan.ready:
                return self._recalled(there)
            if checkpoint:
                self._by_text[checkpoint.text] = checkpoint
                self._by_ref[checkpoint.ref] = checkpoint, effect.covered
            plans[scope, plan.skeleton] = plan
            return None

    def original(self, ref: str) -> bytes | None:
        with self._lock:
            if ref in self._results:
                return self._results[ref].encode("utf-8", "surrogatepass")
            message = self._messages.get(ref)
            return message.raw if message else None

    def expand(self, checkpoint: str) -> tuple[Message, ...]:
        with self._lock:
            lineage: list[str] = []
            while checkpoint:
                if checkpoint not in self._by_ref:
                    raise UnknownCheckpoint(f"there is no checkpoint {checkpoint} in this archive")
                found, covered = self._by_ref[checkpoint]
                lineage[:0] = covered
                checkpoint = found.parent
            return tuple(self._messages[identity] for identity in lineage)
