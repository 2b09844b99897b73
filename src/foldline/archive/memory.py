"""An archive in memory: complete, and gone with the process. For tests, for trying out, for short-lived agents.

The same answers as from a file, out of plain dicts. Messages are shared with whoever gave them, not copied; the tree
they stand in is in grove.py.
"""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foldline.archive.base import Filters, Found, SessionInfo, Stored, no_checkpoint
from foldline.archive.grove import Grove, stored
from foldline.archive.history import Shelf
from foldline.archive.keys import Memory, apart, span_stop
from foldline.archive.scanning import scan
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.effects import Recalled, Save, ViewPlan
from foldline.model import Conversation, Message

_Plans = dict[tuple[str, str], tuple[ViewPlan, ...]]
"""All plans of a scope and a skeleton, the newest last."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A checkpoint, what it stands for without its ancestors, where its history ends, and where those in it do."""

    checkpoint: Checkpoint
    covered: tuple[str, ...]
    leaf: int
    stop: int | None


class MemoryArchive(Shelf):
    """Keeps everything it is given. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._memory = Memory()
        self._grove = Grove()
        self._plans: _Plans = {}
        self._ready: _Plans = {}
        self._showing: dict[str, ViewPlan] = {}
        self._by_text: dict[str, Checkpoint] = {}
        self._by_ref: dict[str, _Made] = {}
        self._undone: frozenset[str] = frozenset()

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
        """Stores what is new, with what is known about it. The name of the session; "" for an empty conversation."""
        if not conversation.messages:
            return ""
        with self._lock:
            way = self._memory.look(conversation, scope)
            if project and self._grove.meets_another(way, project):
                way = apart(way, scope, project)
            path = way.again or self._grove.grow(way, scope, clock.time() if time is None else time)
            if not way.known:
                self._memory.remember(path)
            there = self._grove.sessions[path.session]
            if there.messages == len(conversation.messages):  # else it is the beginning of another one
                self._grove.sessions[path.session] = replace(
                    there, project=project or there.project, title=title or there.title, source=source or there.source
                )
            return path.session

    def recall(self, digests: Sequence[str], scope: str = "") -> Recalled | None:
        with self._lock:
            plan, ready = self._longest(self._plans, digests, scope), self._longest(self._ready, digests, scope)
            prepared = self._recalled(ready) if ready else None
            if plan is None:
                return Recalled(ViewPlan("", 0), ready=prepared) if prepared else None
            return replace(self._recalled(plan), ready=prepared)

    def _longest(self, plans: _Plans, digests: Sequence[str], scope: str) -> ViewPlan | None:
        if not plans:
            return None
        found = (self._newest(plans, (scope, name)) for name in reversed(digests) if (scope, name) in plans)
        return next((plan for plan in found if plan is not None), None)

    def _newest(self, plans: _Plans, key: tuple[str, str]) -> ViewPlan | None:
        """The newest plan for this very history that shows nothing undone."""
        return next((plan for plan in reversed(plans.get(key, ())) if not self._is_undone(plan.checkpoint)), None)

    def _is_undone(self, ref: str) -> bool:
        return bool(ref and self._undone) and not self._undone.isdisjoint(self.lineage(ref))

    def _recalled(self, plan: ViewPlan) -> Recalled:
        made = self._by_ref.get(plan.checkpoint)
        return Recalled(plan, made.checkpoint if made else None)

    def known(self, texts: Sequence[str]) -> Mapping[str, Checkpoint]:
        with self._lock:
            return {text: self._by_text[text] for text in texts if text in self._by_text}

    def save(self, effect: Save, scope: str = "") -> Recalled | None:
        plan, checkpoint = effect.plan, effect.checkpoint
        plans, key = self._ready if plan.ready else self._plans, (scope, plan.skeleton)
        with self._lock:
            there = self._newest(plans, key)
            if there is not None and there != effect.over and not plan.ready:
                return self._recalled(there)
            if checkpoint:
                self._by_text[checkpoint.text] = checkpoint
                self._by_ref.setdefault(checkpoint.ref, _made(effect, checkpoint, self._leaf(effect)))
                self._undone -= {checkpoint.ref}  # the same fold made anew holds again
            plans[key] = (*plans.get(key, ()), plan)
            self._showing[plan.checkpoint] = plan
            return None

    def _leaf(self, effect: Save) -> int:
        last = effect.covered[-1] if effect.covered else ""
        return self._memory.leaf(effect.plan.count, last) or self._grove.homes.get(last, 0)

    def original(self, ref: str) -> bytes | None:
        with self._lock:
            text = self._grove.results.get(ref)
            return self._grove.original(ref) if text is None else text.encode("utf-8", "surrogatepass")

    def expand(self, checkpoint: str) -> tuple[Message, ...]:
        with self._lock:
            spans = (self._by_ref[ref] for ref in reversed(self.lineage(checkpoint)))
            found = (self._grove.covered(made.covered, made.leaf, made.stop) for made in spans)
            return tuple(message for messages in found for message in messages)

    def sessions(self, scope: str | None = None, project: str | None = None, limit: int = 100) -> list[SessionInfo]:
        """Sessions, the newest first."""
        with self._lock:
            found = [
                self._counted(session)
                for session in reversed(self._grove.sessions.values())
                if scope in (None, session.scope) and project in (None, session.project)
            ]
        return sorted(found, key=lambda session: session.updated, reverse=True)[:limit]

    def _counted(self, session: SessionInfo) -> SessionInfo:
        homes = [self._grove.nodes[made.leaf].session for made in self._by_ref.values() if made.leaf]
        return replace(session, checkpoints=homes.count(session.name))

    def messages(self, session: str) -> Iterator[Stored]:
        """The messages of a session from its beginning, each in the bytes it first came in."""
        with self._lock:
            path = self._grove.path(self._grove.end_of(session))
        return (stored(node, node.first, session) for node in path)

    def search(self, query: str, *, limit: int = 20, **filters: Any) -> list[Found]:
        """Messages that say this, the best first. Each is looked at: there is no index."""
        return scan(self, query, limit, Filters(**filters))

    def checkpoint(self, ref: str) -> Checkpoint:
        with self._lock:
            if ref not in self._by_ref:
                raise no_checkpoint(ref)
            return self._by_ref[ref].checkpoint

    def lineage(self, ref: str) -> tuple[str, ...]:
        found: list[str] = []
        with self._lock:
            while ref and ref not in found:
                found.append(ref)
                ref = self.checkpoint(ref).parent
        return tuple(found)

    def undone(self) -> frozenset[str]:
        return self._undone

    def close(self) -> None:
        """Nothing is held."""

    def _mark(self, ref: str, undone: bool) -> None:
        with self._lock:
            self._undone = self._undone | {ref} if undone else self._undone - {ref}

    def _view(self, ref: str) -> tuple[ViewPlan | None, tuple[Message, ...]]:
        with self._lock:
            path = self._grove.path(self._by_ref[ref].leaf)
            return self._showing.get(ref), tuple(node.first for node in path)

    def _stored(self, prefix: str) -> list[Stored]:
        with self._lock:
            return self._grove.beginning(prefix)

    def _session(self, name: str) -> SessionInfo | None:
        with self._lock:
            return self._counted(self._grove.sessions[name]) if name in self._grove.sessions else None

    def _result(self, ref: str) -> str | None:
        with self._lock:
            return self._grove.results.get(ref)


def _made(effect: Save, checkpoint: Checkpoint, leaf: int) -> _Made:
    return _Made(checkpoint, effect.covered, leaf, span_stop(effect.plan, checkpoint))
