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
from foldline.core.effects import Effect, Recalled, Save
from foldline.core.engine import Thread, View, turn
from foldline.core.meter import Meter, Usage
from foldline.core.options import Direction, Options, Voice
from foldline.core.prune import PruneSettings
from foldline.core.receipt import Receipt
from foldline.core.resume import KINDS, Abilities, Kind, Manner
from foldline.core.styles import STYLES
from foldline.drive import World, arun, run
from foldline.errors import CannotFit, InputError
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
    """Keeps conversations inside a budget. One for each model an agent talks to; safe for several threads."""

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
    ) -> None:
        _known("style", style, STYLES)
        self.budget = budget
        self.archive: Backend = archive if archive is not None else MemoryArchive()
        self._callers = _callers(model, fallback)
        self._meter, self._meters = meter, dict[str, Meter]()
        self._windows: dict[str, int] = {}
        """What providers said of their models' windows."""
        self._reader = Reader()
        self._threads: OrderedDict[tuple[str, str], Thread] = OrderedDict()
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
        self._world = World(self.archive, self._callers, scope, listen or _nobody, self._lock, around=self._around)

    def fit(self, request: Any, *, pin: Iterable[int] = (), dialect: str | None = None) -> Fitted:
        """The request as it fits: untouched while there is room, pruned or folded when there is not.

        `request` is a whole request or its list of messages, in any dialect. `pin` lists messages that stay word for
        word, by index (from 0, or from the end if negative; None is no list). Raises CannotFit when nothing legal fits,
        InputError for what cannot be read.
        """
        return self._run(request, self._options, pin, dialect)

    async def afit(self, request: Any, *, pin: Iterable[int] = (), dialect: str | None = None) -> Fitted:
        """Like `fit`, without holding up the event loop while a model writes."""
        return await self._arun(request, self._options, pin, dialect)

    def compact(self, request: Any, **how: Any) -> Fitted:
        """Folds now. See `_how` for what may be given: to, focus, kind, direction, pivot, style, pin, dialect."""
        options, pin, dialect = self._how(**how)
        return self._run(request, options, pin, dialect)

    async def acompact(self, request: Any, **how: Any) -> Fitted:
        """Like `compact`, without holding up the event loop."""
        options, pin, dialect = self._how(**how)
        return await self._arun(request, options, pin, dialect)

    def _how(
        self,
        *,
        to: int | None = None,
        focus: str = "",
        kind: Kind = "manual",
        direction: Direction = "up-to",
        pivot: int | None = None,
        style: str | None = None,
        pin: Iterable[int] = (),
        dialect: str | None = None,
    ) -> tuple[Options, Iterable[int], str | None]:
        """What a fold on demand may be told: the tokens of the view, what to attend to, the kind of continuation,
        which part to fold and where to divide, the style of summary, what to keep word for word."""
        style = style or self._options.style
        _known("kind", kind, KINDS)
        _known("style", style, STYLES)
        _known("direction", direction, get_args(Direction))
        if to is not None and (not _is_number(to) or to < 1):
            raise InputError(f"to is {to!r}; give the tokens the view may have as a whole number, 1 or more")
        if not isinstance(focus, str):
            raise InputError(f"focus is {focus!r}; give what to attend to as text, or leave it out")
        options = replace(
            self._options,
            manner=replace(self._options.manner, kind=kind),
            force=True,
            to=to,
            focus=focus,
            direction=direction,
            pivot=pivot,
            style=style,
        )
        return options, pin, dialect

    def preview(self, request: Any, *, pin: Iterable[int] = (), dialect: str | None = None, **how: Any) -> Receipt:
        """What `fit` (or, with arguments, `compact`) would do: no model is asked and nothing is kept."""
        options = self._how(pin=pin, **how)[0] if how else self._options
        world = replace(self._world, archive=_Glass(self.archive), listen=_nobody, around=self._around.glance)
        given, options = self._given(request, options, pin, dialect)
        return run(self._steps(given, replace(options, cheap=None, fallback=None)), world).receipt

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
        options, refused = self._emergency(fitted, error)
        try:
            again = self._run(fitted.given, options, fitted.pins, fitted.view.dialect)
        except CannotFit as cannot:
            options = replace(options, to=recovery.smallest(cannot, min(refused - 1, options.budget.room), error))
            again = self._run(fitted.given, options, fitted.pins, fitted.view.dialect)
        recovery.must_be_smaller(again.view, again.receipt.tokens_after, refused, error)
        return replace(again, tries=fitted.tries + 1)

    async def aon_overflow(self, fitted: Fitted, error: Any) -> Fitted:
        """Like `on_overflow`, without holding up the event loop."""
        options, refused = self._emergency(fitted, error)
        try:
            again = await self._arun(fitted.given, options, fitted.pins, fitted.view.dialect)
        except CannotFit as cannot:
            options = replace(options, to=recovery.smallest(cannot, min(refused - 1, options.budget.room), error))
            again = await self._arun(fitted.given, options, fitted.pins, fitted.view.dialect)
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
        given, options = self._given(request, options, pin, dialect)
        return self._fitted(request, given, run(self._steps(given, options), self._world), options)

    async def _arun(self, request: Any, options: Options, pin: Iterable[int], dialect: str | None) -> Fitted:
        given, options = self._given(request, options, pin, dialect)
        return self._fitted(request, given, await arun(self._steps(given, options), self._world), options)

    def _given(
        self, request: Any, options: Options, pin: Iterable[int], dialect: str | None
    ) -> tuple[Conversation, Options]:
        with self._lock:
            given = request if isinstance(request, Conversation) else self._reader.read(request, dialect)
        budget = recovery.learnt(options.budget, self._windows.get(given.head.model))
        pivot = None if options.pivot is None else _pivot(options.pivot, len(given))
        return given, replace(options, budget=budget, pins=_places(pin, len(given)), pivot=pivot)

    def _steps(self, given: Conversation, options: Options) -> Generator[Effect, Any, View]:
        return turn(given, options, self._meter_for(given), self._thread(given))

    def _fitted(self, request: Any, given: Conversation, view: View, options: Options) -> Fitted:
        shown = request if view.conversation is given else self._reader.write(view.conversation)
        receipt = self._with_the_archives(view.receipt)
        return Fitted(shown, receipt, view.conversation, view.checkpoint, request, options.pins)

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

    def _thread(self, conversation: Conversation) -> Thread:
        """What the last turn of this conversation left, known by how the conversation begins."""
        name = conversation.messages[0].identity if conversation.messages else ""
        with self._lock:
            left = self._threads.pop((conversation.dialect, name), None) or Thread.begin(conversation.grammar)
            self._threads[conversation.dialect, name] = left
            while len(self._threads) > SESSIONS:
                self._threads.popitem(last=False)
            return left


class _Glass:
    """An archive that is looked at and not written to."""

    def __init__(self, archive: Backend) -> None:
        self._archive = archive
        self.recall, self.known = archive.recall, archive.known
        self.original, self.expand = archive.original, archive.expand

    def keep(self, conversation: Conversation, scope: str = "") -> None:
        """Nothing is kept."""

    def save(self, effect: Save, scope: str = "") -> Recalled | None:  # noqa: ARG002 - the archive's signature
        """Nothing is saved."""
        return None


def _able(abilities: Abilities, agenda: Agenda | None) -> Abilities:
    """An agent whose plan is kept has the tool for it."""
    return abilities if agenda is None else replace(abilities, plan=True)


def _nobody(_: Notice) -> None:
    """Hears nothing."""


def _known(what: str, name: str, names: Iterable[str]) -> None:
    if name not in names:
        raise InputError(f"there is no {what} {name!r}; give one of {', '.join(names)}")


def _is_number(given: Any) -> bool:
    """A whole number. True is one to Python, and never meant as one."""
    return isinstance(given, int) and not isinstance(given, bool)


def _pivot(pivot: int, count: int) -> int:
    """The message to divide at, one counted from the end too. Raises InputError for what is not in the list."""
    if not _is_number(pivot) or not -count <= pivot <= count:
        raise InputError(f"pivot {pivot!r} names no message: there are {count}, counted from 0")
    return pivot % count if pivot < 0 else pivot


def _places(pins: Iterable[int], count: int) -> tuple[int, ...]:
    """Pins as places in the list, those from its end too. Raises InputError for what is not in it."""
    found = tuple(pins) if isinstance(pins, Iterable) else (pins,)
    if not isinstance(pins, Iterable) or not all(map(_is_number, found)):
        raise InputError(f"pin is {pins!r}; give a list of the messages' indices, which are whole numbers, such as [0]")
    for pin in found:
        if not -count <= pin < count:
            raise InputError(f"pin {pin} names no message: there are {count}, counted from 0")
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
