"""One room for each model that is talked to: its budget, and the compactors that keep its conversations inside.

    room.fit       a turn: folds by extraction, at once, or as a model has written ahead of need
    room.look      the same without a trace, for requests that only count
    room.prepare   asks the model; a turn never waits for it

Deciding is the compactors' matter; when to prepare is in ahead.py.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from foldline.archive.base import Backend
from foldline.callers import Caller
from foldline.compactor import Compactor, Fitted
from foldline.model import Conversation, Notice
from foldline.models import Budget
from foldline.proxy.beside import Beside, Glass, Kept

ROOMS = 64
"""Models talked to at once. A client may name any model, so there is a limit."""


@dataclass(frozen=True)
class Settings:
    """What holds for all rooms. `window` and `reserve` win over what is known of a model."""

    window: int | None = None
    reserve: int | None = None
    model: Caller | None = None
    fallback: Caller | None = None
    secret: bytes = b""
    listen: Callable[[Notice], None] = lambda _: None

    def budget(self, model: str) -> Budget:
        if self.window is not None:
            return Budget(self.window, self.reserve)
        return Budget.for_model(model, reserve=self.reserve)


class Room:
    """Keeps the conversations with one model of one provider inside its window."""

    def __init__(self, settings: Settings, model: str, scope: str, archive: Beside) -> None:
        self.budget, self.scope = settings.budget(model), scope
        self._archive = archive
        shared: dict[str, Any] = {"scope": scope, "secret": settings.secret, "listen": settings.listen}
        self._turns = Compactor(self.budget, archive=archive, **shared)
        self._looks = Compactor(self.budget, archive=Glass(archive), **shared)
        self._ahead = (
            Compactor(self.budget, settings.model, settings.fallback, archive=archive, **shared)
            if settings.model is not None
            else None
        )

    @property
    def writes_ahead(self) -> bool:
        return self._ahead is not None

    def fit(self, conversation: Conversation) -> tuple[Fitted, Kept]:
        """The view, and what is being kept meanwhile."""
        with self._archive.turn() as kept:
            return self._turns.fit(conversation), kept

    def look(self, conversation: Conversation) -> Fitted:
        return self._looks.fit(conversation)

    def again(self, fitted: Fitted, refusal: Any) -> Fitted:
        """A smaller view after a refusal. Raises the refusal when it was tried often enough."""
        return self._turns.on_overflow(fitted, refusal)

    def prepare(self, conversation: Conversation) -> Fitted | None:
        return self._ahead.prepare(conversation) if self._ahead is not None else None

    def learn(self, fitted: Fitted, response: Any) -> None:
        for compactor in (self._turns, self._looks, self._ahead):
            if compactor is not None:
                compactor.learn(fitted, response)

    def archive(self, conversation: Conversation) -> None:
        """Keeps a conversation with its newest reply."""
        self._archive.keep(conversation, self.scope)


class Rooms:
    """The rooms in use, by provider and model."""

    def __init__(self, settings: Settings, archive: Backend) -> None:
        self.settings = settings
        self._archive = Beside(archive)
        self._rooms: OrderedDict[tuple[str, str], Room] = OrderedDict()
        self._lock = threading.Lock()

    def room(self, upstream: str, model: str) -> Room:
        with self._lock:
            key = (upstream, model)
            found = self._rooms.pop(key, None) or Room(self.settings, model, upstream, self._archive)
            self._rooms[key] = found
            while len(self._rooms) > ROOMS:
                self._rooms.popitem(last=False)
            return found

    def close(self) -> None:
        self._archive.close()


__all__ = ["Room", "Rooms", "Settings"]
