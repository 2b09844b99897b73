"""The façade: a Compactor keeps one agent, or many, inside the window. Plain dicts in, plain dicts out.

    fit · afit                    decides by itself what is to be done, if anything
    compact · acompact            folds now
    preview                       what would happen, at no cost
    prepare · aprepare            writes a summary ahead of need
    handoff · ahandoff            the whole conversation as one text, for another session
    learn                         takes in what the provider reported
    on_overflow · aon_overflow    folds below the provider's own limit after it refused
    call · acall                  all of that around a client's own function

It holds state (the meters, the models, the archive, what the last turns left) and the loop around a refused request.
What to fold, and how, is the engine's; how much smaller a refused request has to be is reckoned in recovery.py; what
settings may be is said in settings.py.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, get_args

from foldline import handoff, recovery, settings
from foldline.agenda import Agenda
from foldline.archive.base import Backend
from foldline.archive.memory import MemoryArchive
from foldline.callers import Caller
from foldline.core import arguments
from foldline.core.account import View
from foldline.core.counting.budget import Budget
from foldline.core.counting.meter import Meter, Usage
from foldline.core.effects import Effect
from foldline.core.engine import turn
from foldline.core.history.repairer import Untouched
from foldline.core.options import Direction, Options
from foldline.core.prune import PruneSettings
from foldline.core.receipt import Receipt
from foldline.core.resume import KINDS, Abilities, Kind, Manner
from foldline.core.summaries.styles import OFFERED
from foldline.core.thread import Thread
from foldline.drive import PATIENCE, Glass, World, arun, run
from foldline.errors import CannotFit
from foldline.fitted import Fitted, check_fitted
from foldline.handoff import Handoff
from foldline.model import Conversation, Notice
from foldline.reading import Reader
from foldline.recent import Recent
from foldline.surroundings import Surrounds
from foldline.tokens import meter_for
from foldline.usage import usage_from

T = TypeVar("T")
SESSIONS = 32
"""Conversations of which something is kept at hand between turns."""


class Compactor:
    """Keeps conversations inside a budget. One for each model an agent talks to; safe for several threads.

    Who writes, and what is kept:
    budget      what a request may have: Budget(window=200_000), or Budget.for_model("claude-sonnet-4-5")
    model       who writes checkpoints, "anthropic:claude-haiku-4-5" or a Caller; None: quoted from the conversation
    fallback    who writes where `model` cannot; None: nobody, and it is quoted
    archive     keeps the originals and the folds: Archive() in a file; None: in memory, while this object lives
    patience    seconds for all questions of one turn; what was not answered by then is extracted (180)
    meter       counts tokens; give one to share it, or to count in another way; None: one for each model

    What the checkpoints are like:
    style       the sections of what a model writes: "checkpoint", "report", "brief" or "full" ("checkpoint")
    silent      the agent goes on as though nothing had been folded; False where it may remark on it (True)
    approval    the agent is told to wait for the user's consent before each tool; for agents that must (False)
    questions   the agent may ask the user; False for one that works where nobody answers (True)
    abilities   the tools and files the agent has for finding its way back, to be told of them; None: nothing
    transcript  where the agent can read the whole conversation, such as a path; "" tells it of none ("")
    prune       which tool results are bulky, and what stays of them; None: above 2,000 characters
    mask_secrets  a model that writes is shown masks in place of secrets, the user's too (True)

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
        questions: bool = True,
        abilities: Abilities | None = None,
        agenda: Agenda | None = None,
        root: str | os.PathLike[str] | None = None,
        memory: Iterable[str] = (),
        prune: PruneSettings | None = None,
        mask_secrets: bool = True,
        scope: str = "",
        transcript: str = "",
        secret: bytes | None = None,
        meter: Meter | None = None,
        listen: Callable[[Notice], None] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        settings.check(
            budget, style, patience, archive=archive, model=model, fallback=fallback, abilities=abilities,
            agenda=agenda, root=root, prune=prune, scope=scope, transcript=transcript, secret=secret, meter=meter,
            listen=listen,
        )  # fmt: skip
        arguments.check_switches(silent=silent, approval=approval, questions=questions, mask_secrets=mask_secrets)
        self.budget = budget
        self.archive: Backend = archive if archive is not None else MemoryArchive()
        self._callers = settings.callers_of(model, fallback)
        self._meter, self._meters = meter, dict[str, Meter]()
        self.windows = recovery.Windows()
        self._reader = Reader()
        self._threads = Recent[tuple[str, str, bool], Thread](SESSIONS)
        self._lock = threading.RLock()
        self._told = 0
        """Notices of the archive that were passed on."""
        self._options = Options(
            budget,
            Manner("regular", silent, approval, questions),
            settings.abilities_of(abilities, agenda),
            prune or PruneSettings(),
            style,
            memory=arguments.texts_of("memory", memory),
            mask_secrets=mask_secrets,
            around=agenda is not None or root is not None,
            model=settings.writer_of(self._callers.get("model")),
            fallback=settings.writer_of(self._callers.get("fallback")),
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
        options = (self._folding(**how) if how else self._options).without_models()
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
        arguments.check_known("kind", kind, KINDS)
        arguments.check_known("style", style, OFFERED)
        arguments.check_known("direction", direction, get_args(Direction))
        arguments.check_to(to, "the view")
        arguments.check_focus(focus)
        manner = replace(self._options.manner, kind=kind)
        more = replace(self._options, manner=manner, force=True, to=to, focus=focus, style=style)
        return replace(more, direction=direction, pivot=pivot)

    def prepare(self, request: Any, *, pin: Iterable[int] = (), dialect: str | None = None) -> Fitted:
        """Folds ahead of need: views stay as they are until one has to be folded, and that one finds it done."""
        return self._run(request, replace(self._options, force=True, ahead=True), pin, dialect)

    async def aprepare(self, request: Any, *, pin: Iterable[int] = (), dialect: str | None = None) -> Fitted:
        """Like `prepare`, without holding up the event loop."""
        return await self._arun(request, replace(self._options, force=True, ahead=True), pin, dialect)

    def handoff(self, request: Any, *, to: int | None = None, focus: str = "", dialect: str | None = None) -> Handoff:
        """The whole conversation as one text, to begin a session of any agent with. Nothing of it is kept.

        to          tokens the text may have; unless told, 6,000
        focus       what a model that writes should attend to most, in a few words
        dialect     the form of the request, where it should not be found out
        """
        return run(self._handing(request, to, focus, dialect), self._world)

    async def ahandoff(
        self, request: Any, *, to: int | None = None, focus: str = "", dialect: str | None = None
    ) -> Handoff:
        """Like `handoff`, without holding up the event loop while a model writes."""
        return await arun(self._handing(request, to, focus, dialect), self._world)

    def _handing(
        self, request: Any, to: int | None, focus: str, dialect: str | None
    ) -> Generator[Effect, Any, Handoff]:
        arguments.check_to(to, "the text")
        given, options = self._given(request, self._folding(focus=focus), (), dialect)
        return (yield from handoff.steps(given, options, self._meter_for(given), to or handoff.TOKENS))

    def learn(self, fitted: Fitted, response: Any) -> None:
        """Calibrates the meter by the usage a response reports."""
        check_fitted(fitted)
        usage = usage_from(fitted.view.dialect, response)
        if usage is not None:
            with self._lock:
                lesson = self._meter_for(fitted.view).learn(fitted.view, usage)
                if lesson.anchored:
                    self.windows.took(fitted.view.head.model, usage.input)

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
        except CannotFit as cannot:  # not so small then, but below what was refused
            most = min(refused - 1, options.budget.room)
            recovery.require_below(cannot, most, error)
            again = yield from self._turn(request, replace(options, to=most), pins, dialect)
        recovery.must_be_smaller(again.view, again.receipt.tokens_after, refused, error)
        return replace(again, tries=fitted.tries + 1)

    def call(self, function: Callable[..., T], request: Mapping[str, Any], *, pin: Iterable[int] = ()) -> T:
        """Fits the request, calls the client with it, recovers if it is refused as too large, and learns."""
        arguments.check_request(request)
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
        arguments.check_request(request)
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
        check_fitted(fitted)
        model = fitted.view.head.model
        with self._lock:
            meter = self._meter_for(fitted.view)
            least, taken = meter.count(fitted.view).low, self.windows.taken.get(model, 0)
            said = recovery.heard(error, fitted.tries, least, taken)
            self.windows.named(model, said.limit)
            if said.tokens:
                meter.learn(fitted.view, Usage(said.tokens))
            refused = meter.count(fitted.view).tokens
            budget = self.windows.within(self.budget, model)
        manner = replace(self._options.manner, kind="emergency")
        to = recovery.target(said, refused, fitted.receipt.room, fitted.tries)
        return replace(self._options, budget=budget, manner=manner, force=True, refused=True, to=to), refused

    def _run(self, request: Any, options: Options, pin: Iterable[int], dialect: str | None) -> Fitted:
        return run(self._turn(request, options, pin, dialect), self._world)

    async def _arun(self, request: Any, options: Options, pin: Iterable[int], dialect: str | None) -> Fitted:
        return await arun(self._turn(request, options, pin, dialect), self._world)

    def _turn(
        self, request: Any, options: Options, pin: Iterable[int], dialect: str | None
    ) -> Generator[Effect, Any, Fitted]:
        given, options = self._given(request, options, pin, dialect)
        view = yield from self._steps(given, options, shows=not options.ahead)
        shown = request if view.conversation is given else self._reader.write(view.conversation)
        receipt = self._with_the_archives(view.receipt)
        return Fitted(shown, receipt, view.conversation, view.checkpoint, request, options.pins)

    def _given(
        self, request: Any, options: Options, pin: Iterable[int], dialect: str | None
    ) -> tuple[Conversation, Options]:
        with self._lock:
            given = request if isinstance(request, Conversation) else self._reader.read(request, dialect)
        budget = self.windows.within(options.budget, given.head.model)
        pivot = None if options.pivot is None else arguments.pivot_of(options.pivot, len(given))
        return given, replace(options, budget=budget, pins=arguments.pins_of(pin, len(given)), pivot=pivot)

    def _steps(self, given: Conversation, options: Options, *, shows: bool = False) -> Generator[Effect, Any, View]:
        """The engine's, with what the last turn of this conversation left, known by how the conversation begins. With
        `shows`, its view is the one that the next turn's has to begin with.

        While a model writes, that is this turn's alone: another one that begins alike starts with nothing.
        """
        name = given.dialect, _beginning(given), given.head.remote
        with self._lock:
            left = self._threads.pop(name, None) or _begun(given)
        try:
            view = yield from turn(given, options, self._meter_for(given), left)
            left = left.showing(view.conversation.messages, view.receipt.messages) if shows else left
            return view
        finally:
            with self._lock:
                self._threads[name] = left

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


def _beginning(given: Conversation) -> str:
    """What a conversation is known by while it goes on: its first words, wherever its client puts cache marks."""
    first = given.messages[0] if given.messages else None
    return (first.text or first.identity) if first else ""


def _begun(given: Conversation) -> Thread:
    thread = Thread.begin(given.grammar)
    return replace(thread, repairer=Untouched(given.grammar)) if given.head.remote else thread


def _nobody(_: Notice) -> None:
    """Hears nothing."""


__all__ = ["CannotFit", "Compactor", "Fitted"]
