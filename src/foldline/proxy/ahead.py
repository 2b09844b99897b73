"""Summaries before they are needed: asked for behind a turn's back, so that no turn waits for a model.

    Ahead.consider(room, conversation, tokens)     starts one when a conversation is near its limit, and returns at once

Not again before the conversation has grown by a tenth (what is ready would be stale by then), nor while one is being
written, nor soon after one failed. What is ready is used by the engine when a view has to be folded, and only if it
still belongs to that history.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace

from foldline.callers.apart import apart
from foldline.compactor import Fitted
from foldline.model import Conversation
from foldline.proxy.health import log_failure
from foldline.proxy.rooms import Room
from foldline.recent import Recent

ARMED = 0.60
"""Of the room: late enough that most sessions never get there, early enough that a summary is written in time."""
STALE = 0.10
"""Of the room: when a conversation has grown by this much, what was prepared misses too much of it."""
AT_ONCE = 2
"""Summaries written at the same time; the provider's rate limit is the user's."""
PAUSE = 60.0
"""Seconds before a conversation for which a summary failed is tried again."""
SESSIONS = 256


@dataclass(frozen=True, slots=True)
class _State:
    tokens: int = 0
    """The conversation's size when a summary was last prepared."""
    running: bool = False
    not_before: float = 0.0


class Ahead:
    """Prepares summaries. Safe for several threads."""

    def __init__(self, count: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._few, self._over = threading.Semaphore(AT_ONCE), False
        self._sessions = Recent[tuple[str, str], _State](SESSIONS)
        self._lock = threading.Lock()
        self._count, self._clock = count, clock

    def consider(self, room: Room, conversation: Conversation, tokens: int) -> Future[None] | None:
        """Done when the summary is that is prepared for this conversation from now on; None where none is."""
        if not room.writes_ahead or not conversation.messages or tokens < room.budget.at(ARMED):
            return None
        key = (room.scope, conversation.messages[0].identity)
        with self._lock:
            state = self._sessions.pop(key, _State())
            due = self._due(state, tokens, room.budget.at(STALE))
            self._sessions[key] = _State(tokens, True) if due else state
        return apart(self._prepare, room, conversation, key) if due else None

    def _due(self, state: _State, tokens: int, growth: int) -> bool:
        """A conversation that is smaller than it was has been folded: what was prepared is used up."""
        if state.running or self._clock() < state.not_before:
            return False
        return not state.tokens or abs(tokens - state.tokens) >= growth

    def _prepare(self, room: Room, conversation: Conversation, key: tuple[str, str]) -> None:
        with self._few:
            if not self._over:
                self._prepared(room, conversation, key)

    def _prepared(self, room: Room, conversation: Conversation, key: tuple[str, str]) -> None:
        later = 0.0
        try:
            fitted = room.prepare(conversation)
            outcome = _outcome(fitted)
            self._count(outcome)
            later = self._clock() + PAUSE if outcome == "extracted" else 0.0
        except Exception as error:  # nobody waits for this, so nobody would hear of it
            if self._over:
                return
            log_failure("prepare-failed", error)
            self._count("failed")
            later = self._clock() + PAUSE
        with self._lock:
            state = self._sessions.get(key, _State())
            self._sessions[key] = replace(state, running=False, not_before=later)

    def close(self) -> None:
        """Begins no more, and waits for none: the last answer was given, and nobody would see a summary."""
        self._over = True


def _outcome(fitted: Fitted | None) -> str:
    """What came of it: "unneeded" where a fold would not have paid, whatever a model wrote."""
    if fitted is None or fitted.receipt.action != "compact":
        return "unneeded"
    attempts = fitted.receipt.attempts
    return "written" if any(attempt.outcome == "written" for attempt in attempts) else "extracted"


__all__ = ["Ahead"]
