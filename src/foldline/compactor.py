"""The façade: a Compactor keeps one agent, or many, inside the window. Plain dicts in, plain dicts out.

    fit · afit            decides by itself what is to be done, if anything
    compact · acompact    folds now
    preview               what would happen, at no cost
    prepare · aprepare    writes a summary ahead of need
    learn                 takes in what the provider reported
    on_overflow           folds below the provider's own limit after it refused
    call · acall          all of that around a client's own function

It holds state (the meter's calibration, the models, the archive) and no logic: deciding and folding is the engine's.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, get_args

from foldline import recovery
from foldline.agenda import Agenda
from foldline.archive.base import Backend
from foldline.archive.memory import MemoryArchive
from foldline.callers import Caller, caller
from foldline.core.budget import Budget
from foldline.core.checkpoint import Checkpoint
from foldline.core.effects import Effect
from foldline.core.engine import Thread, View, turn
from foldline.core.meter import Meter, Usage
from foldline.core.options import Direction, Options, Voice
from foldline.core.prune import PruneSettings
from foldline.core.receipt import Receipt
from foldline.core.repairer import Untouched
from foldline.core.resume import KINDS, Abilities, Kind, Manner
from foldline.core.styles import STYLES
from foldline.drive import PATIENCE, Glass, World, arun, run
from foldline.errors import CannotFit, InvalidSetting
from foldline.model import Conversation, Notice
from foldline.models import lookup
from foldline.reading import Reader
from foldline.surroundings import Surrounds
from foldline.tokens import meter_for
from foldline.usage import usage_from

T = TypeVar("T")
SESSIONS = 32
"""Conversations of which something is kept at hand between turns."""


@dataclass(frozen=True)
class Fitted:
    """A request that fits, and the account of how. `request` has the form of what was given."""

    request: Any
    receipt: Receipt
    view: Conversation = field(repr=False)
    checkpoint: Checkpoint | None = field(default=None, repr=False)
    given: Any = field(default=None, repr=False)
    pins: tuple[int, ...] = field(default=(), repr=False)
    tries: int = 0

    @property
    def messages(self) -> list[Any]:
        """The list of messages alone."""
        slot = {"gemini": "contents", "openai-responses": "input"}.get(self.view.dialect, "messages")
        return self.request[slot] if isinstance(self.request, Mapping) else self.request  # type: ignore[no-any-return]


class Compactor:
    """Keeps conversations inside a budget. One for each model an agent talks to; safe for several threads.

    Who writes, and what is kept:
    budget      what a request may have: Budget(window=200_000), or Budget.for_model("claude-sonnet-4-5")
    model       who writes checkpoints, "anthropic:claude-haiku-4-5" or a Caller; None: quoted from the conversation
    fallback    who writes where `model` cannot; None: the same
    archive     keeps the originals and the folds: Archive() in a file; None: in memory, while this object lives
    patience    seconds for all questions of one turn; what was not answered by then is extracted (180)
    meter       counts tokens; give one to share it, or to count in another way; None: one for each model

    What the checkpoints are like:
    style       the sections of what a model writes: "checkpoint", "report", "brief" or "full" ("checkpoint")
    silent      the agent goes on as though nothing had been folded; False where it may remark on it (True)
    approval    the agent is told to wait for the user's consent before each tool; for agents that must (False)
    abilities   the tools and files the agent has for finding its way back, to be told of them; None: nothing
    transcript  where the agent can read the whole conversation, such as a path; "" tells it of none ("")
    prune       which tool results are bulky, and what stays of them; None: above 2,000 characters

    What the agent has besides:
    agenda      its plan, an Agenda: the active one stands in each checkpoint, its own todo list is taken over; None: no
    root        the project's folder: its memory files (CLAUDE.md, AGENTS.md) are named in checkpoints; None: no
    memory      texts in which instructions for compaction may stand, where they are in no file below `root` (none)
    scope       whose conversations these are: folds of one scope are not found in another; for a project or user ("")

    What a program may want:
    secret      seals what is quoted to a model; give one where each run must send the same bytes; None: random
    listen      is called with a Notice when a model was asked, a fold says something, the archive was damaged; None: no
    """

    def __init__(
        self,
        budget: Budget,
        model: str | Caller | None = None,
        fallback: str | Caller | None = None,
        archive: Backend | None = None,
        *,
        style: str = "checkpoint",
        silent: bool = True,
        approval: bool = False,
        abilities: Abilities | None = None,
        agenda: Agenda | None = None,
        root: str | os.PathLike[str] | None = None,
        memory: Iterable[str] = (),
        prune: PruneSettings | None = None,
        scope: str = "",
        transcript: str = "",
        secret: bytes | None = None,
        meter: Meter | None = None,
        listen: Callable[[Notice], None] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        _check(budget, patience)
        _known("style", style, STYLES)
        self.budget = budget
        self.archive: Backend = archive if archive is not None else MemoryArchive()
        self._callers = _callers(model, fallback)
        self._meter, self._meters = meter, dict[str, Meter]()
        self._windows: dict[str, int] = {}
        """What providers said of their models' windows."""
        self._reader = Reader()
        self._threads: OrderedDict[tuple[str, str, bool], Thread] = OrderedDict()
        self._lock = threading.RLock()
        self._told = 0
        """Notices of the archive that were passed on."""
        self._options = Options(
            budget,
            Manner("regular", silent, approval),
            _able(abilities or Abilities(), agenda),
            prune or PruneSettings(),
            style,
            memory=tuple(memory),
            around=agenda is not None or root is not None,
            cheap=_voice(self._callers.get("cheap")),
            fallback=_voice(self._callers.get("fallback")),
            scope=scope,
            transcript=transcript,
            secret=secret or secrets.token_bytes(16),
        )
        self._around = Surrounds(agenda, root, scope)
        self._world = World(
            self.archive, self._callers, scope, listen or _nobody, self._lock, patience, around=self._around
        )

    def fit(self, request: Any, *, pin: Iterable[int] = (), dialect: str | None = None) -> Fitted:
        """The request as it fits: untouched while there is room, pruned or folded when there is not.

        `request` is a whole request or its list of messages, in any dialect. `pin` lists messages that stay word for
        word, by index (from 0, or from the end if negative; None is no list). `dialect` is the request's form, where it
        should not be found out. Raises CannotFit when nothing legal fits, InputError for what cannot be read.
        """
        return self._run(request, self._options, pin, dialect)

    async def afit(self, request: Any, *, pin: Iterable[int] = (), dialect: str | None = None) -> Fitted:
        """Like `fit`, without holding up the event loop while a model writes."""
        return await self._arun(request, self._options, pin, dialect)

    def compact(
        self,
        request: Any,
        *,
        to: int | None = None,
        focus: str = "",
        kind: Kind = "manual",
        direction: Direction = "up-to",
        pivot: int | None = None,
        style: str | None = None,
        pin: Iterable[int] = (),
        dialect: str | None = None,
    ) -> Fitted:
        """Folds now, whether there is need or not.

        to          tokens the view may have; unless told, the budget's target, half of the room
        focus       what a model that writes should attend to most, in a few words
        kind        how the agent is told to go on: manual, regular, mid-loop, post-tool or emergency
        direction   "up-to": the older part is folded; "from": the later part, and the beginning stays as it is
        pivot       the message to divide at, by index; unless told, where it fits best
        style       the sections of the summary, for this fold alone
        pin         messages that stay word for word, as for `fit`
        dialect     the form of the request, where it should not be found out
        """
        options = self._folding(to=to, focus=focus, kind=kind, direction=direction, pivot=pivot, style=style)
        return self._run(request, options, pin, dialect)

    async def acompact(
        self,
        request: Any,
        *,
        to: int | None = None,
        focus: str = "",
        kind: Kind = "manual",
        direction: Direction = "up-to",
        pivot: int | None = None,
        style: str | None = None,
        pin: Iterable[int] = (),
        dialect: str | None = None,
    ) -> Fitted:
        """Like `compact`, without holding up the event loop while a model writes."""
        options = self._folding(to=to, focus=focus, kind=kind, direction=direction, pivot=pivot, style=style)
        return await self._arun(request, options, pin, dialect)

    def preview(
        self,
        request: Any,
        *,
        to: int | None = None,
        focus: str | None = None,
        kind: Kind | None = None,
        direction: Direction | None = None,
        pivot: int | None = None,
        style: str | None = None,
        pin: Iterable[int] = (),
        dialect: str | None = None,
    ) -> Receipt:
        """What `fit` would do; or, with any of to, focus, kind, direction, pivot and style, what `compact` would.

        No model is asked and nothing is kept.
        """
        said = {"to": to, "focus": focus, "kind": kind, "direction": direction, "pivot": pivot, "style": style}
        how: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
        options = replace(self._folding(**how) if how else self._options, cheap=None, fallback=None)
        world = replace(self._world, archive=Glass(self.archive), listen=_nobody, around=self._around.glance)
        return run(self._steps(*self._given(request, options, pin, dialect)), world).receipt

    def _folding(
        self,
        *,
        to: int | None = None,
        focus: str = "",
        kind: Kind = "manual",
        direction: Direction = "up-to",
        pivot: int | None = None,
        style: str | None = None,
    ) -> Options:
        style = style or self._options.style
        _known("kind", kind, KINDS)
        _known("style", style, STYLES)
        _known("direction", direction, get_args(Direction))
        if to is not None and (not _is_whole(to) or to < 1):
            raise InvalidSetting(f"to is {to!r}; give the tokens the view may have as a whole number, 1 or more")
        if not isinstance(focus, str):
            raise InvalidSetting(f"focus is {focus!r}; give what to attend to as text, or leave it out")
        manner = replace(self._options.manner, kind=kind)
        more = replace(self._options, manner=manner, force=True, to=to, focus=focus, style=style)
        return replace(more, direction=direction, pivot=pivot)

    def prepare(self, request: Any, *, pin: Iterable[int] = (), dialect: str | None = None) -> Fitted:
        """Folds ahead of need: views stay as they are until one has to be folded, and that one finds it done."""
        return self._run(request, replace(self._options, force=True, ahead=True), pin, dialect)

    async def aprepare(self, request: Any, *, pin: Iterable[int] = (), dialect: str | None = None) -> Fitted:
        """Like `prepare`, without holding up the event loop."""
        return await self._arun(request, replace(self._options, force=True, ahead=True), pin, dialect)

    def learn(self, fitted: Fitted, response: Any) -> None:
        """Calibrates the meter by the usage a response reports."""
        usage = usage_from(fitted.view.dialect, response)
        if usage is not None:
            with self._lock:
                self._meter_for(fitted.view).learn(fitted.view, usage)

    def on_overflow(self, fitted: Fitted, error: Any) -> Fitted:
        """A smaller request after the provider refused one. Raises what it refused with when it is no overflow."""
        return run(self._retreat(fitted, error), self._world)

    async def aon_overflow(self, fitted: Fitted, error: Any) -> Fitted:
        """Like `on_overflow`, without holding up the event loop."""
        return await arun(self._retreat(fitted, error), self._world)

    def _retreat(self, fitted: Fitted, error: Any) -> Generator[Effect, Any, Fitted]:
        options, refused = self._emergency(fitted, error)
        request, pins, dialect = fitted.given, fitted.pins, fitted.view.dialect
        try:
            again = yield from self._turn(request, options, pins, dialect)
        except CannotFit as cannot:
            options = replace(options, to=recovery.smallest(cannot, min(refused - 1, options.budget.room), error))
            again = yield from self._turn(request, options, pins, dialect)
        recovery.must_be_smaller(again.view, again.receipt.tokens_after, refused, error)
        return replace(again, tries=fitted.tries + 1)

    def call(self, function: Callable[..., T], request: Mapping[str, Any], *, pin: Iterable[int] = ()) -> T:
        """Fits the request, calls the client with it, recovers if it is refused as too large, and learns."""
        fitted = self.fit(request, pin=pin)
        while True:
            try:
                response = function(**fitted.request)
            except Exception as error:
                fitted = self._clamped(fitted, error) or self.on_overflow(fitted, error)
            else:
                self.learn(fitted, response)
                return response

    async def acall(
        self, function: Callable[..., Awaitable[T]], request: Mapping[str, Any], *, pin: Iterable[int] = ()
    ) -> T:
        """Like `call`, for a client's async function."""
        fitted = await self.afit(request, pin=pin)
        while True:
            try:
                response = await function(**fitted.request)
            except Exception as error:
                fitted = self._clamped(fitted, error) or await self.aon_overflow(fitted, error)
            else:
                self.learn(fitted, response)
                return response

    def _clamped(self, fitted: Fitted, error: Exception) -> Fitted | None:
        request = recovery.with_smaller_output(fitted.request, error) if fitted.tries < recovery.TRIES else None
        return replace(fitted, request=request, tries=fitted.tries + 1) if request else None

    def _emergency(self, fitted: Fitted, error: Any) -> tuple[Options, int]:
        """How to fold after a refusal, and the size of what was refused. What the provider said holds from now on."""
        said = recovery.heard(error, fitted.tries)
        model = fitted.view.head.model
        with self._lock:
            meter = self._meter_for(fitted.view)
            if said.limit:
                self._windows[model] = min(said.limit, self._windows.get(model, said.limit))
            if said.tokens:
                meter.learn(fitted.view, Usage(said.tokens))
            refused = meter.count(fitted.view).tokens
            budget = recovery.learnt(self.budget, self._windows.get(model))
        manner = replace(self._options.manner, kind="emergency")
        to = recovery.target(said, refused, fitted.receipt.room, fitted.tries)
        return replace(self._options, budget=budget, manner=manner, force=True, to=to), refused

    def _run(self, request: Any, options: Options, pin: Iterable[int], dialect: str | None) -> Fitted:
        return run(self._turn(request, options, pin, dialect), self._world)

    async def _arun(self, request: Any, options: Options, pin: Iterable[int], dialect: str | None) -> Fitted:
        return await arun(self._turn(request, options, pin, dialect), self._world)

    def _turn(
        self, request: Any, options: Options, pin: Iterable[int], dialect: str | None
    ) -> Generator[Effect, Any, Fitted]:
        given, options = self._given(request, options, pin, dialect)
        view = yield from self._steps(given, options)
        shown = request if view.conversation is given else self._reader.write(view.conversation)
        receipt = self._with_the_archives(view.receipt)
        return Fitted(shown, receipt, view.conversation, view.checkpoint, request, options.pins)

    def _given(
        self, request: Any, options: Options, pin: Iterable[int], dialect: str | None
    ) -> tuple[Conversation, Options]:
        with self._lock:
            given = request if isinstance(request, Conversation) else self._reader.read(request, dialect)
        budget = recovery.learnt(options.budget, self._windows.get(given.head.model))
        pivot = None if options.pivot is None else _pivot(options.pivot, len(given))
        return given, replace(options, budget=budget, pins=_places(pin, len(given)), pivot=pivot)

    def _steps(self, given: Conversation, options: Options) -> Generator[Effect, Any, View]:
        """The engine's, with what the last turn of this conversation left, known by how the conversation begins.

        While a model writes, that is this turn's alone: another one that begins alike starts with nothing.
        """
        name = given.dialect, given.messages[0].identity if given.messages else "", given.head.remote
        with self._lock:
            left = self._threads.pop(name, None) or _begun(given)
        try:
            return (yield from turn(given, options, self._meter_for(given), left))
        finally:
            with self._lock:
                self._threads[name] = left
                while len(self._threads) > SESSIONS:
                    self._threads.popitem(last=False)

    def _with_the_archives(self, receipt: Receipt) -> Receipt:
        """The receipt, with what the archive had to say since the last one: that its file was damaged, and replaced."""
        told: tuple[Notice, ...] = getattr(self.archive, "notices", ())
        with self._lock:
            new, self._told = told[self._told :], len(told)
        for notice in new:
            self._world.listen(notice)
        return replace(receipt, notices=(*receipt.notices, *new)) if new else receipt

    def _meter_for(self, conversation: Conversation) -> Meter:
        with self._lock:
            model = conversation.head.model
            if model not in self._meters:
                self._meters[model] = self._meter or meter_for(model)
            return self._meters[model]


def _begun(given: Conversation) -> Thread:
    thread = Thread.begin(given.grammar)
    return replace(thread, repairer=Untouched(given.grammar)) if given.head.remote else thread


def _able(abilities: Abilities, agenda: Agenda | None) -> Abilities:
    """An agent whose plan is kept has the tool for it."""
    return abilities if agenda is None else replace(abilities, plan=True)


def _nobody(_: Notice) -> None:
    """Hears nothing."""


def _check(budget: object, patience: object) -> None:
    """Refuses here what would fail later, in words of its own."""
    if not isinstance(budget, Budget):
        wanted = f"Budget(window={budget:_})" if _is_whole(budget) else "Budget(window=200_000)"
        model = budget if isinstance(budget, str) and budget else "claude-sonnet-4-5"
        raise InvalidSetting(f"budget is {budget!r}; give {wanted}, or Budget.for_model({model!r})")
    if isinstance(patience, bool) or not isinstance(patience, (int, float)) or not patience >= 0:
        raise InvalidSetting(f"patience is {patience!r}; give the seconds for all questions of one turn, 0 or more")


def _known(what: str, name: str, names: Iterable[str]) -> None:
    if name not in names:
        raise InvalidSetting(f"there is no {what} {name!r}; give one of {', '.join(names)}")


def _is_whole(given: Any) -> bool:
    """A whole number. True is one to Python, and never meant as one."""
    return isinstance(given, int) and not isinstance(given, bool)


def _pivot(pivot: int, count: int) -> int:
    """The message to divide at, one counted from the end too. Raises InvalidSetting for what is not in the list."""
    if not _is_whole(pivot) or not -count <= pivot <= count:
        raise InvalidSetting(f"pivot {pivot!r} names no message: there are {count}, counted from 0")
    return pivot % count if pivot < 0 else pivot


def _places(pins: Iterable[int], count: int) -> tuple[int, ...]:
    """Pins as places in the list, those from its end too. Raises InvalidSetting for what is not in it."""
    found = tuple(pins) if isinstance(pins, Iterable) else (pins,)
    if not isinstance(pins, Iterable) or not all(map(_is_whole, found)):
        raise InvalidSetting(
            f"pin is {pins!r}; give a list of the messages' indices, which are whole numbers, such as [0]"
        )
    for pin in found:
        if not -count <= pin < count:
            raise InvalidSetting(f"pin {pin} names no message: there are {count}, counted from 0")
    return tuple(pin % count for pin in found)


def _callers(model: str | Caller | None, fallback: str | Caller | None) -> dict[str, Caller]:
    named = {"cheap": model, "fallback": fallback}
    return {who: caller(name) if isinstance(name, str) else name for who, name in named.items() if name is not None}


def _voice(asked: Caller | None) -> Voice | None:
    if asked is None:
        return None
    info = lookup(asked.name.partition(":")[2] or asked.name)
    known = asked.window or (info.window if not info.notices else None)  # a model nobody knows comes with a notice
    return Voice(asked.name, known) if known else Voice(asked.name)


__all__ = ["CannotFit", "Compactor", "Fitted"]
