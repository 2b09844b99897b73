"""One room for each model that is talked to: its budget, what its provider taught, and a seat for each conversation.

    room.rests     whether a turn surely goes on as it came, at once and without waiting for anybody
    room.fit       a turn: folds by extraction, at once, or as a model has written ahead of need
    room.look      the same without a trace, for requests that only count
    room.again     a smaller view after a refusal; the window that was named holds for the whole room
    room.prepare   asks the model; a turn never waits for it

A conversation has a seat of its own, with compactors of its own: none waits while another is folded. Deciding is the
compactors' matter; when to prepare is in ahead.py.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from foldline.archive.base import Backend
from foldline.callers import Caller
from foldline.compactor import Compactor, Fitted
from foldline.core.counting import budget as core
from foldline.core.counting.meter import Meter, Tally
from foldline.core.prune import PruneSettings
from foldline.core.resume import Abilities
from foldline.drive import Glass
from foldline.errors import Overflow
from foldline.model import Conversation, Message, Notice
from foldline.models import Budget, lookup
from foldline.proxy.beside import Beside, Kept, project_of, scope_of
from foldline.proxy.calm import Ease
from foldline.proxy.signals import Silent
from foldline.recent import Recent
from foldline.recovery import Windows, believed
from foldline.tokens import meter_for

log = logging.getLogger("foldline.proxy")
Listen = Callable[[Notice], None]
ROOMS = 64
"""Models talked to at once. A client may name any model, so there is a limit."""
SEATS = 64
"""Conversations of which something is kept at hand between turns. Those that were silent longest go first."""
BYTES = 256 << 20
"""The most bytes of these conversations together."""
FOLDED = 4_096
"""Conversations of which it is known that they were folded once, by how they begin."""
LOWERED = "reserve-lowered"
RECALL = "session_read"
"""The tool that shows the original of a stub. An agent may know it by a longer name: mcp__foldline__session_read."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What holds for all rooms. `window` and `reserve` win over what is known of a model."""

    window: int | None = None
    reserve: int | None = None
    model: Caller | None = None
    """Who writes summaries ahead of need; None: they are extracted."""
    fallback: Caller | None = None
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(16), repr=False)
    """Seals the fence around quoted history."""
    project: str = ""
    """The folder whose conversations these are, where a request does not name its agent's own."""
    tools: bool = False
    """The agent has Foldline's tools: stubs and checkpoints name them. One that has not must not be sent looking."""
    mask_secrets: bool = True
    """Who writes summaries is shown masks in place of secrets."""

    def told(self, scope: str) -> dict[str, Any]:
        """What compactors are told of the tools. A project's memory files are named where there is its folder."""
        if not self.tools:
            return {}
        folder = project_of(scope)
        stubs, able = PruneSettings(recall_tool=RECALL), Abilities(search=True, plan=True)
        return {"prune": stubs, "abilities": able, "root": folder if os.path.isdir(folder) else None}

    def budget(self, model: str) -> Budget:
        """A reserve that was meant for a larger window takes half of the model's, and a notice says so."""
        if self.window is not None:
            return Budget(self.window, self.reserve)
        info = lookup(model)
        most = info.window // core.OUTPUT_PART
        if self.reserve is None or self.reserve <= most:
            return Budget.of(info, reserve=self.reserve)
        text = f"a reserve of {self.reserve:,} is too much for a window of {info.window:,}; {most:,} are kept"
        budget = Budget.of(info, reserve=most)
        return replace(budget, notices=(*budget.notices, Notice(LOWERED, text)))


class _Seat:
    """One conversation's compactors, in one budget. What is seldom needed is made when it is."""

    def __init__(self, seats: Seats, room: Room, before: _Seat | None = None) -> None:
        self.lock: threading.RLock = before.lock if before else threading.RLock()
        """Held while the meter is used; the compactors for looking and working ahead have meters of their own."""
        self.meter: Meter = before.meter if before else room.meter()
        self.size: int = before.size if before else 0
        self._summed: tuple[tuple[Message, ...], int] = before._summed if before else ((), 0)
        """The last history that was weighed, and its tokens by our own count."""
        self.ease = Ease()
        self.budget = room.budget
        self._seats, self._room = seats, room
        self.turns = self._compactor(seats.archive, self.meter)
        self._looks: Compactor | None = None
        self._ahead: Compactor | None = None

    def _compactor(self, archive: Beside | Glass, meter: Meter, *, asks: bool = False) -> Compactor:
        said = self._seats.settings
        model, fallback = (said.model, said.fallback) if asks else (None, None)
        more: dict[str, Any] = {"scope": self._room.scope, "secret": said.secret, "listen": self._seats.listen}
        more["mask_secrets"] = said.mask_secrets
        more |= said.told(self._room.scope)
        made = Compactor(self.budget, model, fallback, archive, meter=meter, **more)
        made.windows = Windows(self._room.windows.taken)
        return made

    @property
    def looks(self) -> Compactor:
        with self.lock:
            self._looks = self._looks or self._compactor(Glass(self._seats.archive), self._room.meter())
            return self._looks

    @property
    def ahead(self) -> Compactor:
        with self.lock:
            self._ahead = self._ahead or self._compactor(self._seats.archive, self._room.meter(), asks=True)
            return self._ahead

    def learn(self, fitted: Fitted, response: Any) -> None:
        for compactor in (self.turns, self._looks, self._ahead):
            if compactor is not None:
                compactor.learn(fitted, response)

    def saved(self, fitted: Fitted) -> int:
        """Tokens of the history that are not in its view. Of a history that grew, only what is new is counted."""
        given, (known, tokens) = fitted.given.messages, self._summed
        if given[: len(known)] != known:
            known, tokens = (), 0
        tokens += self._raw(given[len(known) :])
        self._summed = given, tokens
        return max(0, round((tokens - self._raw(fitted.view.messages)) * self.meter.ratio))

    def _raw(self, messages: tuple[Message, ...]) -> int:
        return sum(map(self.meter.message, messages))


class Room:
    """Keeps the conversations with one model of one provider inside its window."""

    def __init__(self, model: str, scope: str, seats: Seats) -> None:
        self._whole: core.Budget = seats.settings.budget(model)
        self.windows = Windows()
        self.budget: core.Budget = self._whole
        """The budget in the window that the provider named, if it is smaller."""
        self.model, self.scope, self._seats = model, scope, seats
        self.notices = tuple(notice for notice in self.budget.notices if notice.code == LOWERED)
        """What is said with every turn."""
        for notice in self.budget.notices:  # a window that is a guess, above all: told once, since it costs no turn
            log.warning(notice.code, extra={"fields": {"why": notice.text}})
            if notice not in self.notices:
                seats.listen(notice)
        self._ratio: float | None = None
        """Of the provider's tokens to ours, as last learned: where a new conversation begins."""

    @property
    def writes_ahead(self) -> bool:
        return self._seats.settings.model is not None

    def meter(self) -> Meter:
        meter = meter_for(self.model)
        meter.ratio = self._ratio or meter.ratio
        return meter

    def fit(self, conversation: Conversation, size: int = 0, kept: Kept | None = None) -> tuple[Fitted, Kept]:
        """The view, and what is being kept meanwhile. `size` is the bytes it came in."""
        seat = self._seat(conversation, size)
        with self._seats.archive.turn(kept) as kept, seat.lock:
            seat.ease.end()
            fitted = seat.turns.fit(conversation)
            seat.ease.note(conversation, fitted, seat.budget)
            if fitted.receipt.action != "rest" or fitted.receipt.checkpoint:
                self._seats.folded(self, conversation)
            return fitted, kept

    def rests(self, conversation: Conversation) -> bool:
        """Whether it is surely sent as it came. Not sure is also whatever somebody is at work on."""
        with self._at_hand(conversation) as seat:
            return seat is not None and seat.ease.lasts(conversation, seat.meter)

    def weigh(self, conversation: Conversation) -> Tally | None:
        """Its size; None where that is not known without waiting for somebody."""
        with self._at_hand(conversation) as seat:
            return seat.meter.count(conversation) if seat is not None else None

    def weighed(self, fitted: Fitted) -> Tally:
        """The size of a view, which was counted when it was made."""
        seat = self._seat(fitted.given)
        with seat.lock:
            return seat.meter.count(fitted.view)

    @contextmanager
    def _at_hand(self, conversation: Conversation) -> Iterator[_Seat | None]:
        """The seat of a conversation that was never folded, if nobody else is in it."""
        seat = self._seats.untouched(self, conversation)
        if seat is None or not seat.lock.acquire(blocking=False):
            yield None
            return
        try:
            yield seat
        finally:
            seat.lock.release()

    def make_ready(self, conversation: Conversation) -> None:
        """To be called behind an answer, so that the next turn can be seen to rest."""
        seat = self._seat(conversation)
        with seat.lock:
            seat.ease.make_ready(seat.meter)

    def look(self, conversation: Conversation, size: int = 0) -> Fitted:
        return self._seat(conversation, size).looks.fit(conversation)

    def again(self, fitted: Fitted, refusal: Any) -> Fitted:
        """A smaller view after a refusal. Raises the refusal when it was tried often enough."""
        seat = self._seat(fitted.given)
        try:
            with seat.lock:
                if isinstance(refusal, Overflow):
                    least, taken = seat.meter.count(fitted.view).low, self.windows.taken.get(self.model, 0)
                    refusal = believed(refusal, least, taken)
                seat.ease.end()
                self._seats.folded(self, fitted.given)
                return seat.turns.on_overflow(fitted, refusal)
        finally:
            self._resize(_window(refusal, self.budget.window, fitted.receipt.tokens_after))

    def prepare(self, conversation: Conversation) -> Fitted | None:
        return self._seat(conversation).ahead.prepare(conversation) if self.writes_ahead else None

    def learn(self, fitted: Fitted, response: Any) -> None:
        seat = self._seat(fitted.given)
        with seat.lock:
            seat.learn(fitted, response)
            seat.ease.recount()
            self._ratio = seat.meter.ratio
        self._resize()

    def _resize(self, limit: int | None = None) -> None:
        """Takes in what is known of the window now."""
        self.windows.named(self.model, limit)
        self.budget = self.windows.within(self._whole, self.model)

    def saved(self, fitted: Fitted) -> int:
        """Tokens of the history that were not sent."""
        if fitted.view is fitted.given:
            return 0
        seat = self._seat(fitted.given)
        with seat.lock:
            return seat.saved(fitted)

    def before(self, fitted: Fitted) -> int:
        """Tokens of what the client sent, whatever of it stood in a view already."""
        receipt = fitted.receipt
        return max(receipt.tokens_before, receipt.tokens_after + self.saved(fitted))

    def archive(self, conversation: Conversation, *, patient: bool = False) -> Kept:
        """Keeps a conversation, beside whatever else is done; with what comes next, where nobody waits for it."""
        with self._seats.archive.turn(patient=patient) as kept:
            self._seats.archive.keep(conversation, self.scope)
        return kept

    def _seat(self, conversation: Conversation, size: int = 0) -> _Seat:
        return self._seats.seat(self, conversation, size)


class Seats:
    """The conversations at hand, whichever model they are with."""

    def __init__(
        self, settings: Settings, archive: Beside, listen: Listen, count: int = SEATS, most: int = BYTES
    ) -> None:
        self.settings, self.archive, self.listen = settings, archive, listen
        self._count, self._most, self._held = count, most, 0
        self._seats: OrderedDict[tuple[str, ...], _Seat] = OrderedDict()
        self._folded = Recent[tuple[str, ...], None](FOLDED)
        self._lock = threading.Lock()

    def folded(self, room: Room, conversation: Conversation) -> None:
        """To be told of a conversation that was not shown as it came: there is a plan for how it is, with any model."""
        with self._lock:
            self._folded[_beginning(room, conversation)] = None

    def untouched(self, room: Room, conversation: Conversation) -> _Seat | None:
        """A conversation's seat, if it has one in this budget. None where it was ever folded: one that was taken back
        and comes again is to be shown as it was then."""
        with self._lock:
            if _beginning(room, conversation) in self._folded:
                return None
            found = self._seats.get(_key(room, conversation))
        return found if found and found.budget == room.budget else None

    def seat(self, room: Room, conversation: Conversation, size: int) -> _Seat:
        """A conversation's seat, known by how it begins; in a new budget, a new one that knows what the old one did."""
        key = _key(room, conversation)
        with self._lock:
            found = self._seats.pop(key, None)
            self._held -= found.size if found else 0
            if found is None or found.budget != room.budget:
                found = _Seat(self, room, found)
            found.size = size or found.size
            self._seats[key] = found
            self._held += found.size
            while len(self._seats) > self._count or (self._held > self._most and len(self._seats) > 1):
                self._held -= self._seats.popitem(last=False)[1].size
            return found


def _key(room: Room, conversation: Conversation) -> tuple[str, ...]:
    return room.model, *_beginning(room, conversation)


def _beginning(room: Room, conversation: Conversation) -> tuple[str, ...]:
    first = conversation.messages[0].identity if conversation.messages else ""
    return room.scope, conversation.dialect, first


class Rooms:
    """The rooms in use, by provider and model."""

    def __init__(self, settings: Settings, archive: Backend, listen: Listen = lambda _: None) -> None:
        self._project = settings.project
        self._archive = Beside(archive)
        self._seats = Seats(settings, self._archive, listen)
        self._rooms = Recent[tuple[str, str], Room](ROOMS)
        """By scope and model."""
        self._lock = threading.Lock()

    def room(self, upstream: str, model: str, folder: str = "") -> Room:
        """`folder` is where the agent works, if its request says so."""
        scope = scope_of(upstream, _real(folder) or self._project)
        with self._lock:
            key = (scope, model)
            found = self._rooms.pop(key, None) or Room(model, scope, self._seats)
            self._rooms[key] = found
            return found

    def flush(self) -> None:
        """Waits for what is on its way into the archive."""
        self._archive.flush()

    def close(self) -> None:
        self._archive.close()


@lru_cache(maxsize=256)
def _real(folder: str) -> str:
    """A folder as the agent's tools name it; nothing for what is none."""
    return os.path.realpath(folder) if os.path.isabs(folder) else ""


def _window(refusal: object, window: int, sent: int) -> int | None:
    """The window that a refusal tells of.

    A prompt that was cut in silence lost whole messages, so the window is larger than what was left. Servers are given
    powers of two: it is the next of these, unless that was tried; then what was reported is believed.
    """
    limit = refusal.limit if isinstance(refusal, Overflow) else None
    if limit is None or not isinstance(refusal, Silent):
        return limit
    likely = 1 << (limit - 1).bit_length()
    return likely if likely < min(window, sent) else limit


__all__ = ["Room", "Rooms", "Settings"]
